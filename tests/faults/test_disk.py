"""A full disk and a folder that can't be written: a message, exit 2, nothing left behind."""

import os
import resource
import shutil
import subprocess

import pytest
from commands import COMMANDS, VOLT, names, run


@pytest.fixture
def mounted(tmp_path):
    """A small disk of its own, where the system lets us have one."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(*options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
        return subprocess.run(command, capture_output=True).returncode == 0

    if not shutil.which("mount") or not mount("size=64k"):
        pytest.skip("a file system can't be mounted here")
    try:
        yield folder, mount
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_may_not_grow_is_an_error_and_nothing_stays(work, command):
    before = names(work)
    result = run(
        *COMMANDS[command],
        cwd=work,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)),
    )
    assert result.returncode == 2
    assert result.stderr.decode().startswith("volt: cannot write ")
    assert "File too large" in result.stderr.decode()
    if command == "spill":
        assert "is kept in out.spill; continue with --resume" in result.stderr.decode()
        assert names(work) - before == {"out.spill"}
    else:
        # The folder that was asked for may be there, empty.
        assert names(work) - before <= {"out"}
        assert not [path for path in work.glob("out*/**/*") if path.is_file()]


@pytest.mark.parametrize("command", ["count", "learn", "encode", "export"])
def test_a_full_disk_is_an_error_and_nothing_stays(work, mounted, command):
    disk, _ = mounted
    (disk / "full").write_bytes(bytes(64 * 1024))
    arguments = [str(disk / "out") if word == "out" else word for word in COMMANDS[command]]
    result = run(*arguments, cwd=work)
    assert result.returncode == 2
    assert "No space left on device" in result.stderr.decode()
    assert b"Traceback" not in result.stderr
    assert [path for path in disk.rglob("*") if path.is_file()] == [disk / "full"]
    (disk / "full").unlink()


def test_a_disk_that_is_full_of_runs_says_what_is_kept(work, mounted):
    """Half of the text fits: that much is counted, and gone on with when there is room."""
    disk, mount = mounted
    words = "".join(f"{n:x} " * 3 + "\n" for n in range(40_000))
    (work / "text").write_text(words)
    program = (
        "import sys; from volt.counting import spill; "
        "spill.CHECKPOINT_EVERY, spill.LEAST_MEMORY, spill.RESERVED = 20_000, 0, 0; "
        "from volt.cli import main; main()"
    )
    command = [VOLT.with_name("python"), "-c", program, "count", "text", "--memory", "2M",
               "--spill", disk / "runs", "-o", "out", "-q"]  # fmt: skip
    result = subprocess.run(command, cwd=work, capture_output=True)
    assert result.returncode == 2
    assert "No space left on device; what was counted is kept in" in result.stderr.decode()
    assert "out" not in names(work)
    assert mount("remount", "size=1m")
    result = subprocess.run([*command, "--resume"], cwd=work, capture_output=True)
    assert (result.returncode, result.stderr) == (0, b"")
    assert run("count", "text", "-o", "expected", "-q", cwd=work).returncode == 0
    assert (work / "out").read_bytes() == (work / "expected").read_bytes()
    assert names(disk) == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_read_only_folder_is_an_error(work, mounted, command):
    disk, mount = mounted
    assert mount("remount", "ro")
    arguments = [str(disk / word) if word.startswith("out") else word for word in COMMANDS[command]]
    result = run(*arguments, cwd=work)
    assert result.returncode == 2
    assert result.stderr.decode().startswith("volt: cannot write ")
    assert "Read-only file system" in result.stderr.decode()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_an_error(work):
    (work / "closed").mkdir(mode=0o500)
    result = run("count", "text", "-o", "closed/out", cwd=work)
    assert result.returncode == 2
    assert "Permission denied" in result.stderr.decode()
