"""Commands against brokers that answer what no broker should: generated answers, by a seed, in virtual time.

Each try takes a command line and spoils some of the answers that it gets: fields with values that make no sense
(negative sizes, no leader, brokers that appear twice, null, names with control characters), lists without items or with
one item again and again, answers made up of chance alone, and bytes: cut, longer, of another request, with wrong bits.
Whatever it is, a command ends within its time limit, with one of its exit statuses and a line that says why.

``python -m tests.commands.hostile_brokers --tries 20000 --seed 1`` prints what does not; a seeded part runs as a test.
"""

from __future__ import annotations

import copy
import random
import sys
import uuid
from collections.abc import Iterator
from typing import Any

from kafka_tools.errors import EncodeError
from kafka_tools.protocol.codec import encode
from kafka_tools.protocol.fields import Field
from kafka_tools.protocol.schema import Struct
from tests.admin.virtual_cluster import VirtualCluster
from tests.commands import fault_table
from tests.commands.hostile_tries import FILES, Ended, ended, main
from tests.net.virtual import Spoiled

FURTHER = (
    "kafka-consumer-groups --list --state --type",
    "kafka-consumer-groups --describe --all-groups -o json",
    "kafka-consumer-groups --describe --group g --members --verbose",
    "kafka-consumer-groups --describe --group g --state",
    "kafka-consumer-groups --describe --topic t",
    "kafka-consumer-groups --reset-offsets --group g --all-topics --shift-by -2 --export",
    "kafka-consumer-groups --reset-offsets --group g --topic t --by-duration PT1H --execute",
    "kafka-consumer-groups --reset-offsets --group new --from-group g --execute",
    "kafka-consumer-groups --reset-offsets --group g --from-file reset.csv --execute",
    "kafka-consumer-groups --delete-offsets --group g --topic t",
    "kafka-consumer-groups --remove-members --group g --all-members",
    "kafka-delete-records --topic t --before 2020-01-01 --dry-run",
    "kafka-delete-records --topic t --before end -o json",
    "kafka-doctor",
    "kafka-request Metadata {}",
    'kafka-request DescribeGroups {"groups":["g"]} --node 2',
    "kafka-doctor -o json --check quorum --check configs --check transactions",
    "kafka-get-offsets --topic-partitions t:0-3,:0",
    "kafka-messages t",
    "kafka-messages t --count",
    "kafka-messages t --count-by 1h -o json",
    "kafka-consumer-groups --describe --all-groups --lag-by group --sort age",
    "kafka-consumer-groups --describe --group g --lag-by member",
    "kafka-consumer-groups --describe --group g -o prometheus",
    "kafka-topics --describe --topic t --summary",
    "kafka-log-dirs --by topic --top 3",
    "kafka-acls --who --operation Read --topic t",
    "kafka-clients",
    "kafka-purge --prefix t --dry-run",
    "kafka-produce t -k k -v v",
    "kafka-messages t --last 3 -o json --where value.a=1",
    "kafka-get-offsets --time max-timestamp -o table",
    "kafka-groups --list -o yaml",
    "kafka-leader-election --election-type UNCLEAN --all-topic-partitions",
    "kafka-leader-election --election-type PREFERRED --path-to-json-file elect.json -o json",
    "kafka-log-dirs --describe --broker-list 1,2 --topic-list t",
    "kafka-log-dirs --describe -o csv",
    "kafka-reassign-partitions --execute --reassignment-json-file plan.json --throttle 5000",
    "kafka-reassign-partitions --execute --reassignment-json-file dirs.json --replica-alter-log-dirs-throttle 5000",
    "kafka-reassign-partitions --execute --reassignment-json-file plan.json --disallow-replication-factor-change",
    "kafka-reassign-partitions --execute --watch --reassignment-json-file plan.json --throttle 5000",
    "kafka-reassign-partitions --verify --reassignment-json-file plan.json",
    "kafka-reassign-partitions --verify --reassignment-json-file dirs.json -o json",
    "kafka-reassign-partitions --cancel --reassignment-json-file plan.json",
    "kafka-reassign-partitions --watch --reassignment-json-file plan.json",
    "kafka-reassign-partitions --list -o json",
    "kafka-reassign-partitions --generate --strategy least-movement --topic t",
    "kafka-reassign-partitions --generate --strategy leaders",
    "kafka-reassign-partitions --generate --evacuate 1",
    "kafka-reassign-partitions --generate --replication-factor 2 --topic t",
    "kafka-share-groups --list",
    "kafka-share-groups --describe --all-groups --members --verbose",
    "kafka-share-groups --describe --group g --state",
    "kafka-share-groups --delete --group g",
    "kafka-share-groups --delete-offsets --group g --topic t",
    "kafka-share-groups --reset-offsets --group g --all-topics --to-datetime 2020-01-01 --dry-run",
    "kafka-streams-application-reset --application-id g --input-topics t --intermediate-topics u --force",
    "kafka-streams-application-reset --application-id g --input-topics t --dry-run --shift-by 5",
    "kafka-streams-groups --list --state",
    "kafka-streams-groups --describe --all-groups --verbose",
    "kafka-streams-groups --describe --group g --members --verbose",
    "kafka-streams-groups --describe --group g --state",
    "kafka-streams-groups --delete --group g --delete-all-internal-topics",
    "kafka-streams-groups --delete-offsets --group g --all-input-topics",
    "kafka-streams-groups --reset-offsets --group g --input-topic t:0 --to-latest --execute "
    "--delete-all-internal-topics",
    "kafka-topics --describe",
    "kafka-topics --describe --under-min-isr-partitions",
    "kafka-topics --describe --topic-id AAAAAAAAAAAAAAAAAAAAAQ -o json",
    "kafka-topics --create --topic new --clone-from t",
    "kafka-topics --delete --topic .*",
    "kafka-transactions list --duration-filter 5",
    "kafka-transactions find-hanging --broker-id 1",
    "kafka-transactions describe-producers --topic t --partition 0 --broker-id 1 -o json",
    "kafka-transactions abort --topic t --partition 0 --start-offset 3",
)
"""Command lines beside those of ``fault_table``."""
LINES = (*fault_table.COMMANDS, *FURTHER)
NAMES = ("t", "u", "g", "", "x" * 300, "t\nu", "\x1b[31mred", "\u202eevil", "__consumer_offsets", "/d", "1", "-1")
NUMBERS = (0, 1, 2, 3, 5, -1, -2, 7, 100, 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))
SIZES = {"int8": 7, "int16": 15, "uint16": 16, "int32": 31, "uint32": 32, "int64": 63}
CODES = (0, 0, 0, -1, 3, 5, 6, 7, 14, 15, 16, 25, 29, 35, 37, 41, 42, 48, 69, 83, 87, 100, 105, 20_000)


