"""volt data get, from a server here: each form of text, splits, cleaning, checksums."""

import gzip
import hashlib
import json
import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from server import serve
from test_download import FULL, needs_full, packed

from volt.base.errors import InputError, SettingsError
from volt.counting.inputs import find_inputs
from volt.data import DATASETS, get, prepare
from volt.data.datasets import Cleaning, Dataset, Download, Side

VOLT = Path(sys.executable).with_name("volt")


def moved(dataset, address):
    """A data set of the table, with downloads on the server here, whose checksums are others."""
    return replace(
        dataset,
        downloads={
            key: Download(f"{address}/{one.address.rpartition('/')[2]}")
            for key, one in dataset.downloads.items()
        },
    )


def lines(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def test_iwslt_is_cut_and_cleaned_as_the_paper_s_scripts_do(tmp_path):
    tagged = [
        f"<url>u{n}</url>\n<title> Titel {n} </title>\n<speaker>x</speaker>\n Satz {n} & mehr \n"
        for n in range(40)
    ]
    members = {}
    for language in ("de", "en"):
        text = "".join(tagged) + ("sehr " * 8 if language == "de" else "ja") + "\n"
        members[f"de-en/train.tags.de-en.{language}"] = text.encode()
        for name in ("TED.dev2010", "TEDX.dev2012", "TED.tst2010", "TED.tst2011", "TED.tst2012"):
            members[f"de-en/IWSLT14.{name}.de-en.{language}.xml"] = (
                f'<doc>\n<seg id="1"> {name} {language} &amp;&#10;so </seg>\n</doc>\n'.encode()
            )
    with serve() as (served, address):
        served.files["/de-en.tgz"] = packed(members)
        table = {"iwslt": moved(DATASETS["iwslt14-de-en"], address)}
        result = get("iwslt", tmp_path / "out", table=table)
    assert result.lines == {"train": 80 - 3, "valid": 3, "test": 5}
    assert result.dropped == 1  # eight words against one
    assert lines(tmp_path / "out" / "valid.de")[0] == "Titel 11"  # the 23rd of those kept
    assert lines(tmp_path / "out" / "train.en")[:2] == ["Titel 0", "Satz 0 & mehr"]
    assert lines(tmp_path / "out" / "test.de")[1] == "TEDX.dev2012 de & so"
    (unverified, *_) = result.messages
    expected = hashlib.sha256(served.files["/de-en.tgz"]).hexdigest()
    assert unverified == f"de-en.tgz: sha256:{expected}, not verified (no checksum is on record)"


TED = (
    b"talk\ten\tde\tfr\n"
    b"t1\tone\teins\t__NULL__\n"
    b"t2\t\tzwei\tdeux\n"
    b"t3\tthree\tdrei\ttrois\n"
    b"t4\tfour\tvier und _ _ NULL _ _\tquatre\n"
)


@contextmanager
def ted(text=TED, **changes):
    members = {f"all_talks_{split}.tsv": text for split in ("train", "dev", "test")}
    with serve() as (served, address):
        served.files["/ted_talks.tar.gz"] = packed(members)
        yield served, {"ted": replace(moved(DATASETS["ted"], address), **changes)}


def test_ted_pairs_and_many_to_one(tmp_path):
    with ted() as (_, known):
        get("ted", tmp_path / "pair", languages=["de", "en"], table=known)
        get("ted", tmp_path / "many", languages=["*", "en"], table=known)
        with pytest.raises(SettingsError, match="no language xx; there are en, de, fr"):
            get("ted", tmp_path / "x", languages=["xx", "en"], table=known)
        with pytest.raises(SettingsError, match="no language talk"):
            get("ted", tmp_path / "x", languages=["talk", "en"], table=known)
    assert lines(tmp_path / "pair" / "train.de") == ["eins", "drei"]
    assert lines(tmp_path / "pair" / "valid.en") == ["one", "three"]
    assert sorted(path.name for path in (tmp_path / "many").glob("t*")) == [
        "test.en", "test.language", "test.other", "train.en", "train.language", "train.other"
    ]  # fmt: skip
    many = [lines(tmp_path / "many" / f"test.{side}") for side in ("language", "other", "en")]
    assert list(zip(*many, strict=True)) == [
        ("de", "eins", "one"),
        ("de", "drei", "three"),
        ("fr", "trois", "three"),
        ("fr", "quatre", "four"),
    ]


def test_the_recipe_of_the_docs_cuts_many_to_one_by_language(tmp_path):
    with ted() as (_, known):
        get("ted", tmp_path / "ted", languages=["*", "en"], table=known)
    docs = Path(__file__).parents[2] / "docs" / "trial.md"
    (recipe,) = re.findall(r"^    (paste .*)$", docs.read_text(encoding="utf-8"), re.MULTILINE)
    subprocess.run(recipe, shell=True, cwd=tmp_path, check=True)
    assert lines(tmp_path / "ted" / "train.de") == ["eins", "drei"]
    assert lines(tmp_path / "ted" / "train.fr") == ["trois", "quatre"]


@pytest.mark.parametrize(
    ("name", "languages", "words"),
    [
        ("ted", "", "name two"),
        ("ted", "de", "name two"),
        ("ted", "en,*", "name two"),
        ("ted", "*,*", "named twice"),
        ("ted", "de,de", "named twice"),
        ("multi30k", "de,de", "named twice"),
        ("multi30k", "*,en", "name two or more of these"),
        ("multi30k", "de", "name two or more of these"),
    ],
)
def test_languages_that_make_no_sense_are_refused_before_anything_is_fetched(
    tmp_path, name, languages, words
):
    with serve() as (served, address):
        known = {name: moved(DATASETS[name], address)}
        with pytest.raises(SettingsError, match=words):
            get(
                name,
                tmp_path / "o",
                languages=languages.split(",") if languages else [],
                table=known,
            )
        assert served.asked == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TED + b"t5\tfive\tf\xfcnf\tcinq\n", r"all_talks_train.tsv, line 6: .* \(byte 0xFC at"),
        (TED + b"t5\tfive\n", "all_talks_train.tsv, line 6: 2 columns of 4"),
    ],
)
def test_a_table_that_is_none_is_told_by_line(tmp_path, text, words):
    with ted(text) as (_, known), pytest.raises(InputError, match=words):
        get("ted", tmp_path / "o", languages=["de", "en"], table=known)
    assert [path.name for path in tmp_path.iterdir()] == ["o.downloads"]


