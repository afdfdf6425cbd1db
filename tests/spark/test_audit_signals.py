"""A signal ends an audit that is running at once: no output, no trace, and no process or file stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the Spark packages are not installed")

from tests.corpus.golden import golden_root
from tests.spark.test_session import environment, wait_until_gone

WAIT_S = 120.0

# The command as it is, with a job in the place of the audit's that says when a worker is in it, and goes on for long.
AUDIT = """
import sys
from kafka_tools.commands import audit
from kafka_tools.spark import audit as job

def wait(directory):
    import time
    open(WAITING, "w").close()
    time.sleep(600)

job.audit_with = lambda engine, log_dirs, options: engine.each(wait, log_dirs, 1)
sys.argv[0] = "kafka-tools audit"
audit.main()
"""


def descendants(pid: int) -> list[int]:
    """The processes that a process started, and those that they did."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at processes through /proc")
@pytest.mark.parametrize(
    ("words", "sent", "status"),
    [
        (["--master", "local[*]"], signal.SIGINT, 130),
        (["--master", "local[*]"], signal.SIGTERM, 143),
        ([], signal.SIGINT, 130),
        ([], signal.SIGTERM, -signal.SIGTERM),  # as any command that has nothing to tidy up
    ],
)
def test_a_signal_ends_a_running_audit_and_leaves_nothing(
    java: str, tmp_path: Path, words: list[str], sent: int, status: int
) -> None:
    waiting = tmp_path / "waiting"
    program = AUDIT.replace("WAITING", repr(str(waiting)))
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(golden_root() / "m2-zstd-43" / "data"), *words],
        env=environment(TMPDIR=str(tmp_path)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        deadline_s = time.monotonic() + WAIT_S
        while not waiting.exists() and process.poll() is None and time.monotonic() < deadline_s:
            time.sleep(0.05)
        assert process.poll() is None and waiting.exists()
        below = descendants(process.pid)
        assert bool(below) == bool(words)  # without Spark there is one process
        process.send_signal(sent)
        output, errors = process.communicate(timeout=WAIT_S)
        assert (process.returncode, output, errors) == (status, "", "")
        assert [pid for pid in below if not wait_until_gone(pid)] == []
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("kafka-tools-")] == []
    finally:
        process.kill()
        process.communicate()
