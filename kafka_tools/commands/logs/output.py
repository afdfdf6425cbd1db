"""Standard output of kafka-dump-log: bytes in large pieces, unchanged or as the elements of one JSON document.

On a terminal, control characters of keys and values are escaped (JSON stays JSON) and the text is coloured. A pipe or
a file gets the bytes unchanged.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from kafka_tools.errors import OutputError

_PIECE = 1 << 20


class Output:
    """The output of endings. It collects lines, because writing each line takes longer than reading the log."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        self._parts.append(text)
        self._size += len(text)
        if self._size > _PIECE:
            self._pass_on()

    def write_bytes(self, data: bytes) -> None:
        self._pass_on()
        self._give(data)

    def _pass_on(self) -> None:
        if self._parts:
            # Bytes of a file's name that are not UTF-8 are lone surrogates here.
            data = "".join(self._parts).encode("utf-8", "backslashreplace")
            self._parts.clear()
            self._size = 0
            self._give(data)

    def _give(self, data: bytes) -> None:
        try:
            self._put(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"standard output: {error.strerror or error}") from error

    def _put(self, data: bytes) -> None:
        sys.stdout.buffer.write(data)

    def flush(self) -> None:
        """Write everything."""
        self._pass_on()
        sys.stdout.flush()
        sys.stdout.buffer.flush()

    def close(self) -> None:
        """End the output."""
        self.flush()

    def fail(self, item: str | None, message: str) -> None:
        """Report an item that could not be shown (None: the whole request), in a form that has a place for it."""


class JsonDocument(Output):
    """JSON lines as the elements of one document, written immediately."""

    def __init__(self, schema: str) -> None:
        super().__init__()
        self._head = f'{{"schema":"{schema}","data":[\n'.encode()
        self._errors: list[dict[str, str | None]] = []
        self._open_line = False
        self._on_terminal = sys.stdout.isatty()

    def _put(self, data: bytes) -> None:
        if not data:
            return
        out = sys.stdout.buffer
        out.write(self._head or (b",\n" if self._open_line else b""))
        self._head = b""
        if self._on_terminal:
            from kafka_tools.output.json_doc import harmless

            data = harmless(data.decode("utf-8", "replace")).encode()
        out.write(data[:-1].replace(b"\n", b",\n"))
        self._open_line = True

    def close(self) -> None:
        import json

        from kafka_tools.output.json_doc import harmless

        self._pass_on()
        errors = harmless(json.dumps(self._errors, ensure_ascii=False, separators=(",", ":")))
        sys.stdout.buffer.write(self._head + b'\n],"errors":' + errors.encode("utf-8", "backslashreplace") + b"}\n")
        self._head = b""
        self.flush()

    def fail(self, item: str | None, message: str) -> None:
        self._errors.append({"item": item, "error": None, "message": message})


class Terminal(Output):
    """A terminal: control characters are escaped, important parts are coloured (not with NO_COLOR)."""

    _PAINT = (
        ("isvalid: false", "31"),
        ("isValid: false", "31"),
        ('"crc_ok":false', "31"),
        ("Dumping ", "1"),
        ('{"type":"file"', "1"),
        ('{"type":"finding"', "33"),
        ("baseOffset: ", "36"),
        ('{"type":"batch"', "36"),
    )

    def __init__(self, harmless: Callable[[str], str]) -> None:
        super().__init__()
        self._harmless = harmless
        self._coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"

    def _put(self, data: bytes) -> None:
        text = self._harmless(data.decode("utf-8", "replace"))
        if self._coloured:
            text = "".join(map(self._painted, text.splitlines(keepends=True)))
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))

    def _painted(self, line: str) -> str:
        for sign, colour in self._PAINT:
            if sign in line if colour == "31" else line.startswith(sign):
                return f"\x1b[{colour}m{line.rstrip(chr(10))}\x1b[0m" + ("\n" if line.endswith("\n") else "")
        return line


def open_output(form: str | None, schema: str) -> Output:
    """The output for a form (None: text) on this process's standard output."""
    if form == "json":
        return JsonDocument(schema)
    if not sys.stdout.isatty():
        return Output()
    if form is None:
        from kafka_tools.shown_text import printable

        return Terminal(printable)
    from kafka_tools.output.json_doc import harmless

    return Terminal(harmless)
