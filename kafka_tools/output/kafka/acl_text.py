"""The output of Kafka's AclCommand: resource patterns with their entries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby


def resource_text(resource_type: str, name: str, pattern_type: str) -> str:
    """A resource pattern, as its ``toString``."""
    return f"ResourcePattern(resourceType={resource_type}, name={name}, patternType={pattern_type})"


def entry_text(principal: str, host: str, operation: str, permission: str) -> str:
    """An entry, as the ``toString`` of AccessControlEntry."""
    return f"(principal={principal}, host={host}, operation={operation}, permissionType={permission})"


def adding(resource: str, entries: Sequence[str]) -> str:
    """The text before entries are added (AclCommand.addAcls)."""
    return f"Adding ACLs for resource `{resource}`: \n " + "\n".join(f"\t{entry}" for entry in entries) + "\n\n"


def exists(resource: str, entry: str) -> str:
    """The text for an entry that already exists (AclCommand.addAcls)."""
    return f"Acl (pattern={resource}, entry={entry}) already exists.\n"


def current(bindings: Sequence[tuple[str, ...]]) -> str:
    """Existing entries, sorted, by their resource: the resource's three words, then the four of the entry.

    As AclCommand.printResourceAcls.
    """
    texts = []
    for resource, group in groupby(bindings, lambda each: each[:3]):
        texts.append(f"Current ACLs for resource `{resource_text(*resource)}`:\n")
        texts += [*(f"\t{entry_text(*each[3:])}\n" for each in group), "\n"]
    return "".join(texts)


def of_principal(name: str) -> str:
    """The line above the entries of one principal."""
    return f"ACLs for principal `{name}`\n"
