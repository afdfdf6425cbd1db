"""Bytes as Java's ``new String(bytes, UTF_8)`` shows them: what is not UTF-8 becomes U+FFFD.

Python and Java replace alike, but for encoded surrogates: Java gives one U+FFFD for the three bytes.
"""

from __future__ import annotations

import re

_SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]?")


def java_text(data: bytes) -> str:
    """``data`` as text; never fails."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return _SURROGATE.sub(b"\xef\xbf\xbd", data).decode(errors="replace")
