"""What ``zookeeper.configs`` needs of ZooKeeper, in a dict; ``tests/against_kafka`` has the real one."""

from __future__ import annotations

from collections.abc import Callable

from kafka_tools.zookeeper.configs import Changed, ConfigNode


class MemoryStore:
    """``nodes``: path -> [data, version]. ``meanwhile`` is called before each write, as somebody else would write."""

    def __init__(self) -> None:
        self.nodes: dict[str, ConfigNode] = {}
        self.meanwhile: Callable[[], None] = lambda: None
        self._sequence = 0

    def put(self, path: str, data: bytes) -> None:
        before = self.nodes.get(path)
        self.nodes[path] = ConfigNode(data, before.version + 1 if before else 0)

    def get(self, path: str) -> ConfigNode | None:
        return self.nodes.get(path)

    def children(self, path: str) -> list[str]:
        below = {other[len(path) + 1 :].split("/")[0] for other in self.nodes if other.startswith(path + "/")}
        return sorted(below)

    def ensure(self, path: str) -> None:
        self.nodes.setdefault(path, ConfigNode(b"", 0))

    def write_and_notify(self, path: str, data: bytes, version: int | None, prefix: str, change: bytes) -> None:
        self.meanwhile()
        found = self.nodes.get(path)
        if (found.version if found else None) != version:
            raise Changed
        assert found or path.rpartition("/")[0] in self.nodes, "no node to put it below"
        self.put(path, data)
        self.put(f"{prefix}{self._sequence:010d}", change)
        self._sequence += 1
