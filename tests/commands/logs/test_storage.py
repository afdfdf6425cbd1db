"""``kafka-storage``: what it writes, what it refuses and in which words; nothing half-formatted, no secret shown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_tools import cli
from kafka_tools.commands import running
from kafka_tools.commands.logs.formatting import formatting
from kafka_tools.commands.logs.shell.loading import load
from kafka_tools.protocol.feature_levels import LATEST_PRODUCTION, METADATA_VERSIONS
from kafka_tools.storage.checkpoints import read_meta_properties
from kafka_tools.values import parse_uuid
from tests.server_properties import write_server_properties

NEWEST, MADE_LATER = METADATA_VERSIONS[LATEST_PRODUCTION], METADATA_VERSIONS[LATEST_PRODUCTION + 1]
CLUSTER = "4L6g3nShT-eMCtK--X86sw"
SECRET = "wonderland"
QUORUM = "1@localhost:9093:JEXY6aqzQY-32P5TStzaFg,2@[::1]:9094:MvDxzVmcRsaTz33bUuRU6A"
FIRST_SNAPSHOT = "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"


def storage(*words: object) -> int:
    return running.run(cli.load("storage"), [str(word) for word in words], "kafka-storage")


def config(folder: Path, **changed: str | None) -> Path:
    """A server.properties; a setting of None is left out."""
    values: dict[str, str | None] = {
        "process_roles": "broker,controller", "node_id": "1", "log_dirs": f"{folder}/b, {folder}/a",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://localhost:9093", "controller_listener_names": "CONTROLLER",
    }  # fmt: skip
    return write_server_properties(folder, {**values, **changed})


def format_(folder: Path, *words: str, **changed: str | None) -> int:
    return storage("format", "-c", config(folder, **changed), "-t", CLUSTER, *words)


def refusal(folder: Path, capsys: pytest.CaptureFixture[str], *words: str, **changed: str | None) -> tuple[int, str]:
    """(status, first line of stderr) of a format that does nothing."""
    status = format_(folder, *words, **changed)
    out, err = capsys.readouterr()
    assert out == ""
    assert not (folder / "a").exists()
    assert not (folder / "b").exists()
    return status, err.splitlines()[0].removeprefix("kafka-storage: ").removeprefix("kafka-storage format: ")


def test_a_server_alone_is_formatted_in_kafkas_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scram = f'SCRAM-SHA-256=[name="alice",password={SECRET},iterations=8192]'
    assert format_(tmp_path, "--standalone", "--release-version", "4.0.1", "-S", scram) == 0
    out, err = capsys.readouterr()
    assert err.startswith("Warning: start Kafka 4.4 or newer on these directories. ") and err.count("\n") == 1
    first, *rest = out.splitlines()
    assert first.startswith(
        "Bootstrap metadata: BootstrapMetadata(records=[ApiMessageAndVersion(FeatureLevelRecord(name="
        "'metadata.version', featureLevel=25) at version 0), ApiMessageAndVersion(FeatureLevelRecord("
        "name='group.version', featureLevel=1) "
    )
    assert first.endswith("iterations=8192) at version 0)], metadataVersionLevel=25, source=format command)")
    assert rest == [
        f"Formatting data directory {tmp_path}/a with metadata.version 4.0-IV3.",
        f"Formatting dynamic metadata voter directory {tmp_path}/b with metadata.version 4.0-IV3.",
    ]
    metas = [read_meta_properties(str(tmp_path / each / "meta.properties")) for each in "ab"]
    assert {(meta.version, meta.cluster_id, meta.node_id) for meta in metas} == {(1, CLUSTER, 1)}
    assert len({meta.directory_id for meta in metas}) == 2
    image = load(str(tmp_path / "b" / FIRST_SNAPSHOT)).image
    assert image.features == {"metadata.version": 25, "group.version": 1, "transaction.version": 2}
    assert image.scram[1]["alice"].iterations == 8192
    assert sorted(os.listdir(tmp_path / "a")) == ["meta.properties"]
    assert sorted(os.listdir(tmp_path / "b")) == ["__cluster_metadata-0", "meta.properties"]
    assert SECRET not in out


@pytest.mark.parametrize(
    "words, changed, kind, snapshot",
    [
        (["-I", QUORUM], {}, "dynamic metadata voter directory", True),
        (["-I", QUORUM], {"node_id": "3", "process_roles": "controller"}, "dynamic metadata directory", True),
        (["-I", QUORUM], {"node_id": "3", "process_roles": "broker"}, "dynamic metadata directory", False),
        (["-N"], {}, "metadata directory", True),
        ([], {"controller_quorum_voters": "1@localhost:9093"}, "metadata directory", True),
        ([], {"process_roles": "broker"}, "metadata directory", False),
    ],
)
def test_each_way_to_name_voters(
    tmp_path: Path, words: list[str], changed: dict[str, str], kind: str, snapshot: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert format_(tmp_path, *words, **changed) == 0
    out, err = capsys.readouterr()
    assert f"Formatting {kind} {tmp_path}/b with metadata.version {NEWEST}." in out
    assert err == ""
    assert (tmp_path / "b" / FIRST_SNAPSHOT).exists() == snapshot
    if "dynamic metadata voter directory" in kind:
        assert read_meta_properties(str(tmp_path / "b/meta.properties")).directory_id == "JEXY6aqzQY-32P5TStzaFg"


def test_formatted_directories_are_refused_or_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert format_(tmp_path, "-s") == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.*") if path.is_file()}
    assert format_(tmp_path, "-s") == 1
    assert capsys.readouterr().err == (
        f"kafka-storage: Log directory {tmp_path}/a is already formatted. Use --ignore-formatted to ignore this "
        "directory and format the others.\n"
    )
    assert format_(tmp_path, "-s", "-g") == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"
    assert {path: path.read_bytes() for path in before} == before
    assert format_(tmp_path, "-s", "-g", log_dirs=f"{tmp_path}/b,{tmp_path}/a,{tmp_path}/c") == 0
    assert f"Formatting data directory {tmp_path}/c with" in capsys.readouterr().out


def test_directories_of_others_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert format_(tmp_path, "-s") == 0
    capsys.readouterr()
    more = f"{tmp_path}/a,{tmp_path}/b,{tmp_path}/new"
    assert storage("format", "-c", config(tmp_path, log_dirs=more), "-t", "other", "-sg") == 1
    path = f"{tmp_path}/a/meta.properties"
    assert (
        capsys.readouterr().err == f"kafka-storage: Invalid cluster.id in: {path}. Expected other, but read {CLUSTER}\n"
    )
    assert format_(tmp_path, "-sg", log_dirs=more, node_id="2") == 1
    assert f"Stored node id 1 doesn't match previous node id 2 in {path}." in capsys.readouterr().err
    (tmp_path / "b" / "meta.properties").write_bytes((tmp_path / "a" / "meta.properties").read_bytes())
    assert format_(tmp_path, "-sg", log_dirs=more) == 1
    assert re.search(r"Duplicate directory ID \S+ found\. It was the ID of .*/a, but also of ", capsys.readouterr().err)
    assert not (tmp_path / "new").exists()


def test_a_directory_that_cannot_be_read_is_told_and_the_others_are_formatted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "meta.properties").write_text("version=7\n")
    assert format_(tmp_path, "-s") == 1
    out, err = capsys.readouterr()
    assert out.startswith(f"I/O error trying to read log directory {tmp_path}/a. Ignoring...\nBootstrap metadata: ")
    assert err.startswith(f"kafka-storage format: cannot read {tmp_path}/a: ")
    assert (tmp_path / "b" / "meta.properties").exists()
    assert os.listdir(tmp_path / "a") == ["meta.properties"]


def test_what_is_cut_off_is_not_formatted_and_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "meta.properties")

    with monkeypatch.context() as patch:
        patch.setattr(formatting, "write_meta_properties", full)
        assert format_(tmp_path, "-s") == 1
    assert not (tmp_path / "a" / "meta.properties").exists()
    assert format_(tmp_path, "-s") == 0


NEEDED = (
    "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
    "--standalone, --initial-controllers, or --no-initial-controllers."
)


@pytest.mark.parametrize(
    "words, changed, status, text",
    [
        ([], {}, 2, NEEDED),
        (["-s", "-N"], {}, 2, "--standalone, --no-initial-controllers and --initial-controllers cannot be combined"),
        (["-s"], {"process_roles": "broker"}, 1, "You can only use --standalone on a controller."),
        (["-s"], {"controller_quorum_voters": "1@h:1"}, 1, "You cannot specify controller.quorum.voters and format"),
        (["-s"], {"process_roles": None}, 1, "The kafka configuration file appears to be for a legacy cluster."),
        (["-s"], {"process_roles": "broker,king"}, 1, "Unknown process role 'king' (only"),
        (["-s"], {"node_id": None}, 1, "node.id is not set"),
        (["-s"], {"node_id": "one"}, 1, "invalid node.id 'one'"),
        (["-s"], {"node_id": "-1"}, 1, "You must specify a valid non-negative node ID."),
        (["-s"], {"log_dirs": "a\\u0000b"}, 1, "the name of a log directory contains a NUL character"),
        (["-s"], {"controller_listener_names": None}, 1, "No controller listeners found."),
        (["-s", "-r", "9.9"], {}, 1, "Unknown metadata.version '9.9'. Supported metadata.version are: 3.3-IV3, 3.4"),
        (["-s", "-r", MADE_LATER], {}, 1, f"Unknown metadata.version '{MADE_LATER}'. Supported"),
        (["-s", "-f", f"metadata.version={LATEST_PRODUCTION + 1}"], {}, 1, f"{MADE_LATER} is not yet stable."),
        (["-s", "-f", "metadata.version=6"], {}, 1, "No MetadataVersion with feature level 6. Valid feature levels"),
        (["-s", "-r", "4.0", "-f", "metadata.version=25"], {}, 2, "Use --release-version instead of --feature"),
        (["-s", "-f", "nope=1"], {}, 1, "Unsupported feature: nope. Supported features are: eligible.leader.replicas"),
        (["-s", "-f", "share.version=9"], {}, 1, "No feature:share.version with feature level 9"),
        (["-s", "-f", "share.version"], {}, 2, "Can't parse feature=level string share.version: equals sign not"),
        (["-s", "-f", "share.version=x"], {}, 2, "Can't parse feature=level string share.version=x: unable to parse"),
        (["-s", "-f", "group.version=1", "-f", "group.version=0"], {}, 2, "--feature: group.version is given twice"),
        (["-s", "-f", "share.version=-+1"], {}, 2, "Can't parse feature=level string share.version=-+1: unable to"),
        (["-s", "-f", "kraft.version=0"], {}, 1, "Cannot set kraft.version to 0 if controller.quorum.voters is empty"),
        (["-f", "kraft.version=1"], {"controller_quorum_voters": "1@h:1"}, 1, "Cannot set kraft.version to 1 unless"),
        (["-s", "-r", "3.9", "-f", "eligible.leader.replicas.version=1"], {}, 1,
         "eligible.leader.replicas.version could not be set to 1 because it depends on metadata.version level 23"),
        (["-I", "1@h:9"], {}, 2, "--initial-controllers: No colon following port could be found. ('1@h:9')"),
        (["-I", "h:9:x"], {}, 2, "--initial-controllers: No @ found in dynamic voter string."),
        (["-I", "1@h:70000:JEXY6aqzQY-32P5TStzaFg"], {}, 2, "--initial-controllers: Invalid port 70000 in dynamic"),
        (["-I", "1@h:9:short"], {}, 2, "--initial-controllers: Failed to parse directory ID in dynamic voter string."),
        (["-I", f"{QUORUM},{QUORUM}"], {}, 2, "--initial-controllers: Node id 1 was specified more than once."),
        (["-I", ","], {}, 2, "--initial-controllers: No voters given."),
        (["-s", "-r", "3.5-IV1", "-S", "SCRAM-SHA-256=[name=a,password=b]"], {}, 1, "SCRAM is only supported in"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line_and_nothing_is_written(
    tmp_path: Path, words: list[str], changed: dict[str, str | None], status: int, text: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    found, line = refusal(tmp_path, capsys, *words, **changed)
    assert text in line
    assert found == status


@pytest.mark.parametrize(
    "given, text",
    [
        (SECRET, "Failed to find equals sign in SCRAM argument"),
        (f"SCRAM-MD5=[name=a,password={SECRET}]", "The add-scram mechanism SCRAM-MD5 is not supported."),
        (f"SCRAM-SHA-256=name=a,password={SECRET}]", "Expected configuration string to start with ["),
        (f"SCRAM-SHA-256=[name=a,password={SECRET}", "Expected configuration string to end with ]"),
        (f"SCRAM-SHA-256=[password={SECRET}]", "You must supply 'name' to add-scram"),
        (f"SCRAM-SHA-256=[name=a,password=x,{SECRET}]", "No equals sign found in SCRAM component"),
        ("SCRAM-SHA-256=[name=a]", "You must supply one of 'password' or 'saltedpassword' to add-scram"),
        ("SCRAM-SHA-256=[name=a,saltedpassword=aaaa]", "You must supply 'salt' with 'saltedpassword' to add-scram"),
        (f"SCRAM-SHA-256=[name=a,salt=!{SECRET},password=b]", "Failed to decode given salt"),
        (f"SCRAM-SHA-256=[name=a,salt=aaaa,saltedpassword=!{SECRET}]", "Failed to decode given saltedPassword"),
        ("SCRAM-SHA-256=[name=a,iterations=x,password=b]", "Failed to parse iterations count: x"),
        ("SCRAM-SHA-512=[name=a,iterations=4095,password=b]", "must be >= 4096 for add-scram using SCRAM-SHA-512"),
        ("SCRAM-SHA-512=[name=a,iterations=16385,password=b]", "must be <= 16384 for add-scram using SCRAM-SHA-512"),
        ("SCRAM-SHA-512=[name=a,color=red,password=b]", "Unknown SCRAM configurations: color"),
        (f"SCRAM-SHA-512=[name=a,password=b,{SECRET}=red]", "Unknown SCRAM configurations: one after the password"),
        (f"SCRAM-SHA-512=[name=a,password=b,password={SECRET}]", "--add-scram: password is given twice"),
        ("SCRAM-SHA-512=[name=a,name=b,password=c]", "--add-scram: name is given twice"),
    ],
)
def test_a_wrong_credential_is_refused_without_showing_it(
    tmp_path: Path, given: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    status, line = refusal(tmp_path, capsys, "-s", "-S", given)
    assert status == 2
    assert text in line
    assert SECRET not in line


def test_info_tells_what_is_there_and_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert storage("info", "-c", config(tmp_path)) == 1
    assert (
        capsys.readouterr().out == f"Found problems:\n  {tmp_path}/a does not exist\n  {tmp_path}/b does not exist\n\n"
    )
    assert format_(tmp_path, "-s", log_dirs=f"{tmp_path}/a") == 0
    capsys.readouterr()
    (tmp_path / "b").write_text("")
    assert storage("info", "-c", config(tmp_path)) == 1
    id = read_meta_properties(str(tmp_path / "a/meta.properties")).directory_id
    assert capsys.readouterr().out == (
        f"Found log directory:\n  {tmp_path}/a\n\n"
        f"Found metadata: {{cluster.id={CLUSTER}, directory.id={id}, node.id=1, version=1}}\n\n"
        f"Found problem:\n  {tmp_path}/b is not a directory\n\n"
    )
    assert storage("info", "-c", config(tmp_path, log_dirs=f"{tmp_path}/a")) == 0
    assert storage("info", "-c", config(tmp_path, log_dirs=f"{tmp_path}/a", process_roles=None)) == 1
    assert (
        "for a legacy cluster, but the directories are formatted for a cluster in KRaft mode."
        in capsys.readouterr().out
    )


def test_whatever_an_id_holds_info_shows_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    directory = f"{tmp_path}/a\\nb\\u0085c"
    path = config(tmp_path, log_dirs=directory)
    user = "SCRAM-SHA-256=[name=a\nb,password=x]"
    assert storage("format", "-c", path, "-t", "one\ntwo\x1b[31m\u202e ", "-s", "-S", user) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "UserScramCredentialRecord(name='a\\nb', " in first
    assert second.startswith(f"Formatting dynamic metadata voter directory {tmp_path}/a\\nb\\x85c with")
    assert storage("info", "-c", path) == 0
    out = capsys.readouterr().out
    assert f"Found log directory:\n  {tmp_path}/a\\nb\\x85c\n\n" in out
    assert "Found metadata: {cluster.id=one\\ntwo\\x1b[31m\\u202e , directory.id=" in out and len(out.split("\n")) == 6
    (tmp_path / "a\nb\x85c" / "meta.properties").unlink()
    assert storage("info", "-c", path) == 1
    assert f"Found problem:\n  {tmp_path}/a\\nb\\x85c is not formatted.\n" in capsys.readouterr().out


def test_random_ids_are_ids(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(20):
        assert storage("random-uuid") == 0
    found = capsys.readouterr().out.split()
    assert len({parse_uuid(text) for text in found}) == 20
    assert not any(text.startswith("-") for text in found)


@pytest.mark.parametrize(
    "given, status, text",
    [
        ("share.version", 2, "Invalid feature format: share.version. Expected format: 'feature=version'"),
        ("share.version=x", 2, "Invalid version format: x for feature share.version"),
        ("share.version=-+1", 2, "Invalid version format: -+1 for feature share.version"),
        ("share.version=9", 1, "Feature level 9 is not supported for feature share.version"),
        ("nope=1", 1, "Unknown feature: nope"),
        ("metadata.version=99", 1, "Unknown metadata.version 99"),
    ],
)
def test_dependencies_of_what_is_not_there(
    given: str, status: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert storage("feature-dependencies", "-f", given) == status
    assert text in capsys.readouterr().err


def test_settings_that_are_no_file_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert storage("info", "-c", tmp_path / "nothing") == 1
    assert (
        capsys.readouterr().err == f"kafka-storage: configuration file {tmp_path}/nothing: No such file or directory\n"
    )


def test_files_are_as_private_as_their_directory(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o700)
    assert format_(tmp_path, "-s", log_dirs=f"{tmp_path}/a") == 0
    modes = {os.stat(path).st_mode & 0o077 for path in (tmp_path / "a").iterdir() if path.is_file()}
    assert modes == {0}


def test_a_fifo_in_the_place_of_the_identity_keeps_nobody_waiting(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    os.mkfifo(tmp_path / "a" / "meta.properties")
    settings = config(tmp_path, log_dirs=f"{tmp_path}/a")
    for words in (["info"], ["format", "-s", "-t", CLUSTER]):
        command = [sys.executable, "-m", "kafka_tools", "storage", *words, "-c", str(settings)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert ended.returncode == 1
        assert "meta.properties: not a regular file" in ended.stdout + ended.stderr


def test_what_is_in_the_way_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "away").symlink_to(tmp_path / "missing")
    assert storage("format", "-c", config(tmp_path, log_dirs=f"{tmp_path}/away"), "-t", CLUSTER, "-s") == 1
    wanted = f"cannot read {tmp_path}/away: it is a link to {tmp_path}/missing, which does not exist"
    assert wanted in capsys.readouterr().err
    (tmp_path / "taken" / FIRST_SNAPSHOT).mkdir(parents=True)
    assert storage("format", "-c", config(tmp_path, log_dirs=f"{tmp_path}/taken"), "-t", CLUSTER, "-s") == 1
    assert capsys.readouterr().err == f"kafka-storage: {tmp_path}/taken/{FIRST_SNAPSHOT}: Is a directory\n"
