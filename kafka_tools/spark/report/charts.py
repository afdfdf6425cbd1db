"""Plots as inline SVG: plain functions from numbers to markup, nothing that needs a network or a script.

Colours are CSS classes of the page, so that dark, light and print are its business. Texts are escaped here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from markupsafe import Markup, escape

from kafka_tools.texts.quantities import bytes_text

Format = Callable[[float], str]

WIDTH = 720


def time_text(milliseconds: int | None, *, form: str = "%Y-%m-%d %H:%M") -> str:
    """A time in UTC; the bare number for what no calendar has, a dash for none."""
    if milliseconds is None:
        return "-"
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
        return moment.strftime(form)
    except (OverflowError, ValueError):
        return str(milliseconds)


def count_text(number: float | None) -> str:
    """A count with its digits in groups."""
    return "-" if number is None else f"{number:,.0f}".replace(",", " ")


def bars(rows: Sequence[tuple[str, float, float]], form: Format, part: str, label: str) -> Markup:
    """Horizontal bars: (name, value, a part of it with another colour, 0 for none). Values are written next to them.

    No SVG: names and values stay readable however narrow the page is.
    """
    if not rows:
        return Markup("")
    most = max(value for _, value, _ in rows) or 1
    marks = []
    for name, value, some in rows:
        title = f"{name}: {form(value)}" + (f", {part} {form(some)}" if some else "")
        inner = Markup('<i class="part" style="width:{:.1f}%"></i>').format(100 * some / value) if some else ""
        marks.append(
            Markup(
                '<li title="{}"><span class="name">{}</span>'
                '<span class="room"><i class="bar" style="width:{:.1f}%">{}</i><b>{}</b></span></li>'
            ).format(title, name, 80 * value / most, inner, form(value))
        )
    return Markup('<ul class="bars" aria-label="{}">').format(label) + Markup("").join(marks) + Markup("</ul>")


def columns(rows: Sequence[tuple[int, float]], span_ms: int, form: Format, label: str, *, height: int = 150) -> Markup:
    """Columns over time: (start in ms, value), spans without a row are empty. Long gaps stay gaps."""
    if not rows:
        return Markup("")
    most = max(value for _, value in rows) or 1
    first, last = rows[0][0], rows[-1][0]
    spans = max(1, (last - first) // span_ms + 1)
    left, foot, top = 92, 28, 14
    room = WIDTH - left - 4
    step = room / spans
    day = span_ms >= 86_400_000
    marks = [_axis(left, top, room, height, most, form)]
    for start, value in rows:
        x = left + (start - first) / span_ms * step
        tall = value / most * height
        title = f"{time_text(start, form='%Y-%m-%d' if day else '%Y-%m-%d %H:00')}: {form(value)}"
        width = max(0.6, min(step - 1 if step > 3 else step, 40))
        marks.append(_titled(title, _rect("bar", x, top + height - tall, width, tall)))
    written = "%Y-%m-%d" if day else "%m-%d %H:00"
    for at, anchor, when in ((left, "start", first), (WIDTH - 4, "end", last)):
        if anchor == "start" or spans > 4:
            text = time_text(when, form=written)
            marks.append(
                Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(at, top + height + 20, anchor, text)
            )
    return _svg(WIDTH, top + height + foot, label, marks)


def skew(sizes: Sequence[float], label: str) -> Markup:
    """The partitions of a topic beside each other, and their average as a line."""
    most = max(sizes, default=0) or 1
    width, height = 220, 56
    step = width / max(1, len(sizes))
    marks: list[Markup] = []
    for number, size in enumerate(sizes):
        tall = max(1.0, size / most * height)
        bar = _rect("bar", number * step, height - tall, max(0.5, min(step - 1 if step > 3 else step, 24)), tall)
        marks.append(_titled(f"partition {number}: {bytes_text(size)}", bar))
    mean = sum(sizes) / max(1, len(sizes)) / most * height
    marks.append(
        Markup('<line class="mean" x1="0" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(
            width, height - mean, height - mean
        )
    )
    return _svg(width, height, label, marks)


def shares(rows: Sequence[tuple[str, float]], form: Format, label: str) -> Markup:
    """One bar cut into shares, with the names below."""
    total = sum(value for _, value in rows) or 1
    x = 0.0
    marks: list[Markup] = []
    for number, (name, value) in enumerate(rows):
        width = value / total * WIDTH
        share = _rect(f"share{number % 6}", x, 0, max(0.5, width - 2), 26)
        marks.append(_titled(f"{name}: {form(value)} ({value / total:.0%})", share))
        x += width
    legend = Markup("").join(
        Markup('<span class="key"><i class="share{}"></i>{} <b>{}</b> {:.0%}</span>').format(
            number % 6, name, form(value), value / total
        )
        for number, (name, value) in enumerate(rows)
    )
    return _svg(WIDTH, 26, label, marks) + Markup('<p class="legend">{}</p>').format(legend)


def timeline(rows: Sequence[tuple[int, float]], first_ms: int, spans: int, span_ms: int, label: str) -> Markup:
    """A strip with a cell per span, the fuller the darker."""
    width, height = 480, 14
    most = max((value for _, value in rows), default=0) or 1
    step = width / max(1, spans)
    marks = [_rect("track", 0, 0, width, height)]
    for start, value in rows:
        number = (start - first_ms) // span_ms
        if 0 <= number < spans:
            level = min(4, int(4 * value / most + 0.999))
            cell = _rect(f"level{level}", number * step, 0, max(0.6, step - (1 if step > 4 else 0)), height)
            marks.append(_titled(f"{time_text(start, form='%Y-%m-%d')}: {bytes_text(value)}", cell))
    return _svg(width, height, label, marks)


def _axis(left: float, top: float, room: float, height: float, most: float, form: Format) -> Markup:
    lines = []
    for part in (0.5, 1.0):
        y = top + height - part * height
        grid = Markup('<line class="grid" x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}"/>').format(left, left + room, y, y)
        text = Markup('<text class="name" x="{}" y="{:.1f}">{}</text>').format(left - 6, y + 4, form(most * part))
        lines += [grid, text]
    base = top + height
    lines.append(Markup('<line class="base" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(left, left + room, base, base))
    return Markup("").join(lines)


def _titled(title: str, mark: Markup) -> Markup:
    return Markup("<g><title>{}</title>{}</g>").format(title, mark)


def _rect(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1.5"/>').format(
        kind, x, y, width, height
    )


def _svg(width: float, height: float, label: str, marks: Sequence[Markup]) -> Markup:
    head = Markup('<svg viewBox="0 0 {} {}" role="img" aria-label="{}">').format(width, height, escape(label))
    return head + Markup("").join(marks) + Markup("</svg>")
