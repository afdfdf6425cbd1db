"""What Kafka's AclCommand prints: resource patterns with their entries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Protocol


class Binding(Protocol):
    """One entry with its resource pattern, in Kafka's words (``admin.calls.acls.AclBinding``)."""

    @property
    def resource_type(self) -> str: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def pattern_type(self) -> str: ...
    @property
    def principal(self) -> str: ...
    @property
    def host(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def permission(self) -> str: ...


def adding(resource: str, entries: Sequence[str]) -> str:
    """Before entries are added (AclCommand.addAcls)."""
    return f"Adding ACLs for resource `{resource}`: \n " + "\n".join(f"\t{entry}" for entry in entries) + "\n\n"


def exists(resource: str, entry: str) -> str:
    """In place of an entry that is there already (AclCommand.addAcls)."""
    return f"Acl (pattern={resource}, entry={entry}) already exists.\n"


def current(bindings: Sequence[Binding]) -> str:
    """Entries that are there, sorted, by their resource (AclCommand.printResourceAcls)."""
    texts = []
    for resource, group in groupby(bindings, _resource):
        texts += [f"Current ACLs for resource `{resource}`:\n", *[f"\t{_entry(each)}\n" for each in group], "\n"]
    return "".join(texts)


def of_principal(name: str) -> str:
    """The line above the entries of one principal."""
    return f"ACLs for principal `{name}`\n"


def _resource(binding: Binding) -> str:
    return (
        f"ResourcePattern(resourceType={binding.resource_type}, name={binding.resource_name}, "
        f"patternType={binding.pattern_type})"
    )


def _entry(binding: Binding) -> str:
    return (
        f"(principal={binding.principal}, host={binding.host}, operation={binding.operation}, "
        f"permissionType={binding.permission})"
    )
