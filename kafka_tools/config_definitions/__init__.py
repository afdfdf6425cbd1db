"""Kafka's definitions of its configs: name, type, default, valid values. One table per kind, data only.

Each table is imported when a config of its kind is first asked for; ``values`` reads the notation of the third
column, which is ConfigDef's own, and ``broker_names`` the forms of a broker config's name.
"""

from __future__ import annotations

Row = tuple[str, str | None, str] | tuple[str, str | None, str, str]
"""(type, default as text or None, what is valid[, "internal"]); internal configs are never described."""
