"""Foreign text on its way to a person: names, messages and settings that somebody else chose, made harmless.

A group id, a host name or a broker's message may hold anything. On a terminal it must not move the cursor, change
colours or the direction of writing, and in a line of text it must not begin another line.
"""

from __future__ import annotations

MASK = "***"
"""Stands for a secret in whatever is shown."""
KAFKAS_MASK = "[hidden]"
"""The same in texts that Kafka prints, and in those that continue them."""

# C0 and C1 control characters, and what steers the direction of writing (Unicode's Bidi_Control) or ends lines.
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
    """``text`` with everything escaped that a terminal would obey, line ends and tabs aside."""
    return text.translate(_CONTROLS)


def one_line(text: str) -> str:
    """``text`` with line ends and tabs escaped as well, so that a name is one line whatever it holds."""
    return text.translate(_LINE_CONTROLS)
