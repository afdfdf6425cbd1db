"""Kafka's definitions of its configs: name, type, default, valid values. One table per kind, data only.

Each table is imported when its kind is first needed. ``values`` reads the notation of the third column, which is
ConfigDef's own. ``broker_names`` handles the forms of a broker config's name.
"""

from __future__ import annotations

Row = tuple[str, str | None, str] | tuple[str, str | None, str, str]
"""(type, default as text or None, valid values[, "internal"]); internal configs are never described."""
