"""One row per slice: a small reliability diagram, the difference, the test, and the periods.

The rows are HTML with SVG, whose positions across are shares of the width: one drawing has the
right size on a phone and on a wide screen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from calib.analysis.verdict import SIGNIFICANCE
from calib.curves.reliability import ReliabilityCurve
from calib.figures.layers import HATCH_GAP
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate
from calib.text import count, p_value, percent, points, printed_change
from calib.words.measures import KS
from calib.words.verdicts import SHORT_TEST_NAMES

SIDE, MARGIN = 104, 3  # Pixels of a small diagram, and around it.
BEFORE_Y, AFTER_Y = 34, 84
BARS_HEIGHT, BAR_HEIGHT = 104, 60  # Pixels for two bars, and for one.
WORDS_TOP, WORDS_BOTTOM = 25, 8  # Pixels above a bar, between which its words stand.
KS_HEIGHT, KS_Y = 14, 7
STRIP_HEIGHT = 104
# Words beside the ends of the axis are turned to its middle.
NEAR_LEFT, NEAR_RIGHT = 0.3, 0.7
# Scores that are all below this would stand in one corner of a diagram with straight axes.
MAX_LOG_ODDS_SCORE = 0.1
LEAST_SCORE = 1e-6
MAX_STRIP_PERIODS = 60  # Dots of more periods would lie on each other.
RATE_ENDS = (0.04, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
NOT_TESTED = "too few rows to test"


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """What a slice shows of its scores, before or after calibration.

    `p_adjusted` is the smallest p-value of several tests, and `test` the key of its test. It is NaN
    if the slice is not tested. `predicted` has the mean score by period. A calibrator of a matrix
    can change the outcome of a row, such as whether its top label is right.
    """

    gap: Estimate
    observed: float
    mean_score: float
    ks: Estimate
    p_adjusted: float
    test: str = ""
    curve: ReliabilityCurve | None = None
    predicted: FloatArray | None = None

    @property
    def wrong(self) -> bool:
        return self.p_adjusted < SIGNIFICANCE

    @property
    def is_off_on_average(self) -> bool:
        """Whether the difference is part of what is wrong."""
        return self.wrong and not self.gap.low <= 0.0 <= self.gap.high


@dataclass(frozen=True, slots=True, eq=False)
class SliceRow:
    """A slice before and after calibration.

    `over_time` is the observed frequency by period, and `half` that half of the interval of the
    difference. The table returns `action` if the button of the row is pressed, and `opens` if its
    name is.
    """

    name: str
    rows: int
    positives: int
    before: Scores
    after: Scores | None = None
    over_time: FloatArray | None = None
    half: FloatArray | None = None
    action: str = ""
    opens: str = ""
    is_total: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class TimeAxis:
    """The periods below the rows. `change` is the period in which a change begins, if there is one.

    `is_split` says whether that period also has rows before the change. Outcomes may not be final
    from `young` on, which is in periods from the left.
    """

    names: Sequence[str]
    about: str
    change: int | None = None
    is_split: bool = False
    young: float = math.nan


@dataclass(frozen=True, slots=True, eq=False)
class RowsFrame:
    """What all rows have in common, in words, and the axis of the periods."""

    first: str  # The head of the first column.
    level: str
    before: str
    after: str
    positive: str
    action: str = ""  # The label of the button in a row.
    time: TimeAxis | None = None
    notes: Sequence[str] = ()


def slice_rows(rows: Sequence[SliceRow], frame: RowsFrame) -> str:
    """The rows as HTML, with heads, scales and a legend."""
    scale = _Square.of([s.curve for row in rows for s in _both(row) if s.curve is not None])
    across = _Across.of([s.gap for row in rows for s in _both(row)])
    errors = _Across.of([s.ks for row in rows for s in _both(row)])
    upward = _highest_rate(rows)
    time, heads = frame.time, _heads(frame, scale)
    head = "".join(f"<span role=columnheader>{escape(words)}</span>" for words in heads)
    primary = next((row.name for row in rows if row.action), None)
    body = "".join(
        _row(row, frame, scale, across, errors, upward, row.name == primary) for row in rows
    )
    timed = " timed" if time else ""
    return (
        f'<div class="slice-rows{timed}" role=table aria-label="{escape(frame.first)}">'
        f"<div class=head role=row>{head}</div>{body}"
        f"<div class=foot><span></span><span></span>{across.labels(points)}"
        f"{errors.labels(percent)}"
        f"{_time_labels(time) if time else ''}</div></div>"
        f"<p class=slice-legend>{''.join(_legend(rows, frame))}</p>"
    )


def _heads(frame: RowsFrame, scale: _Square | None) -> list[str]:
    return [
        frame.first,
        f"Reliability, {scale.words}" if scale else "",
        f"Observed − predicted, points ({frame.level} CI)",
        f"{KS} ({frame.level} CI), verdict",
        *([frame.time.about] if frame.time else []),
    ]


def _both(row: SliceRow) -> tuple[Scores, ...]:
    return (row.before,) if row.after is None else (row.before, row.after)


def _row(
    row: SliceRow,
    frame: RowsFrame,
    scale: _Square | None,
    across: _Across,
    errors: _Across,
    upward: float,
    is_primary: bool,
) -> str:
    look = " total" if row.is_total else ""
    # Narrow screens have no room for the line of the heads.
    heads = [f' data-head="{escape(words)}"' for words in _heads(frame, scale)]
    label = f'<button type=button name=row value="{escape(row.action)}"'
    label += f' class="{"primary" if is_primary else "plain"}">{escape(frame.action)}</button>'
    button = label if row.action else ""
    cells = [
        f"<div role=rowheader class=name>{_name(row)}"
        f"<small>{row.rows:,} rows, {row.positives:,} {escape(frame.positive)}</small>"
        f"<span><b>{percent(row.before.observed)}</b> observed</span>"
        f"<span><b>{percent(row.before.mean_score)}</b> predicted</span>"
        f"{_predicted_after(row)}</div>",
        f"<div role=cell class=diagram>{scale.drawn(row) if scale else ''}</div>",
        f"<div role=cell class=differences{heads[2]}>{across.drawn(row)}</div>",
        f"<div role=cell class=tests{heads[3]}>{_tested(row, errors)}{button}</div>",
    ]
    if frame.time is not None:
        strip = _strip(row, frame.time, upward)
        cells.append(f"<div role=cell class=strip{heads[4]}>{strip}</div>")
    return f'<div class="row{look}" role=row>{"".join(cells)}</div>'


def _name(row: SliceRow) -> str:
    name = f"<b>{escape(row.name)}</b>"
    if not row.opens:
        return name
    return f'<button type=button name=row value="{escape(row.opens)}" class=opens>{name}</button>'


def _predicted_after(row: SliceRow) -> str:
    if row.after is None:
        return ""
    observed = percent(row.after.observed)
    said = f"<span class=after><b>{percent(row.after.mean_score)}</b> predicted after</span>"
    if observed == percent(row.before.observed):
        return said
    return f"<span class=after><b>{observed}</b> observed after</span>{said}"


def _tested(row: SliceRow, errors: _Across) -> str:
    """The KS calibration error with its interval, and what the tests find, before and after."""
    lines = ""
    for scores, when in zip(_both(row), ("now", "after"), strict=False):
        look, ks = f"{when}{' error' if scores.wrong else ''}", scores.ks
        bounds = f"{percent(ks.low, 1)} to {percent(ks.high, 1)}" if math.isfinite(ks.low) else ""
        mark = "".join([errors.zero(0, KS_HEIGHT), *errors.mark(ks, KS_Y, look)])
        lines += (
            f'<div class="{look}"><span><b>{percent(ks.value)}</b> {when}<i>{bounds}</i></span>'
            f'<svg width="100%" height="{KS_HEIGHT}" aria-hidden=true>{mark}</svg>'
            f"<small>{escape(_verdict(scores))}</small></div>"
        )
    return lines


def _verdict(scores: Scores) -> str:
    """What the tests find, with the smallest p-value and the name of its test."""
    if math.isnan(scores.p_adjusted):
        return NOT_TESTED
    p = p_value(scores.p_adjusted)
    if scores.wrong:
        return f"error found: {p} ({SHORT_TEST_NAMES[scores.test]})"
    return f"no error found: {p}"


@dataclass(frozen=True, slots=True)
class _Square:
    """The axes of the small diagrams, which are the same for all rows."""

    low: float
    high: float
    log_odds: bool

    @classmethod
    def of(cls, curves: Sequence[ReliabilityCurve]) -> _Square | None:
        if not curves:
            return None
        values = np.concatenate([np.append(c.mean_score, c.observed) for c in curves])
        largest = float(values.max())
        if largest > MAX_LOG_ODDS_SCORE:
            high = next(end for end in RATE_ENDS if end >= min(largest, 1.0))
            return cls(0.0, high, False)
        least = float(values[values > 0.0].min(initial=largest))
        return cls(max(LEAST_SCORE, 10.0 ** math.floor(math.log10(least))), 0.1, True)

    @property
    def words(self) -> str:
        ends = f"{percent(self.low, 1 if self.low >= 0.001 else 4) if self.low else '0'} to"
        return f"{ends} {percent(self.high, 0)}{' (log-odds)' if self.log_odds else ''}"

    def at(self, values: FloatArray) -> FloatArray:
        """Pixels from the beginning of an axis."""
        ends = np.array([self.low, self.high])
        if self.log_odds:
            values = np.clip(values, self.low, self.high)
            values, ends = (np.log(v / (1.0 - v)) for v in (values, ends))
        return np.asarray((values - ends[0]) / (ends[1] - ends[0]) * SIDE, dtype=np.float64)

    def drawn(self, row: SliceRow) -> str:
        size = SIDE + 2 * MARGIN
        parts = [
            f'<rect class=frame x="{MARGIN}" y="{MARGIN}" width="{SIDE}" height="{SIDE}"/>',
            f'<path class=ideal d="M{MARGIN} {size - MARGIN}L{size - MARGIN} {MARGIN}"/>',
        ]
        for scores, when in zip(_both(row), ("now", "after"), strict=False):
            if scores.curve is not None:
                parts += self._curve(scores.curve, when)
        words = f"{row.name}: mean score across, observed frequency upward"
        return (
            f'<svg width="{size}" height="{size}" viewBox="0 0 {size} {size}" role=img '
            f'aria-label="{escape(words)}">{"".join(parts)}</svg>'
        )

    def _curve(self, curve: ReliabilityCurve, when: str) -> Iterator[str]:
        x = MARGIN + self.at(curve.mean_score)
        y = MARGIN + SIDE - self.at(curve.observed)
        places = list(zip(x.tolist(), y.tolist(), strict=True))
        line = "L".join(f"{a:.1f} {b:.1f}" for a, b in places)
        yield f'<path class="line {when}" d="M{line}"/>'
        for i, (a, b) in enumerate(places):
            few = " few" if curve.few[i] else ""
            about = (
                f"{when}: {count(curve.rows[i])} rows, {percent(curve.mean_score[i])} predicted, "
                f"{percent(curve.observed[i])} observed"
            )
            dot = f'class="dot {when}{few}" cx="{a:.1f}" cy="{b:.1f}" r="2.75"'
            yield f"<circle {dot}><title>{escape(about)}</title></circle>"


@dataclass(frozen=True, slots=True)
class _Across:
    """An axis across, of differences or of errors, which is the same for all rows."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def of(cls, gaps: Sequence[Estimate]) -> _Across:
        bounds = np.array([0.0, *(end for gap in gaps for end in (gap.low, gap.high))])
        low, high = float(np.nanmin(bounds)), float(np.nanmax(bounds))
        rough = max(high - low, 0.01) / 3.0
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(k * unit for k in (1, 2, 5, 10) if k * unit >= rough * (1 - 1e-9))
        low, high = math.floor(low / step) * step, math.ceil(high / step) * step
        high = max(high, low + step)
        n = round((high - low) / step)
        return cls(low, high, tuple(low + i * step for i in range(n + 1)))

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def zero(self, top: int, bottom: int) -> str:
        at = f"{100.0 * self.share(0.0):.2f}%"
        return f'<line class=zero x1="{at}" x2="{at}" y1="{top}" y2="{bottom}"/>'

    def mark(self, value: Estimate, y: int, look: str) -> Iterator[str]:
        """A dot on its interval."""
        if math.isfinite(value.low):
            low, high = (100 * self.share(end) for end in (value.low, value.high))
            yield f'<line class="bar {look}" x1="{low:.2f}%" x2="{high:.2f}%" y1="{y}" y2="{y}"/>'
        yield f'<circle class="{look}" cx="{100 * self.share(value.value):.2f}%" cy="{y}" r="5"/>'

    def drawn(self, row: SliceRow) -> str:
        both, places = _both(row), ((BEFORE_Y, "now"), (AFTER_Y, "after"))
        height = BARS_HEIGHT if len(both) > 1 else BAR_HEIGHT
        # A line through the words above a bar would turn a minus into a plus.
        ends = [*(y - WORDS_TOP for y, _ in places[1 : len(both)]), height]
        parts = list[str]()
        for scores, (y, when), end in zip(both, places, ends, strict=False):
            parts += [self.zero(y - WORDS_BOTTOM, end), *self._bar(scores, y, when)]
        return (
            f'<svg width="100%" height="{height}" role=img '
            f'aria-label="{escape(row.name)}: {_difference(row.before)} points">'
            f"{''.join(parts)}</svg>"
        )

    def _bar(self, scores: Scores, y: int, when: str) -> Iterator[str]:
        gap, at = scores.gap, self.share(scores.gap.value)
        error = "error" if scores.is_off_on_average else "elsewhere" if scores.wrong else ""
        yield from self.mark(gap, y, f"{when} {error}".rstrip())
        anchor = "start" if at < NEAR_LEFT else "end" if at > NEAR_RIGHT else "middle"
        place = max(0.0, self.share(gap.low)) if anchor == "start" else self.share(gap.high)
        place = at if anchor == "middle" else min(place, 1.0)
        bounds = f"{points(gap.low)} to {points(gap.high)}" if math.isfinite(gap.low) else ""
        yield (
            f'<text x="{100 * place:.2f}%" y="{y - 12}" text-anchor={anchor}>'
            f"<tspan class=value>{_difference(scores)}</tspan> {bounds}</text>"
        )

    def labels(self, written: Callable[[float, int], str]) -> str:
        digits = max(0, -math.floor(math.log10(self.ticks[1] - self.ticks[0]) + 1e-9) - 2)
        texts = "".join(
            f'<text x="{100 * self.share(tick):.2f}%" y="13" text-anchor='
            f"{'start' if i == 0 else 'end' if i == len(self.ticks) - 1 else 'middle'}>"
            f"{written(tick, digits) if abs(tick) > 1e-12 else '0'}</text>"
            for i, tick in enumerate(self.ticks)
        )
        return (
            f'<span class=scale><svg width="100%" height="18" aria-hidden=true>{texts}</svg></span>'
        )


