"""Downloads: ranges, cut connections, checksums; archives that are cut short or lead astray."""

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from random import Random

import pytest
from server import serve

from volt.base.errors import InputError
from volt.data.archive import extract
from volt.data.download import download

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full here")
DATA = Random(0).randbytes(300_000)
SHA = f"sha256:{hashlib.sha256(DATA).hexdigest()}"


def test_a_file_arrives_whole_and_is_checked(tmp_path):
    with serve() as (served, address):
        served.files["/a"] = DATA
        assert download(f"{address}/a", tmp_path / "a", SHA) == SHA
        assert (tmp_path / "a").read_bytes() == DATA
        assert (
            download(f"{address}/a", tmp_path / "a", SHA) == SHA
        )  # there already: not asked again
    assert served.asked == [("/a", None)]
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_cut_connection_goes_on_where_it_stopped(tmp_path):
    with serve() as (served, address):
        served.files["/a"] = DATA
        served.cut_after["/a"] = [100_000, 50_000]
        assert download(f"{address}/a", tmp_path / "a", SHA) == SHA
    assert [asked for _, asked in served.asked] == [None, "bytes=100000-", "bytes=150000-"]
    assert (tmp_path / "a").read_bytes() == DATA


def test_a_later_call_goes_on_too(tmp_path):
    with serve() as (served, address):
        served.files["/a"] = DATA
        served.cut_after["/a"] = [1000, *[0] * 5]
        with pytest.raises(InputError, match="1,000 bytes are kept"):
            download(f"{address}/a", tmp_path / "a", SHA)
        assert not (tmp_path / "a").exists()
        served.asked.clear()
        download(f"{address}/a", tmp_path / "a", SHA)
        assert served.asked == [("/a", "bytes=1000-")]


def test_without_a_network_the_error_says_what_needs_none(tmp_path):
    with pytest.raises(InputError, match=r"is there a network\? `volt data get sample` needs none"):
        download("http://127.0.0.1:1/a", tmp_path / "a", SHA)


def test_a_part_that_was_whole_already(tmp_path):
    """Killed between the last byte and the renaming."""
    with serve() as (served, address):
        served.files["/a"] = DATA
        (tmp_path / "a.part").write_bytes(DATA)
        (tmp_path / "a.part.tag").write_text(served.tag)
        assert download(f"{address}/a", tmp_path / "a", SHA) == SHA


def test_the_mark_of_a_part_that_has_its_name_is_deleted(tmp_path):
    """Killed between the renaming and the end."""
    (tmp_path / "a").write_bytes(DATA)
    (tmp_path / "a.part.tag").write_text("mark")
    assert download("http://127.0.0.1:9/a", tmp_path / "a", SHA) == SHA
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("change", ["no ranges", "another file", "no tag"])
def test_what_can_not_go_on_starts_anew(tmp_path, change):
    with serve() as (served, address):
        served.files["/a"] = DATA
        if change == "no tag":
            served.tag = None
        served.cut_after["/a"] = [1000, *[0] * 5]
        with pytest.raises(InputError, match="cannot fetch"):
            download(f"{address}/a", tmp_path / "a")
        if change == "no ranges":
            served.ranges = False
        elif change == "another file":
            served.tag, served.files["/a"] = '"two"', DATA[::-1]
        download(f"{address}/a", tmp_path / "a")
        assert (tmp_path / "a").read_bytes() == served.files["/a"]


def test_a_wrong_checksum_leaves_nothing(tmp_path):
    with serve() as (served, address):
        served.files["/a"] = DATA
        with pytest.raises(InputError, match=f"{SHA}, not sha256:{'0' * 64}"):
            download(f"{address}/a", tmp_path / "a", f"sha256:{'0' * 64}")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("algorithm", ["sha256", "sha1", "md5"])
def test_checksums_of_every_kind_are_compared(tmp_path, algorithm):
    right = f"{algorithm}:{hashlib.new(algorithm, DATA).hexdigest()}"
    with serve() as (served, address):
        served.files["/a"] = DATA
        assert download(f"{address}/a", tmp_path / "a", right) == right
        served.files["/a"] = DATA[1:]
        with pytest.raises(InputError, match=f"not {right}: it was changed"):
            download(f"{address}/a", tmp_path / "b", right)


