"""A command line that both tools run."""

from __future__ import annotations

from typing import NamedTuple


class Line(NamedTuple):
    """``text``: the command's name and its arguments; ``{name}`` stands for a file or a value of ``world.py``.

    ``state``: it asks what there is now, and Kafka's tool asks after both tools' changes: what it says must be equal.
    ``until``: a text that the answer will have in a moment; the line is run again until it has.
    """

    text: str
    state: bool = False
    until: str = ""

    @property
    def command(self) -> str:
        return self.text.split(maxsplit=1)[0]


def state(text: str, until: str = "") -> Line:
    """A question about what a change has left."""
    return Line(text, True, until)


def lines(text: str) -> tuple[Line, ...]:
    """A line for each line of the text; those that begin with ``?`` ask about the state."""
    found = (each.strip() for each in text.strip().splitlines())
    return tuple(state(each[1:].strip()) if each.startswith("?") else Line(each) for each in found if each)