def _difference(scores: Scores) -> str:
    """The difference in points, which is that of the printed rates."""
    return printed_change(100.0 * scores.mean_score, 100.0 * scores.observed, 1)


def _highest_rate(rows: Sequence[SliceRow]) -> float:
    """The end of the axis of the periods, which is the same for all rows."""
    tops = [
        float(np.nanmax(values))
        for row in rows
        for values in (row.over_time, *(scores.predicted for scores in _both(row)))
        if values is not None and np.isfinite(values).any()
    ]
    return next(end for end in RATE_ENDS if end >= min(max(tops, default=1.0), 1.0))


def _strip(row: SliceRow, time: TimeAxis, upward: float) -> str:
    """Observed frequency by period as dots, and predicted as steps with the band of chance."""
    if row.over_time is None or row.before.predicted is None or row.half is None:
        return ""
    n, parts = len(row.over_time), []
    width = 100.0 / n

    def y(rate: float) -> float:
        return STRIP_HEIGHT - 4 - (STRIP_HEIGHT - 8) * min(max(rate / upward, 0.0), 1.0)

    for share in (0.0, 0.5, 1.0):
        at = f"{y(share * upward):.1f}"
        parts.append(f'<line class=grid x1="0" x2="100%" y1="{at}" y2="{at}"/>')
    if math.isfinite(time.young):
        parts.append(_hatched(width * time.young))
    after = row.after.predicted if row.after is not None else None
    radius = 4 if n <= 24 else 3
    dots = []
    for i in range(n):
        observed, predicted, half = row.over_time[i], row.before.predicted[i], row.half[i]
        if not math.isfinite(observed):
            continue
        left, right = width * i, width * (i + 1)
        top, bottom = y(predicted + half), y(predicted - half)
        parts.append(
            f'<rect class=band x="{left:.2f}%" y="{top:.1f}" width="{width:.2f}%" '
            f'height="{max(bottom - top, 0.0):.1f}"/>'
        )
        parts.append(_step(left, right, y(predicted), "now"))
        changed = time.change is not None and i >= time.change + time.is_split
        if after is not None and math.isfinite(after[i]) and (time.change is None or changed):
            parts.append(_step(left, right, y(after[i]), "after"))
        look = "error" if changed and row.before.wrong else "seen"
        about = f"{time.names[i]}: {percent(observed)} observed, {percent(predicted)} predicted"
        dots.append(
            f'<circle class="{look}" cx="{(left + right) / 2:.2f}%" cy="{y(observed):.1f}" '
            f'r="{radius}"><title>{escape(about)}</title></circle>'
        )
    if time.change is not None:
        at = f"{width * (time.change + 0.5 * time.is_split):.2f}%"
        parts.append(f'<line class=change x1="{at}" x2="{at}" y1="0" y2="100%"/>')
    scale = "".join(f"<span>{percent(share * upward, 0)}</span>" for share in (1.0, 0.5, 0.0))
    words = f"{row.name}: observed and predicted by period"
    return (
        f'<div class=rates aria-hidden=true>{scale}</div><svg width="100%" '
        f'height="{STRIP_HEIGHT}" role=img aria-label="{escape(words)}">'
        f"{''.join(parts + dots)}</svg>"
    )


