"""Counting within a set memory: the same bytes as in memory, however often it is interrupted."""

import gzip
import io
import json
import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import volt
from volt import _core, reference
from volt.base.errors import InputError, SettingsError
from volt.base.output import atomic_write
from volt.counting import spill as spill_module

PRETOKENIZERS = ["whitespace", "metaspace", "byte-level"]
SMALL = {"LEAST_MEMORY": 0, "RESERVED": 0, "LISTED": 0}
"""So that a table of a few words is full."""

pieces = st.sampled_from(
    [*"abc \t▁é漢\0\\'", "'s", "x" * 9, "y" * 15, "z" * 16, "ü" * 20, "w" * 40]
)
lines = st.lists(st.lists(pieces, max_size=12).map("".join), min_size=1, max_size=12)
settings = st.fixed_dictionaries({
    "pretokenizer": st.sampled_from(PRETOKENIZERS),
    "min_count": st.sampled_from([1, 1, 2, 3]),
    "max_word_length": st.sampled_from([64, 2, 20]),
    "normalize": st.sampled_from(["none", "none", "nfkc"]),
    "weights": st.sampled_from([None, "0.5", "3"]),
})  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in SMALL.items():
        monkeypatch.setattr(spill_module, name, value)


def written(counts: volt.WordCounts) -> bytes:
    stream = io.BytesIO()
    counts.write(stream)
    return stream.getvalue()


def save(folder: Path, text: str, name: str = "text") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def count_small(path, output: Path, memory: int = 40_000, **options) -> bytes:
    """Count with a table of a few words, read a few bytes at a time."""
    volt.count_to_file(path, output, memory=memory, force=True, **options)
    assert not output.with_name(output.name + ".spill").exists()
    return output.read_bytes()


# --------------------------------------------------------------------------------- the same bytes


@given(lines, settings, st.integers(1, 3), st.sampled_from([1, 200_000]))
@example(["▁a  b", "! a"], {"pretokenizer": "metaspace"}, 1, 1)
def test_the_file_is_that_of_counting_in_memory(tmp_path, text, options, threads, memory):
    path = save(tmp_path, "\n".join(text))
    expected = written(volt.count(path, input_format="text", **options))
    found = count_small(
        path, tmp_path / "out", memory, input_format="text", threads=threads, **options
    )
    assert found == expected


@given(lines, st.sampled_from(PRETOKENIZERS), st.integers(1, 9), st.integers(1, 3))
def test_native_runs_equal_the_twin(tmp_path, text, pretokenizer, max_types, min_count):
    path = save(tmp_path, "\n".join(text) + "\n")
    options = {"min_count": min_count, "max_types": max_types}
    count_small(
        path, tmp_path / "out", 1, pretokenizer=pretokenizer, input_format="text", unit="line",
        **options,
    )  # fmt: skip
    found = list(volt.count(tmp_path / "out").items())
    twin = reference.words.count_words_in_runs(
        "\n".join(text).split("\n"), pretokenizer, table=3, **options
    )
    assert found == twin


def test_max_types_keeps_the_most_frequent_exactly(tmp_path):
    path = save(tmp_path, "\n".join(["a"] + ["c"] * 2 + ["b"] * 2 + [f"x{n}" for n in range(50)]))
    count_small(path, tmp_path / "out", 1, max_types=3, pretokenizer="whitespace")
    counts = volt.count(tmp_path / "out")
    assert list(counts.items()) == [("b", 2), ("c", 2), ("a", 1)]
    assert (counts.totals.pruned_words, counts.totals.max_undercount) == (50, 0)


def test_more_runs_than_can_be_merged_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(spill_module, "FAN_IN", 3)
    path = save(tmp_path, "".join(f"word{n % 97} w{n}\n" for n in range(500)))
    assert count_small(path, tmp_path / "out", 40_000) == written(volt.count(path))


def test_counts_files_and_compressed_text_are_added_up(tmp_path):
    text = save(tmp_path, "".join(f"word{n % 97} w{n}\n" for n in range(500)))
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    volt.count(text).save(tmp_path / "counts")
    inputs = [text, packed, f"{tmp_path / 'counts'}:0.5"]
    assert count_small(inputs, tmp_path / "out", 40_000) == written(volt.count(inputs))


