"""Sizes and spans of time in words, for people."""

from __future__ import annotations


def bytes_text(size: float | None) -> str:
    """A size in the best unit, in powers of 1024."""
    if size is None:
        return "-"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if abs(size) < 1023.5:  # a size that rounds to 1024 has the next unit
            return f"{size:.0f} {unit}" if unit == "B" or abs(size) >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} PiB"


def span_text(seconds: float) -> str:
    """A span of time in its two largest units: ``45 s``, ``12 min 5 s``, ``3 h 20 min``, ``8 d 4 h``."""
    whole = round(seconds)
    parts: list[str] = []
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        count, whole = divmod(whole, length)
        if count or parts:
            parts.append(f"{count} {unit}" if count else "")
    return " ".join(part for part in parts[:2] if part) or "0 s"
