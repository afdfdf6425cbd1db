"""Long work in slices, between which everybody else is served: the broker has one thread for its state.

Work is a generator: a handler that may have much to do is one, and what it returns is the answer. It does two things:

- A bare ``yield`` is a checkpoint. It lets others go, who may change state. Within a slice of 4 ms the work goes on at
  once; after that the others have their turn first.
- ``yield from`` waits: for a function on another thread (``to_thread``, ``Slices.on_disk``), for a time (``sleep``),
  for a commit (``Slices.durable``), or for other work (its generator).

Short work is over within its first slice. All other work stands in one line, and one piece of it is done at a time, so
that no more than one large request is in memory with all its elements: it keeps its turn while it waits for
``to_thread``. While work sleeps, or waits for the disk, the rest of the line goes on.

When the client of a request has disconnected its work ends at the next checkpoint. Within a function that is
``shielded`` it goes on: what was begun as one change is made whole.
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
"""Called once with the result, or with what was raised."""
Offload = Callable[[Callable[[], Any], Done], None]
"""(function, done): calls ``function`` on another thread, then ``done(result, error)`` on the broker's."""


class Wait:
    """What ``to_thread`` and its like yield."""

    __slots__ = ("begin", "keeps_turn")

    def __init__(self, begin: Callable[[Slices, Callable[[], None]], object], *, keeps_turn: bool = False) -> None:
        """
        Args:
            begin: Called with the line that the work stands in, and what to call once the wait is over.
            keeps_turn: Nobody else in the line goes on meanwhile. Otherwise the work goes to its end afterwards.
        """
        self.begin = begin
        self.keeps_turn = keeps_turn


def to_thread(run: Callable[[], T]) -> Work[T]:
    """Call a function on the thread for long work, to decode or decompress. The work keeps its turn meanwhile.

    Args:
        run: It must touch no state of the broker.

    Returns:
        What ``run`` returns.

    Raises:
        Exception: What ``run`` raises.
    """
    return _called(run, lambda line: line.threads.offload, keeps_turn=True)


def sleep(ms: float) -> Work[None]:
    """Wait for so many milliseconds, and then for the rest of the line: ``sleep(0)`` lets all of it go first."""
    yield Wait(lambda line, resume: line.timers.call_later(ms, resume))


def _called(run: Callable[[], T], offload: Callable[[Slices], Offload], *, keeps_turn: bool) -> Work[T]:
    outcome: list[Any] = []

    def begin(line: Slices, resume: Callable[[], None]) -> None:
        def done(result: Any, error: BaseException | None) -> None:
            outcome.extend((result, error))
            result = error = None  # as below: this frame called those that a traceback has
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
        error = None  # whose traceback has this frame: in a circle they would keep what was worked on


_shielded: set[CodeType] = set()


def shielded(function: F) -> F:
    """Mark a generator function: the work goes on within it although nobody waits for its result any more."""
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
    """Where there is no other thread."""
    try:
        result = function()
    except Exception as error:  # noqa: BLE001 - handed to the caller
        done(None, error)
        return
    done(result, None)


def _nobody(result: Any, error: BaseException | None) -> None:
    """Whom the end of cancelled work is told to."""


class Sliced:
    """One piece of long work. ``done`` gets its result, or what it raised, once; never after ``cancel``."""

    __slots__ = ("cancelled", "done", "spent_s", "wait", "work")

    def __init__(self, work: Work[Any], done: Done, wait: Wait | None = None, spent_s: float = 0.0) -> None:
        self.work = work
        self.done = done
        self.wait = wait
        """What the work waits for when its turn comes, before it goes on."""
        self.cancelled = False
        self.spent_s = spent_s
        """How long it was worked on, but for what was done on other threads."""

    def go_on_with(self, work: Work[Any], done: Done) -> None:
        """Other work follows in the same turn, for what ``done`` is told of the end of this."""
        self.work = work
        self.done = done

    @property
    def is_given_up(self) -> bool:
        """Whether the work goes no further."""
        return self.cancelled and not _is_shielded(self.work)

    def give_up(self) -> None:
        """End the work. Python 3.12 and 3.13 keep what a generator was called with that is closed before it began."""
        self.work.close()
        del self.work