def value(chance: random.Random, field: Field, depth: int = 0) -> Any:
    """Any value of a field, of the wire's type."""
    if field.nullable.low <= field.nullable.high and chance.random() < 0.2:
        return None
    if field.kind == "boolean":
        return chance.random() < 0.5
    if field.kind in SIZES:
        if field.name == "error_code":
            return chance.choice(CODES)
        bits = SIZES[field.kind]
        low = 0 if field.kind[0] == "u" else -(2**bits)
        return max(low, min(2**bits - 1, chance.choice(NUMBERS)))
    if field.kind == "float64":
        return chance.choice([0.0, -1.0, float("nan"), float("inf")])
    if field.kind == "uuid":
        return uuid.UUID(int=chance.choice([0, 1, 2**128 - 1]))
    if field.kind == "string":
        return chance.choice(NAMES)
    if field.kind in ("bytes", "records"):
        return chance.randbytes(chance.choice([0, 1, 3, 60]))
    if field.kind == "struct":
        return made_up(chance, field.item, depth + 1)
    count = chance.choice([0, 1, 1, 2, 3] if depth < 4 else [0, 1])
    return [value(chance, field.item, depth + 1) for _ in range(count)]


def made_up(chance: random.Random, kind: type[Struct], depth: int = 0) -> Struct:
    """A struct in which everything is by chance; of the answer as a whole most have no error."""
    made = kind(**{field.name: value(chance, field, depth) for field in kind.FIELDS})
    if hasattr(made, "error_code") and chance.random() < 0.7:
        made.error_code = 0
    return made


