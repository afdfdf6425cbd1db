"""A deadline inside another one."""

from __future__ import annotations

from kafka_tools.clock import Clock, Deadline


class Within(Deadline):
    """A deadline that is ``seconds`` from now, or the outer one if that passes first."""

    def __init__(self, outer: Deadline, clock: Clock, seconds: float) -> None:
        super().__init__(clock, seconds)
        self._outer = outer

    def left_s(self) -> float:
        return min(super().left_s(), self._outer.left_s())
