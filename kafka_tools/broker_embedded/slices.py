"""Long work in slices. The broker serves other requests between them, because it has one thread for its state.

Work is a generator. A handler with possibly much work is a generator and returns the answer. Work does two things:

- A bare ``yield`` is a checkpoint. Within a slice of 4 ms the work continues immediately. After the slice, other
  requests are served first; they may change state.
- ``yield from`` waits: for a function on another thread (``to_thread``, ``Slices.on_disk``), for a time (``sleep``),
  for a commit (``Slices.durable``), or for other work (its generator).

Short work is done within its first slice. All other work waits in one line, and one piece of it runs at a time, so
that at most one large request is in memory with all its elements. Work keeps its turn while it waits for
``to_thread``. While work sleeps, or waits for the disk, the rest of the line continues.

If the client of a request disconnects, its work ends at the next checkpoint. Work in a ``shielded`` function
continues, so that it completes its change.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator
from types import CodeType, GeneratorType
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_tools.broker_embedded.configs.limits import BrokerLimits
from kafka_tools.broker_embedded.timers import Timers
from kafka_tools.clock import ManualClock

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.directories.group_commit import GroupCommit

log = logging.getLogger(__name__)

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
Work = Generator[Any, None, T]
"""Work that returns a T: the handler of a produce is ``Work[ProduceResponse]``."""
Done = Callable[[Any, BaseException | None], None]
"""Called once with the result or the exception."""
Offload = Callable[[Callable[[], Any], Done], None]
"""(function, done): calls ``function`` on another thread, then ``done(result, error)`` on the broker's."""


class Wait:
    """``to_thread``, ``sleep`` and other waits yield it."""

    __slots__ = ("begin", "keeps_turn")

    def __init__(self, begin: Callable[[Slices, Callable[[], None]], object], *, keeps_turn: bool = False) -> None:
        """
        Args:
            begin: Called with the line of the work, and a function to call once the wait is over.
            keeps_turn: No other work in the line continues meanwhile. Otherwise the work goes to the end of the line.
        """
        self.begin = begin
        self.keeps_turn = keeps_turn


def to_thread(run: Callable[[], T]) -> Work[T]:
    """Call a function on the thread for long work, to decode or decompress. The work keeps its turn meanwhile.

    Args:
        run: It must not use state of the broker.

    Returns:
        What ``run`` returns.

    Raises:
        Exception: What ``run`` raises.
    """
    return _called(run, lambda line: line.threads.offload, keeps_turn=True)


def sleep(ms: float) -> Work[None]:
    """Wait for ``ms`` milliseconds, then for the rest of the line: ``sleep(0)`` lets others go first."""
    yield Wait(lambda line, resume: line.timers.call_later(ms, resume))


def _called(run: Callable[[], T], offload: Callable[[Slices], Offload], *, keeps_turn: bool) -> Work[T]:
    outcome: list[Any] = []

    def begin(line: Slices, resume: Callable[[], None]) -> None:
        def done(result: Any, error: BaseException | None) -> None:
            outcome.extend((result, error))
            result = error = None  # break the reference cycle of the traceback, as below
            resume()

        offload(line)(run, done)

    yield Wait(begin, keeps_turn=keeps_turn)
    result, error = outcome
    outcome.clear()
    if error is None:
        return result  # type: ignore[no-any-return]
    try:
        raise error
    finally:
        error = None  # its traceback has this frame: the cycle would keep the work's data in memory


_shielded: set[CodeType] = set()


def shielded(function: F) -> F:
    """Mark a generator function: work within it continues after it is cancelled."""
    _shielded.add(function.__code__)
    return function


def _is_shielded(work: Work[Any]) -> bool:
    """Whether work is at a checkpoint, or waits, within a function that is ``shielded``."""
    within: Any = work
    while isinstance(within, GeneratorType):  # at the end there may be an iterator of any kind
        if within.gi_code in _shielded:
            return True
        within = within.gi_yieldfrom
    return False


def at_once(function: Callable[[], Any], done: Done) -> None:
    """The offload of a broker without other threads."""
    try:
        result = function()
    except Exception as error:  # noqa: BLE001 - handed to the caller
        done(None, error)
        return
    done(result, None)


def _nobody(result: Any, error: BaseException | None) -> None:
    """Called when cancelled work has ended."""


class Sliced:
    """One piece of long work. ``done`` gets its result or exception once; never after ``cancel``."""

    __slots__ = ("cancelled", "done", "spent_s", "wait", "work")

    def __init__(self, work: Work[Any], done: Done, wait: Wait | None = None, spent_s: float = 0.0) -> None:
        self.work = work
        self.done = done
        self.wait = wait
        """The wait that begins when the turn of the work comes, before the work continues."""
        self.cancelled = False
        self.spent_s = spent_s
        """How long the work ran on the broker's thread."""

    def go_on_with(self, work: Work[Any], done: Done) -> None:
        """Set other work for the same turn. The ``done`` of the current work calls this."""
        self.work = work
        self.done = done

    @property
    def is_given_up(self) -> bool:
        """Whether the work is cancelled and not ``shielded``."""
        return self.cancelled and not _is_shielded(self.work)

    def give_up(self) -> None:
        """End the work. Python 3.12 and 3.13 keep the arguments of a generator that is closed before it began."""
        self.work.close()
        del self.work


