"""Long work in slices, between which everybody else is served: the broker has one thread for its state.

A handler that may have much to do is a generator: it yields between one thing and the next, and what it returns is
the answer. It yields ``Elsewhere(function)`` to have plain work on bytes done on another thread (decompressing,
decoding: nothing that touches state) and gets back what the function returned. Ordinary requests are over within
their first slice and never notice. What is not over then waits in one line: one such request is worked on at a time,
so that no more than one of them is in memory with all its elements. Who needs what another one in the line is at work
on yields ``BEHIND`` and goes to its end; who wants to look again after some time yields ``Aside``, and the rest of the
line goes on meanwhile; so it does where work waits for the disk (``durable``). Within a change that is made whole,
whoever goes meanwhile, it yields ``UNBROKEN`` (``unbroken`` makes it of other pauses).
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kafka_tools.broker_embedded.timers import Timers

if TYPE_CHECKING:
    from kafka_tools.broker_embedded.directories.group_commit import GroupCommit

log = logging.getLogger(__name__)

SLICE_S = 0.004

T = TypeVar("T")
Work = Generator[Any, Any, T]
"""Work in slices: a handler's ``Work[ProduceResponse]`` yields None or ``Elsewhere`` and returns the response."""


class Elsewhere(Generic[T]):
    """Work for another thread: ``run`` must touch no state of the broker.

    ``is_unbroken``: the work that wants it does not end here, although nobody waits for its result any more.
    """

    __slots__ = ("is_unbroken", "run")

    def __init__(self, run: Callable[[], T], *, is_unbroken: bool = False) -> None:
        self.run = run
        self.is_unbroken = is_unbroken


class Pause:
    """Nothing is to be done for so long."""

    __slots__ = ("ms",)

    def __init__(self, ms: float) -> None:
        self.ms = ms


class Behind:
    """Work that cannot go on before other work of the line is over: the rest of the line goes first."""

    __slots__ = ()


class Aside:
    """Work that goes to the end of the line after so many milliseconds: the rest of it goes on meanwhile."""

    __slots__ = ("ms",)

    def __init__(self, ms: float) -> None:
        self.ms = ms


class Until:
    """Work that goes to the end of the line when ``begin`` calls back: the rest of it goes on meanwhile.

    It is not given up when its client disconnects.
    """

    __slots__ = ("begin",)

    def __init__(self, begin: Callable[[Callable[[], None]], None]) -> None:
        self.begin = begin


class Unbroken:
    """A pause of work that must not end here, although nobody waits for its result any more."""

    __slots__ = ()


BEHIND = Behind()
UNBROKEN = Unbroken()

Offload = Callable[[Callable[[], Any], Callable[[Any, BaseException | None], None]], None]
"""(function, done): calls ``function`` on another thread, then ``done(result, error)`` on the broker's."""


