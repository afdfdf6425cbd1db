"""``kafka-dump-log -o json|jsonl``: every object of every golden file is what the schema says."""

from __future__ import annotations

import base64
import json
import os
import random
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kafka_tools.commands import running
from kafka_tools.commands.logs.dump_log import PROGRAM, command
from kafka_tools.dump import walk
from kafka_tools.records.build import build_batch
from tests.corpus.golden import cases, files
from tests.dump.test_golden import output

THOROUGH = bool(os.environ.get("KAFKA_TOOLS_THOROUGH"))
CHECKED = 12
"""So many objects of each type are checked in each file; all of them in a thorough run."""
ROOT = Path(__file__).parents[2]
DECODERS = {
    "__consumer_offsets": "--offsets-decoder",
    "__transaction_state": "--transaction-log-decoder",
    "__share_group_state": "--share-group-state-decoder",
    "__cluster_metadata": "--cluster-metadata-decoder",
    "__remote_log_metadata": "--remote-log-metadata-decoder",
}


@cache
def validators() -> dict[str, Any]:
    """Type of object -> validator: one for each, since trying all of them for each object takes long."""
    schema = json.loads((ROOT / "schemas" / "dump-log.v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert [each["$ref"] for each in schema["oneOf"]] == [f"#/$defs/{name}" for name in schema["$defs"]]
    found = {}
    for name, definition in schema["$defs"].items():
        assert definition["properties"]["type"]["const"] == name
        found[name] = jsonschema.Draft202012Validator(definition)
    return found


def run(*arguments: str, form: str = "jsonl") -> tuple[int, str, list[str]]:
    """(status, stdout, lines of stderr)."""
    with output() as (stdout, stderr):
        status = running.run(command, [*arguments, "-o", form], PROGRAM)
        return status, stdout.data().decode(), stderr.data().decode().splitlines()


def objects(*arguments: str) -> list[dict[str, Any]]:
    """The objects of a run, each checked; what no run may show is asserted here."""
    status, stdout, stderr = run(*arguments)
    assert status in (0, 1), stderr
    assert not any("internal error" in line or "Traceback" in line for line in stderr), stderr
    found = [json.loads(line) for line in stdout.splitlines()]
    seen: Counter[str] = Counter()
    for each in found:
        seen[each["type"]] += 1
        if seen[each["type"]] <= CHECKED or THOROUGH:
            validators()[each["type"]].validate(each)
    damage = any(each["type"] == "finding" and each["severity"] != "info" for each in found)
    assert status == 1 or not damage, stderr
    return found


@cache
def golden_files() -> list[Path]:
    return [
        path
        for suffix in (".log", ".checkpoint", ".index", ".timeindex", ".txnindex", ".snapshot")
        for path in files(suffix)
    ]


def option_for(path: Path) -> list[str]:
    decoder = next((option for topic, option in DECODERS.items() if path.parent.name.startswith(topic)), None)
    return [decoder or "--print-data-log"]


@pytest.mark.parametrize("case", [case.id for case in cases()])
@pytest.mark.parametrize("way", ["scalar", "columns"])
def test_every_golden_file_gives_objects_that_the_schema_describes(
    case: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    monkeypatch.setattr(walk, "WINDOW_BYTES", 3000)
    paths = [path for path in golden_files() if path.parts[path.parts.index("data") - 1] == case]
    for path in paths[:: 1 if way == "scalar" else 3]:
        found = objects("--files", str(path), *option_for(path))
        assert found[0]["type"] == "file" and found[0]["size_bytes"] == path.stat().st_size
        if path.suffix == ".log":
            assert found[-1]["type"] == "end"


RECORD = re.compile(r"^\| offset: (\d+) (\w+): (-?\d+) keySize: (-?\d+) valueSize: (-?\d+)", re.MULTILINE)
BATCH = re.compile(
    r"^baseOffset: (\d+) lastOffset: (\d+) count: (\d+) baseSequence: (-?\d+) lastSequence: (-?\d+) "
    r"producerId: (-?\d+) producerEpoch: (-?\d+) partitionLeaderEpoch: (-?\d+) .* position: (\d+) (\w+): (-?\d+) "
    r"size: (\d+) magic: (\d) compresscodec: (\w+) crc: (\d+) isvalid: (\w+)$",
    re.MULTILINE,
)
IN_KAFKAS_ORDER = (
    *("base_offset", "last_offset", "record_count", "base_sequence", "last_sequence", "producer_id", "producer_epoch"),
    *("leader_epoch", "position", "timestamp_type", "max_timestamp_ms", "size_bytes", "magic", "codec", "crc"),
)


def test_the_numbers_are_those_of_kafkas_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """What Kafka's tool printed with --deep-iteration for every sound log, against our objects."""
    compared = 0
    for case in cases():
        monkeypatch.chdir(case.cwd)
        for run_ in case.runs:
            if (
                run_.tool_version != "4.3.1"
                or run_.exit_code
                or "--deep-iteration" not in run_.args
                or len(run_.args) != 3
            ):
                continue
            text = run_.stdout.decode()
            if "Log starting offset" not in text or "corrupt" in case.id:
                continue
            found = objects(*run_.args)
            records = [
                (str(each["offset"]), str(each["timestamp_ms"]), str(each["key_size"]), str(each["value_size"]))
                for each in found
                if each["type"] == "record"
            ]
            assert records == [(row[0], *row[2:]) for row in RECORD.findall(text)], run_.id
            batches = [
                (*(str(each[name]) for name in IN_KAFKAS_ORDER), str(each["crc_ok"]).lower())
                for each in found
                if each["type"] == "batch" and each["magic"] == 2
            ]
            assert batches == BATCH.findall(text), run_.id
            compared += 1
    assert compared > 100


def log_of(folder: Path, data: bytes, base_offset: int = 0) -> str:
    path = folder / f"{base_offset:020d}.log"
    path.write_bytes(data)
    return str(path)


def test_bytes_are_text_or_base64_as_asked(tmp_path: Path) -> None:
    records = [(1, "ключ".encode(), b"\xff\x00", (("h", b"\xfe"), ("n", None))), (2, None, b'"\n\\', ())]
    path = log_of(tmp_path, build_batch(records))

    def shown(*arguments: str) -> list[dict[str, Any]]:
        found = [each for each in objects("--print-data-log", "--files", path, *arguments) if each["type"] == "record"]
        return [{name: each[name] for name in each if name.startswith(("key", "value", "headers"))} for each in found]

    sizes = {"key_size": 8, "value_size": 2}, {"key_size": -1, "value_size": 3}
    headers = [{"key": "h", "value_base64": "/g=="}, {"key": "n", "value": None}]
    b64 = "base64"
    assert shown() == [
        {**sizes[0], "headers": headers, "key": "ключ", "value_base64": "/wA="},
        {**sizes[1], "headers": [], "key": None, "value": '"\n\\'},
    ]
    assert shown("--bytes", "text")[0]["value"] == "\ufffd\x00"
    assert shown("--bytes", b64)[1] == {**sizes[1], "headers": [], "key": None, "value_base64": "Igpc"}
    assert shown("--bytes", b64)[0]["key_base64"] == "0LrQu9GO0Yc="


def test_decoders_give_json_values(tmp_path: Path) -> None:
    number = (258).to_bytes(8, "big")
    path = log_of(tmp_path, build_batch([(1, number, b"x", ()), (2, b"short", b"y", ())]))
    long_decoder = "org.apache.kafka.tools.api.LongDecoder"
    found = objects("--key-decoder-class", long_decoder, "--value-decoder-class", "json:dumps", "--files", path)
    records = [each for each in found if each["type"] == "record"]
    assert records[0]["key_base64" if "key_base64" in records[0] else "key"] is not None
    assert records[0]["decode_error"].startswith("TypeError")  # json.dumps refuses bytes
    found = objects("--key-decoder-class", long_decoder, "--files", path)
    records = [each for each in found if each["type"] == "record"]
    assert (records[0]["key"], records[0]["value"]) == (258, "x")
    assert "a long needs 8 bytes" in records[1]["decode_error"] and records[1]["key"] == "short"


def test_the_offsets_decoder_gives_the_documents_of_kafkas_text() -> None:
    logs = [path for path in files(".log") if "offsets-43" in str(path) and "__consumer_offsets" in str(path)]
    path = max(logs, key=lambda path: path.stat().st_size)
    found = [each for each in objects("--offsets-decoder", "--files", str(path)) if each["type"] == "record"]
    documents = [each for each in found if "control" not in each and "decode_error" not in each]
    assert documents and all(set(each["key"]) == {"type", "data"} for each in documents)
    assert all(each["value"] is None or set(each["value"]) == {"version", "data"} for each in documents)


def test_secrets_of_the_metadata_are_masked_in_json() -> None:
    from kafka_tools.dump.json.contents import internal
    from kafka_tools.dump.json.lines import as_is
    from kafka_tools.protocol.codec import encode
    from kafka_tools.protocol.stored.cluster_metadata import UserScramCredentialRecord

    record = UserScramCredentialRecord(name="alice", mechanism=1, salt=b"salt", stored_key=b"stored", server_key=b"srv")
    shown = internal("cluster_metadata", as_is)(0, None, b"\x01\x0b\x00" + encode(record, 0))
    assert '"name":"alice"' in shown and "***" in shown
    assert base64.b64encode(b"stored").decode() not in shown


def test_one_document_holds_the_same_objects_and_what_could_not_be_read(tmp_path: Path) -> None:
    path = log_of(tmp_path, build_batch([(1, b"k", b"v", ())]))
    missing = str(tmp_path / "00000000000000000009.log")
    status, stdout, stderr = run("--print-data-log", "--files", f"{path},{missing}", form="json")
    document = json.loads(stdout)
    assert status == 1 and stderr == [f"{PROGRAM}: {missing}: No such file or directory"]
    assert document["schema"] == "kafka-tools/dump-log/v1"
    assert document["data"] == objects("--print-data-log", "--files", path)
    assert document["errors"] == [{"item": missing, "error": None, "message": f"{missing}: No such file or directory"}]
    empty = log_of(tmp_path, b"", 5)
    assert json.loads(run("--files", empty, form="json")[1])["data"][1:] == [
        {"type": "end", "position": 0, "next_offset": None}
    ]


def test_json_goes_on_behind_damage_and_text_stops_there(tmp_path: Path) -> None:
    batches = [build_batch([(1, b"k", b"v%d" % each, ())], base_offset=each) for each in range(3)]
    flipped = batches[2].replace(b"v2", b"w2")
    path = log_of(tmp_path, batches[0] + b"garbage" * 9 + bytes(40) + batches[1] + flipped)
    found = objects("--print-data-log", "--files", path)
    kinds = [each["kind"] if each["type"] == "finding" else each["type"] for each in found[1:]]
    start, end = (
        ["batch", "record", "bad-length", "skipped"],
        ["batch", "record", "batch", "crc-mismatch", "record", "end"],
    )
    assert kinds == start + end
    assert found[-1]["position"] == Path(path).stat().st_size
    stopped = _text("--print-data-log", "--files", path)
    assert stopped[0] == 1 and stopped[1].count("payload:") == 1 and stopped[1].endswith("00000.log\n")
    went_on = _text("--print-data-log", "--keep-going", "--files", path)
    assert went_on[0] == 1 and went_on[1].count("payload:") == 3 and "invalid bytes" not in went_on[1]
    assert [line.split(": ", 2)[2] for line in went_on[2]] == [
        "the length in the header extends beyond the end of the file",
        "103 bytes were skipped before the next complete batch",
        "the CRC of the batch does not match its contents",
    ]


@pytest.mark.parametrize("way", ["scalar", "columns"])
def test_a_length_that_swallows_batches_hides_none_of_them(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walk, "FAST_FROM_BYTES", 0 if way == "columns" else 1 << 60)
    batches = [bytearray(build_batch([(1, b"k", b"v%d" % each, ())], base_offset=each)) for each in range(6)]
    batches[1][8:12] = (int.from_bytes(batches[1][8:12], "big") + len(batches[2]) + 9).to_bytes(4, "big")
    path = log_of(tmp_path, b"".join(batches))
    found = objects("--print-data-log", "--files", path)
    assert [each["offset"] for each in found if each["type"] == "record"] == [0, 2, 3, 4, 5]
    kinds = [each["kind"] for each in found if each["type"] == "finding"]
    assert kinds == ["crc-mismatch", "bad-length", "offset-gap"]
    status, stdout, _ = _text("--print-data-log", "--keep-going", "--files", path)
    assert status == 1 and stdout.count("payload:") == 5


def _text(*arguments: str) -> tuple[int, str, list[str]]:
    with output() as (stdout, stderr):
        status = running.run(command, [*arguments], PROGRAM)
        return status, stdout.data().decode(), stderr.data().decode().splitlines()


@pytest.mark.parametrize("suffix", [".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint"])
def test_no_flipped_bit_surprises(suffix: str, tmp_path: Path) -> None:
    rng = random.Random(f"json {suffix}")
    samples = [path for path in files(suffix) if path.stat().st_size and "corrupt" not in str(path)]
    for path in rng.sample(samples, min(6, len(samples))):
        for other in path.parent.glob(path.name.split(".")[0] + ".*"):
            (tmp_path / other.name).write_bytes(other.read_bytes())
        data = path.read_bytes()
        for _ in range(200 if THOROUGH else 12):
            at = rng.randrange(len(data))
            end = rng.randrange(len(data)) if rng.random() < 0.3 else len(data)
            flipped = data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]
            (tmp_path / path.name).write_bytes(flipped[:end])
            objects("--files", str(tmp_path / path.name), *option_for(path))
            objects("--files", str(tmp_path / path.name), "--summary")


@pytest.mark.parametrize("form", [(), ("--bytes", "text"), ("--bytes", "base64"), ("--skip-record-metadata",)])
def test_columns_write_what_the_scalar_way_writes(form: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "WINDOW_BYTES", 3000)
    paths = [path for path in golden_files() if path.suffix == ".log" and path.stat().st_size]
    for path in paths if THOROUGH else paths[:: 1 if not form else 5]:
        written = []
        for smallest in (0, 1 << 60):
            monkeypatch.setattr(walk, "FAST_FROM_BYTES", smallest)
            written.append(run("--files", str(path), *option_for(path), *form))
        assert written[0] == written[1], path


def test_every_kind_of_object_is_seen_and_is_as_described(tmp_path: Path) -> None:
    """Whole partitions, sanity checks and sums; nothing in the schema is there for nothing."""
    directories = sorted(
        {path.parent for path in files(".log") if "/txn-43/" in str(path) or "/compact-43/" in str(path)}
    )
    found = [
        each for directory in directories for each in objects("--partition-dir", str(directory), "--print-data-log")
    ]
    found += objects("--partition-dir", str(directories[0]), "--summary")
    found += objects("--files", str(next(directories[0].glob("*.timeindex"))), "--index-sanity-check")
    damaged = next(path for path in files(".log") if "corrupt-flip-crc" in str(path))
    found += objects("--files", str(damaged))
    assert {each["type"] for each in found} == set(validators())