class Slices:
    """The line of long work. Everything here runs on the broker's thread, except offloaded functions."""

    def __init__(
        self,
        timers: Timers,
        *,
        threads: Slices | None = None,
        pause_ms: float = 0,
        slice_s: float = BrokerLimits.slice_s,
    ) -> None:
        """
        Args:
            timers: The broker's timers.
            threads: Another line; this one uses its threads and its disk.
            pause_ms: The pause between two slices of one piece of work, for work for which no client waits.
            slice_s: As in ``BrokerLimits``.
        """
        self.timers = timers
        self.slice_s = slice_s
        self.threads = threads or self
        self._pause_ms = pause_ms
        self._line: deque[Sliced] = deque()
        self._current: Sliced | None = None
        self._waiting = 0
        self.offload: Offload = at_once
        self.disk: Offload = at_once
        """As ``offload``, for functions that wait for the disk: other work does not wait for them."""
        self.group_commit: GroupCommit | None = None
        """Delays answers until their data is on the disk. ``durable`` uses it."""

    def __len__(self) -> int:
        """The number of pieces of work that are not finished."""
        return len(self._line) + (self._current is not None) + self._waiting

    def begin(self, work: Work[Any], done: Done) -> Sliced | None:
        """Run one slice immediately. Returns None if the work is done; otherwise the rest waits for its turn."""
        sliced = Sliced(work, done)
        return None if self._advance(sliced) else self.add(sliced)

    def later(self, work: Work[Any], done: Done) -> Sliced:
        """Do the work when its turn comes."""
        return self.add(Sliced(work, done))

    def add(self, sliced: Sliced) -> Sliced:
        """Continue the work when its turn comes."""
        self._line.append(sliced)
        if self._current is None:
            self._next()
        return sliced

    def cancel(self, sliced: Sliced) -> None:
        """Cancel work. Work in progress ends at the next checkpoint at which it may end."""
        sliced.cancelled = True
        sliced.done = _nobody  # breaks a possible reference cycle with the caller
        if sliced in self._line and sliced.is_given_up:
            self._line.remove(sliced)
            sliced.give_up()

    @shielded
    def durable(self) -> Work[None]:
        """Wait until everything written so far is on the disk, before a write that depends on it.

        Waits only if acknowledgements do (``--fsync always``). Otherwise the broker needs to survive only kills, which
        lose no write.
        """
        commit = self.threads.group_commit
        if commit is not None and not commit.is_synced:
            yield Wait(lambda _, resume: commit.when_synced(resume))

    @shielded
    def on_disk(self, run: Callable[[], T]) -> Work[T]:
        """As ``to_thread``, on the thread that waits for the disk. The rest of the line continues meanwhile."""
        if self.threads.disk is at_once:
            return run()
        return (yield from _called(run, lambda _: self.threads.disk, keeps_turn=False))

    def _next(self) -> None:
        self._current = self._line.popleft() if self._line else None
        if self._current is not None:
            self.timers.call_later(0, self._go_on)

    def _go_on(self) -> None:
        """One slice of the current work."""
        sliced = self._current
        assert sliced is not None
        if (sliced.wait is None or sliced.is_given_up) and self._advance(sliced):
            self._next()
            return
        wait, sliced.wait = sliced.wait, None
        if wait is None:
            self.timers.call_later(self._pause_ms, self._go_on)
        elif wait.keeps_turn:
            wait.begin(self, self._go_on)
        else:
            self._waiting += 1
            wait.begin(self, lambda: self._back(sliced))
            self._next()

    def _back(self, sliced: Sliced) -> None:
        self._waiting -= 1
        self.add(sliced)

    def _advance(self, sliced: Sliced) -> bool:
        """Run the work for a slice, or until it waits. Returns whether it is done."""
        if sliced.is_given_up:
            sliced.give_up()
            return True
        work, now_s = sliced.work, self.timers.clock.monotonic_s
        began_s = now_s()
        try:
            # Cancelled work ends at the first checkpoint at which it may end.
            sliced.wait = advance(work, now_s, began_s if sliced.cancelled else began_s + self.slice_s)
        except StopIteration as over:
            _tell(sliced, over.value, None)
        except Exception as failure:  # noqa: BLE001 - handed to the caller
            _tell(sliced, None, failure)
        else:
            sliced.spent_s += now_s() - began_s
            return False
        return sliced.work is work or self._advance(sliced)


def advance(work: Work[Any], now_s: Callable[[], float], until_s: float) -> Wait | None:
    """Run work until the first checkpoint after ``until_s``, or until it waits. Returns the wait.

    Raises:
        StopIteration: The work is done; contains its result.
        Exception: An exception of the work.
    """
    wait: Wait | None = next(work)
    while wait is None and now_s() < until_s:
        wait = next(work)
    return wait


def _tell(sliced: Sliced, result: Any, error: BaseException | None) -> None:
    """Call ``done`` of finished work. An exception in it must not stop the rest of the line."""
    if sliced.cancelled:
        return
    try:
        sliced.done(result, error)
    except Exception:
        log.exception("the follow-up of long work failed")


_ALONE = Slices(Timers(ManualClock()))
"""The line of ``whole`` work, which has no other work and in which no time passes."""


def whole(work: Work[T]) -> T:
    """Do all of the work immediately, without slices. Its waits must end immediately."""
    resumed: list[None] = []
    try:
        while True:
            wait = advance(work, lambda: 0.0, 1.0)
            assert wait is not None
            wait.begin(_ALONE, lambda: resumed.append(None))
            assert resumed, "no other work can end this wait"
            resumed.clear()
    except StopIteration as over:
        return over.value  # type: ignore[no-any-return]
