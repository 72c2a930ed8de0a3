"""The output layer: whole or not there, never over an input, never over other people's files."""

import errno
import itertools
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from volt.base import drafts
from volt.base.errors import InputError, SettingsError
from volt.base.manifest import MANIFEST, result_files
from volt.base.output import (
    atomic_files,
    atomic_folder,
    atomic_write,
    check_folder,
    claim,
    grow_folder,
    record,
)


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def contents(folder: Path) -> dict[str, str]:
    """All files below the folder but manifests."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
    return {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def write(folder: Path, files: dict[str, str], **options) -> None:
    with atomic_folder(folder, **options) as new:
        for name, text in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_text(text)


@pytest.fixture(params=["exchanged in one step", "moved in two steps"])
def swapping(request, monkeypatch):
    """Both ways in which old and new change places."""
    if request.param == "moved in two steps":
        monkeypatch.setattr(drafts, "_exchange", lambda one, other: False)
    elif sys.platform != "linux":
        pytest.skip("only Linux exchanges names in one step")


OLD = {"volt.json": "old", "inner/deep/curve.csv": "old"}
NEW = {"volt.json": "new", "other/file": "new"}


# ------------------------------------------------------------------------------------------ a file


def test_the_file_appears_whole_when_the_block_ends(tmp_path):
    path = tmp_path / "out"
    with atomic_write(path) as stream:
        stream.write(b"some")
        assert not path.exists()
        stream.write(b" data")
    assert path.read_bytes() == b"some data"
    assert names(tmp_path) == ["out"]


def test_an_existing_file_is_there_unchanged_until_it_is_replaced(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with atomic_write(str(path)) as stream:
        stream.write(b"new")
        stream.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("error", [ValueError("mine"), KeyboardInterrupt(), SystemExit(3)])
def test_an_error_leaves_everything_as_it_was_and_reaches_the_caller(tmp_path, error):
    old = tmp_path / "old"
    old.write_bytes(b"old")
    for path in (old, tmp_path / "new"):
        with pytest.raises(type(error)) as raised, atomic_write(path) as stream:
            stream.write(b"half")
            raise error
        assert raised.value is error
    assert old.read_bytes() == b"old"
    assert names(tmp_path) == ["old"]


def test_a_failing_write_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "out"
    with pytest.raises(InputError, match=r"cannot write .*out: No space"), atomic_write(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names(tmp_path) == []


@pytest.mark.parametrize("name", ["missing/out", "file/out", "folder", "x" * 300, ""])
def test_a_place_where_no_file_can_be_is_an_error_that_names_it(tmp_path, monkeypatch, name):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"cannot write {name or '.'}: "), atomic_write(name):
        pytest.fail("the block must not run")
    assert names(tmp_path) == ["file", "folder"]


def test_the_longest_name_a_file_can_have_is_fine(tmp_path):
    path = tmp_path / ("x" * 255)
    with atomic_write(path) as stream:
        stream.write(b"data")
    assert path.read_bytes() == b"data"


def test_a_link_is_followed_and_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "target", tmp_path / "link"
    link.symlink_to(target)
    for data in (b"new", b"newer"):
        with atomic_write(link) as stream:
            stream.write(data)
        assert link.is_symlink()
        assert target.read_bytes() == data
    assert names(tmp_path) == ["link", "there"]
    assert names(tmp_path / "there") == ["target"]


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    received = []
    reader = threading.Thread(target=lambda: received.append(path.read_bytes()))
    reader.start()
    with atomic_write(path) as stream:
        stream.write(b"data")
    reader.join()
    assert received == [b"data"]
    assert path.is_fifo()
    assert names(tmp_path) == ["fifo"]


def test_permissions_are_those_of_any_new_file(tmp_path):
    with atomic_write(tmp_path / "atomic"):
        pass
    (tmp_path / "plain").touch()
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


# ----------------------------------------------------------- several files that belong together


def test_files_that_belong_together_appear_together(tmp_path):
    with atomic_files(tmp_path / "in" / "one", tmp_path / "two", parents=True) as (one, two):
        one.write(b"1")
        two.write(b"2")
        assert not (tmp_path / "in" / "one").exists() and not (tmp_path / "two").exists()
    assert contents(tmp_path) == {"in/one": "1", "two": "2"}


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space"), SystemExit(143)])
def test_a_failure_leaves_none_of_them_and_no_folder(tmp_path, error):
    paths = [tmp_path / "in" / "deep" / "one", tmp_path / "two"]
    with (
        pytest.raises(InputError if isinstance(error, OSError) else SystemExit),
        atomic_files(*paths, parents=True) as (one, _),
    ):
        one.write(b"1")
        raise error
    assert names(tmp_path) == []


@pytest.mark.parametrize("fails", [0, 1, 2])
@pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), SystemExit(143)])
def test_a_failure_while_they_take_their_names_brings_all_old_ones_back(
    tmp_path, monkeypatch, swapping, fails, error
):
    paths = [tmp_path / name for name in ("new", "old one", "old two")]
    for path in paths[1:]:
        path.write_text("old")
    moves = itertools.count()

    def count(move):
        def moved(draft, target):
            if next(moves) == fails:
                raise error
            return move(draft, target)

        return moved

    monkeypatch.setattr(drafts, "swap", count(drafts.swap))
    monkeypatch.setattr(Path, "replace", count(Path.replace))
    with (
        pytest.raises(InputError if isinstance(error, OSError) else SystemExit),
        atomic_files(*paths) as streams,
    ):
        for stream in streams:
            stream.write(b"new")
    assert contents(tmp_path) == {"old one": "old", "old two": "old"}


# --------------------------------------------------------------------------------- before any work


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to be in, with an input."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("some words")
    return tmp_path


def refused(*paths, says, **options) -> None:
    with pytest.raises((SettingsError, InputError)) as raised:
        claim(*paths, **options)
    assert says in str(raised.value)


@pytest.mark.parametrize("force", [False, True])
def test_an_output_that_is_an_input_is_refused(here, force):
    (here / "link").symlink_to("text")
    os.link(here / "text", here / "hard")
    for output in ("text", "./text", "missing/../text", "link", "hard"):
        for name in ("text", "text:2.0", here / "text", "link", "hard:3"):
            says = f"{output} is an input; name another place for the output"
            refused(output, inputs=["-", "hf:x", name], force=force, says=says)


def test_stdin_may_be_a_file_that_is_the_output(here, monkeypatch):
    with (here / "text").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        refused("text", inputs=["-"], force=True, says="text is an input")
    claim("text", inputs=["-"], force=True)  # it is closed: nobody reads it


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_that_is_or_contains_an_input_is_refused(here, force):
    (here / "corpus" / "deep").mkdir(parents=True)
    (here / "corpus" / "deep" / "text").write_text("some words")
    (here / "elsewhere").symlink_to("corpus/deep")
    options = {"folder": True, "force": force}
    refused("corpus", inputs=["corpus"], says="corpus is an input", **options)
    refused("corpus", inputs=["corpus/deep/text"], says="contains the input corpus/deep", **options)
    refused("corpus", inputs=["elsewhere"], says="corpus contains the input elsewhere", **options)
    refused("elsewhere", inputs=["corpus/deep"], says="elsewhere is an input", **options)
    claim("corpus/out", inputs=["corpus"], **options)  # which is skipped when the corpus is read


def test_a_file_in_a_folder_that_is_read_is_refused_if_it_would_be_read(here):
    (here / "corpus").mkdir()
    says = "would be read as text the next time"
    refused("corpus/counts.tsv", inputs=["corpus:2"], says=says)
    refused("counts.tsv", inputs=["."], says=says)
    refused("corpus/a/b.txt", inputs=["corpus"], glob="a/*.txt", parents=True, says=says)
    claim("corpus/counts.tsv", inputs=["corpus"], glob="*.txt")
    claim("corpus/b.txt", inputs=["corpus"], glob="a/*.txt")
    claim("corpus/.counts.tsv", inputs=["corpus"])
    claim("counts.tsv", inputs=["corpus", "text", ["sentences"], None])


def test_what_exists_needs_force(here):
    (here / "there").write_text("old")
    (here / "way").symlink_to("there")
    for path in ("there", "way", "x/../there"):
        refused(path, says=f"{path} exists; use `force=True` to replace it, or name another file")
        claim(path, force=True)
    refused("new", "./new", says="./new is named for two outputs")
    (here / "folder").mkdir()
    refused("folder", force=True, says="folder is a folder; name a file")
    refused("there", folder=True, force=True, says="there is a file; name a folder")
    claim("folder", folder=True)
    claim("new", "newer")


def test_a_place_that_cannot_be_written_is_refused_before_the_work(here, monkeypatch):
    refused("missing/out", says="cannot write missing/out: No such file or directory")
    refused("text/out", says="cannot write text/out: Not a directory")
    refused("text/out", parents=True, says="cannot write text/out: Not a directory")
    refused("text/out", folder=True, says="cannot write text/out: Not a directory")
    refused("x" * 300, says="File name too long")
    refused("x" * 300, folder=True, says="File name too long")
    claim("missing/out", parents=True)
    claim("missing/out", folder=True)
    assert names(here) == ["text"]  # nothing is left behind

    def denied(**_: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(tempfile, "TemporaryFile", denied)
    refused("out", says="cannot write out: Permission denied")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_file_system_that_takes_no_files_is_found_out_before_the_work():
    """Its permissions say that root may write there."""
    refused("/proc/new/out", folder=True, says="cannot write /proc/new/out: No such file")


def test_devices_pipes_and_descriptors_are_written_to(here):
    os.mkfifo("pipe")
    claim("pipe", os.devnull, "/dev/stdout", inputs=["pipe", os.devnull])
    with atomic_write("/dev/stdout") as stream, atomic_write(os.devnull) as other:
        stream.write(b"")
        other.write(b"data")
    assert names(here) == ["pipe", "text"]


# ---------------------------------------------------------------------------------------- folders


def test_all_of_a_folder_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino))
    write(tmp_path / "out", {"one": "1", "inner/two": "2"})
    files = [tmp_path / "out" / name for name in ("one", "inner/two", MANIFEST)]
    assert sorted(flushed[:-1]) == sorted(file.stat().st_ino for file in files)
    assert flushed[-1] == tmp_path.stat().st_ino


def test_the_manifest_lists_the_files_and_nothing_else(tmp_path):
    with atomic_folder(tmp_path / "out") as folder:
        write(folder / "source", {"volt.json": "1"})
        (folder / "empty").mkdir()
        (folder / "volt.json").write_text("2")
    listed = json.loads((tmp_path / "out" / MANIFEST).read_text())
    files = ["empty/", f"source/{MANIFEST}", "source/volt.json", "volt.json"]
    assert listed == {"format": 1, "holds": "result", "files": files}
    write(tmp_path / "out", NEW, force=True)
    assert contents(tmp_path) == {f"out/{name}": text for name, text in NEW.items()}
    assert names(tmp_path) == ["out"]


def test_a_folder_is_replaced_only_with_force_and_whole(tmp_path, swapping):
    write(tmp_path / "out", OLD)
    with pytest.raises(SettingsError, match="out exists; use `force=True` to replace it"):
        write(tmp_path / "out", NEW)
    assert contents(tmp_path / "out") == OLD
    write(tmp_path / "out", NEW, force=True)
    assert contents(tmp_path / "out") == NEW
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("foreign", ["thesis.tex", "inner/notes", "inner/deep/.hidden", "empty/"])
def test_a_folder_with_other_files_is_never_replaced(tmp_path, force, foreign):
    out = tmp_path / "out"
    write(out, OLD)
    place = out / foreign
    if foreign.endswith("/"):
        place.mkdir()
    else:
        place.write_text("years of work")
    with pytest.raises(SettingsError) as raised:
        write(out, NEW, force=force)
    assert f"contains files that volt did not write there ({foreign}), so it" in str(raised.value)
    assert place.exists() and (out / "volt.json").read_text() == "old"
    assert names(tmp_path) == ["out"]


def test_a_few_files_are_named_and_the_others_counted(tmp_path):
    write(tmp_path / "out", OLD)
    for number in range(20):
        (tmp_path / "out" / f"{number:02}").touch()
    with pytest.raises(SettingsError, match=r"\(00, 01, 02 and 17 more\)"):
        check_folder(tmp_path / "out", force=True)
    for number in range(2000):
        (tmp_path / "out" / f"{number:04}").touch()
    with pytest.raises(SettingsError, match=r"\(00, 0000, 0001 and more than 997 more\)"):
        check_folder(tmp_path / "out", force=True)


def test_a_link_in_the_place_of_a_folder_is_foreign(tmp_path):
    """What it leads to is never deleted."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "curve.csv").write_text("years of work")
    write(tmp_path / "out", {"volt.json": "1", "inner/curve.csv": "2"})
    (tmp_path / "out" / "inner" / "curve.csv").unlink()
    (tmp_path / "out" / "inner").rmdir()
    (tmp_path / "out" / "inner").symlink_to(tmp_path / "mine")
    with pytest.raises(SettingsError, match=r"\(inner\)"):
        write(tmp_path / "out", NEW, force=True)
    assert (tmp_path / "mine" / "curve.csv").read_text() == "years of work"


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_behind_a_way_round_is_not_replaced(tmp_path, force):
    """The system finds nothing at `thesis/missing/..`; what would be replaced is `thesis`."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("years of work")
    with (
        pytest.raises(SettingsError, match=r"missing/\.\. contains files that volt did not write"),
        atomic_folder(tmp_path / "thesis" / "missing" / "..", force=force),
    ):
        raise AssertionError("it was refused too late")
    assert (tmp_path / "thesis" / "text").read_text() == "years of work"
    assert names(tmp_path) == ["thesis"]


EARLY = [
    "volt.json", "curve.csv", "source/volt.json", "target/report.html", "id_map.1.npy",
    "scripts/Latin/signature.txt", "refit.json", "tokenizer.json", "model/model.safetensors",
]  # fmt: skip


def test_a_result_of_an_early_version_can_be_replaced(tmp_path):
    out = tmp_path / "out"
    for name in EARLY:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("early")
    (out / "thesis.tex").write_text("years of work")
    assert result_files(out) == set(EARLY)
    with pytest.raises(SettingsError, match=r"\(thesis.tex\)"):
        write(out, NEW, force=True)
    (out / "thesis.tex").unlink()
    write(out, NEW, force=True)
    assert contents(out) == NEW
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize(
    "damage", ["", "[]", "{", '{"holds": "thesis", "files": []}', "[" * 100_000]
)
def test_a_damaged_manifest_protects_the_files(tmp_path, damage):
    write(tmp_path / "out", {"data": "1"})
    (tmp_path / "out" / MANIFEST).write_text(damage)
    with pytest.raises(SettingsError, match=r"\(data\)"):
        check_folder(tmp_path / "out", force=True)


def test_a_manifest_that_names_other_places_deletes_nothing_there(tmp_path):
    (tmp_path / "thesis").write_text("years of work")
    write(tmp_path / "out", OLD)
    manifest = {"format": 1, "holds": "result",
                "files": [*OLD, "../thesis", str(tmp_path / "thesis")]}  # fmt: skip
    (tmp_path / "out" / MANIFEST).write_text(json.dumps(manifest))
    write(tmp_path / "out", NEW, force=True)
    assert contents(tmp_path / "out") == NEW
    assert (tmp_path / "thesis").read_text() == "years of work"


def test_one_kind_of_folder_does_not_replace_another(tmp_path):
    write(tmp_path / "data", {"train.de": "1"}, holds="text")
    grow_folder(tmp_path / "trial", "results.json")
    (tmp_path / "trial" / "results.json").write_text("days of training")
    for name in ("data", "trial"):
        with pytest.raises(SettingsError, match="contains files that volt did not write there"):
            check_folder(tmp_path / name, force=True)
    assert result_files(tmp_path / "data") == set()
    assert result_files(tmp_path / "trial") == {"results.json", MANIFEST}
    check_folder(tmp_path / "data", force=True, holds="text")


def test_files_can_be_added_to_the_manifest(tmp_path):
    write(tmp_path / "out", OLD)
    (tmp_path / "out" / "report.html").write_text("page")
    record(tmp_path / "out", "report.html")
    write(tmp_path / "out", NEW, force=True)
    record(tmp_path, "thesis.tex")  # not a folder of volt's
    assert names(tmp_path) == ["out"]


# ------------------------------------------------------------------------------ folders that grow


def test_a_folder_that_grows_keeps_what_is_in_it(here):
    grow_folder("trial", "results.json")
    (here / "trial" / "results.json").write_text("1")
    (here / "trial" / "notes.txt").write_text("mine")
    grow_folder("trial", "results.json", "report.html")
    assert contents(here / "trial") == {"results.json": "1", "notes.txt": "mine"}
    assert result_files(here / "trial") == {"results.json", "report.html", MANIFEST}
    with pytest.raises(SettingsError, match=r"did not write there \(notes.txt\)"):
        grow_folder("trial", "notes.txt")


@pytest.mark.parametrize("number", [errno.EIO, errno.EMFILE])
def test_a_manifest_that_the_system_can_not_read_is_an_error(here, monkeypatch, number):
    """A new list would lack the files that the old one has, and the next run refuse them."""
    grow_folder("trial", "results.json")

    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr("volt.base.gate.open", refuse, raising=False)
        for call in (lambda: record("trial", "more"), lambda: grow_folder("trial", "more")):
            with pytest.raises(InputError, match=r"cannot read .*\.volt-files\.json"):
                call()
    assert result_files(here / "trial") == {"results.json", MANIFEST}


def test_a_folder_of_other_files_does_not_grow(here):
    (here / "mine").mkdir()
    (here / "mine" / "results.json").write_text("years of work")
    with pytest.raises(SettingsError, match=r"did not write there \(results.json\)"):
        grow_folder("mine", "results.json")
    write(here / "out", OLD)
    with pytest.raises(SettingsError, match=r"did not write there"):
        grow_folder("out", "results.json")
    assert names(here / "mine") == ["results.json"]


def test_an_early_trial_goes_on(here):
    (here / "trial" / "runs").mkdir(parents=True)
    (here / "trial" / "reference.txt").write_text("early")
    grow_folder("trial", "reference.txt", "results.json")
    assert contents(here / "trial") == {"reference.txt": "early"}


# ----------------------------------------------------------------- stopped while they change places


@pytest.mark.parametrize("moment", range(9))
@pytest.mark.parametrize("error", [SystemExit(143), KeyboardInterrupt(), OSError(errno.EIO, "I/O")])
def test_stopped_at_any_rename_one_of_the_two_is_in_place(
    tmp_path, monkeypatch, swapping, moment, error
):
    """As a signal does: it comes before or after the first rename, before or after the second..."""
    out = tmp_path / "out"
    write(out, OLD)
    moments = itertools.count()

    def stop() -> None:
        if next(moments) == moment:
            raise error

    def stopping(move):
        def moved(*arguments):
            stop()
            result = move(*arguments)
            stop()
            return result

        return moved

    monkeypatch.setattr(Path, "rename", stopping(Path.rename))
    monkeypatch.setattr(drafts, "_exchange", stopping(drafts._exchange))
    stopped = False
    try:
        write(out, NEW, force=True)
    except (InputError, SystemExit, KeyboardInterrupt):
        stopped = True
    found = contents(out)
    monkeypatch.undo()
    assert stopped == (next(moments) > moment)
    assert found == (OLD if moment == 0 else NEW if not stopped else found)
    assert found in (OLD, NEW)
    check_folder(out, force=True)
    assert names(tmp_path) == ["out"]


TOUCHES = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"}
"""Events of the interpreter, each before it touches the disk."""


def dies(work: Callable[[], None], moment: int, folder: Path) -> bool:
    """Do the work in a child that is gone when it touches the folder for the n-th time; False if it
    came to its end before."""
    child = os.fork()
    if child:
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 9)
        return status == 9
    moments = itertools.count()

    def touch(event: str, details: tuple) -> None:
        if event in TOUCHES and str(details[0]).startswith(str(folder)) and next(moments) == moment:
            os._exit(9)

    exchange = drafts._exchange
    drafts._exchange = lambda *paths: (touch("os.rename", paths), exchange(*paths))[1]
    sys.addaudithook(touch)
    try:
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


def test_killed_whenever_it_touches_the_disk_the_next_run_finds_old_or_new(tmp_path, swapping):
    for moment in range(200):
        folder = tmp_path / str(moment)
        folder.mkdir()
        out = folder / "out"
        write(out, OLD)
        died = dies(lambda out=out: write(out, NEW, force=True), moment, folder)
        check_folder(out, force=True)  # cleans up
        assert contents(out) in (OLD, NEW)
        assert names(folder) == ["out"]
        write(out, NEW, force=True)
        assert contents(out) == NEW
        assert names(folder) == ["out"]
        if not died:
            break
    assert moment > 10


def write_files(*paths: Path) -> None:
    with atomic_files(*paths) as streams:
        for stream in streams:
            stream.write(b"new")


def test_files_that_a_killed_process_left_are_cleaned_up(tmp_path, swapping):
    for moment in range(200):
        folder = tmp_path / str(moment)
        folder.mkdir()
        paths = [folder / "out", folder / "other"]
        for path in paths:
            path.write_text("old")
        died = dies(lambda paths=paths: write_files(*paths), moment, folder)
        claim(*paths, force=True)
        found = contents(folder)
        assert found.keys() == {"out", "other"} and set(found.values()) <= {"old", "new"}
        if not died:
            break
    assert moment > 5


def test_the_draft_of_a_process_at_work_is_left_alone(tmp_path):
    """Two write the same folder at the same time; the one that ends last wins."""
    out = tmp_path / "out"
    with atomic_folder(out, force=True) as slow:
        (slow / "volt.json").write_text("slow")
        write(out, {"volt.json": "quick"})
        assert contents(out) == {"volt.json": "quick"}
        assert slow.exists()
    assert contents(out) == {"volt.json": "slow"}
    with atomic_write(tmp_path / "file") as slow_file:
        slow_file.write(b"slow")
        with atomic_write(tmp_path / "file") as quick_file:
            quick_file.write(b"quick")
        assert (tmp_path / "file").read_text() == "quick"
    assert (tmp_path / "file").read_text() == "slow"
    assert names(tmp_path) == ["file", "out"]


def test_a_file_that_appears_in_the_old_folder_at_the_last_moment_is_kept(tmp_path, monkeypatch):
    """After the last look at it, before it is deleted."""
    out = tmp_path / "out"
    write(out, OLD)
    exchange = drafts._exchange

    def late(one, other):
        (out / "thesis.tex").write_text("years of work")
        return exchange(one, other)

    monkeypatch.setattr(drafts, "_exchange", late)
    write(out, NEW, force=True)
    monkeypatch.undo()
    assert contents(out) == NEW
    for _ in range(2):  # nor does the next run delete it
        (kept,) = (path for path in tmp_path.rglob("thesis.tex"))
        assert kept.read_text() == "years of work"
        write(out, NEW, force=True)
    assert names(kept.parent) == [MANIFEST, "thesis.tex"]