class Slices:
    """The line of long work. Everything here runs on the broker's thread, but for what other threads are given."""

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
            timers: Those of the broker.
            threads: Another line, whose threads and disk this one uses as well.
            pause_ms: How long nothing is done between two slices of one piece of work, for what nobody waits for.
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
        """As ``offload``, for what waits for the disk: nobody else has to wait for it."""
        self.group_commit: GroupCommit | None = None
        """Where answers wait for the disk: what ``durable`` asks."""

    def __len__(self) -> int:
        """How many pieces of work are not finished."""
        return len(self._line) + (self._current is not None) + self._waiting

    def begin(self, work: Work[Any], done: Done) -> Sliced | None:
        """Work for one slice at once; None if it is over then, else the rest waits for its turn."""
        sliced = Sliced(work, done)
        return None if self._advance(sliced) else self.add(sliced)

    def later(self, work: Work[Any], done: Done) -> Sliced:
        """Do all of it when its turn comes."""
        return self.add(Sliced(work, done))

    def add(self, sliced: Sliced) -> Sliced:
        """Go on with it when its turn comes."""
        self._line.append(sliced)
        if self._current is None:
            self._next()
        return sliced

    def cancel(self, sliced: Sliced) -> None:
        """Nobody wants the result any more: the work ends, where it next may if it is being done."""
        sliced.cancelled = True
        sliced.done = _nobody  # who asked may know this object, and would stay with it in a circle
        if sliced in self._line and sliced.is_given_up:
            self._line.remove(sliced)
            sliced.give_up()

    @shielded
    def durable(self) -> Work[None]:
        """Wait until everything written so far is on the disk, before something that must not be there without it.

        Does not wait unless acknowledgements do (``--fsync always``): otherwise only kills have to be survived, which
        lose nothing that was written.
        """
        commit = self.threads.group_commit
        if commit is not None and not commit.is_synced:
            yield Wait(lambda _, resume: commit.when_synced(resume))

    @shielded
    def on_disk(self, run: Callable[[], T]) -> Work[T]:
        """As ``to_thread``, on the thread that waits for the disk. The rest of the line goes on meanwhile."""
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
        """Work for a slice, or until something is waited for; whether it is over."""
        if sliced.is_given_up:
            sliced.give_up()
            return True
        work, now_s = sliced.work, self.timers.clock.monotonic_s
        began_s = now_s()
        try:
            # Cancelled work ends at the first checkpoint at which it may.
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
    """Work until the first checkpoint after ``until_s``, or until something is waited for, which is returned.

    Raises:
        StopIteration: The work is over; with its result.
        Exception: What the work raises.
    """
    wait: Wait | None = next(work)
    while wait is None and now_s() < until_s:
        wait = next(work)
    return wait


def _tell(sliced: Sliced, result: Any, error: BaseException | None) -> None:
    """The work is over. What fails in telling so must not keep the rest of the line from its turn."""
    if sliced.cancelled:
        return
    try:
        sliced.done(result, error)
    except Exception:
        log.exception("the follow-up of long work failed")


_ALONE = Slices(Timers(ManualClock()))
"""The line of ``whole`` work, in which nobody else stands and no time passes."""


def whole(work: Work[T]) -> T:
    """All of it at once: for callers that are in slices themselves no longer than that, and that wait for nobody."""
    resumed: list[None] = []
    try:
        while True:
            wait = advance(work, lambda: 0.0, 1.0)
            assert wait is not None
            wait.begin(_ALONE, lambda: resumed.append(None))
            assert resumed, "nobody else goes on meanwhile"
            resumed.clear()
    except StopIteration as over:
        return over.value  # type: ignore[no-any-return]