def _places(item: Struct) -> Iterator[tuple[Struct, Field]]:
    for field in item.FIELDS:
        yield item, field
        held = getattr(item, field.name)
        for each in held if isinstance(held, list) else [held]:
            if isinstance(each, Struct):
                yield from _places(each)


def warped(chance: random.Random, answer: Struct) -> Struct:
    """The answer with one to three of its fields changed."""
    answer = copy.deepcopy(answer)
    for _ in range(chance.choice([1, 1, 2, 3])):
        places = list(_places(answer))
        if not places:
            break
        owner, field = chance.choice(places)
        held = getattr(owner, field.name)
        if isinstance(held, list) and held and chance.random() < 0.6:
            again = copy.deepcopy(chance.choice(held))
            changed = chance.choice([[], held * 2, [*held, again], held[:-1], held * 500])
        else:
            changed = value(chance, field)
        setattr(owner, field.name, copy.deepcopy(changed))
    return answer


def mangled(chance: random.Random, frame: bytes) -> bytes:
    """The bytes of an answer, length and correlation id included, with something that is wrong."""
    data = bytearray(frame)
    way = chance.randrange(7)
    at = chance.randrange(8, len(data) + 1)
    if way == 0:
        data[4:8] = chance.randbytes(4)
    elif way == 1:
        data[0:4] = chance.choice([b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\0\0\0\0", b"HTTP", b"\x15\3\3\0"])
    elif way == 2:
        for _ in range(chance.choice([1, 1, 2, 8])):
            data[chance.randrange(min(8, len(data) - 1), len(data))] ^= 1 << chance.randrange(8)
    elif way == 3:
        data[at : at + 4] = chance.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff"])
    elif way == 4:
        del data[at:]
    elif way == 5:
        data += chance.randbytes(chance.choice([1, 4, 1000]))
    else:
        data[8:] = chance.randbytes(chance.choice([0, 1, 10, 300]))
    if way > 1:
        data[0:4] = (len(data) - 4).to_bytes(4, "big")
    return bytes(data)


class Liar:
    """Decides which answers of a cluster are spoiled, and how. Stands for its ``fault``."""

    def __init__(self, cluster: VirtualCluster, chance: random.Random) -> None:
        self._cluster = cluster
        self._chance = chance
        self._share = chance.choice([0.15, 0.4, 1.0])
        self._spares_lookups = chance.random() < 0.6
        self._ways = chance.choice([(self._warped,), (self._made_up,), (self._mangled,), (self._warped, self._made_up)])
        self._always: dict[type, Any] = {}
        self._repeats = chance.random() < 0.5
        """Whether a kind of request gets the same spoiled answer each time."""

    def __call__(self, request: Any, version: int, node: Any) -> Any:
        if self._spares_lookups and isinstance(request, fault_table.LOOKUPS):
            return None
        if self._chance.random() >= self._share:
            return None
        kind = type(request)
        if self._repeats and kind in self._always:
            return self._always[kind]
        answer = self._cluster.truth(request, version)
        if answer is None:
            return None
        reply = self._chance.choice(self._ways)(answer, version)
        self._always[kind] = reply
        return reply

    def _sound(self, answer: Struct, version: int) -> Any:
        try:
            encode(answer, version)  # type: ignore[arg-type]
        except (EncodeError, TypeError, ValueError, AttributeError):
            return None
        return answer

    def _warped(self, answer: Struct, version: int) -> Any:
        return self._sound(warped(self._chance, answer), version)

    def _made_up(self, answer: Struct, version: int) -> Any:
        return self._sound(made_up(self._chance, type(answer)), version)

    def _mangled(self, answer: Struct, version: int) -> Any:
        seed = self._chance.random()
        return Spoiled(answer, lambda frame: mangled(random.Random(seed), frame))


def attempt(seed: str, line: str | None = None) -> Ended:
    """One try: which command line, unless it is given, and which lies, the seed says."""
    chance = random.Random(seed)
    chosen = chance.choice(LINES)
    line = line or chosen
    release = chance.choice([None, None, None, "1.1", "2.4", "3.0", "3.9"])
    cluster = VirtualCluster(release=release)
    cluster.fault = Liar(cluster, chance)
    return ended(line, cluster, FILES, on_terminal=chance.random() < 0.3)


if __name__ == "__main__":
    sys.exit(main("hostile_brokers", __doc__, attempt))
