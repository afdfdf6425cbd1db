"""A field of a message as it is declared, and the ranges of versions that say where it exists."""

from __future__ import annotations

from typing import Any, NamedTuple

OPEN = 32767
"""The upper end of a range such as "3+"."""


class Versions(NamedTuple):
    """A closed range of versions; empty if ``low > high``."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str | None) -> Versions:
        """Read "0-2", "3+", "4" or "none" (as does None)."""
        if text is None or text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), OPEN)
        low, dash, high = text.partition("-")
        return cls(int(low), int(high if dash else low))

    def __contains__(self, version: object) -> bool:
        return isinstance(version, int) and self.low <= version <= self.high


NO_VERSIONS = Versions(0, -1)
AS_IT_IS = object()
"""The value of this field in an error response is not special."""


class Field:
    """One field of a struct: its kind, the versions that have it, and its value in other versions.

    ``kind`` is one of boolean, int8, int16, uint16, int32, uint32, int64, float64, uuid, string, bytes, records,
    struct, array; ``item`` is the struct class of a struct, or the Field of an array's items. ``tag`` is a tag number,
    used in the versions of ``tagged``. ``secret``: the value is never shown. ``config_value``: the value belongs to the
    config named in the struct's ``name``, and may be secret.

    In a response that only reports an error (``error_reply``), the value follows from the request, unless the
    response's definition says otherwise: ``on_error``: this value, or the default if the version has no null for it. An
    array has it only if the error is in a level above it. ``echoed``: in these versions the request's value, also in an
    array next to an error of the whole request. ``answers``: the lists of the request that an array responds to, if
    that is not the list with its name or the only list: "topics", "dirs.topics" for the topics of all ``dirs``,
    "deletions, upsertions" for both.
    """

    def __init__(
        self,
        kind: str,
        *,
        versions: str = "0+",
        nullable: str | None = None,
        default: Any = None,
        tag: int | None = None,
        tagged: str | None = None,
        ignorable: bool = False,
        map_key: bool = False,
        secret: bool = False,
        config_value: bool = False,
        on_error: Any = AS_IT_IS,
        echoed: str | None = None,
        answers: str | None = None,
        json: str | None = None,
        flexible: bool = True,
        item: Any = None,
    ) -> None:
        self.kind = kind
        self.name = ""
        self.versions = Versions.parse(versions)
        self.nullable = Versions.parse(nullable)
        self.default = default
        self.tag = tag
        self.tagged = Versions.parse(tagged if tagged is not None else (versions if tag is not None else None))
        self.ignorable = ignorable
        self.map_key = map_key
        self.secret = secret
        self.config_value = config_value
        self.on_error = on_error
        self.echoed = Versions.parse(echoed)
        self.answers = answers
        self.json_name = json or ""
        self.item = item
        self._flexible = flexible

    def is_compact(self, flexible: bool) -> bool:
        """Whether lengths are compact. The length of client_id in the request header never is."""
        return flexible and self._flexible

    @property
    def holds_structs(self) -> bool:
        """Whether this is an array of structs."""
        return self.kind == "array" and self.item.kind == "struct"

    def make_default(self) -> Any:
        """A new default value, because messages must not share lists and structs."""
        if self.kind == "array" and self.default == []:
            return []
        if self.kind == "struct" and self.default is not None:
            return self.item()
        return self.default

    def named(self, name: str) -> None:
        self.name = name
        if not self.json_name:
            head, *rest = name.split("_")
            self.json_name = head + "".join(part.capitalize() for part in rest)
