"""What every test of the bundled broker gets: its brokers' files are closed after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.broker_embedded.disk_broker import DiskBroker


@pytest.fixture(autouse=True)
def cores_are_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Close the files of each ``DiskBroker`` as a kill does, so that a test process does not run out of descriptors."""
    shared = len(DiskBroker.opened)  # with other tests of the module
    yield
    monkeypatch.undo()  # a disk that fails, for example
    for core in DiskBroker.opened[shared:]:
        core.close(clean=False)
    del DiskBroker.opened[shared:]
