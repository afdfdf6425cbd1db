"""Escapes names, messages and settings of other people before they are printed.

A group id, a host name or a broker's message may contain any character. On a terminal it must not move the cursor,
change colours or the text direction. In a line of text it must not start another line.
"""

from __future__ import annotations

MASK = "***"
"""Replaces a secret in all output."""
KAFKAS_MASK = "[hidden]"
"""Replaces a secret in Kafka's own texts, and in texts that continue them."""

# C0 and C1 control characters, and characters that change the text direction (Unicode's Bidi_Control) or end lines.
STEERING = (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ALL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))} | {
    code: f"\\u{code:04x}" for code in STEERING
}
_LINE_CONTROLS = _ALL | {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_CONTROLS = {code: text for code, text in _ALL.items() if code not in (ord("\t"), ord("\n"))}


def counted(number: int, one: str, several: str) -> str:
    """The number with its noun, as in "1 record" and "2 records"."""
    return f"{number} {one if number == 1 else several}"


def printable(text: str) -> str:
    """``text`` with control characters escaped, except line ends and tabs."""
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """``text`` with all control characters escaped, including line ends and tabs, so that it is one line."""
    return text.translate(_LINE_CONTROLS)