def test_many_small_files_fill_the_memory_too(tmp_path, monkeypatch):
    saved = []
    save_state = spill_module._Spill.save
    monkeypatch.setattr(
        spill_module._Spill,
        "save",
        lambda self, state: [saved.append(state), save_state(self, state)],
    )
    paths = [save(tmp_path, f"a{n} b{n} c{n} d{n % 9}\n" * 3, f"{n}") for n in range(100)]
    # A table with 256 slots for words of each length takes 24 KB, one with 512 more than 28.
    options = {"pretokenizer": "whitespace", "threads": 1}
    assert count_small(paths, tmp_path / "out", 28_000, **options) == written(
        volt.count(paths, **options)
    )
    assert len(saved) > 2
    assert all(state.inputs_done for state in saved)


# ----------------------------------------------------------------------------- interrupted, resumed


def in_a_process_that_dies(moment: int, function) -> bool:
    """Call the function in a child that is gone at its `moment`-th touch of the disk; False if it
    came to its end before."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    left = moment

    def dying(method):
        def wrapped(*arguments, **options):
            nonlocal left
            for end in (False, True):
                left -= 1
                if left < 0:
                    os._exit(9)
                result = None if end else method(*arguments, **options)
                if not end:
                    kept = result
            return kept

        return wrapped

    try:
        for name in ("write", "save", "tidy", "remove"):
            method = getattr(spill_module._Spill, name)
            setattr(spill_module._Spill, name, dying(method))
        spill_module.atomic_write = dying(atomic_write)
        function()
    except BaseException:
        os._exit(1)
    os._exit(0)


@pytest.mark.parametrize(("packed", "fan_in"), [(False, 128), (True, 2)])
def test_killed_at_any_moment_it_goes_on_to_the_same_bytes(tmp_path, monkeypatch, packed, fan_in):
    monkeypatch.setattr(spill_module, "FAN_IN", fan_in)
    monkeypatch.setattr(spill_module, "CHECKPOINT_EVERY", 600)
    paths = []
    for name in "abc":
        # The last line is long: inside it there is no checkpoint.
        text = "".join(f"{name}{n % 41} w{n}\n" for n in range(99)) + "x\0 ½ " * 99
        paths.append(save(tmp_path, text, name))
        if packed:
            paths[-1].write_bytes(gzip.compress(text.encode()))
    options = {"normalize": "nfkc"} if packed else {}
    expected = written(volt.count(paths, **options))
    output = tmp_path / "out"
    deaths = 0
    for moment in range(1, 1000):
        died = in_a_process_that_dies(
            moment,
            lambda: volt.count_to_file(
                paths, output, memory=40_000, threads=2, resume=True, **options
            ),
        )
        deaths += died
        assert not output.exists() or output.read_bytes() == expected
        if not died:
            break
    assert deaths > 10
    assert output.read_bytes() == expected
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a", "b", "c", "out"]


@pytest.fixture
def unfinished(tmp_path):
    """A text, and the folder of a count of it that was killed half-way."""
    path = save(tmp_path, "".join(f"word{n % 97} w{n}\n" for n in range(500)))
    folder = tmp_path / "runs"
    assert in_a_process_that_dies(
        12, lambda: volt.count_to_file(path, tmp_path / "out", memory=40_000, spill=folder)
    )
    assert json.loads((folder / "checkpoint.json").read_text())["state"]["runs"]
    return path, folder


def test_an_unfinished_count_is_not_written_over(tmp_path, unfinished):
    path, folder = unfinished
    with pytest.raises(SettingsError, match=r"unfinished count; continue it with `resume`"):
        volt.count_to_file(path, tmp_path / "out", memory=40_000, spill=folder)
    volt.count_to_file(path, tmp_path / "out", memory=90_000, spill=folder, resume=True)
    assert (tmp_path / "out").read_bytes() == written(volt.count(path))
    assert not folder.exists()


def test_other_settings_or_a_changed_file_cannot_be_gone_on_with(tmp_path, unfinished):
    path, folder = unfinished
    before = sorted(file.name for file in folder.iterdir())
    for options in ({"pretokenizer": "whitespace"}, {"weights": 2}, {"on_invalid": "replace"}):
        with pytest.raises(SettingsError, match="unfinished count with other"):
            volt.count_to_file(
                path, tmp_path / "out", memory=40_000, spill=folder, resume=True, **options
            )
    path.write_text(path.read_text() + "more\n")
    with pytest.raises(SettingsError, match="unfinished count with other inputs"):
        volt.count_to_file(path, tmp_path / "out", memory=40_000, spill=folder, resume=True)
    assert sorted(file.name for file in folder.iterdir()) == before


@pytest.mark.parametrize("damage", ["cut", "gone", "checkpoint", "path", "number"])
def test_damaged_runs_are_noticed(tmp_path, unfinished, damage):
    path, folder = unfinished
    content = json.loads((folder / "checkpoint.json").read_text())
    run = folder / content["state"]["runs"][0]
    if damage == "cut":
        run.write_bytes(run.read_bytes()[:-1])
    elif damage == "gone":
        run.unlink()
    else:
        if damage == "checkpoint":
            content = {"format": 1}
        elif damage == "path":
            content["state"]["runs"][0] = "../text"
        else:
            content["state"]["position"]["offset"] = -1
        (folder / "checkpoint.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"damaged|gone"):
        volt.count_to_file(path, tmp_path / "out", memory=40_000, spill=folder, resume=True)
    assert not (tmp_path / "out").exists()


def test_an_error_says_what_is_kept(tmp_path):
    path = save(tmp_path, "".join(f"w{n}\n" for n in range(500)))
    with path.open("ab") as stream:
        stream.write(b"\xff\n")
    with pytest.raises(InputError, match=r"line 501.*is kept in .*out.spill"):
        volt.count_to_file(path, tmp_path / "out", memory=40_000)
    path.write_bytes(b"\xff\n")
    with pytest.raises(InputError, match=r"line 1: invalid UTF-8[^;]*; fix the file[^;]*$"):
        volt.count_to_file(path, tmp_path / "other", memory=40_000)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["out.spill", "text"]


# ----------------------------------------------------------------------------------------- refusals


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    path = save(tmp_path, "a b c\n")
    for name in ("run-of-luck.txt", "notes"):
        folder = tmp_path / name
        folder.mkdir()
        save(folder, "mine", name)
        with pytest.raises(SettingsError, match="contains other files"):
            volt.count_to_file(path, tmp_path / "out", memory=40_000, spill=folder)
        assert [file.name for file in folder.iterdir()] == [name]


def test_one_folder_serves_one_process_at_a_time(tmp_path):
    path = save(tmp_path, "a b c\n")
    folder = tmp_path / "runs"
    folder.mkdir()
    with (
        spill_module._locked(folder),
        pytest.raises(SettingsError, match="another volt is counting"),
    ):
        volt.count_to_file(path, tmp_path / "out", memory=40_000, spill=folder)


def test_what_cannot_be_read_twice_cannot_be_resumed(tmp_path):
    with pytest.raises(SettingsError, match="read again"):
        volt.count_to_file([["a b"]], tmp_path / "out", memory=40_000, resume=True)
    assert count_small([["a b"]], tmp_path / "out") == written(volt.count([["a b"]]))


@pytest.mark.parametrize(
    ("memory", "size"),
    [
        ("4G", 4 << 30),
        ("512m", 512 << 20),
        ("1.5 GiB", 3 << 29),
        (1 << 30, 1 << 30),
        ("2GB", 2 << 30),
    ],
)
def test_sizes_of_memory(memory, size):
    assert spill_module.memory_bytes(memory) == size


@pytest.mark.parametrize("memory", ["", "much", "-1G", "1e9", "4X"])
def test_what_is_no_size_of_memory(memory):
    with pytest.raises(SettingsError, match="such as 4G"):
        spill_module.memory_bytes(memory)


def test_too_little_memory_is_refused(monkeypatch):
    monkeypatch.setattr(spill_module, "LEAST_MEMORY", 256 << 20)
    with pytest.raises(SettingsError, match="at least 256M"):
        spill_module.memory_bytes("100M")


def test_a_list_of_files_that_fills_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(spill_module, "LEAST_MEMORY", 256 << 20)
    monkeypatch.setattr(spill_module, "RESERVED", 128 << 20)
    monkeypatch.setattr(spill_module, "LISTED", 50 << 20)
    out = tmp_path / "out"
    with pytest.raises(SettingsError, match="at least 293M for a list of 2 files, not 256M"):
        volt.count_to_file([["a"], ["b"]], out, memory="256M")
    assert list(tmp_path.iterdir()) == []
    assert volt.count_to_file([["a"], ["b"]], out, memory="293M").types == 2


def test_the_estimate_of_memory_rises_with_the_words(tmp_path):
    counter = _core.Counter("whitespace", 64, 1, 0, "line")
    before = counter.memory(0)
    text = "".join(f"w{n} {n:020} {n:040}\n" for n in range(20_000)).encode()
    promised = counter.memory(len(text))
    counter.feed(text, True, 1)
    # Twice 20,000 words fill tables of 65,536 slots: 24, 40 and 32 bytes each.
    assert before < 65_536 * (24 + 40 + 32) < counter.memory(0) < promised
    assert counter.spill(str(tmp_path / "run-")) == 1
    assert counter.memory(0) == before
