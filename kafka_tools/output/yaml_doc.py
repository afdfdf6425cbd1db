"""YAML documents on stdout: the same document as JSON, keys in the order of the rows."""

from __future__ import annotations

from typing import Any, TextIO


def write(document: dict[str, Any], stream: TextIO) -> None:
    """Write ``document`` as one YAML document."""
    import yaml  # 26 ms

    yaml.safe_dump(document, stream, sort_keys=False, allow_unicode=True, default_flow_style=False, width=10_000)