def made(address, **changes):
    text = {"de": b"eins\nzwei\n", "en": b"one\ntwo\n"}
    sides = tuple(
        Side(language, language, sha256=hashlib.sha256(data).hexdigest())
        for language, data in text.items()
    )
    downloads = {language: Download(f"{address}/{language}.gz") for language in text}
    return text, Dataset(
        "t", ("de", "en"), "l", "s", downloads, {"train": (sides,)}, **changes
    )  # fmt: skip


def test_text_is_checked_even_if_the_packed_file_is_not(tmp_path):
    with serve() as (served, address):
        text, dataset = made(address)
        served.files = {f"/{key}.gz": gzip.compress(data) for key, data in text.items()}
        result = get("d", tmp_path / "good", table={"d": dataset})
        assert result.messages == []
        assert (tmp_path / "good" / "train.de").read_bytes() == text["de"]
        served.files["/de.gz"] = gzip.compress(b"EINS\nzwei\n")
        with pytest.raises(InputError, match=r"the text has the SHA-256 .* remove it"):
            get("d", tmp_path / "bad", table={"d": dataset})
        assert not (tmp_path / "bad").exists()
        served.files["/de.gz"] = gzip.compress(text["de"])[:15]
        with pytest.raises(InputError, match=r"damaged or cut short .* remove it"):
            get("d", tmp_path / "cut", table={"d": dataset}, cache=tmp_path / "other")


