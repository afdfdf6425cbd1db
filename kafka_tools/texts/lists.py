"""Splits lists like Java, where Kafka lets clients send them as text."""

from __future__ import annotations


def split(text: str, separator: str = ",") -> list[str]:
    """``String.split``: drops empty parts at the end. An empty text is one empty part."""
    if not text:
        return [""]
    parts = text.split(separator)
    while parts and not parts[-1]:
        parts.pop()
    return parts