def test_a_wrong_file_that_is_there_is_told_and_left_alone(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    with serve() as (served, address):
        with pytest.raises(InputError, match=f"{tmp_path}/a has .* remove it and try again"):
            download(f"{address}/a", tmp_path / "a", SHA)
        assert served.asked == []
    assert (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.parametrize(
    "page",
    [b"<!DOCTYPE html><p>Log in", b"\xef\xbb\xbf\n<html>moved", b'<?xml version="1.0"?><html/>'],
)
def test_a_web_page_instead_of_the_file_is_refused_and_what_has_come_stays(tmp_path, page):
    with serve() as (served, address):
        served.files["/a"] = DATA
        served.cut_after["/a"] = [1000, *[0] * 5]
        with pytest.raises(InputError, match="cannot fetch"):
            download(f"{address}/a", tmp_path / "a", SHA)
        served.files["/a"], served.tag = page, '"page"'
        with pytest.raises(InputError, match=r"gives a web page, not the file.* put it at .*/a$"):
            download(f"{address}/a", tmp_path / "a", SHA)
        served.files["/a"], served.tag = DATA, '"one"'
        served.asked.clear()
        download(f"{address}/a", tmp_path / "a", SHA)
    assert served.asked == [("/a", "bytes=1000-")]


def test_a_page_leaves_nothing(tmp_path):
    with serve() as (served, address):
        served.files["/a"] = b"<html>"
        with pytest.raises(InputError, match="web page"):
            download(f"{address}/a", tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_tries_wait_longer_and_longer(tmp_path, slept):
    with serve() as (served, address):
        served.files["/a"] = DATA
        served.fail = [503] * 5
        with pytest.raises(InputError, match="HTTP 503"):
            download(f"{address}/a", tmp_path / "a")
        assert slept == [1, 2, 4, 8]  # seconds
        slept.clear()
        served.cut_after["/a"] = [1000, 1000]
        download(f"{address}/a", tmp_path / "a")
        assert slept == [0.5, 0.5]


def test_a_server_without_ranges_is_not_asked_for_ever(tmp_path):
    """Each try starts anew, and one brings more than the one before."""
    with serve() as (served, address):
        served.files["/a"] = DATA
        served.tag = None
        served.cut_after["/a"] = [2000, *[1000, 1500] * 10]
        with pytest.raises(InputError, match="the connection was cut"):
            download(f"{address}/a", tmp_path / "a")
    assert len(served.asked) == 6


def test_the_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("os.fsync", lambda _: seen.append({p.name for p in tmp_path.iterdir()}))
    with serve() as (served, address):
        served.files["/a"] = DATA
        download(f"{address}/a", tmp_path / "a")
    assert seen == [{"a.part", "a.part.tag"}]


@needs_full
def test_a_full_disk_is_no_fault_of_the_network(tmp_path):
    (tmp_path / "a.part").symlink_to(FULL)
    with serve() as (served, address):
        served.files["/a"] = DATA
        with pytest.raises(InputError, match=r"cannot write .*a\.part: No space left"):
            download(f"{address}/a", tmp_path / "a")
    assert len(served.asked) == 1


def test_a_server_in_trouble_is_asked_again_and_a_missing_file_is_not(tmp_path):
    with serve() as (served, address):
        served.files["/a"] = DATA
        served.fail = [503, 500]
        assert download(f"{address}/a", tmp_path / "a") == SHA
        served.asked.clear()
        with pytest.raises(InputError, match="HTTP 404"):
            download(f"{address}/b", tmp_path / "b")
        assert len(served.asked) == 1
    with pytest.raises(InputError, match="cannot fetch"):
        download(f"{address}/a", tmp_path / "c")  # nobody answers any more
    with pytest.raises(InputError, match="cannot fetch"):
        download("nonsense", tmp_path / "d")


# ----------------------------------------------------------------------------------------- archives


def packed(members, mode="w:gz", kind=None):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, data in members.items():
            about = tarfile.TarInfo(name)
            if kind:
                about.type, about.linkname = kind, data.decode()
                archive.addfile(about)
            else:
                about.size = len(data)
                archive.addfile(about, io.BytesIO(data))
    return stream.getvalue()


def test_members_are_read_by_name(tmp_path):
    (tmp_path / "a.tgz").write_bytes(packed({"./in/x.de": b"eins\n", "in/y": b"no"}))
    extract(tmp_path / "a.tgz", {"in/x.de": tmp_path / "out"})
    assert (tmp_path / "out").read_bytes() == b"eins\n"
    with pytest.raises(InputError, match=r"has no in/z"):
        extract(tmp_path / "a.tgz", {"in/z": tmp_path / "out"})


@pytest.mark.parametrize("cut", [20, 5000, 60_000, 99_990])
def test_a_truncated_archive_is_refused(tmp_path, cut):
    whole = packed({"x": DATA[:100_000], "y": DATA[:10]})
    (tmp_path / "a.tgz").write_bytes(whole[:cut])
    with pytest.raises(InputError, match="damaged or cut short"):
        extract(tmp_path / "a.tgz", {"x": tmp_path / "x", "y": tmp_path / "y"})
    assert not list(tmp_path.glob(".volt*"))


def test_what_is_not_an_archive_is_refused_in_one_line(tmp_path):
    (tmp_path / "a.tgz").write_bytes(b"not an archive" * 100)
    with pytest.raises(InputError, match=r"damaged or cut short \([^\n]+\): remove it") as told:
        extract(tmp_path / "a.tgz", {"x": tmp_path / "x"})
    assert "\n" not in str(told.value)


def test_an_archive_that_is_damaged_inside_a_member_is_no_fault_of_the_disk(tmp_path):
    whole = packed({"x": DATA}, mode="w")
    (tmp_path / "a.tgz").write_bytes(gzip.compress(whole[:100_000]) + b"not packed")
    with pytest.raises(InputError, match="damaged or cut short"):
        extract(tmp_path / "a.tgz", {"x": tmp_path / "x"})
    assert [path.name for path in tmp_path.iterdir()] == ["a.tgz"]


@needs_full
def test_a_full_disk_is_no_fault_of_the_archive(tmp_path):
    (tmp_path / "a.tgz").write_bytes(packed({"x": DATA}))
    with pytest.raises(InputError, match="cannot write /dev/full: No space left"):
        extract(tmp_path / "a.tgz", {"x": FULL})
    with pytest.raises(InputError, match=r"cannot read .*b\.tgz: No such file"):
        extract(tmp_path / "b.tgz", {"x": tmp_path / "x"})


@pytest.mark.parametrize("name", ["../evil", "/evil", "in/../../evil", "in\\..\\evil"])
def test_a_member_that_leads_out_is_refused(tmp_path, name):
    (tmp_path / "a.tgz").write_bytes(packed({name: b"!", "x": b"fine"}))
    with pytest.raises(InputError, match="not trusted"):
        extract(tmp_path / "a.tgz", {"x": tmp_path / "x"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tgz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_that_leads_out_is_refused(tmp_path, kind):
    (tmp_path / "a.tgz").write_bytes(packed({"x": b"../../etc/passwd"}, kind=kind))
    with pytest.raises(InputError, match="not trusted"):
        extract(tmp_path / "a.tgz", {"x": tmp_path / "x"})
