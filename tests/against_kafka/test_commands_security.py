"""kafka-acls and kafka-delegation-tokens beside Kafka's own tools, on a cluster with an authorizer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.against_kafka.harness import RealKafka, Setup, eventually
from tests.against_kafka.jars import NEWEST
from tests.against_kafka.side_by_side import Ended, assert_equal, done, fresh, ours, same, theirs
from tests.against_kafka.test_admin_operations import KRAFT_AUTHORIZER, MASTER_KEY


@pytest.fixture(scope="module")
def guarded_43(real_kafka: Callable[[Setup], RealKafka]) -> RealKafka:
    """Kafka with an authorizer and delegation tokens; anonymous is a super user."""
    settings = (
        ("authorizer.class.name", KRAFT_AUTHORIZER),
        ("super.users", "User:ANONYMOUS;User:admin"),
        *MASTER_KEY,
    )
    return real_kafka(Setup(NEWEST, listeners=("PLAINTEXT", "SASL_PLAINTEXT"), properties=settings))


@pytest.mark.parametrize(
    "options",
    [
        ("--topic", "T", "--allow-principal", "User:alice", "--operation", "Read", "--operation", "DESCRIBE"),
        ("--topic", "T", "--deny-principal", "User:bob", "--deny-host", "10.0.0.1", "--allow-principal", "User:*"),
        ("--group", "T", "--resource-pattern-type", "prefixed", "--allow-principal", "User:a", "--allow-host", "::1"),
        ("--producer", "--topic", "T", "--transactional-id", "T", "--allow-principal", "User:p"),
        ("--consumer", "--topic", "T", "--group", "T", "--allow-principal", "User:c"),
        ("--producer", "--consumer", "--topic", "T", "--group", "T", "--allow-principal", "User:both"),
    ],
)
def test_entries_are_added_listed_and_removed_as_theirs_are(guarded_43: RealKafka, options: tuple[str, ...]) -> None:
    texts = [_added_and_listed(guarded_43, run, options) for run in (ours, theirs)]
    # Kafka's order is that of a hash table, and the first entry of a list is indented otherwise.
    for our, their in zip(*texts, strict=True):
        assert_equal(our.replace("\n \t", "\n\t"), their.replace("\n \t", "\n\t"), sort=True)


def _added_and_listed(kafka: RealKafka, run: Callable[..., Ended], options: tuple[str, ...]) -> list[str]:
    """What ``run`` prints when it adds entries, and when it lists them; they are removed again."""
    name = fresh("acl")
    given = [name if option == "T" else option for option in options]
    named = ("--list", "--topic", name, "--group", name, "--resource-pattern-type", "any")
    added = done(run(kafka, "acls", "--add", *given))
    eventually(lambda: require(done(ours(kafka, "acls", *named)) != ""))
    listed = done(run(kafka, "acls", *named))
    done(run(kafka, "acls", "--remove", "--force", *given))
    eventually(lambda: require(done(ours(kafka, "acls", *named)) == ""))
    return [added.replace(name, "T"), listed.replace(name, "T")]


def test_all_entries_and_those_of_a_principal_are_listed_as_theirs_are(guarded_43: RealKafka) -> None:
    topic = fresh("acl")
    for user in ("a", "b"):
        given = ("--topic", topic, "--allow-principal", f"User:{user}", "--operation", "Write")
        done(ours(guarded_43, "acls", "--add", *given))
    done(ours(guarded_43, "acls", "--add", "--cluster", "--allow-principal", "User:a", "--operation", "ClusterAction"))

    def listed() -> None:
        text = same(guarded_43, "acls", "--list", sort=True)
        assert "CLUSTER_ACTION" in text and topic in text

    eventually(listed)
    same(guarded_43, "acls", "--list", "--principal", "User:a", "--principal", "User:nobody", sort=True)
    same(guarded_43, "acls", "--list", "--topic", topic + "x", "--resource-pattern-type", "match", sort=True)
    refused = ours(guarded_43, "acls", "--remove", "--topic", topic, stdin="n\n")
    assert refused.returncode == 1 and "(y/n)" in refused.stderr
    done(ours(guarded_43, "acls", "--remove", "--topic", topic, "--cluster", stdin="y\ny\n"))
    eventually(lambda: require(done(ours(guarded_43, "acls", "--list")) == ""))


def test_entries_that_are_there_already_are_said_as_theirs_are(guarded_43: RealKafka) -> None:
    topic = fresh("acl")
    given = ("--topic", topic, "--allow-principal", "User:twice", "--operation", "Read", "--operation", "Write")
    done(ours(guarded_43, "acls", "--add", *given))
    eventually(lambda: require("READ" in done(ours(guarded_43, "acls", "--list", "--topic", topic))))
    text = same(guarded_43, "acls", "--add", *given, sort=True)
    assert text.count("already exists.") == 2
    refused = ours(guarded_43, "acls", "--remove", "--topic", topic, "--allow-principal", "User:twice")
    assert refused.returncode == 1 and "entries exist with --operation READ, WRITE" in refused.stderr
    done(ours(guarded_43, "acls", "--remove", "--force", "--topic", topic))


def test_a_principal_with_an_empty_name_is_added_and_removed(guarded_43: RealKafka) -> None:
    """Both tools add it; it is listed, and removed again."""
    given = ("--topic", fresh("acl"), "--allow-principal", "User:", "--operation", "Read")
    done(theirs(guarded_43, "acls", "--add", *given))
    eventually(lambda: require("(principal=User:, " in done(ours(guarded_43, "acls", "--list", *given[:2]))))
    done(ours(guarded_43, "acls", "--remove", "--force", *given))
    eventually(lambda: require(done(ours(guarded_43, "acls", "--list", *given[:2])) == ""))


@pytest.mark.req("DT-2", "DT-4", "DT-5")
def test_tokens_live_and_end(guarded_43: RealKafka, tmp_path: Path) -> None:
    config = tmp_path / "admin.properties"
    properties = guarded_43.client_properties("SASL_PLAINTEXT", "admin", "PLAIN")
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    address = ("--bootstrap-server", guarded_43.bootstrap("SASL_PLAINTEXT"), "--command-config", config)

    def tokens(*arguments: object, stdin: str | None = None) -> str:
        import subprocess
        import sys

        command = [sys.executable, "-m", "kafka_tools", "delegation-tokens", *map(str, (*address, *arguments))]
        return done(subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8", timeout=120))

    made = tokens("--create", "--max-life-time-period", "3600000", "--renewer-principal", "User:bob")
    match = re.search(r"tokenId : (\S+)\n\nTOKENID .*MAXDATE +\n\n\1 (\S+) +User:admin", made)
    assert match, made
    token_id, hmac = match.groups()

    def described() -> None:
        text = tokens("--describe", "--owner-principal", "User:admin")
        assert token_id in text and hmac not in text

    eventually(described)
    main = "org.apache.kafka.tools.DelegationTokenCommand"
    theirs_text = guarded_43.tool(
        main, *address, "--describe", "--owner-principal", "User:admin", release=NEWEST, connect=False
    ).stdout
    our_text = tokens("--describe", "--owner-principal", "User:admin")
    hidden = re.sub(r"\S{80,} ", "*** ", theirs_text)
    assert [line.split() for line in our_text.splitlines()] == [line.split() for line in hidden.splitlines()]
    renewed = tokens("--renew", "--renew-time-period", "60000", "--hmac", "-", stdin=hmac + "\n")
    assert "Completed renew operation. New expiry date : 20" in renewed and hmac not in renewed
    ended = tokens("--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    assert "Completed expire operation." in ended and hmac not in ended
    eventually(lambda: require(token_id not in tokens("--describe")))


def require(holds: bool) -> None:
    assert holds
