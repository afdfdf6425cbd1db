"""The ledger of throttles: the configs that this user's commands have set in a cluster, and their former values.

It is a small file for each cluster below ``$XDG_STATE_HOME/kafka-tools/throttles`` (``~/.local/state`` by default). It
is written before a throttle is set, so that it is complete even after a kill. It is deleted with the last throttle.
Commands lock it while they write: each adds and removes only its own throttles.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_tools.admin.calls.config_changes import ConfigChange
from kafka_tools.admin.calls.configs import ConfigResource
from kafka_tools.commands import running
from kafka_tools.commands.partitions.reassignment.current import is_away, is_unknown_topic, share_s
from kafka_tools.protocol.enums import ConfigSource

if TYPE_CHECKING:
    from kafka_tools.admin.client import AdminClient
    from kafka_tools.errors import KafkaToolsError

LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"

_VERSION = 1
_MOST_BYTES = 64 << 20
_LONGEST_TURN_S = 5.0
_OWN_SOURCES = {
    ConfigSource.word(ConfigSource.DYNAMIC_TOPIC_CONFIG),
    ConfigSource.word(ConfigSource.DYNAMIC_BROKER_CONFIG),
}
_TEXT = {"type": "string"}
_RULES: dict[str, Any] = {
    "type": "object",
    "required": ["version", "throttles"],
    "properties": {
        "version": {"type": "integer", "const": _VERSION},
        "throttles": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "name", "config", "value"],
                "properties": {"type": _TEXT, "name": _TEXT, "config": _TEXT, "value": _TEXT, "before": _TEXT},
            },
        },
    },
}


_Key = tuple[ConfigResource, str]
SetValues = dict[_Key, str | None]
"""Topic or broker and config -> its value there; None if it is hidden: brokers of 2.2 hide rates, controllers do not
know configs of brokers."""


def ledger_of(admin: AdminClient) -> Ledger:
    """The ledger of the cluster's throttles."""
    return Ledger(admin, admin.describe_cluster().cluster_id)


class _Entry(NamedTuple):
    value: str
    before: str | None


