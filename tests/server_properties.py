"""Kafka's server.properties, as tests of what reads them write it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_server_properties(folder: Path, settings: Mapping[str, str | None]) -> Path:
    """``folder``/server.properties of names with ``_`` for ``.``; a setting of None is left out."""
    lines = [f"{name.replace('_', '.')}={value}\n" for name, value in settings.items() if value is not None]
    path = folder / "server.properties"
    path.write_text("".join(lines))
    return path
