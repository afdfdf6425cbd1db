"""Which chroot is a cluster's, on ensembles in a dict."""

from __future__ import annotations

import pytest

from kafka_tools.errors import StoreError
from kafka_tools.zookeeper import chroots
from kafka_tools.zookeeper.configs import SessionLost


class Ensemble:
    """Nodes by path, and which of them may not be listed; counts what is asked."""

    def __init__(self, *paths: str, closed: tuple[str, ...] = ()) -> None:
        self.nodes = {"/", "/zookeeper", "/zookeeper/quota"}
        for path in paths:
            names = path.strip("/").split("/")
            self.nodes |= {"/" + "/".join(names[:depth]) for depth in range(1, len(names) + 1)}
        self.closed = closed
        self.asked = 0

    def exists(self, path: str) -> bool:
        self.asked += 1
        return path in self.nodes

    def children(self, path: str) -> list[str]:
        self.asked += 1
        if path in self.closed:
            raise StoreError(f"ZooKeeper node {path}: access denied")
        start = path.rstrip("/") + "/"
        return sorted({node[len(start) :].split("/")[0] for node in self.nodes if node.startswith(start)} - {""})


def checked(tree: Ensemble, chroot: str, new: bool = False, changing: bool = True) -> list[str]:
    """The warnings of a check that passes."""
    said: list[str] = []
    chroots.check(tree, "zk:2181", chroot, new, changing, said.append)
    return said


def refused(tree: Ensemble, chroot: str, changing: bool = True) -> str:
    with pytest.raises(StoreError) as caught:
        chroots.check(tree, "zk:2181", chroot, False, changing, lambda _: pytest.fail("a warning"))
    return f"{caught.value} ({caught.value.hint})"


KAFKA = ("cluster/id", "brokers/ids/1", "brokers/topics", "config/users")


def cluster(chroot: str) -> tuple[str, ...]:
    return tuple(f"{chroot}/{path}" for path in KAFKA)


@pytest.mark.parametrize("chroot", ["", "/kafka", "/a/b"])
@pytest.mark.parametrize("nodes", [("cluster/id",), ("brokers/ids", "brokers/topics", "brokers/seqid")])
def test_the_chroot_of_a_cluster_is_taken_without_a_search(chroot: str, nodes: tuple[str, ...]) -> None:
    tree = Ensemble(*(f"{chroot}/{node}" for node in nodes), *cluster("/other"))
    assert checked(tree, chroot) == []
    assert tree.asked <= 3


@pytest.mark.parametrize("used, given", [("/kafka", ""), ("", "/kafka"), ("/kafka", "/kafak"), ("/a/b/c/d", "/a/b/c")])
@pytest.mark.parametrize("changing", [True, False])
def test_another_path_than_the_brokers_use_is_refused_and_theirs_is_named(
    used: str, given: str, changing: bool
) -> None:
    # what an earlier mistake wrote there makes it no cluster
    tree = Ensemble(*cluster(used), f"{given}/config/users/alice", f"{given}/config/changes")
    said = refused(tree, given, changing)
    assert (
        f"zk:2181 contains no Kafka cluster at {given or '/'}: its brokers use {used or '/'} (use "
        f"--zookeeper zk:2181{used},"
    ) in said
    assert "--zk-new-chroot" in said


def test_several_clusters_are_all_named() -> None:
    said = refused(Ensemble(*cluster("/b"), *cluster("/kafka-a"), *cluster("/x/y")), "")
    assert "its brokers use /kafka-a, /b, /x/y" in said
    many = refused(Ensemble(*(path for number in range(9) for path in cluster(f"/c{number}"))), "")
    assert "/c0, /c1, /c2, /c3, /c4, ..." in many


def test_an_ensemble_without_any_broker_is_taken_with_a_warning() -> None:
    tree = Ensemble("/config/users/first", "/solr/collections", "/pulsar/brokers/lookup")
    warned = ["warning: ZooKeeper at zk:2181 contains no Kafka cluster at /: no broker has started there yet"]
    assert checked(tree, "") == warned
    assert checked(tree, "/kafka") == [warned[0].replace("at /:", "at /kafka:")]
    assert "has no chroot /kafka" in refused(tree, "/kafka", changing=False)


def test_another_chroot_on_purpose_is_taken_with_a_warning() -> None:
    tree = Ensemble(*cluster("/kafka"))
    (warned,) = checked(tree, "/second", new=True)
    assert "no Kafka cluster at /second" in warned


def test_the_search_in_a_huge_ensemble_is_bounded_and_looks_where_kafka_may_be() -> None:
    others = [f"/jobs/j{number:05d}/state" for number in range(5000)]
    tree = Ensemble(*others, *cluster("/jobs/my-kafka"))
    assert "its brokers use /jobs/my-kafka" in refused(tree, "")
    assert tree.asked < 1500
    hidden = Ensemble(*others, *cluster("/jobs/zzz"))
    (warned,) = checked(hidden, "/kafka")
    assert warned.endswith("(400 of its other paths were searched)")
    assert hidden.asked < 1500


def test_a_node_that_may_not_be_listed_is_passed_over() -> None:
    tree = Ensemble("/secret/x", *cluster("/kafka"), closed=("/secret",))
    assert "its brokers use /kafka" in refused(tree, "")

    def lost(_path: str) -> list[str]:
        raise SessionLost("the session was lost")

    tree.children = lost  # type: ignore[method-assign]
    with pytest.raises(SessionLost):
        checked(tree, "")
