"""The configs that the audit reads from a metadata log."""

from __future__ import annotations

from pathlib import Path

from kafka_tools.spark.measures.configs import read_configs
from tests.spark import planted


def config_batch(folder: Path, name: str, value: str) -> bytes:
    """The batch of a metadata log with one config of topic t."""
    planted.configs(folder, "t", **{name: value})
    (log,) = (folder / "__cluster_metadata-0").glob("*.log")
    return log.read_bytes()


def test_newest_snapshot_is_read_and_the_bootstrap_file_is_not(tmp_path: Path) -> None:
    retention, rolling, cleanup = (
        config_batch(tmp_path / name, name, value)
        for name, value in (("retention.ms", "7"), ("segment.ms", "8"), ("cleanup.policy", "compact"))
    )
    folder = planted.write(tmp_path / "data", "__cluster_metadata-0", [rolling]).parent
    (folder / "00000000000000000001-0000000001.checkpoint").write_bytes(cleanup)
    (folder / "00000000000000000002-0000000001.checkpoint").write_bytes(retention)
    (folder / "bootstrap.checkpoint").write_bytes(cleanup)
    configs = read_configs([str(tmp_path / "data")])
    assert configs.topics == {"t": {"retention.ms": "7", "segment.ms": "8"}}
