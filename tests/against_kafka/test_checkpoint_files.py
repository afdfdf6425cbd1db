"""The small text files of a log directory are read and refused as Kafka's own classes read and refuse them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from kafka_tools.errors import CorruptIndex
from kafka_tools.storage.checkpoints import read_offset_checkpoint
from kafka_tools.storage.snapshots import read_leader_epochs, read_partition_metadata
from kafka_tools.values import uuid_text
from tests.against_kafka.jars import ENVIRONMENT
from tests.against_kafka.java_programs import compiled

ID = "U4QvXJg1QtiGpPz9Eg5JrA"
METADATA = [
    f"version: 0\ntopic_id: {ID}",
    f"version: 0\r\ntopic_id: {ID}\r\nmore\n",
    f"topic_id: {ID}\nversion: 0\n",
    f"version: 1\ntopic_id: {ID}\n",
    f"version: 2147483647\ntopic_id:   {ID}\n",
    f"version: 2147483648\ntopic_id: {ID}\n",
    f"version: -1\ntopic_id: {ID}\n",
    f"version: x\ntopic_id: {ID}\n",
    f"version:0\ntopic_id: {ID}\n",
    f"a: 0\nb: {ID}\n",
    f": 0\n: {ID}\n",
    f"\nversion: 0\ntopic_id: {ID}\n",
    f"version: 0\n\ntopic_id: {ID}\n",
    f"version: 0: 1\ntopic_id: {ID}\n",
    f"v:0: 1\ntopic_id: {ID}\n",
    f"version: 0\ntopic_id: {ID}==\n",
    f"version: 0\ntopic_id: {ID}\u2028\n",
    "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n",
    "version: 0\ntopic_id: short\n",
    "version: 0\ntopic_id: \n",
    "version: 0\n",
    "version: 0",
    "",
    f"version: 0\ntopic_id: {ID}\xff",
]
EPOCHS = [
    "",
    "0",
    "0\n",
    "1",
    "x",
    "\n",
    "0\n0",
    "0\n0\n",
    "0\n1\n",
    "0\n1\n4 5\n",
    "0\n2\n4 5\n",
    "0\n1\n4 5 6\n",
    "0\nx\n",
]
OFFSETS = ["", "0", "0\n", "1\n", "0\n0\n", "0\n1\norders 0 7\n", "0\n1\norders 0\n", "0\n2\norders 0 7\n"]


READERS: dict[str, tuple[list[str], Callable[[str], str]]] = {
    "metadata": (METADATA, lambda path: uuid_text(read_partition_metadata(path))),
    "epochs": (EPOCHS, lambda path: ",".join(f"{epoch} {start}" for epoch, start in read_leader_epochs(path))),
    "offsets": (
        OFFSETS,
        lambda path: ",".join(f"{key} {at}" for key, at in sorted(read_offset_checkpoint(path).items())),
    ),
}


def test_what_kafka_reads_is_read_and_what_it_refuses_is_refused(tmp_path: Path) -> None:
    arguments: list[str] = []
    ours: dict[tuple[str, str], str] = {}
    for kind, (contents, read) in READERS.items():
        for text in contents:
            path = tmp_path / f"{kind}-{len(ours)}"
            path.write_bytes(text.encode("latin-1" if "\xff" in text else "utf-8"))
            arguments.append(f"{kind}:{path}")
            try:
                ours[kind, text] = read(str(path))
            except CorruptIndex:
                ours[kind, text] = "refused"
    command = [*compiled("CheckpointFiles"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=ENVIRONMENT)
    assert done.returncode == 0, done.stderr
    assert ours == dict(zip(ours, done.stdout.splitlines(), strict=True))
    assert 10 < list(ours.values()).count("refused") < len(ours) - 10
