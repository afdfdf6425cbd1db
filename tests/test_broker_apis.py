"""The table of APIs says of each difference from Kafka why it is there."""

from __future__ import annotations

import re

from kafka_tools.protocol import registry
from tests import broker_apis


def test_every_difference_has_its_reason_and_every_reason_its_difference() -> None:
    differing = {}
    for row in registry.rows():
        their, our = broker_apis.theirs().get(row.key), broker_apis.ours().get(row.key)
        if their != our:
            differing[row.stem] = broker_apis.reason(row.stem, their, our)
    assert [stem for stem, why in differing.items() if why is None] == []
    unserved = [stem for stem, why in differing.items() if why != broker_apis.OLDER]
    for pattern, _ in broker_apis.REASONS:
        assert any(re.fullmatch(pattern, stem) for stem in unserved), pattern


def test_what_both_serve_is_served_in_kafkas_newest_version() -> None:
    theirs, ours = broker_apis.theirs(), broker_apis.ours()
    for key in theirs.keys() & ours.keys():
        assert ours[key][0] <= theirs[key][0]
        assert ours[key][1] == theirs[key][1]
    received = {registry.key_of(stem) for stem in broker_apis.RECEIVED}
    assert ours.keys() - received <= theirs.keys()
