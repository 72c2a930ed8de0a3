"""Work over and over in one process: memory stays flat."""

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[1] / "benchmarks" / "soak.py"


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_memory_stays_flat():
    """A round learns, encodes, exports and imports. Its arrays take megabytes; caches of the first
    rounds are left out."""
    done = subprocess.run(
        [sys.executable, SOAK, "--rounds", "40"], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 700_000  # bytes a round, over the second half
