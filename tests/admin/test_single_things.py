"""A call that takes several things refuses a single one: the string "orders" would be the topics o, r, d, e and s."""

from __future__ import annotations

import inspect
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from kafka_tools.admin import AdminClient
from kafka_tools.admin.calls.acls import AclFilter
from kafka_tools.clients import Consumer
from kafka_tools.errors import InputError
from kafka_tools.values import TopicPartition, check_keys, several

ROOT = Path(__file__).resolve().parents[2]
TYPED_CALLS = Path(__file__).with_name("typed_calls.py")
SINGLE = ["orders", b"orders", TopicPartition("orders", 0), AclFilter(), 5]
OTHERS: dict[str, Any] = {"str": "x", "int": 1, "uuid.UUID": uuid.UUID(int=1)}
"""What the other parameters get, by annotation."""


def taking_several() -> list[tuple[type, str, str]]:
    """(class, method, parameter) of every public parameter that is a collection or a mapping."""
    return [
        (kind, name, parameter.name)
        for kind in (AdminClient, Consumer)
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name != "run"
        for parameter in inspect.signature(method).parameters.values()
        if any(word in str(parameter.annotation) for word in ("Many[", "Mapping[", "Iterable[", "Sequence["))
    ]


CASES = taking_several()


def test_there_are_such_parameters_everywhere() -> None:
    names = {f"{kind.__name__}.{name}" for kind, name, _ in CASES}
    assert len(names) > 50
    assert {"RaisingAdminClient.delete_topics", "RaisingAdminClient.fence_producers", "Consumer.committed"} <= names


@pytest.mark.parametrize("single", SINGLE, ids=[type(each).__name__ for each in SINGLE])
@pytest.mark.parametrize(("kind", "name", "parameter"), CASES, ids=[f"{name}-{each}" for _, name, each in CASES])
def test_a_single_thing_is_refused_before_anything_is_sent(
    kind: type, name: str, parameter: str, single: object
) -> None:
    with kind({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}) as client:
        if name in ("pause", "resume"):
            client.assign([TopicPartition("t", 0)])
        given = {
            each.name: OTHERS[str(each.annotation).removesuffix(" | None")]
            for each in inspect.signature(getattr(client, name)).parameters.values()
            if each.default is inspect.Parameter.empty and str(each.annotation).removesuffix(" | None") in OTHERS
        }
        for _, same, other in CASES:
            if same == name and other not in given:
                given[other] = {} if "Mapping" in str(inspect.signature(getattr(kind, name))) else ()
        with pytest.raises(InputError, match=rf"^invalid {parameter}: expected a (list|dict)") as raised:
            getattr(client, name)(**{**given, parameter: single})
        assert raised.value.hint in (None, "pass ['orders']")


def test_the_message_says_what_to_pass() -> None:
    with AdminClient("127.0.0.1:1") as admin, pytest.raises(InputError) as raised:
        admin.delete_topics("orders")  # type: ignore[arg-type]
    assert str(raised.value) == "invalid topics: expected a list of str or UUID, not the string 'orders'"
    assert raised.value.hint == "pass ['orders']"


@pytest.mark.parametrize("given", [["t"], ("t",), {"t"}, {"t": 1}, {"t": 1}.keys(), iter(["t"]), frozenset(["t"])])
def test_any_collection_is_taken(given: Any) -> None:
    with Consumer({"bootstrap.servers": "127.0.0.1:1", "group.id": "g"}) as consumer:
        consumer.subscribe(given)
        assert consumer.subscription() in ((), ("t",))


def test_numbers_of_numpy_are_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    numbers = several("broker_ids", numpy.array([1, 2]), "int")
    assert numbers == [1, 2] and {type(each) for each in numbers} == {int}
    check_keys("wanted", {TopicPartition("t", 0): numpy.array([1])}, "TopicPartition", values="int")
    for wrong in (numpy.array([1.5]), numpy.array(["1"])):
        with pytest.raises(InputError, match=r"^invalid broker_ids: expected int inside"):
            several("broker_ids", wrong, "int")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda admin: admin.create_topics(["orders"]), "invalid topics: expected NewTopic inside, not the string"),
        (lambda admin: admin.delete_records({("t", 0): 1}), "invalid offsets: expected TopicPartition inside, not a"),
        (
            lambda admin: admin.alter_partition_reassignments({TopicPartition("t", 0): "123"}),
            r"invalid wanted\[t-0\]: expected a list of int, not the string '123'",
        ),
        (
            lambda admin: admin.list_groups_offsets({"g": TopicPartition("t", 0)}),
            r"invalid wanted\[g\]: expected a list of TopicPartition, not a value of type TopicPartition",
        ),
    ],
)
def test_things_of_another_kind_are_refused(call: Any, message: str) -> None:
    with AdminClient("127.0.0.1:1") as admin, pytest.raises(InputError, match=message):
        call(admin)


def test_type_checkers_refuse_a_string_where_several_are_taken() -> None:
    """Each call of the file that is wrong carries an ``ignore``, which mypy reports where it is not needed."""
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(TYPED_CALLS)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, check=False)
    assert ended.returncode == 0, ended.stdout