def at_once(function: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
    """Where there is no other thread."""
    try:
        result = function()
    except Exception as error:  # noqa: BLE001 - handed to the caller
        done(None, error)
        return
    done(result, None)


Done = Callable[[Any, BaseException | None], None]


def _nobody(result: Any, error: BaseException | None) -> None:
    """Whom the end of cancelled work is told to."""


class Sliced:
    """One piece of long work. ``done`` gets its result, or what it raised, once; never after ``cancel``."""

    __slots__ = ("cancelled", "done", "spent_s", "wanted", "work")

    def __init__(self, work: Work[Any], done: Done) -> None:
        self.work = work
        self.done = done
        self.wanted: Elsewhere[Any] | Pause | Behind | Aside | Until | Unbroken | None = None
        self.cancelled = False
        self.spent_s = 0.0
        """How long it was worked on, but for what was done elsewhere."""

    def give_up(self) -> None:
        """End the work. Python 3.12 and 3.13 keep what a generator was called with that is closed before it began."""
        self.work.close()
        del self.work


class Slices:
    """The line of long work. Everything here runs on the broker's thread, but for what goes ``Elsewhere``."""

    def __init__(self, timers: Timers, *, pause_ms: float = 0) -> None:
        """``pause_ms``: how long nothing is done between two slices of one piece of work, for what nobody waits for."""
        self._timers = timers
        self._pause_ms = pause_ms
        self._line: deque[Sliced] = deque()
        self._current: Sliced | None = None
        self._aside = 0
        self.offload: Offload = at_once
        self.disk: Offload = at_once
        """As ``offload``, for what waits for the disk: nobody else has to wait for it."""
        self.group_commit: GroupCommit | None = None
        """Where answers wait for the disk: what ``durable`` asks."""

    def __len__(self) -> int:
        """How many pieces of work are not finished."""
        return len(self._line) + (self._current is not None) + self._aside

    def begin(self, work: Work[Any], done: Done) -> Sliced | None:
        """Work for one slice at once; None if it is over then, else the rest waits for its turn."""
        sliced = Sliced(work, done)
        if self._advance(sliced, None, None):
            return None
        self._add(sliced)
        return sliced

    def adopt(self, work: Work[Any], done: Done, spent_s: float) -> Sliced:
        """The rest of work that was not over in its first slice (``rest_of``), when its turn comes."""
        sliced = Sliced(work, done)
        sliced.wanted = work.send(None)
        sliced.spent_s = spent_s
        self._add(sliced)
        return sliced

    def later(self, work: Work[Any], done: Done) -> Sliced:
        """Do all of it when its turn comes."""
        sliced = Sliced(work, done)
        self._add(sliced)
        return sliced

    def cancel(self, sliced: Sliced) -> None:
        """Nobody wants the result any more: the work ends, where it next may if it is being done."""
        sliced.cancelled = True
        sliced.done = _nobody  # who asked may know this object, and would stay with it in a circle
        if sliced in self._line and not _goes_on(sliced.wanted):
            self._line.remove(sliced)
            sliced.give_up()

    def durable(self) -> Work[None]:
        """Wait until everything written so far is on the disk, before something that must not be there without it.

        Does not wait unless acknowledgements do (``--fsync always``): otherwise only kills have to be survived, which
        lose nothing that was written. Other requests are served meanwhile, and the work goes on even if its client has
        disconnected.
        """
        if self.group_commit is not None and not self.group_commit.is_synced:
            yield Until(self.group_commit.when_synced)

    def on_disk(self, run: Callable[[], T]) -> Work[T]:
        """What ``run`` returns, or raises, which waits for the disk on a thread of its own and touches no state.

        Others are served meanwhile, and the work goes on even if its client has disconnected.
        """
        if self.disk is at_once:
            return run()
        result: Any = None
        failure: BaseException | None = None

        def begin(then: Callable[[], None]) -> None:
            def done(value: Any, error: BaseException | None) -> None:
                nonlocal result, failure
                result, failure = value, error
                then()

            self.disk(run, done)

        yield Until(begin)
        try:
            if failure is not None:
                raise failure
        finally:
            failure = None  # as in ``_advance``
        return result  # type: ignore[no-any-return]

    def _add(self, sliced: Sliced) -> None:
        self._line.append(sliced)
        if self._current is None:
            self._next()

    def _next(self) -> None:
        self._current = self._line.popleft() if self._line else None
        if self._current is not None:
            self._timers.call_later(0, self._go_on)

    def _go_on(self, result: Any = None, error: BaseException | None = None) -> None:
        """One slice of the current work, which gets what it had done elsewhere."""
        sliced = self._current
        assert sliced is not None
        if isinstance(sliced.wanted, Until):
            wanted_until, sliced.wanted = sliced.wanted, UNBROKEN
            self._aside += 1
            wanted_until.begin(lambda: self._back(sliced))
            self._next()
            return
        given_up = sliced.cancelled and not _goes_on(sliced.wanted)
        over = (sliced.wanted in (None, UNBROKEN) or given_up) and self._advance(sliced, result, error)
        result = error = None  # as in ``_advance``
        if over:
            self._next()
        elif isinstance(sliced.wanted, Elsewhere):
            run, sliced.wanted = sliced.wanted.run, UNBROKEN if sliced.wanted.is_unbroken else None
            self.offload(run, self._go_on)
        elif isinstance(sliced.wanted, Pause):
            wanted_ms, sliced.wanted = sliced.wanted.ms, None
            self._timers.call_later(wanted_ms, self._go_on)
        elif isinstance(sliced.wanted, Aside):
            wanted_ms, sliced.wanted = sliced.wanted.ms, None
            self._aside += 1
            self._timers.call_later(wanted_ms, lambda: self._back(sliced))
            self._next()
        elif sliced.wanted is BEHIND:
            sliced.wanted = None
            self._line.append(sliced)
            self._next()
        else:
            self._timers.call_later(self._pause_ms, self._go_on)

    def _back(self, sliced: Sliced) -> None:
        self._aside -= 1
        self._add(sliced)

    def _advance(self, sliced: Sliced, sent: Any, error: BaseException | None) -> bool:
        """Work for a slice, or until something is wanted from elsewhere; whether it is over."""
        if sliced.cancelled and sliced.wanted is not UNBROKEN:
            sliced.give_up()
            return True
        work = sliced.work
        now_s = self._timers.clock.monotonic_s
        began_s = now_s()
        until_s = began_s + SLICE_S
        try:
            wanted = work.send(sent) if error is None else work.throw(error)
            while wanted is UNBROKEN or (wanted is None and not sliced.cancelled):
                if now_s() >= until_s:
                    break
                wanted = work.send(None)
            sliced.spent_s += now_s() - began_s
        except StopIteration as over:
            _tell(sliced, over.value, None)
            return True
        except Exception as failure:  # noqa: BLE001 - handed to the caller
            error = None  # whose traceback has this frame: in a circle they would keep what was worked on
            _tell(sliced, None, failure)
            return True
        sliced.wanted = wanted
        return False


def _goes_on(wanted: object) -> bool:
    """Whether work that wants this is not given up when nobody waits for its result any more."""
    return wanted is UNBROKEN or isinstance(wanted, Until) or (isinstance(wanted, Elsewhere) and wanted.is_unbroken)


def _tell(sliced: Sliced, result: Any, error: BaseException | None) -> None:
    """The work is over. What fails in telling so must not keep the rest of the line from its turn."""
    if sliced.cancelled:
        return
    try:
        sliced.done(result, error)
    except Exception:
        log.exception("what follows the end of long work failed")


def unbroken(work: Work[T]) -> Work[T]:
    """The same work, which is finished although its client has gone."""
    sent, failure = None, None
    while True:
        try:
            wanted = work.send(sent) if failure is None else work.throw(failure)
        except StopIteration as over:
            return over.value  # type: ignore[no-any-return]
        finally:
            sent = failure = None  # as in ``_advance``
        if isinstance(wanted, Elsewhere):
            wanted = Elsewhere(wanted.run, is_unbroken=True)
        try:
            sent = yield UNBROKEN if wanted is None else wanted
        except GeneratorExit:
            work.close()
            raise
        except Exception as error:  # noqa: BLE001 - of what was done elsewhere: the work's own business
            failure = error


def _is_at_once(wanted: Until) -> bool:
    called: list[None] = []
    wanted.begin(lambda: called.append(None))
    return bool(called)


def whole(work: Work[T]) -> T:
    """All of it at once: for callers that are in slices themselves no longer than that, and behind nobody."""
    sent: Any = None
    while True:
        try:
            wanted = work.send(sent)
        except StopIteration as over:
            return over.value  # type: ignore[no-any-return]
        assert wanted is not BEHIND and not isinstance(wanted, Aside), "nobody else goes on meanwhile"
        if isinstance(wanted, Until):
            assert _is_at_once(wanted), "nobody else goes on meanwhile"
        sent = wanted.run() if isinstance(wanted, Elsewhere) else None
