"""The texts of kafka-consumer-groups are those that Kafka's own tool printed for the same groups."""

from __future__ import annotations

from kafka_tools.output.kafka import group_text as text
from kafka_tools.values import TopicPartition

CLI = "cli-202f1a5f-89b2-4c0b-acc9-7305a4af274d"
CLI2 = "cli2-be6f31fe-be36-4236-9a45-055fa895bdeb"


def offset(topic: str, partition: int, epoch: int | None, offset: int, end: int, member: str, client: str) -> dict:
    return {
        "group": "live",
        "topic": topic,
        "partition": partition,
        "leader_epoch": epoch,
        "current_offset": offset,
        "log_end_offset": end,
        "lag": end - offset,
        "consumer_id": member,
        "host": "/127.0.0.1",
        "client_id": client,
    }


ROWS = [
    offset("orders", 0, 0, 5, 5, CLI, "cli"),
    offset("pay", 0, None, 0, 0, CLI, "cli"),
    offset("orders", 2, 0, 6, 6, CLI2, "cli2"),
]


def member(
    group: str, id: str, client: str, assignment: dict, instance: str | None = None, epoch: int | None = None
) -> dict:
    return {
        "group": group,
        "consumer_id": id,
        "group_instance_id": instance,
        "host": "/127.0.0.1",
        "client_id": client,
        "assignment": assignment,
        "current_epoch": epoch,
        "target_epoch": epoch,
        "target_assignment": assignment if epoch is not None else {},
        "upgraded": None if epoch is None else True,
    }


CLASSIC = [
    member("live", CLI, "cli", {"orders": [0, 1], "pay": [0]}),
    member("live", CLI2, "cli2", {"orders": [2], "pay": [1]}),
]
MODERN = [member("kip848", "eNwfsyPNRpm5cWcrM13sXA", "console-consumer", {"orders": [0, 1, 2]}, "inst1", 2)]


def test_offsets() -> None:
    assert text.offsets(ROWS, verbose=False) == (
        "\nGROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
        "CONSUMER-ID                               HOST            CLIENT-ID"
        f"\nlive            orders          0          5               5               0               {CLI}  "
        "/127.0.0.1      cli"
        f"\nlive            pay             0          0               0               0               {CLI}  "
        "/127.0.0.1      cli"
        f"\nlive            orders          2          6               6               0               {CLI2} "
        "/127.0.0.1      cli2\n"
    )


def test_verbose_offsets_have_the_leader_epoch() -> None:
    lines = text.offsets(ROWS, verbose=True).splitlines()
    assert lines[1].startswith(
        "GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET"
    )
    assert lines[3].startswith("live            pay             0          -               0               0")


def test_a_group_without_offsets_prints_nothing() -> None:
    assert text.offsets([], verbose=False) == ""


def test_members() -> None:
    assert text.members(CLASSIC, verbose=False) == (
        "\nGROUP           CONSUMER-ID                               HOST            CLIENT-ID       #PARTITIONS     "
        f"\nlive            {CLI}  /127.0.0.1      cli             3               "
        f"\nlive            {CLI2} /127.0.0.1      cli2            2               \n"
    )
    assert text.members(MODERN, verbose=False) == (
        "\nGROUP           CONSUMER-ID            GROUP-INSTANCE-ID HOST            CLIENT-ID        #PARTITIONS     "
        "\nkip848          eNwfsyPNRpm5cWcrM13sXA inst1             /127.0.0.1      console-consumer 3               \n"
    )


def test_verbose_members() -> None:
    assert text.members(CLASSIC, verbose=True) == (
        "\nGROUP           CONSUMER-ID                               HOST            CLIENT-ID       #PARTITIONS     "
        "CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   "
        f"\nlive            {CLI}  /127.0.0.1      cli             3               -               "
        "orders:0,1;pay:0     -               -                   "
        f"\nlive            {CLI2} /127.0.0.1      cli2            2               -               "
        "orders:2;pay:1       -               -                   \n"
    )
    assert text.members(MODERN, verbose=True) == (
        "\nGROUP           CONSUMER-ID            GROUP-INSTANCE-ID HOST            CLIENT-ID        #PARTITIONS     "
        "CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   "
        "\nkip848          eNwfsyPNRpm5cWcrM13sXA inst1             /127.0.0.1      console-consumer 3               "
        "2               orders:0,1,2         2               orders:0,1,2        \n"
    )


def test_members_of_a_group_without_any_are_a_heading() -> None:
    assert text.members([], verbose=False) == (
        "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"
    )


def test_states() -> None:
    row = {
        "group": "kip848",
        "assignor": "uniform",
        "state": "Stable",
        "coordinator": {"id": 1, "host": "localhost", "port": 29472},
        "group_epoch": 2,
        "target_assignment_epoch": 2,
        "members": 1,
    }
    assert text.states([row], verbose=False) == (
        "\nGROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS"
        "\nkip848          localhost:29472  (1)      uniform              Stable               1\n"
    )
    classic = row | {"assignor": None, "group_epoch": None, "target_assignment_epoch": None, "members": 0}
    assert text.states([classic], verbose=True) == (
        "\nGROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                GROUP-EPOCH     "
        "TARGET-ASSIGNMENT-EPOCH   #MEMBERS"
        "\nkip848          localhost:29472  (1)      -                    Stable               -               "
        "-                         0\n"
    )


def test_listings() -> None:
    groups = [
        {"group": "kip848", "type": "Consumer", "state": "Stable"},
        {"group": "live", "type": "Classic", "state": "Stable"},
    ]
    assert text.listing(groups, with_type=False, with_state=False) == "kip848\nlive\n"
    assert text.listing(groups, with_type=True, with_state=True) == (
        "GROUP                     TYPE                 STATE               \n"
        "kip848                    Consumer             Stable              \n"
        "live                      Classic              Stable              \n"
    )
    assert text.listing([], with_type=False, with_state=True) == "GROUP                     STATE               \n"


def test_reset_plans() -> None:
    plan = {"g1": {TopicPartition("orders", 0): 5, TopicPartition("orders", 1): 9}}
    assert text.reset_plan(plan) == (
        "\nGROUP           TOPIC           PARTITION  NEW-OFFSET"
        "\ng1              orders          0          5"
        "\ng1              orders          1          9\n"
    )
    assert text.reset_plan({"g1": {}}) == "\nGROUP           TOPIC           PARTITION  NEW-OFFSET\n"


def test_deletions() -> None:
    assert (
        text.deleted_groups(["a", "b"], False) == "Deletion of requested consumer groups ('a', 'b') was successful.\n"
    )
    assert text.deleted_groups(["a"], True) == "\nThese consumer groups were deleted successfully: 'a'\n"
    assert text.deleted_groups([], True) == ""
    rows = [{"topic": "orders", "partition": 0, "error": None}, {"topic": "nope", "partition": None, "error": "E"}]
    assert text.deleted_offsets("g1", rows) == (
        "Request succeeded for deleting offsets from group g1.\n"
        "\nTOPIC           PARTITION  STATUS         "
        "\norders          0          Successful     "
        "\nnope            -          Error: E       \n"
    )
