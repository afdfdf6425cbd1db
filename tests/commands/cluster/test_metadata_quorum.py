"""kafka-metadata-quorum add-controller: the new controller's own configuration file and meta.properties."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
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
        (SERVER, "soon", "meta.properties", "directory.id: 'soon' is not a Kafka uuid"),
        (SERVER.replace(":9093", "[::1]:x"), DIRECTORY, "server.properties", "listeners: '[::1]:x' is not an address"),
    ],
)
def test_what_is_wrong_in_a_file_is_told_with_the_file(
    server: str, directory: str, place: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert add(tmp_path, server, directory, "--dry-run") == 1
    assert f"{tmp_path / place}: {message}" in capsys.readouterr().err