def test_downloads_are_kept_and_nothing_is_overwritten(tmp_path):
    with serve() as (served, address):
        text, dataset = made(address, held_out_every=2, cleaning=Cleaning(1, 5, 2.0))
        served.files = {f"/{key}.gz": gzip.compress(data) for key, data in text.items()}
        for name in ("one", "two"):
            get("d", tmp_path / name, table={"d": dataset}, cache=tmp_path / "cache")
        assert len(served.asked) == 2
        with pytest.raises(SettingsError, match="exists"):
            get("d", tmp_path / "one", table={"d": dataset}, cache=tmp_path / "cache")
        (tmp_path / "one" / "train.en").write_text("edited\n")
        get("d", tmp_path / "one", table={"d": dataset}, cache=tmp_path / "cache", force=True)
        (tmp_path / "two" / "notes").write_text("mine")
        with pytest.raises(SettingsError, match=r"did not write there \(notes\)"):
            get("d", tmp_path / "two", table={"d": dataset}, cache=tmp_path / "cache", force=True)
    assert lines(tmp_path / "one" / "train.en") == ["one"]
    assert lines(tmp_path / "two" / "valid.en") == ["two"]
    assert sorted(path.name for path in (tmp_path / "cache").rglob("*")) == ["d", "de.gz", "en.gz"]


def test_no_folder_stays_where_nothing_was_fetched(tmp_path):
    with serve() as (_, address):
        _, dataset = made(address)
        with pytest.raises(InputError, match="cannot fetch"):
            get("d", tmp_path / "x", table={"d": dataset})
    assert not list(tmp_path.iterdir())


def test_data_sets_with_files_of_one_name_share_a_cache(tmp_path):
    with serve() as (served, address):
        text, dataset = made(address)
        other = {key: Download(f"{address}/other/{key}.gz") for key in text}
        served.files = {f"/{key}.gz": gzip.compress(data) for key, data in text.items()}
        served.files |= {f"/other{path}": data for path, data in served.files.items()}
        known = {"d": dataset, "e": replace(dataset, downloads=other)}
        for name in known:
            get(name, tmp_path / name, table=known, cache=tmp_path / "cache")
    assert len(served.asked) == 4


@pytest.mark.parametrize(
    ("folder", "cache", "words"),
    [
        (".", None, "the folder you are in"),
        ("/", None, "the folder you are in"),
        ("no/..", None, "the folder you are in"),
        ("o", "o/c", "is in"),
    ],
)
def test_a_folder_that_can_not_be_made_is_refused(tmp_path, monkeypatch, folder, cache, words):
    monkeypatch.chdir(tmp_path)
    with serve() as (served, address), pytest.raises(SettingsError, match=words):
        get("d", folder, table={"d": made(address)[1]}, cache=cache)
    assert served.asked == []
    assert list(tmp_path.iterdir()) == []


def test_languages_of_unequal_length_are_refused(tmp_path):
    with serve() as (served, address):
        _, dataset = made(address)
        loose = tuple(replace(side, sha256=None) for side in dataset.splits["train"][0])
        served.files = {"/de.gz": b"eins\nzwei\n", "/en.gz": b"one\n"}
        with pytest.raises(InputError, match="en ends after 1 lines, de goes on"):
            get("d", tmp_path / "o", table={"d": replace(dataset, splits={"train": (loose,)})})


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("cut short", "damaged or cut short .* remove it and try again"),
        ("leads out", "has a member '../evil' that leads out of it"),
        ("wrong checksum", "has the checksum sha256:.*, not sha256:0+: .* nothing was kept"),
        ("wrong checksum in the cache", "ted_talks.tar.gz has the checksum .*: remove it and try"),
        ("cut connection", "the connection was cut; 100 bytes are kept"),
        ("web page", "gives a web page"),
    ],
)
def test_a_fault_on_the_way_leaves_no_output_and_the_next_try_gets_it(tmp_path, fault, words):
    out, cache = tmp_path / "out", tmp_path / "cache" / "ted"
    with ted() as (served, known):
        path = "/ted_talks.tar.gz"
        good = served.files[path]
        checked = f"sha256:{hashlib.sha256(good).hexdigest()}"
        if fault == "cut short":
            served.files[path] = good[:-30]
        elif fault == "leads out":
            served.files[path] = packed({"all_talks_train.tsv": TED, "../evil": b"!"})
        elif fault == "wrong checksum":
            checked = f"sha256:{'0' * 64}"
        elif fault == "wrong checksum in the cache":
            cache.mkdir(parents=True)
            (cache / "ted_talks.tar.gz").write_bytes(good[:-1])
        elif fault == "cut connection":
            served.cut_after[path] = [100, *[0] * 5]
        else:
            served.files[path] = b"<!doctype html><title>Log in</title>"
        # Without a checksum on record these come as far as the archive.
        checksum = None if fault in ("cut short", "leads out") else checked

        def fetch(checksum):
            (talks,) = known["ted"].downloads.values()
            dataset = replace(known["ted"], downloads={"talks": replace(talks, checksum=checksum)})
            get("ted", out, languages=["de", "en"], table={"ted": dataset}, cache=cache.parent)

        with pytest.raises(InputError, match=words):
            fetch(checksum)
        kept = {
            "wrong checksum": [],
            "web page": [],
            "cut connection": ["ted_talks.tar.gz.part", "ted_talks.tar.gz.part.tag"],
        }
        assert sorted(one.name for one in cache.iterdir()) == kept.get(fault, ["ted_talks.tar.gz"])
        assert [one.name for one in tmp_path.iterdir()] == ["cache"]
        # What the message says, done: all is well.
        served.files[path] = good
        (cache / "ted_talks.tar.gz").unlink(missing_ok=True)
        fetch(f"sha256:{hashlib.sha256(good).hexdigest()}")
    assert lines(out / "train.de") == ["eins", "drei"]


