"""The Java sources in ``java/``: compiled against a release's jars, run, and asked through a pipe."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from tests.against_kafka.archives import TOOLS, shared, tool_path
from tests.against_kafka.jars import ENVIRONMENT, NEWEST, java, program
from tests.against_kafka.jvm import DIE_WITH_PARENT, QUIET, TOOL_OPTIONS


def compiled(
    source: str,
    release: str = NEWEST,
    *,
    main: str | None = None,
    options: Sequence[str] = (),
    more_jars: Sequence[Path] = (),
) -> list[str]:
    """The command that runs ``java/<source>.java``, compiled. Raises Unavailable.

    main: the class that is run, where it is in a package.
    """
    paths = os.pathsep.join(map(str, (*tool_path(release), *more_jars, program(source, release, tuple(more_jars)))))
    return [java(), *TOOL_OPTIONS, *shared(TOOLS, release), *QUIET, *options, "-cp", paths, main or source]


@contextmanager
def running(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The program with pipes to it and from it; its standard error goes to a file of ``folder``. Killed at the end."""
    with (
        open(folder / "stderr", "wb") as errors,
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=ENVIRONMENT,
            preexec_fn=DIE_WITH_PARENT,
        ) as process,
    ):  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


class Lines:
    """A program that answers each line with a line."""

    def __init__(self, process: subprocess.Popen[bytes], folder: Path) -> None:
        self._process = process
        self._folder = folder

    @classmethod
    @contextmanager
    def start(cls, source: str, folder: Path, *, main: str | None = None) -> Iterator[Lines]:
        """Compile and run. Raises Unavailable."""
        with running(compiled(source, main=main), folder) as process:
            yield cls(process, folder)

    def ask(self, text: str) -> str:
        writer, reader = pipes(self._process)
        writer.write(text.encode() + b"\n")
        writer.flush()
        answer = reader.readline().decode()
        assert answer, (self._folder / "stderr").read_text(encoding="utf-8", errors="replace")
        return answer.rstrip("\n")

    def ask_json(self, question: Any) -> Any:
        return json.loads(self.ask(json.dumps(question)))


def pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    """To the program, and from it."""
    assert process.stdin is not None and process.stdout is not None
    return process.stdin, process.stdout
