"""Atomic writes: a file is whole or not there, and no temporary file stays."""

import errno
import os
import threading

import pytest

from volt.base.errors import InputError, SettingsError
from volt.base.files import atomic_folder, atomic_write


def names(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


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


def test_all_of_a_folder_is_on_the_disk_before_it_takes_its_place(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda number: flushed.append(os.fstat(number).st_ino))
    with atomic_folder(tmp_path / "out") as folder:
        (folder / "inner").mkdir()
        (folder / "one").write_text("1")
        (folder / "inner" / "two").write_text("2")
    files = [tmp_path / "out" / "one", tmp_path / "out" / "inner" / "two"]
    assert sorted(flushed) == sorted(file.stat().st_ino for file in files)


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_behind_a_way_round_is_not_replaced(tmp_path, force):
    """The system finds nothing at `thesis/missing/..`; what would be replaced is `thesis`."""
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "text").write_text("years of work")
    with (
        pytest.raises(SettingsError, match=r"missing/\.\. (exists|is not a folder that volt made)"),
        atomic_folder(tmp_path / "thesis" / "missing" / "..", force=force),
    ):
        raise AssertionError("it was refused too late")
    assert (tmp_path / "thesis" / "text").read_text() == "years of work"
    assert names(tmp_path) == ["thesis"]
