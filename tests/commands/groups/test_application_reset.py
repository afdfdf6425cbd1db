"""kafka-streams-application-reset on the bundled broker, and against scripted nodes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kafka_tools import cli
from kafka_tools.admin.client import AdminClient, NewTopic
from kafka_tools.broker_embedded import EmbeddedBroker
from kafka_tools.clients.consumer import Consumer
from kafka_tools.clients.producer import Producer
from kafka_tools.commands import running
from kafka_tools.commands.groups.internal_topics import is_internal
from kafka_tools.net.config import ClientConfig
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafka_tools.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_tools.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_tools.protocol.messages.leave_group import LeaveGroupRequest
from kafka_tools.protocol.messages.offset_commit import OffsetCommitRequest
from kafka_tools.protocol.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafka_tools.values import TopicPartition
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands.groups.scripted import check_wrong_command_lines, runner, sent
from tests.live_members import LASTING, poll_until_assigned

Ended = tuple[int, str, str]
Run = Callable[..., Ended]
COMMAND = "streams-application-reset"
APP, OTHER = "app", "app-of-others"
IN_0, IN_1, MID_0 = TopicPartition("orders", 0), TopicPartition("orders", 1), TopicPartition("between", 0)
INTERNAL = ["app-count-changelog", "app-x-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"]
FOREIGN = ["app-report", "apple-changelog", "app-of-others"]


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with EmbeddedBroker(config={"group.initial.rebalance.delay.ms": "0"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def admin(servers: str) -> Iterator[AdminClient]:
    """The application has read two records of ten of orders-0 and nothing of orders-1, which is empty."""
    with AdminClient(ClientConfig.load(servers)) as admin:
        there = {topic.name for topic in admin.list_topics()}
        topics = {"orders": 2, "between": 1} | dict.fromkeys((*INTERNAL, *FOREIGN), 1)
        admin.create_topics(
            [NewTopic(name, count, 1) for name, count in topics.items() if name not in there]
        ).raise_any()
        if "orders" not in there:
            with Producer(ClientConfig.load(servers)) as producer:
                for _ in range(10):
                    producer.send("orders", b"value", partition=0)
                    producer.send("between", b"value", partition=0)
                producer.flush()
        admin.alter_group_offsets(APP, {IN_0: 2, MID_0: 1}).raise_any()
        yield admin


@pytest.fixture
def run(servers: str, admin: AdminClient, capsys: pytest.CaptureFixture[str]) -> Run:
    def ended(*words: str, application: str = APP) -> Ended:
        capsys.readouterr()
        arguments = ["--application-id", application, *words, "-b", servers]
        return running.run(cli.load(COMMAND), arguments, f"kafka-{COMMAND}"), *capsys.readouterr()

    return ended


def offsets(admin: AdminClient) -> dict[TopicPartition, int]:
    return {key: each.offset for key, each in admin.list_group_offsets(APP).succeeded().items() if each is not None}


def names(admin: AdminClient) -> list[str]:
    return [topic.name for topic in admin.list_topics() if topic.name.startswith("app")]


def test_offsets_go_back_and_internal_topics_go_away(run: Run, admin: AdminClient) -> None:
    text = (
        "WARN: `--intermediate-topics` is deprecated and will be removed in a future release\n"
        "Reset-offsets for input topics [orders]\n"
        "Seek-to-end for intermediate topics [between]\n"
        "Following input topics offsets will be reset to (for consumer group app)\n"
        "Topic: orders Partition: 0 Offset: 0\n"
        "Topic: orders Partition: 1 Offset: 0\n"
        "Following intermediate topics offsets will be reset to end (for consumer group app)\n"
        "Topic: between\n"
        "Done.\n"
        f"Deleting inferred internal topics [{', '.join(INTERNAL)}]\n"
        "Done.\n"
    )
    words = ("--input-topics", "orders", "--intermediate-topics", "between")
    planned = run(*words, "--dry-run")
    head = "----Dry run displays the actions which will be performed when running Streams Reset Tool----\n"
    assert planned == (0, head + text, "")
    assert (offsets(admin), set(INTERNAL) <= set(names(admin))) == ({IN_0: 2, MID_0: 1}, True)
    assert run(*words, "--execute") == (0, text, "")
    assert offsets(admin) == {IN_0: 0, IN_1: 0, MID_0: 10}
    assert sorted(names(admin)) == sorted(FOREIGN)


@pytest.mark.parametrize(
    "mode, said, expected",
    [
        (("--to-latest",), "", (10, 0)),
        (("--to-offset", "4"), "New offset (4) is higher than latest offset. Value will be set to 0\n", (4, 0)),
        # Kafka warns of the log's first offset too.
        (("--to-offset", "0"), "New offset (0) is lower than earliest offset. Value will be set to 0\n", (0, 0)),
        (("--shift-by", "3"), "New offset (3) is higher than latest offset. Value will be set to 0\n", (5, 0)),
        (("--shift-by", "-9"), "New offset (-7) is lower than earliest offset. Value will be set to 0\n", (0, 0)),
        (("--by-duration", "PT1H"), "Partition 1 from topic orders is empty, without a committed record. ", (0, 0)),
        (("--to-datetime", "2100-01-01T00:00:00.000"), "Partition 0 from topic orders is empty, ", (10, 0)),
    ],
)
def test_where_input_topics_are_put(run: Run, mode: tuple[str, ...], said: str, expected: tuple[int, int]) -> None:
    status, out, _ = run("--input-topics", "orders", *mode, "--dry-run")
    assert (status, said in out) == (0, True)
    lines = [line.split() for line in out.splitlines() if line.startswith("Topic: orders Partition")]
    assert tuple(int(line[5]) for line in lines) == expected


def test_offsets_of_a_file_are_those_of_all_partitions_of_input_topics(run: Run, tmp_path: Path) -> None:
    plan = tmp_path / "plan.csv"
    words = ("--input-topics", "orders", "--from-file", str(plan), "--dry-run")
    plan.write_text("orders,0,7\norders,1,0\n")
    assert "Topic: orders Partition: 0 Offset: 7\n" in run(*words)[1]
    for content, text in (
        ("", "Error parsing reset plan CSV file. It is empty"),
        ("orders,0,7\n", "no offset for partition orders-1 of an input topic"),
        ("orders,0,7\norders,1,0\nbetween,0,1\n", "between-0 is not a partition of an input topic"),
        ("somebody,orders,0,7\n", "a row is for group 'somebody', not for 'app'"),
        ("orders;0;7\n", "plan.csv, line 1: expected topic,partition,offset"),
    ):
        plan.write_text(content)
        status, _, err = run(*words)
        assert (status, text in err) == (1, True), err


def test_topics_that_do_not_exist_are_skipped_and_fail_the_command(run: Run) -> None:
    status, out, err = run("--input-topics", "orders,ordres", "--intermediate-topics", "betwen", "--dry-run")
    assert status == 1
    assert (
        "Following input topics are not found, skipping them\nTopic: ordres\n"
        "Following intermediate topics are not found, skipping them\nTopic:betwen\n"
    ) in out
    assert "cannot reset topic ordres: this input topic does not exist" in err
    assert "Topic: orders Partition: 0 Offset: 0" in out


def test_internal_topics_stay_when_an_input_topic_does_not_exist(run: Run, admin: AdminClient) -> None:
    status, out, err = run("--input-topics", "ordres")
    assert (status, "Deleting" in out) == (1, False)
    assert "internal topics were not deleted: input topic ordres does not exist\n" in err
    assert set(INTERNAL) <= {topic.name for topic in admin.list_topics()}
    _, _, err = run("--input-topics", "ordres", "--dry-run")
    assert "internal topics would not be deleted: input topic ordres does not exist\n" in err


def test_topics_of_an_application_whose_id_begins_alike_stay(run: Run, admin: AdminClient) -> None:
    other = "app-2-count-changelog"
    admin.create_topics([NewTopic(other, 1, 1)]).raise_any()
    try:
        status, out, err = run("--input-topics", "orders", "--dry-run")
        assert (status, err, f"[{other}, " in out) == (0, "", True), "nothing says that it is another's"
        admin.alter_group_offsets("app-2", {IN_0: 0}).raise_any()
        status, out, err = run("--input-topics", "orders", "--dry-run")
        assert (status, other in out) == (0, False)
        assert f"they seem to belong to the application of group 'app-2': {other} (name them " in err
        status, out, _ = run("--internal-topics", other, "--dry-run")
        assert (status, other in out) == (0, True)
    finally:
        admin.delete_groups(["app-2"])
        admin.delete_topics([other])


def test_only_named_internal_topics_are_deleted_and_no_others_may_be_named(run: Run, admin: AdminClient) -> None:
    for stranger in ("app-report", "orders", "no-such-topic"):
        status, out, err = run("--input-topics", "orders", "--internal-topics", f"{INTERNAL[0]},{stranger}")
        assert (status, out, offsets(admin)[IN_0]) == (1, "", 2)
        assert "Invalid topic specified in the --internal-topics option." in err
        assert f"Not internal: {stranger}" in err
    status, out, _ = run("--internal-topics", INTERNAL[0])
    assert (status, out) == (
        0,
        "No input or intermediate topics specified. Skipping seek.\n"
        f"Deleting specified internal topics [{INTERNAL[0]}]\nDone.\n",
    )
    assert sorted(names(admin)) == sorted([*FOREIGN, INTERNAL[1]])


def test_the_plan_as_a_document(run: Run) -> None:
    status, out, _ = run("--input-topics", "orders", "--to-offset", "5", "--dry-run", "-o", "json")
    document = json.loads(out)
    assert (status, document["schema"]) == (0, "kafka-tools/application-reset/v1")
    first, last = document["data"][0], document["data"][-1]
    assert (first["topic"], first["old_offset"], first["new_offset"], first["skipped"]) == ("orders", 2, 5, 3)
    assert (last["action"], last["topic"], last["partition"], last["result"]) == (
        "delete",
        INTERNAL[1],
        None,
        "planned",
    )


def test_a_group_with_members_is_refused_unless_they_are_forced_out(run: Run, servers: str, admin: AdminClient) -> None:
    settings = {"group.id": "app-live", "client.id": "billing", **LASTING}
    with Consumer(ClientConfig.load(servers, properties=settings)) as consumer:
        consumer.subscribe(["orders"])
        poll_until_assigned(consumer)
        status, out, err = run("--input-topics", "orders", application="app-live")
        assert (status, out) == (1, "")
        assert "Consumer group 'app-live' is still active. Members: billing at /127.0.0.1. Make sure to stop all" in err
        status, out, err = run("--input-topics", "orders", "--force", "--dry-run", application="app-live")
        assert (status, out.splitlines()[0]) == (0, "Force deleting all active members in the group: app-live")
        assert "the dry run removes no members" in err
        assert len(admin.describe_groups(["app-live"])["app-live"].get().members) == 1
        status, out, _ = run("--input-topics", "orders", "--force", application="app-live")
        assert (status, out.splitlines()[0]) == (0, "Force deleting all active members in the group: app-live")


def test_members_stay_in_their_group_where_the_command_line_or_its_file_is_wrong(
    run: Run, servers: str, admin: AdminClient, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.csv"
    plan.write_text("orders,0,7\n")
    settings = {"group.id": "app-live", "client.id": "billing", **LASTING}
    with Consumer(ClientConfig.load(servers, properties=settings)) as consumer:
        consumer.subscribe(["orders"])
        poll_until_assigned(consumer)
        for words, text in (
            (("--internal-topics", "orders"), "Not internal: orders"),
            (("--from-file", str(plan)), "no offset for partition orders-1 of an input topic"),
        ):
            status, out, err = run("--input-topics", "orders", "--force", *words, application="app-live")
            assert (status, out, text in err) == (1, "", True), err
            assert len(admin.describe_groups(["app-live"])["app-live"].get().members) == 1


def test_members_of_the_streams_protocol_are_seen(capsys: pytest.CaptureFixture[str]) -> None:
    def streams(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, ConsumerGroupDescribeRequest | DescribeGroupsRequest):
            return error_reply(request, version, error_codes.GROUP_ID_NOT_FOUND)
        if isinstance(request, StreamsGroupDescribeRequest):
            answer = VirtualCluster().truth(request, version)
            for group in answer.groups:
                group.members = [type(group).Member(member_id="m", client_id="app", client_host="/10.0.0.9")]
            return answer
        return None

    (status, out, err), cluster = runner(COMMAND, streams, capsys)("--application-id app --force")
    assert (status, out) == (1, "")
    assert "Streams group 'app' is still active. Members: app at /10.0.0.9. Stop all" in err
    assert sent(cluster, DeleteTopicsRequest) == sent(cluster, LeaveGroupRequest) == []


def test_internal_topics_stay_while_offsets_cannot_be_committed(capsys: pytest.CaptureFixture[str]) -> None:
    """Somebody joins between the look at the group and the commit."""

    def joined(request: Any, version: int, node: Any) -> Any:
        if isinstance(request, OffsetCommitRequest):
            return error_reply(request, version, error_codes.UNKNOWN_MEMBER_ID)
        if isinstance(request, ConsumerGroupDescribeRequest) and sent(cluster(), OffsetCommitRequest):
            answer = VirtualCluster().truth(request, version)
            for group in answer.groups:
                group.members = [type(group).Member(member_id="m", client_id="app", client_host="/10.0.0.9")]
            return answer
        return None

    seen: list[Any] = []

    class Seen:
        log = seen

    def cluster() -> Any:
        return Seen

    def told(request: Any, version: int, node: Any) -> Any:
        seen.append((0, 0, request))
        return joined(request, version, node)

    (status, out, err), played = runner(COMMAND, told, capsys)("--application-id app --input-topics t")
    assert (status, "Done." in out) == (1, False)
    assert "cannot reset t-0 of group 'app': UNKNOWN_MEMBER_ID" in err
    assert "Members: app at /10.0.0.9." in err
    assert "internal topics were not deleted" in err
    assert sent(played, DeleteTopicsRequest) == []


def test_names_of_internal_topics() -> None:
    for name in (
        "app-s-changelog", "app-s-repartition", "app-s-subscription-registration-topic",
        "app-s-subscription-response-topic", "app--KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-7-topic",
    ):  # fmt: skip
        assert is_internal(name, "app")
    for name in (
        "app", "app-", "app-s-changelogs", "apps-changelog", "app-x-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE--topic",
        "app-x-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-٣-topic", "other-app-changelog",
    ):  # fmt: skip
        assert not is_internal(name, "app")


def test_command_lines_that_are_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    app = "--application-id app"
    check_wrong_command_lines(
        runner(COMMAND, lambda *_: None, capsys),
        {
            "": "Missing required option(s) [application-id]",
            f"{app} --to-latest --to-offset 3": 'Option "[to-latest]" can\'t be used with option "[to-offset]"',
            f"{app} --dry-run --execute": "--dry-run and --execute cannot be combined.",
            f"{app} --input-topics a,,b": "a list of topics contains an empty name",
            f"{app} --to-current": "No such option",
        },
    )
