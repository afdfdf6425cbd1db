"""Lists as Java takes them apart, where Kafka lets clients send them as text."""

from __future__ import annotations


def split(text: str, separator: str = ",") -> list[str]:
    """``String.split``: empty parts at the end do not count, but of an empty text, which is one part."""
    if not text:
        return [""]
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts
