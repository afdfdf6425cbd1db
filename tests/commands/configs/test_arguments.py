"""kafka-configs: entities and changes, as the command line gives them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_tools.commands.configs.changes import (
    USER_QUOTAS,
    parse_added,
    parse_added_file,
    parse_deleted,
    parse_quota,
    parse_scram,
    parse_settings,
)
from kafka_tools.commands.configs.entities import SHORT, SHORT_DEFAULTS, Entity, Target, names_in_order, targets
from kafka_tools.commands.configs.names import unknown_names
from kafka_tools.errors import UsageError
from kafka_tools.scram_math import MECHANISMS
from kafka_tools.texts.near_names import did_you_mean


@pytest.mark.req("CFG-11")
@pytest.mark.parametrize(
    "text, expected",
    [
        ("k1=v1,k2=[v1,v2,v2],k3=v3", {"k1": "v1", "k2": "v1,v2,v2", "k3": "v3"}),
        ("a = b , c=d", {"a": "b", "c": "d"}),
        ("ssl.endpoint.identification.algorithm=", {"ssl.endpoint.identification.algorithm": ""}),
        ("a=[]", {"a": ""}),
        ("a=x=y=z", {"a": "x=y=z"}),
        ("SCRAM-SHA-256=[iterations=8192,password=p=q]", {"SCRAM-SHA-256": "iterations=8192,password=p=q"}),
        ("a=x[1]y", {"a": "x[1]y"}),
        ("a=[[x],y]", {"a": "[x],y"}),
    ],
)
def test_added_configs_are_split_at_commas_outside_brackets_and_at_the_first_equals(text, expected) -> None:
    assert parse_added(text) == expected


@pytest.mark.parametrize("text", ["a", "a=1,", "=1", "a=1,,b=2", "a=[1", "a=1]", "a b=1", "a=1,a=2", "kéy=1"])
def test_other_texts_are_refused(text) -> None:
    with pytest.raises(UsageError):
        parse_added(text)


def test_a_refused_text_does_not_show_the_password() -> None:
    for text in ("SCRAM-SHA-256=[password=hunter2", "x,SCRAM-SHA-256=[password=hunter2]", "password hunter2"):
        with pytest.raises(UsageError) as caught:
            parse_added(text)
        assert "hunter2" not in f"{caught.value} {caught.value.hint}"


@given(st.dictionaries(st.from_regex(r"[a-z.]{1,8}", fullmatch=True), st.text("ab,=. ", max_size=12), min_size=1))
def test_any_value_survives_in_brackets(configs) -> None:
    text = ",".join(f"{key}=[{value}]" for key, value in configs.items())
    assert parse_added(text) == {key: value.strip() for key, value in configs.items()}


def test_a_file_of_configs_is_java_properties() -> None:
    assert parse_added_file(b"retention.ms=7\n# c\nflush.ms : 9\nlist=a,b=[c]\n", "f") == {
        "retention.ms": "7",
        "flush.ms": "9",
        "list": "a,b=[c]",
    }


@pytest.mark.req("CFG-12")
def test_deleted_configs_are_lists_of_keys() -> None:
    assert parse_deleted(["a, b", "c", "a"]) == ["a", "b", "c"]
    with pytest.raises(UsageError):
        parse_deleted(["a,"])


@pytest.mark.req("SC-3", "SC-10")
def test_scram_credentials_have_optional_iterations() -> None:
    assert parse_scram("SCRAM-SHA-256", "iterations=8192,password=alice-secret")[1:] == (8192, "alice-secret")
    assert parse_scram("SCRAM-SHA-512", "password=a,b=c")[1:] == (4096, "a,b=c")
    assert parse_scram("SCRAM-SHA-512", "iterations=-1,password=x")[1:] == (4096, "x")
    with pytest.raises(UsageError, match=r"^Iterations 4095 is less than the minimum 4096 required for SCRAM-SHA-256$"):
        parse_scram("SCRAM-SHA-256", "iterations=4095,password=x")


@pytest.mark.req("SC-13")
@pytest.mark.parametrize(
    "value", ["hunter2", "iterations=,password=hunter2", "password=", "iterations=x,password=hunter2"]
)
def test_a_wrong_credential_is_refused_without_its_password(value) -> None:
    with pytest.raises(UsageError) as caught:
        parse_scram("SCRAM-SHA-256", value)
    assert "hunter2" not in str(caught.value)
    assert "hunter2" not in repr(parse_scram("SCRAM-SHA-256", "password=hunter2"))


def test_the_iterations_of_a_message_are_those_that_were_given() -> None:
    with pytest.raises(UsageError, match="invalid number of iterations of SCRAM-SHA-256: 14 digits"):
        parse_scram("SCRAM-SHA-256", "iterations=99999999999999,password=x")


@pytest.mark.parametrize("value", ["nan", "-NaN", "inf", "-Infinity", "1e400", ""])
def test_a_quota_is_finite(value: str) -> None:
    with pytest.raises(UsageError, match="Cannot parse quota configuration value for producer_byte_rate"):
        parse_quota("producer_byte_rate", value)


def test_a_quota_is_a_number() -> None:
    assert parse_quota("producer_byte_rate", "1e3") == 1000.0
    with pytest.raises(UsageError, match="Cannot parse quota configuration value for producer_byte_rate: fast"):
        parse_quota("producer_byte_rate", "fast")


def named(*arguments: str, alter: bool = False, **given: Any) -> list[Target]:
    options: dict[str, Any] = {**dict.fromkeys(SHORT, ()), **dict.fromkeys(SHORT_DEFAULTS, False), "entity_type": ()}
    return targets(options | given, arguments, alter)


@pytest.mark.req("CFG-9", "CFG-45")
def test_types_and_names_are_paired_in_the_order_of_the_command_line() -> None:
    arguments = ("--entity-type", "users", "--entity-default", "--entity-type", "clients", "--entity-name=app")
    assert named(*arguments, entity_type=("users", "clients")) == [(Entity("users", ""), Entity("clients", "app"))]
    assert names_in_order(["--entity-name", "a", "--entity-default", "--entity-name=b"]) == ["a", "", "b"]


def test_short_forms_name_the_same_entities() -> None:
    assert named(topic=("t",)) == [(Entity("topics", "t"),)]
    assert named(user=("alice",), client=("app",)) == [(Entity("clients", "app"), Entity("users", "alice"))]
    assert named(user=("alice",), client_defaults=True) == [(Entity("users", "alice"), Entity("clients", ""))]


def test_names_repeat_and_those_of_users_and_clients_make_pairs() -> None:
    both = [(Entity("topics", "a"),), (Entity("topics", "b"),)]
    assert named(topic=("a", "b", "a")) == both
    assert named("--entity-name", "a", "--entity-name", "b", entity_type=("topics",)) == both
    assert named("--entity-name", "a", "--entity-name", "b", entity_type=("topics", "topics")) == both
    assert named(user=("u", "v"), user_defaults=True) == [(Entity("users", name),) for name in ("u", "v", "")]
    assert named(user=("u", "v"), client=("c", "d")) == [
        (Entity("clients", client), Entity("users", user)) for client in ("c", "d") for user in ("u", "v")
    ]


@pytest.mark.req("CFG-23", "CFG-44")
def test_describing_needs_no_name() -> None:
    assert named(entity_type=("topics",)) == [(Entity("topics", None),)]


@pytest.mark.parametrize(
    "arguments, given",
    [
        ((), {}),
        ((), {"entity_type": ("users", "users")}),
        ((), {"entity_type": ("users", "topics")}),
        (("--entity-name", "x"), {"topic": ("t",)}),
        ((), {"topic": ("t",), "user": ("u",)}),
        ((), {"entity_type": ("topics",), "alter": True}),
        (("--entity-name", "u"), {"entity_type": ("users", "clients"), "alter": True}),
        (("--entity-default",), {"entity_type": ("topics",)}),
        (("--entity-name", "a", "--entity-name", "b", "--entity-name", "c"), {"entity_type": ("users", "clients")}),
        (("--entity-name", "one"), {"entity_type": ("brokers",)}),
        ((), {"entity_type": ("broker-loggers",)}),
    ],
)
def test_entities_that_do_not_fit_are_usage_errors(arguments, given) -> None:
    with pytest.raises(UsageError):
        named(*arguments, **given)


def settings(text: str, operation: str = "set") -> list[tuple[str, str, str | None]]:
    return [(change.operation, change.name, change.value) for change in parse_settings(text, operation=operation)]


def test_a_sign_before_the_equals_appends_to_a_list_or_takes_from_it() -> None:
    assert settings("cleanup.policy+=compact,retention.ms=5,x-=[a,b]") == [
        ("append", "cleanup.policy", "compact"),
        ("set", "retention.ms", "5"),
        ("subtract", "x", "a,b"),
    ]
    assert settings("k+=a,b, c ,l=1") == [("append", "k", "a,b,c"), ("set", "l", "1")]
    assert settings("k=a,b,l=c", "subtract") == [("subtract", "k", "a,b"), ("subtract", "l", "c")]
    assert settings("k=a+=b") == [("set", "k", "a+=b")]
    for wrong in ("k+=", "k+=a,k=b", "+=a", "k=a,b"):
        with pytest.raises(UsageError):
            settings(wrong)


@pytest.mark.req("CFG-19")
def test_the_nearest_known_names_are_offered() -> None:
    quotas = (*USER_QUOTAS, *MECHANISMS)
    assert did_you_mean(["producer.byte.rate"], quotas) == "did you mean producer_byte_rate?"
    assert did_you_mean(["scram-sha-265"], quotas) == "did you mean SCRAM-SHA-256 or SCRAM-SHA-512?"
    assert did_you_mean(["something.else"], quotas) is None
    unknown, known = unknown_names("topics", ["flush.massages", "retention.ms"])
    assert unknown == ["flush.massages"]
    assert did_you_mean(unknown, known) == "did you mean flush.messages?"
    assert unknown_names("brokers", ["listener.name.internal.ssl.keystore.location", "log.cleaner.thraeds"])[0] == [
        "log.cleaner.thraeds"
    ]
    assert unknown_names("users", ["anything"]) == ([], [])


@given(
    st.dictionaries(
        st.from_regex(r"[a-z._-]{0,6}[a-z]", fullmatch=True),
        st.tuples(st.sampled_from(["set", "append", "subtract"]), st.text("ab,=+-. ", max_size=10)),
        min_size=1,
    )
)
def test_any_change_survives_in_brackets(changes) -> None:
    changes = {key: change for key, change in changes.items() if change[0] == "set" or change[1].strip()}
    signs = {"set": "", "append": "+", "subtract": "-"}
    text = ",".join(f"{key}{signs[operation]}=[{value}]" for key, (operation, value) in changes.items())
    if changes:
        assert settings(text) == [(operation, key, value.strip()) for key, (operation, value) in changes.items()]
