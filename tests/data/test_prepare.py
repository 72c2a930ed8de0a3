"""volt data get, from a server here: each form of text, splits, cleaning, checksums."""

import gzip
import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from server import serve
from test_download import packed

from volt.corpus import find_sources
from volt.data import DATASETS, get
from volt.data.table import Cleaning, Dataset, Download, Side
from volt.errors import InputError, SettingsError

VOLT = Path(sys.executable).with_name("volt")


def moved(dataset, address):
    """A data set of the table, with its downloads on the server here."""
    return replace(
        dataset,
        downloads={
            key: replace(one, address=f"{address}/{one.address.rpartition('/')[2]}")
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
                f'<doc>\n<seg id="1"> {name} {language} &amp; so </seg>\n</doc>\n'.encode()
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
    assert unverified == f"de-en.tgz: SHA-256 {expected}, not verified (none is on record)"


def test_ted_pairs_and_many_to_one(tmp_path):
    table = "talk\ten\tde\tfr\nt1\tone\teins\t__NULL__\nt2\t\tzwei\tdeux\nt3\tthree\tdrei\ttrois\n"
    members = {f"all_talks_{split}.tsv": table.encode() for split in ("train", "dev", "test")}
    with serve() as (served, address):
        served.files["/ted_talks.tar.gz"] = packed(members)
        known = {"ted": moved(DATASETS["ted"], address)}
        get("ted", tmp_path / "pair", languages=["de", "en"], table=known)
        get("ted", tmp_path / "many", languages=["*", "en"], table=known)
        with pytest.raises(SettingsError, match="name two"):
            get("ted", tmp_path / "x", table=known)
        with pytest.raises(SettingsError, match="no language xx"):
            get("ted", tmp_path / "x", languages=["xx", "en"], table=known)
    assert lines(tmp_path / "pair" / "train.de") == ["eins", "drei"]
    assert lines(tmp_path / "pair" / "valid.en") == ["one", "three"]
    assert lines(tmp_path / "many" / "test.other") == ["eins", "drei", "trois"]
    assert lines(tmp_path / "many" / "test.en") == ["one", "three", "three"]


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
        with pytest.raises(InputError, match="the text has the SHA-256"):
            get("d", tmp_path / "bad", table={"d": dataset})
        assert not (tmp_path / "bad").exists()
        served.files["/de.gz"] = gzip.compress(text["de"])[:15]
        with pytest.raises(InputError, match="damaged or cut short"):
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
    assert lines(tmp_path / "one" / "train.en") == ["one"]
    assert lines(tmp_path / "two" / "valid.en") == ["two"]
    assert not list((tmp_path / "cache").glob("tmp*"))


def test_languages_of_unequal_length_are_refused(tmp_path):
    with serve() as (served, address):
        _, dataset = made(address)
        loose = tuple(replace(side, sha256=None) for side in dataset.splits["train"][0])
        served.files = {"/de.gz": b"eins\nzwei\n", "/en.gz": b"one\n"}
        with pytest.raises(InputError, match="2 lines in de, 1 in en"):
            get("d", tmp_path / "o", table={"d": replace(dataset, splits={"train": (loose,)})})


def test_every_data_set_is_whole():
    for name, dataset in DATASETS.items():
        assert "train" in dataset.splits, name
        assert dataset.held_out_every or "valid" in dataset.splits, name
        for parts in dataset.splits.values():
            for part in parts:
                assert {side.download for side in part} <= dataset.downloads.keys()
                assert {side.language for side in part} == set(dataset.languages)
        assert all(one.address.startswith("http") for one in dataset.downloads.values())


def test_multi30k_here_has_the_checksums_of_the_table(volt_data):
    """The table's checksums are those of real files."""
    for split, name in (("train", "train"), ("valid", "valid"), ("test", "test")):
        for side in DATASETS["multi30k"].splits[split][0]:
            if side.language == "cs":
                continue
            path = volt_data(f"multi30k/{name}.{side.language}")
            with find_sources(path)[0].open() as stream:
                data = stream.read()
            assert hashlib.sha256(data).hexdigest() == side.sha256


def test_the_command_line_lists_and_refuses(tmp_path):
    listed = subprocess.run([VOLT, "data", "list", "--json"], capture_output=True, check=True)
    assert sorted(json.loads(listed.stdout)) == sorted(DATASETS)
    done = subprocess.run(
        [VOLT, "data", "get", "wibble", "-o", tmp_path / "o"], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "there is no data set 'wibble'; there are multi30k" in done.stderr
