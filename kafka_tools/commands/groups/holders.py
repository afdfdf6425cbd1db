"""Members that prevent a change of their group, so that an operator knows which clients to stop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from kafka_tools.admin.outcomes import Outcomes
from kafka_tools.errors import BrokerError, KafkaToolsError
from kafka_tools.net.broker_errors import broker_error, has_code
from kafka_tools.output.rows import ItemError
from kafka_tools.protocol import error_codes

_MOST_NAMED = 20
"""Maximum number of members that an error names."""


class Holder(Protocol):
    """A member of a group of any kind."""

    @property
    def client_id(self) -> str: ...

    @property
    def host(self) -> str: ...


Describe = Callable[[Sequence[str]], Outcomes[str, Any]]
"""Group -> description: ``AdminClient.describe_groups`` and similar methods."""


def members_of(describe: Describe, group: str) -> Iterable[Holder]:
    """The members of a group; empty if it cannot be described."""
    found = describe([group])[group].value
    return () if found is None else found.members


def named(members: Iterable[Holder]) -> str:
    """`` Members: app at /10.0.0.9.``, to append to an error; empty without members."""
    found = sorted({f"{member.client_id} at {member.host}" for member in members})
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return f" Members: {', '.join(found[:_MOST_NAMED])}{more}." if found else ""


def blocked(group: str, text: str, members: Iterable[Holder]) -> ItemError:
    """The error of a group, followed by its members."""
    return ItemError(f"group '{group}'", None, text + named(members))


def is_blocked(error: KafkaToolsError) -> bool:
    """Whether a coordinator refused a change because the group has members."""
    if isinstance(error, BrokerError) and error.code.member_unknown:
        return True  # the coordinator takes a commit without a member for that of a former member
    return any(has_code(error, code) for code in (error_codes.NON_EMPTY_GROUP, error_codes.GROUP_SUBSCRIBED_TO_TOPIC))


@contextmanager
def naming_holders(describe: Describe, group: str) -> Iterator[None]:
    """Add the members to an error of the group that leaves the ``with`` block. Only then is the group described."""
    try:
        yield
    except BrokerError as error:
        if not is_blocked(error):
            raise
        text = f"{error.broker_message or error.code.text}.{named(members_of(describe, group))}"
        raise broker_error(error.code.code, text, hint=error.hint) from error
