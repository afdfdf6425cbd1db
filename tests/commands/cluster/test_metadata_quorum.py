"""kafka-metadata-quorum: the file of a controller that is added; a controller that is removed and unregistered."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.protocol import error_codes
from kafka_tools.protocol.error_reply import error_reply
from kafka_tools.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest
from kafka_tools.protocol.messages.unregister_controller import UnregisterControllerRequest
from kafka_tools.protocol.schema import Request
from tests.admin.virtual_cluster import VirtualCluster

NAME = "kafka-metadata-quorum"
DIRECTORY = "3kyBTXuBTa6MFhfdFoMGaQ"
SERVER = """\
process.roles=controller
node.id=3
listeners=CONTROLLER://:9093
controller.listener.names=CONTROLLER
log.dirs={folder}
num.io.threads=8
"""


def add(folder: Path, server: str = SERVER, directory: str = DIRECTORY, *more: str) -> int:
    (folder / "server.properties").write_text(server.format(folder=folder), encoding="utf-8")
    (folder / "meta.properties").write_text(f"directory.id={directory}\n", encoding="utf-8")
    words = ["add-controller", "--command-config", str(folder / "server.properties"), *more]
    return running.run(cli.load("metadata-quorum"), words, NAME)


@pytest.mark.parametrize("id", ["-1", "99999999999"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cluster", ["unregister", "--id"]),
        ("cluster", ["unregister-controller", "--id"]),
        ("metadata-quorum", ["remove-controller", "--controller-directory-id", DIRECTORY, "--controller-id"]),
    ],
)
def test_an_id_that_no_node_can_have_is_told_with_those_that_one_can(
    name: str, words: list[str], id: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert running.run(cli.load(name), [*words, id, "--bootstrap-server", "a:1"], f"kafka-{name}") == 2
    assert f"{id} is not in the range 0<=x<=2147483647." in capsys.readouterr().err


def test_a_controllers_own_settings_are_no_mistyped_ones_of_a_client(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = VirtualCluster()
    with cluster.network.in_use():
        status = add(tmp_path, SERVER, DIRECTORY, "--bootstrap-server", cluster.bootstrap)
    added = f"Added controller 3 with directory id {DIRECTORY} and endpoints: CONTROLLER://localhost:9093\n"
    assert (status, capsys.readouterr()) == (0, (added, ""))


@pytest.mark.parametrize(
    "server, directory, place, message",
    [
        (SERVER, "soon", "meta.properties", "directory.id: invalid uuid 'soon'"),
        (SERVER.replace(":9093", "[::1]:x"), DIRECTORY, "server.properties", "listeners: invalid address '[::1]:x'"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_the_file(
    server: str, directory: str, place: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(tmp_path, server, directory, "--dry-run") == 1
    assert f"{tmp_path / place}: {message}" in capsys.readouterr().err


def remove(
    codes: dict[type[Request], int], capsys: pytest.CaptureFixture[str], *more: str, release: str | None = None
) -> tuple[int, str, str, VirtualCluster]:
    """Remove controller 3 and unregister it; ``codes``: the error with which a request is answered."""

    def fault(request: Request, version: int, node: object) -> object:
        return error_reply(request, version, codes[type(request)]) if type(request) in codes else None

    cluster = VirtualCluster(release=release)
    cluster.fault = fault
    words = ["remove-controller", "-i", "3", "-d", DIRECTORY, "--unregister", "--bootstrap-server", cluster.bootstrap]
    with cluster.network.in_use():
        status = running.run(cli.load("metadata-quorum"), [*words, *more], NAME)
    return status, *capsys.readouterr(), cluster


REMOVED = f"Removed KRaft controller 3 with directory id {DIRECTORY}\n"
ADVICE = "To unregister the controller from the cluster, run `kafka-cluster unregister-controller --id 3`.\n"


def test_a_controller_is_removed_and_unregistered(capsys: pytest.CaptureFixture[str]) -> None:
    assert remove({}, capsys)[:3] == (0, f"{REMOVED}Unregistered KRaft controller 3\n", "")


@pytest.mark.parametrize("code", [error_codes.VOTER_NOT_FOUND, error_codes.UNSUPPORTED_VERSION])
def test_a_controller_that_is_no_voter_is_left_and_the_command_that_unregisters_it_is_told(
    code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err, cluster = remove({RemoveRaftVoterRequest: code}, capsys)
    assert (status, out) == (1, "")
    assert err.startswith(f"{NAME}: Failed to remove KRaft voter 3: ") and err.endswith(f". {ADVICE}")
    assert not any(isinstance(request, UnregisterControllerRequest) for _, _, request, _ in cluster.log)


def test_a_cluster_that_cannot_remove_voters_is_told_with_the_same_advice(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err, _ = remove({}, capsys, release="3.8")
    assert (status, out) == (1, "")
    assert err.startswith(f"{NAME}: Failed to remove KRaft voter 3: ") and ADVICE in err


def test_other_refusals_are_told_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err, _ = remove({RemoveRaftVoterRequest: error_codes.CLUSTER_AUTHORIZATION_FAILED}, capsys)
    assert (status, out) == (1, "")
    assert err.startswith(f"{NAME}: CLUSTER_AUTHORIZATION_FAILED: ") and ADVICE not in err


def test_a_controller_that_was_removed_and_stays_registered_is_told_half_by_half(
    capsys: pytest.CaptureFixture[str],
) -> None:
    refused = {UnregisterControllerRequest: error_codes.CONTROLLER_ID_NOT_REGISTERED}
    status, out, err, _ = remove(refused, capsys)
    assert (status, out) == (1, REMOVED)
    assert ": Failed to unregister controller 3: CONTROLLER_ID_NOT_REGISTERED: " in err
    assert err.endswith(f". {ADVICE}")
    status, out, _, _ = remove(refused, capsys, "-o", "json")
    document = json.loads(out)
    assert (status, [row["result"] for row in document["data"]]) == (1, ["removed"])
    assert [error["error"] for error in document["errors"]] == ["CONTROLLER_ID_NOT_REGISTERED"]


def test_before_4_4_a_controller_is_removed_and_not_unregistered(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err, _ = remove({}, capsys, release="4.3")
    assert (status, out) == (1, REMOVED)
    assert "brokers of Kafka 4.4 and later support UnregisterController v0" in err
