"""Responses that wait until the changes that they acknowledge are on disk (``broker run --fsync always``).

A change is visible in memory as soon as it is written; responses wait. Everything that was written before a response
was created is flushed to the disk before the response is sent. So no response contains anything that a power failure
could undo, neither a change of its own request nor one of another request. The next round flushes everything that
arrives while the disk is busy, with one fsync for each file.

After a failed fsync the contents of the disk are unknown, and another fsync would not reveal them. So the broker
acknowledges nothing more and stops; the next start checks the files. (PostgreSQL does the same, and Kafka if the last
log directory fails.) If a file cannot be opened because the process has no free file descriptor, nothing is lost, and
responses wait until it can be opened. An fsync of a file that was removed, moved or unmounted succeeds without effect:
clients that wait for such a round get no response.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kafka_tools.storage.log.syncing import NO_DESCRIPTOR

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.timers import Timers
    from kafka_tools.storage.log.syncing import Unsynced

log = logging.getLogger(__name__)

_RETRY_MS = 100
"""The delay before a file that could not be opened is tried again."""

Then = Callable[[], None]


def _at_once(function: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
    """The default of ``offload``: runs on this thread."""
    try:
        result = function()
    except OSError as error:
        done(None, error)
        return
    done(result, None)


class GroupCommit:
    """Rounds of fsyncs, and the responses that wait for them. Only the fsyncs run on another thread."""

    def __init__(self, unsynced: Unsynced, timers: Timers) -> None:
        self._unsynced = unsynced
        self._timers = timers
        self.offload: Callable[[Callable[[], Any], Callable[[Any, BaseException | None], None]], None] = _at_once
        """(function, done): calls ``function`` on another thread, then ``done(result, error)`` on the broker's."""
        self.failure: BaseException | None = None
        self.on_failed: Callable[[BaseException], None] = lambda _: None
        self.on_lost: Callable[[], object] = lambda: None
        """Called if written files are missing at their paths, before the functions that waited."""
        self._underway: list[tuple[Then, Then]] | None = None
        """The functions to call after the present round, each with the one to call if files were lost."""
        self._next: list[tuple[Then, Then]] = []
        self._wants_descriptor = False

    @property
    def is_synced(self) -> bool:
        """Whether everything that was written is on the disk."""
        return not self._unsynced and self._underway is None and self.failure is None

    def when_synced(self, then: Then, lost: Then | None = None) -> None:
        """Call ``then`` once everything written so far is on disk: now, later, or never after a failure.

        If written files are missing, ``lost`` is called instead, if it is given.
        """
        if self.failure is not None:
            return
        if self._unsynced:
            self._next.append((then, lost or then))
            if self._underway is None:
                self._begin()
        elif self._underway is not None:
            self._underway.append((then, lost or then))
        else:
            then()

    def _begin(self) -> None:
        self._underway, self._next = self._next, []
        self._force(self._unsynced.take())

    def _force(self, force: Callable[[], list[str]]) -> None:
        self.offload(force, lambda lost, error: self._done(force, lost, error))

    def _done(self, force: Callable[[], list[str]], lost: list[str] | None, error: BaseException | None) -> None:
        if isinstance(error, OSError) and error.errno in NO_DESCRIPTOR:
            self._force_later(force, error)
            return
        waiting, self._underway = self._underway or [], None
        if error is not None:
            self._fail(error)
            return
        if self._wants_descriptor:
            log.info("flushing to the disk works again")
            self._wants_descriptor = False
        if lost:
            self.on_lost()
        if self._next:
            self._begin()
        for then, otherwise in waiting:
            try:
                (otherwise if lost else then)()
            except Exception:  # a bug in one response must not prevent the others
                log.exception("cannot send a response")

    def _force_later(self, force: Callable[[], list[str]], error: OSError) -> None:
        if not self._wants_descriptor:
            log.error(
                "cannot flush to the disk yet: %s. Writes are acknowledged once a file descriptor is available",
                error,
            )
        self._wants_descriptor = True
        self._timers.call_later(_RETRY_MS, lambda: self._force(force))

    def _fail(self, error: BaseException) -> None:
        self.failure = error
        self._next.clear()
        log.critical(
            "cannot flush to the disk: %s. The broker acknowledges no more writes and stops. Check the disk, "
            "then start the broker again; it checks its logs",
            error,
        )
        self.on_failed(error)
