"""Plots of the report as markup: bars of latencies, and columns of messages per second."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from markupsafe import Markup

_WIDTH, _HEIGHT, _LEFT, _TOP, _FOOT = 720, 120, 80, 14, 26


def time_text(milliseconds: int) -> str:
    """A time in UTC, with seconds."""
    return f"{datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds):%Y-%m-%d %H:%M:%S}"


def figure_text(value: Any) -> str:
    """A figure of a status: numbers with groups of digits, lists with commas."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{value:,.3f}".rstrip("0").rstrip(".").replace(",", " ")


def bars(rows: Sequence[tuple[str, float]], label: str) -> Markup:
    """Horizontal bars: (name, value), with the values beside them."""
    if not rows:
        return Markup("")
    most = max(value for _, value in rows) or 1
    marks = [
        Markup(
            '<li><span class="name">{}</span><span class="room"><i class="bar" style="width:{:.1f}%"></i>'
            "<b>{} ms</b></span></li>"
        ).format(name, 80 * value / most, figure_text(value))
        for name, value in rows
    ]
    return Markup('<ul class="bars" aria-label="{}">').format(label) + Markup("").join(marks) + Markup("</ul>")


def columns(timeline: dict[str, Any] | None, label: str) -> Markup:
    """Columns of a ``Timeline``'s spans: events per second over the seconds since the start."""
    counts = (timeline or {}).get("counts")
    if not timeline or not counts:
        return Markup("")
    span_s = float(timeline["span_s"])
    rates = [count / span_s for count in counts]
    most = max(rates) or 1
    step = (_WIDTH - _LEFT - 4) / len(rates)
    base = _TOP + _HEIGHT
    marks = [
        Markup('<line class="base" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(_LEFT, _WIDTH - 4, base, base),
        Markup('<text class="name" x="{}" y="{}">{}</text>').format(_LEFT - 6, _TOP + 4, figure_text(round(most, 1))),
        Markup('<text x="{}" y="{}">0 s</text>').format(_LEFT, base + 18),
        Markup('<text x="{}" y="{}" text-anchor="end">{} s</text>').format(
            _WIDTH - 4, base + 18, figure_text(len(rates) * span_s)
        ),
    ]
    for at, rate in enumerate(rates):
        tall = rate / most * _HEIGHT
        width = max(0.6, step - 1 if step > 3 else step)
        marks.append(
            Markup(
                "<g><title>{} s: {} per second</title>"
                '<rect class="bar" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/></g>'
            ).format(figure_text(at * span_s), figure_text(round(rate, 1)), _LEFT + at * step, base - tall, width, tall)
        )
    head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(_WIDTH, base + _FOOT, label)
    return head + Markup("").join(marks) + Markup("</svg>")
