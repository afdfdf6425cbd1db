"""What a process and all that it started take: CPU time, and peak memory of JVM, Python workers and driver."""

from __future__ import annotations

import os
import threading
from pathlib import Path

SAMPLE_S = 0.1


class Watch(threading.Thread):
    """Follows a process and all that it started: CPU time and peak memory by kind."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.ended = threading.Event()
        self.peaks = {"java": 0, "worker": 0, "driver": 0}

    def run(self) -> None:
        while not self.ended.wait(SAMPLE_S):
            for pid in descendants(self.pid):
                name = _name(pid)
                # A child that the JVM is about to start something in still has the JVM's memory, and another name.
                kind = "driver" if pid == self.pid else "java" if name == "java" else "worker"
                if kind != "worker" or name.startswith("python"):
                    self.peaks[kind] = max(self.peaks[kind], _peak(pid))


def descendants(root: int) -> list[int]:
    """The process and all below it."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(stat[1]), []).append(int(entry))
    found = [root]
    for pid in found:
        found += parents.get(pid, [])
    return found


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def _peak(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    lines = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) * 1024 if lines else 0


def cpu_s(root: int) -> float:
    """CPU seconds of a process and all below it, ended and waited-for children included."""
    total = 0
    for pid in descendants(root):
        try:
            stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(map(int, stat[11:15]))
    return total / os.sysconf("SC_CLK_TCK")


def running_s(pid: int) -> float:
    """CPU seconds of the threads of one process: to the nanosecond where the system tells, else in its ticks."""
    try:
        times = [int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, stat[11:13])) / os.sysconf("SC_CLK_TCK")
    return sum(times) / 1e9
