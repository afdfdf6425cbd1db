"""Fixtures of the client tests: a clock that stands still, and a cluster of functions."""

from __future__ import annotations

import pytest

from kafka_tools.clock import ManualClock
from tests.clients.fake_cluster import FakeCluster


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def cluster(clock: ManualClock) -> FakeCluster:
    return FakeCluster(clock)
