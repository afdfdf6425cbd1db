"""Removes blanks from texts of clients and operators in the same way as Java."""

from __future__ import annotations

_TRIMMED = "".join(map(chr, range(0x21)))


def trim(text: str) -> str:
    """``String.trim``: removes characters up to U+0020 at both ends.

    Python's ``strip`` removes other blanks too, for example U+00A0. A name with such a blank would become another name.
    """
    return text.strip(_TRIMMED)
