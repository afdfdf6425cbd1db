"""Archives of loaded classes: with one (class data sharing) a JVM of the tests starts in about half of the CPU.

``python -m tests.against_kafka.jars`` makes them beside the jars (``archive_making``), once. A test uses what is there:
each archive is named after the Java and the jars that it is for, so that none is used with others, and a JVM that
cannot use its archive after all says nothing and loads its classes itself.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tests.against_kafka.jars import Unavailable, class_path, java, library, program, version_of

SERVER, TOOLS = "server", "tools"
SILENT = "-Xlog:cds*=off,class+path*=off"


@cache
def tool_path(version: str) -> list[Path]:
    """The class path of that release's tools: its jars, and where there is a compiler the server that runs them.

    What else a JVM needs comes after them: an archive is good for what starts with the class path it was made with.
    Raises Unavailable.
    """
    jars = class_path(version)
    try:
        return [*jars, program("ToolServer", version)]
    except Unavailable:
        return jars


@cache
def archive(kind: str, version: str) -> Path:
    """Where the archive of that kind is, or would be. Raises Unavailable."""
    paths = tool_path(version) if kind == TOOLS else class_path(version)
    stats = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in paths]
    key = hashlib.sha256(repr((java(), version_of(java()), stats)).encode()).hexdigest()[:16]
    return library(version).parent / f"{kind}-{key}.jsa"


@cache
def shared(kind: str, version: str) -> list[str]:
    """The JVM options that use the archive; none where it has not been made. Raises Unavailable."""
    path = archive(kind, version)
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto", SILENT] if path.exists() else []


def making(path: Path) -> list[str]:
    """The JVM options that write an archive to ``path`` when the JVM ends in order."""
    return [f"-XX:ArchiveClassesAtExit={path}", SILENT]