def _hatched(left: float) -> str:
    """Oblique lines from a share of the width on; all strips have the same pattern."""
    return (
        f"<defs><pattern id=young width={HATCH_GAP} height={HATCH_GAP} patternUnits=userSpaceOnUse "
        f'patternTransform="rotate(45)"><path class=hatch d="M0 0V{HATCH_GAP}"/></pattern></defs>'
        f'<rect class=young x="{left:.2f}%" y="4" width="{100.0 - left:.2f}%" '
        f'height="{STRIP_HEIGHT - 8}"/>'
    )


def _step(left: float, right: float, y: float, when: str) -> str:
    ends = f'x1="{left:.2f}%" x2="{right:.2f}%" y1="{y:.1f}" y2="{y:.1f}"'
    return f'<line class="step {when}" {ends}/>'


def _time_labels(time: TimeAxis) -> str:
    names = [time.names[0], time.names[len(time.names) // 2], time.names[-1]]
    shown = names if len(time.names) > 2 else list(time.names)
    return f"<span class=times>{''.join(f'<span>{escape(name)}</span>' for name in shown)}</span>"


def _legend(rows: Sequence[SliceRow], frame: RowsFrame) -> Iterator[str]:
    """What each mark means."""

    def mark(look: str, words: str) -> str:
        return f'<span><i class="{look}"></i>{escape(words)}</span>'

    yield mark("now", f"Now: {frame.before}")
    if any(row.after for row in rows):
        yield mark("after", f"After: {frame.after}")
    shown = [scores for row in rows for scores in _both(row)]
    if any(scores.wrong for scores in shown):
        yield mark("error", f"Error found (p < {SIGNIFICANCE:g})")
    if any(scores.wrong and not scores.is_off_on_average for scores in shown):
        yield mark("elsewhere", "Error found, but the mean is right within its interval")
    if frame.time is not None:
        yield mark("seen", "Observed in a period")
        yield mark("band", f"{frame.level} of the dots of calibrated scores")
    if frame.time is not None and math.isfinite(frame.time.young):
        yield mark("young", "Outcomes may not be final")
    for note in frame.notes:
        yield f"<span>{escape(note)}</span>"
