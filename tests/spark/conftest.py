"""One Spark for all tests of this folder: starting one costs seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_tools.errors import KafkaToolsError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.xdist_group("spark"))
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture(scope="session")
def java() -> str:
    """The Java program that Spark runs on; the test is skipped where there is none."""
    pytest.importorskip("pyspark", reason="the Spark packages are not installed")
    pytest.importorskip("pyarrow", reason="the Spark packages are not installed")
    from kafka_tools.spark.java import find_java

    try:
        return find_java().program
    except KafkaToolsError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark(java: str) -> Iterator[SparkSession]:
    """A Spark session with our data sources, one for all tests."""
    from kafka_tools.spark.session import spark_session

    with spark_session("local[2]") as session:
        yield session