@needs_full
def test_a_full_disk_is_told_as_such(tmp_path):
    with ted() as (served, known):
        cache = tmp_path / "cache" / "ted"
        cache.mkdir(parents=True)
        (cache / "ted_talks.tar.gz.part").symlink_to(FULL)
        with pytest.raises(InputError, match=r"cannot write .*: No space left on device"):
            get(
                "ted", tmp_path / "o", languages=["de", "en"], table=known, cache=tmp_path / "cache"
            )
        assert len(served.asked) == 1
    assert not (tmp_path / "o").exists()


def test_text_is_read_row_by_row(tmp_path, monkeypatch):
    """A corpus need not fit the memory."""
    read = []

    def watched(side, _):
        for number in range(1000):
            read.append((side.language, number))
            yield f"{side.language} {number}"

    monkeypatch.setattr(prepare, "_side_lines", watched)
    dataset = replace(made("")[1], cleaning=Cleaning(1, 5, 2.0))
    rows = prepare._split_rows(dataset, lambda _: tmp_path, ("de", "en"), clean=True)
    assert next(rows) == ("train", ("de 0", "en 0"))
    assert read == [("de", 0), ("en", 0)]


def test_every_data_set_is_whole():
    for name, dataset in DATASETS.items():
        assert "train" in dataset.splits, name
        assert dataset.held_out_every or "valid" in dataset.splits, name
        for parts in dataset.splits.values():
            for part in parts:
                assert {side.download for side in part} <= dataset.downloads.keys()
                assert {side.language for side in part} == set(dataset.languages)
        for key, one in dataset.downloads.items():
            assert one.address.startswith("http")
            sides = [side for parts in dataset.splits.values() for part in parts for side in part]
            if one.checksum:
                algorithm, _, digest = one.checksum.partition(":")
                assert len(bytes.fromhex(digest)) == hashlib.new(algorithm).digest_size
            elif name != "iwslt14-de-en":  # nobody has one on record
                assert all(side.sha256 for side in sides if side.download == key)


def test_multi30k_here_has_the_checksums_of_the_table(volt_data):
    """The table's checksums are those of real files."""
    for split, name in (("train", "train"), ("valid", "valid"), ("test", "test")):
        for side in DATASETS["multi30k"].splits[split][0]:
            if side.language == "cs":
                continue
            path = volt_data(f"multi30k/{name}.{side.language}")
            with find_inputs(path)[0].open() as stream:
                data = stream.read()
            assert hashlib.sha256(data).hexdigest() == side.sha256


def test_the_command_line_lists_and_refuses(tmp_path):
    listed = subprocess.run([VOLT, "data", "list", "--json"], capture_output=True, check=True)
    assert sorted(json.loads(listed.stdout)) == sorted(DATASETS)
    done = subprocess.run(
        [VOLT, "data", "get", "wibble", "-o", tmp_path / "o"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "there is no data set 'wibble'; there are sample, multi30k" in done.stderr
    done = subprocess.run(
        [VOLT, "data", "get", "multi30k", "-o", "."], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (
        2,
        "volt: . is the folder you are in, or around it; name a new one\n",
    )
