"""--engine spark: options that are refused, and signals while Spark works."""

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

VOLT = Path(sys.executable).with_name("volt")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("count x --engine spark --threads 2", "--threads does not go with --engine spark"),
        ("count x --engine spark --max-types 9", "--max-types does not go with --engine spark"),
        ("count x --engine spark --input-format counts", "add up counts files without"),
        ("count x --master local", "--master does not go with --engine local"),
        ("encode -m x --column ids", "--column does not go with --engine local"),
        ("encode -m x y -o z --engine spark --dropout 0.1", "--dropout does not go with"),
        ("encode -m x --engine spark -o z", "name inputs, and a folder with -o"),
    ],
)
def test_options_that_go_with_another_engine_are_refused(arguments, message):
    done = subprocess.run([VOLT, *arguments.split()], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(
    not (find_spec("pyspark") and find_spec("pyarrow") and shutil.which("java")),
    reason="needs Spark and Java: make large",
)
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)]
)
def test_a_signal_while_a_worker_works_leaves_the_old_output(tmp_path, number, status):
    """The worker says that it was started, and then does nothing."""
    worker, started = tmp_path / "worker", tmp_path / "started"
    worker.write_text(f"#!/bin/sh\necho $$ > {started}\nexec sleep 60\n")
    worker.chmod(0o755)
    (tmp_path / "text").write_text("a b\n")
    (tmp_path / "out").write_text("old")
    options = "--conf spark.ui.enabled=false pyspark-shell"
    line = "count text --engine spark --master local[1] --force -q -o out"
    with subprocess.Popen(
        [VOLT, *line.split()],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "PYSPARK_PYTHON": str(worker), "SPARK_LOCAL_IP": "127.0.0.1",
             "PYSPARK_SUBMIT_ARGS": options},
    ) as running:  # fmt: skip
        try:
            for _ in range(1200):
                if running.poll() is not None or (started.exists() and started.read_text()):
                    break
                time.sleep(0.1)
            assert running.poll() is None
            os.kill(running.pid, number)
            assert running.wait(60) == status
        finally:
            os.killpg(running.pid, signal.SIGKILL)  # Java, if it is still there
        told = running.stderr.read()
    assert "Traceback" not in told
    if status > 0:
        assert told.endswith({143: "volt: terminated\n", 130: "volt: interrupted\n"}[status])
    assert (tmp_path / "out").read_text() == "old"
    assert {file.name for file in tmp_path.iterdir()} == {"worker", "started", "text", "out"}