class Ledger:
    """The throttles set in one cluster: resource and config -> the value, and the one before it."""

    def __init__(self, admin: AdminClient, cluster_id: str | None) -> None:
        self._admin = admin
        name = cluster_id if cluster_id and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", cluster_id) else "unnamed"
        home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        self.path = os.path.join(home, "kafka-tools", "throttles", f"{name}.json")
        self._held = os.path.join(home, "kafka-tools", "throttles", f"{name}.batches")
        self._entries = self._load()
        self._given: set[_Key] = set()
        self._gone: dict[_Key, _Entry] = {}
        """Records that were removed since the file was written."""

    @property
    def is_empty(self) -> bool:
        """Whether the ledger is empty now and was empty when it was opened."""
        return not self._entries and not self._given

    @contextlib.contextmanager
    def hold(self) -> Iterator[None]:
        """Tell other commands of this user on this host that more batches follow, so that they leave the throttles.

        It is a lock on an empty file, so the kernel releases it when the command is killed.
        """
        import fcntl

        with contextlib.ExitStack() as stack:
            with contextlib.suppress(OSError):  # where no file can be written, nothing is recorded either
                os.makedirs(os.path.dirname(self.path), exist_ok=True)
                descriptor = os.open(self._held, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                stack.callback(os.close, descriptor)
                fcntl.flock(descriptor, fcntl.LOCK_SH)
            yield

    def batches_to_come(self) -> bool:
        """Whether a command runs batches or will run more (``hold``)."""
        import fcntl

        try:
            descriptor = os.open(self._held, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False  # a file system without locks
        finally:
            os.close(descriptor)
        return False

    def broker_ids(self) -> set[int]:
        """Brokers with recorded throttles."""
        return {int(key.name) for key, _ in self._entries if key.type == "broker"}

    def topics(self) -> set[str]:
        """Topics with recorded throttles."""
        return {key.name for key, _ in self._entries if key.type == "topic"}

    def recorded(self) -> dict[ConfigResource, list[str]]:
        """Resource -> names of its recorded configs."""
        found: dict[ConfigResource, list[str]] = {}
        for resource, config in self._entries:
            found.setdefault(resource, []).append(config)
        return found

    def may_undo(self, resource: ConfigResource, config: str) -> bool:
        """Whether a config with an unknown value may be removed: it is recorded, or the ledger is empty."""
        return self.is_empty or (resource, config) in self._entries

    def movers(self) -> list[int]:
        """Brokers whose moves between log directories were limited."""
        return sorted(int(key.name) for key, config in self._entries if config == LOG_DIRS_RATE)

    def add(self, settings: Mapping[ConfigResource, Mapping[str, str]]) -> set[ConfigResource]:
        """Record configs before they are set. Returns the brokers that are down, which are not recorded."""
        away: dict[ConfigResource, KafkaToolsError] = {}
        values = self.read_values({key: list(each) for key, each in settings.items()}, away, share_s(self._admin))
        for error in away.values():
            if not is_away(error):
                raise error
        wanted = {
            (resource, config): value
            for resource, each in settings.items()
            if resource not in away
            for config, value in each.items()
        }
        self._rewrite(wanted, values)
        return set(away)

    def read_values(
        self,
        wanted: Mapping[ConfigResource, Iterable[str]],
        failed: dict[ConfigResource, KafkaToolsError],
        timeout_s: float | None = None,
    ) -> SetValues:
        """The current values set on these topics and brokers themselves. ``failed`` gets resources that could not be
        described. A topic that does not exist has no values."""
        found: SetValues = {}
        described = self._admin.describe_configs({key: list(each) for key, each in wanted.items()}, timeout_s=timeout_s)
        for resource, outcome in described.items():
            if outcome.error is not None:
                if resource.type != "topic" or not is_unknown_topic(outcome.error):
                    failed[resource] = outcome.error
                continue
            for entry in outcome.get():
                if entry.source in _OWN_SOURCES:
                    found[resource, entry.name] = entry.value
        return found

    def undoing(self, resource: ConfigResource, config: str, values: SetValues) -> ConfigChange | None:
        """The change that removes a throttle; None if it is not among ``values``, or was set by another user."""
        if (resource, config) not in values:
            return None
        if self.is_empty:
            return ConfigChange(config, "delete")
        value = values[resource, config]
        entry = self._entries.get((resource, config))
        if entry is None or value not in (entry.value, None):
            running.note(f"{config}={value} of {resource} stays: --execute did not set it")
            return None
        if entry.before is None:
            return ConfigChange(config, "delete")
        return ConfigChange(config, "set", entry.before)

    def forget(self, resource: ConfigResource) -> None:
        """Remove the records of a resource, whose throttles were removed."""
        for key in [key for key in self._entries if key[0] == resource]:
            self._given.add(key)
            self._gone[key] = self._entries.pop(key)

    def save(self) -> None:
        """Write the file, or delete it if the ledger is empty. An error is printed on stderr."""
        self._rewrite({}, {})

    def _rewrite(self, wanted: Mapping[_Key, str], found: SetValues) -> None:
        """The file with values that are about to be set where some were ``found``, and without what was forgotten."""
        folder = os.path.dirname(self.path)
        merged = None
        try:
            if wanted:
                os.makedirs(folder, exist_ok=True)
            with self._turn(folder):
                merged = self._merged(self._load(warns=False), wanted, found)
                self._store(merged)
        except OSError as error:
            running.note(
                f"warning: cannot record throttles in {self.path} ({error.strerror or error}): --verify "
                "will remove all throttles of brokers and topics, whoever set them"
            )
        self._entries = merged if merged is not None else self._merged(self._entries, wanted, found)
        self._gone.clear()

    def _merged(
        self, recorded: Mapping[_Key, _Entry], wanted: Mapping[_Key, str], found: SetValues
    ) -> dict[_Key, _Entry]:
        entries = {key: entry for key, entry in recorded.items() if self._gone.get(key) != entry}
        for key, value in wanted.items():
            known, present = entries.get(key), found.get(key)
            # A throttle that is raised or lowered by its owner still hides what was there before the first.
            before = known.before if known is not None and known.value == present else present
            entries[key] = _Entry(value, before)
        return entries

    def _store(self, entries: Mapping[_Key, _Entry]) -> None:
        import json

        if not entries:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path)
            return
        rows = [
            {"type": resource.type, "name": resource.name, "config": config, "value": entry.value}
            | ({} if entry.before is None else {"before": entry.before})
            for (resource, config), entry in entries.items()
        ]
        self._write(json.dumps({"version": _VERSION, "throttles": rows}, indent=1))

    def _write(self, text: str) -> None:
        """Replace the file atomically, with fsync."""
        beside = f"{self.path}.{os.getpid()}"  # tempfile would cost every --list a dozen modules
        try:
            with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, self.path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise

    def _load(self, warns: bool = True) -> dict[_Key, _Entry]:
        if not os.path.lexists(self.path):
            return {}
        from kafka_tools.commands.documents import check, parse
        from kafka_tools.errors import InputError
        from kafka_tools.given_files import read_given

        try:
            document = parse(read_given(self.path, _MOST_BYTES).decode(), self.path)
            mistake = next(check(document, _RULES), None)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, InputError) as error:
            mistake = f"cannot read it ({error})"
        if mistake is not None:
            if warns:
                running.note(f"warning: ignored the record of throttles {self.path}: {mistake}")
            return {}
        return {
            (ConfigResource(row["type"], row["name"]), row["config"]): _Entry(row["value"], row.get("before"))
            for row in document["throttles"]
            if row["type"] == "topic" or (row["type"] == "broker" and re.fullmatch("[0-9]{1,10}", row["name"]))
        }

    @contextlib.contextmanager
    def _turn(self, folder: str) -> Iterator[None]:
        """Lock a folder for writing, within the time limit. After it, continue without the lock and print a note."""
        import fcntl

        from kafka_tools.clock import Deadline, SystemClock

        clock = SystemClock()
        deadline = Deadline(clock, min(_LONGEST_TURN_S, self._admin.deadline().left_s()))
        try:
            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # nothing was ever recorded
            yield
            return
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if deadline.expired:
                        running.note(
                            f"warning: another command is still writing in {folder}; the record of "
                            "throttles may miss changes of this command"
                        )
                        break
                    clock.sleep(0.01)
                except OSError:
                    break  # a file system without locks
            yield
        finally:
            os.close(descriptor)
