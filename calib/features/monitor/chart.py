"""A monitor: predicted and observed rates by period, the evidence by day, and one chart a slice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from calib.features.monitor.result import Monitored
from calib.figures.axes import PanelAxis, Panels, padded, stacked
from calib.figures.chart import TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import Layer, Line, Marker, Note, area, hatched, reference
from calib.figures.theme import ADVISED, DOUBT, GREY, RIM, faded
from calib.numerics.arrays import BoolArray, FloatArray
from calib.text import (
    MONTHS,
    count,
    day_words,
    days_between,
    escaped,
    factor,
    percent,
    percents,
    plural,
    points,
    quoted,
    shortened,
    significant,
)

# These are pixels.
WIDTH, RATE_HEIGHT, GAP = 640, 220, 34
SLICE_WIDTH, SLICE_HEIGHT = 320, 130
# Heights in pixels of the zones of the evidence: none, some, and enough for an alarm.
CALM, WATCH, ALARM = 36.0, 16.0, 20.0
STRIP_HEIGHT = int(CALM + WATCH + ALARM)
# Evidence beyond these powers of ten is drawn at the ends of the strip.
LOWEST, HIGHEST = -2.0, 4.0
# The band of a period with a smaller share of the median rows may leave the panel.
MIN_SHARE_OF_MEDIAN = 0.25
# On a phone, words need this share of the panel.
MIN_NOTE_SHARE = 0.38
MAX_TICKS = 5
BAND = ("band_low", "band_high")
CHANGED = faded(DOUBT, 0.08)
ZONES = (
    ("calm", 0.0, CALM, faded(GREY, 0.08)),
    ("watch", CALM, CALM + WATCH, faded(DOUBT, 0.08)),
    ("alarm", CALM + WATCH, float(STRIP_HEIGHT), faded(DOUBT, 0.22)),
)


@chart
def monitor_chart(
    result: Monitored, of: str = "", *, new_calibrators: Sequence[date] = ()
) -> Chart:
    """Observed rates by period on the band of a calibrated model, and the evidence by day.

    Dots are orange since the change while an alarm is open. The strip of the evidence shows calm
    (up to 1), watch, and alarm; evidence of 10,000 and more is drawn at its upper edge. The hatched
    days are not tested yet.

    Parameters
    ----------
    result : Monitored
        Result of `calib.monitor`.
    of : str
        The slice that is drawn. The default is all rows.
    new_calibrators : sequence of date
        First days of new calibrators.

    Examples
    --------
    >>> import calib, numpy as np
    >>> day = np.datetime64("2026-01-01") + np.repeat(np.arange(60), 20)
    >>> rows = calib.Predictions.from_arrays([0, 1] * 600, [0.3, 0.6] * 600, columns={"day": day})
    >>> figure = calib.plot.monitor(calib.monitor(rows, time="day"))
    >>> figure.layout.annotations[0].text
    'Observed and predicted, in %'
    """
    days = _Days(result)
    periods = result.periods_of(of)
    rates = _rate_range([periods])
    zones = _zones(days)
    strip = [_evidence(result, days, of), *_raised(result, days, of)]
    upward = [rates, [0.0, float(STRIP_HEIGHT)]]
    layers = [*zones, *_since(result, days, upward), *_hatched(days, rates, WIDTH, RATE_HEIGHT)]
    layers += _calibrators(new_calibrators, days, upward)
    layers += [*_rates(result, periods, days), *strip]
    return draw(
        "monitor",
        _panels(days, rates, of, result.threshold),
        layers,
        _alt(result, of),
        title=_title(periods),
        details=_details(result),
        of=(of,) if of else (),
        top=TOP + TITLE_ROW,
        notes=_notes(result, days, new_calibrators, rates[1]),
    )


@chart
def monitored_slice_chart(result: Monitored, of: str) -> Chart:
    """Observed rates of one slice by period, on the band of a calibrated model.

    The axis is the same for all slices.

    Parameters
    ----------
    result : Monitored
        Result of `calib.monitor` with slices.
    of : str
        The slice.

    Examples
    --------
    >>> import calib, numpy as np
    >>> day = np.datetime64("2026-01-01") + np.repeat(np.arange(60), 20)
    >>> columns = {"day": day, "site": np.tile(["a", "b"], 600)}
    >>> rows = calib.Predictions.from_arrays(
    ...     [0, 0, 1, 1] * 300, [0.3, 0.3, 0.6, 0.6] * 300, columns=columns
    ... )
    >>> figure = calib.plot.monitored_slice(calib.monitor(rows, time="day", slices="site"), "a")
    >>> figure.layout.yaxis.range[0] < 30.0 < figure.layout.yaxis.range[1]
    True
    """
    days, periods = _Days(result), result.periods_of(of)
    rates = _rate_range([result.periods_of(name) for name in result.slices["slice"]])
    row = result.slices[result.slices["slice"] == of].iloc[0]
    time = replace(days.axis, title="")
    panels = stacked(time, [(_rate_axis(rates), SLICE_HEIGHT)], SLICE_WIDTH, GAP)
    layers = [
        *_since(result, days, [rates]),
        *_hatched(days, rates, SLICE_WIDTH, SLICE_HEIGHT),
        *_rates(result, periods, days, legend=False),
    ]
    title = f"Slice {shortened(of)}: {row['state']}"
    about = f"{_means(result, row)}."
    return draw(
        "monitor", panels, layers, about, title=title, details=_means(result, row), of=(of,)
    )


class _Days:
    """Positions of days: their distance from the first one."""

    def __init__(self, result: Monitored) -> None:
        self.all = result.evidence["day"].to_numpy().astype("datetime64[D]")
        self.first = self.all[0] if len(self.all) else np.datetime64(result.today, "D")
        self.tested = result.evidence["mature"].to_numpy()
        last = self.all[-1] if len(self.all) else self.first
        self.last = float((last - self.first).astype(int))

    def at(self, days: object) -> FloatArray:
        """The positions of days."""
        values = np.asarray(days, dtype="datetime64[D]")
        return np.asarray((values - self.first).astype(np.float64))

    def of(self, day: date) -> float:
        """The position of a day."""
        return float(self.at(np.datetime64(day, "D")))

    @property
    def untested(self) -> tuple[float, float] | None:
        """The ends of the days that are too young; None without such days."""
        young = self.at(self.all[~self.tested])
        return (float(young[0]) - 0.5, self.last + 0.5) if len(young) else None

    @property
    def axis(self) -> PanelAxis:
        """The time axis, with a label per month, or per day if there are few."""
        ticks = self._ticks()
        names = (self.first + np.arange(int(self.last) + 1)).astype(str).tolist()
        return PanelAxis(
            "Day of the prediction",
            range=padded([0.0, self.last], margin=0.01, least=0.5),
            tickvals=list(ticks),
            ticktext=list(ticks.values()),
            names=dict(enumerate(names)),
        )

    def _ticks(self) -> dict[float, str]:
        end = self.first + np.timedelta64(int(self.last), "D")
        months = np.arange(self.first.astype("datetime64[M]") + 1, end.astype("datetime64[M]") + 1)
        if len(months) < 3:
            step = max(1, round(self.last / (MAX_TICKS - 1)))
            days = self.first + np.arange(0, int(self.last) + 1, step)
            return {float(self.at(day)): _short_day(day) for day in days}
        step = -(-len(months) // MAX_TICKS)
        shown = months[::step]
        # A label has the year if the one before it has another.
        years = ["", *(str(month)[:4] for month in shown[:-1])]
        return {
            float(self.at(month)): _month(month, year)
            for month, year in zip(shown, years, strict=True)
        }


def _short_day(day: np.datetime64) -> str:
    when = day.astype(object)
    return f"{when.day} {MONTHS[when.month - 1][:3]}"


def _month(month: np.datetime64, year: str) -> str:
    when = month.astype(object)
    name = MONTHS[when.month - 1][:3]
    return name if str(when.year) == year else f"{name} {when.year}"


def _rate_axis(rates: Sequence[float]) -> PanelAxis:
    return PanelAxis(range=list(rates), nticks=5, tickformat="~g")


def _panels(days: _Days, rates: Sequence[float], of: str, threshold: float) -> Panels:
    strip = PanelAxis(
        range=[0.0, float(STRIP_HEIGHT)],
        tickvals=[(low + high) / 2.0 for _, low, high, _ in ZONES],
        ticktext=[name for name, *_ in ZONES],
        fixedrange=True,
    )
    axes = [(_rate_axis(rates), RATE_HEIGHT), (strip, STRIP_HEIGHT)]
    evidence = f"Evidence against calibration (alarm from {significant(10.0**threshold)})"
    titles = ["Observed and predicted, in %", evidence]
    if of:
        titles = [f"{title}: {escaped(shortened(of))}" for title in titles]
    panels = stacked(days.axis, axes, WIDTH, GAP)
    return replace(panels, titles=dict(zip(panels.names, titles, strict=True)))


def _rate_range(tables: Sequence[pd.DataFrame]) -> list[float]:
    parts: list[ArrayLike] = []
    for periods in tables:
        rows = periods["rows"].to_numpy(np.float64)
        usual = rows >= MIN_SHARE_OF_MEDIAN * np.median(rows) if len(rows) else rows > 0.0
        mean = periods["mean_score"].to_numpy(np.float64)
        parts += [100.0 * (mean + periods[name].to_numpy(np.float64))[usual] for name in BAND]
        parts += [100.0 * periods["observed"].to_numpy(np.float64)]
    low, high = padded(*parts, margin=0.12, least=5.0) if parts else (0.0, 100.0)
    return [max(low, -2.0), min(high, 102.0)]


def _zones(days: _Days) -> list[Layer]:
    """The three zones of the strip, up to today."""
    ends = np.asarray(days.axis.range, dtype=np.float64)
    zones = [
        replace(area(name, ends, np.full(2, low), np.full(2, high), color=color), panel=1)
        for name, low, high, color in ZONES
    ]
    height, line = [CALM + WATCH] * 2, reference(1.0, "dash")
    return [*zones, Layer("threshold", ends, height, panel=1, name="Alarm threshold", line=line)]


def _heights(log10_evidence: FloatArray, threshold: float) -> FloatArray:
    """Heights of evidence in the strip, in pixels."""
    places = [LOWEST, 0.0, threshold, max(HIGHEST, threshold + 1.0)]
    ends = [0.0, CALM, CALM + WATCH, float(STRIP_HEIGHT)]
    return np.asarray(np.interp(log10_evidence, places, ends))


def _evidence(result: Monitored, days: _Days, of: str) -> Layer:
    table = result.evidence_of(of)
    at, value = days.at(table["day"]), table["log10_evidence"].to_numpy(np.float64)
    return Layer(
        "evidence",
        at,
        _heights(value, result.threshold),
        panel=1,
        name="Evidence",
        line=Line(GREY, 2),
        hovertext=[f"Evidence {factor(one)}" for one in value],
        hover="%{hovertext}<extra></extra>",
    )


def _raised(result: Monitored, days: _Days, of: str) -> list[Layer]:
    """A marker at the day whose rows raised each alarm of all rows."""
    if of:
        return []
    table = result.evidence_of()
    at, value = days.at(table["day"]), table["log10_evidence"].to_numpy(np.float64)
    layers = []
    for number, episode in enumerate(result.episodes):
        raising = at == days.of(episode.day)
        layers.append(
            Layer(
                f"raised {number}",
                at[raising],
                _heights(value[raising], result.threshold),
                panel=1,
                name="Alarm raised",
                marker=Marker(DOUBT, size=10, line=Line(RIM, 1)),
                hovertext=[f"Alarm on {episode.raised}, from the rows of {episode.day}"],
                hover="%{hovertext}<extra></extra>",
            )
        )
    return layers


def _notes(
    result: Monitored, days: _Days, new_calibrators: Sequence[date], top: float
) -> list[Note]:
    """Words below the upper end of the first panel."""
    notes = []
    gap = 0.006 * (days.last + 1.0)
    shown = [days.of(day) for day in new_calibrators if 0.0 <= days.of(day) <= days.last]
    for at in shown[-1:]:
        before = at > MIN_NOTE_SHARE * days.last
        place = at - gap if before else at + gap
        notes.append(Note(place, top, "New calibrator", "right" if before else "left", up=-24.0))
    if result.episode is not None:
        first = days.of(result.episode.since)
        low, high = result.episode.since_low, result.episode.since_high
        words = f"<b>{_short(result.episode.since)}</b> (95%: {days_between(low, high)})"
        before = first > MIN_NOTE_SHARE * days.last
        place = first - gap if before else first + gap
        notes.append(Note(place, top, words, "right" if before else "left", up=-9.0))
    return notes


def _short(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1][:3]}"


def _rates(
    result: Monitored, periods: pd.DataFrame, days: _Days, *, legend: bool = True
) -> list[Layer]:
    """Observed rates as dots, predicted ones as a line, on the band of a calibrated model."""
    if not len(periods):
        return []
    first, last = (days.at(periods[name]) for name in ("first_day", "last_day"))
    edges = np.column_stack([first - 0.5, last + 0.5]).ravel()
    mean = periods["mean_score"].to_numpy(np.float64)
    low, high = (100.0 * np.repeat(mean + periods[name].to_numpy(np.float64), 2) for name in BAND)
    layers = [
        area("band", edges, low, high, name="95% band if calibrated", legend=legend),
        Layer(
            "predicted",
            edges,
            100.0 * np.repeat(mean, 2),
            name="Predicted",
            legend=legend,
            line=reference(1.5, None),
        ),
    ]
    changed = _changed(result, periods)
    for since, color, name in (
        (False, GREY, "Observed"),
        (True, DOUBT, "Observed since the change"),
    ):
        chosen = periods[changed == since]
        if len(chosen):
            layers.append(_dots(chosen, days, color, name, legend=legend))
    return layers


def _changed(result: Monitored, periods: pd.DataFrame) -> BoolArray:
    """Periods after a change that raised an alarm. The period that holds the change is neutral."""
    changed = np.zeros(len(periods), dtype=np.bool_)
    for episode in result.episodes:
        after = periods["first_day"] >= pd.Timestamp(episode.since)
        if episode.closed is not None:
            after &= periods["first_day"] <= pd.Timestamp(episode.closed)
        changed |= after.to_numpy()
    if "state" in periods:
        alarm = periods["state"].to_numpy() == "alarm"
        # The alarm of a slice may begin later than its change, or without one of all rows.
        changed = (changed & bool(alarm.any())) | alarm
    return changed


def _dots(rows: pd.DataFrame, days: _Days, color: str, name: str, *, legend: bool) -> Layer:
    middle = (days.at(rows["first_day"]) + days.at(rows["last_day"])) / 2.0
    return Layer(
        name.lower(),
        middle,
        100.0 * rows["observed"].to_numpy(np.float64),
        name=name,
        legend=legend,
        marker=Marker(color, size=8, line=Line(RIM, 1)),
        hovertext=[_describe(row) for _, row in rows.iterrows()],
        hover="%{hovertext}<extra></extra>",
    )


def _describe(row: pd.Series) -> str:
    return (
        f"{escaped(str(row['period']))}: {points(row['difference'])} points<br>"
        f"{count(row['rows'])} rows, {count(row['positive'])} positive<br>"
        f"predicted {percent(row['mean_score'])}, observed {percent(row['observed'])}"
    )


def _since(result: Monitored, days: _Days, upward: Sequence[Sequence[float]]) -> list[Layer]:
    """The days since the open change, from its most likely first day on."""
    if result.episode is None:
        return []
    begin = days.of(result.episode.since) - 0.5
    low, high = upward[0]
    ends = np.array([begin, days.last + 0.5])
    changed = area("since", ends, np.full(2, low), np.full(2, high), color=CHANGED)
    lines = [
        Layer(
            f"change {panel}",
            [begin] * 2,
            list(of_panel),
            panel=panel,
            name="Change began",
            line=Line(DOUBT, 1.5),
        )
        for panel, of_panel in enumerate(upward)
    ]
    return [changed, *lines]


def _calibrators(
    first_days: Sequence[date], days: _Days, upward: Sequence[Sequence[float]]
) -> list[Layer]:
    """A line at the first day of each new calibrator."""
    return [
        Layer(
            f"calibrator {number} {panel}",
            [days.of(day) - 0.5] * 2,
            list(ends),
            panel=panel,
            name="New calibrator",
            line=Line(ADVISED, 1.5, "dot"),
        )
        for number, day in enumerate(first_days)
        if 0.0 <= days.of(day) <= days.last
        for panel, ends in enumerate(upward)
    ]


def _hatched(days: _Days, rates: Sequence[float], width: int, height: int) -> list[Layer]:
    """Lines across the days that are not tested yet."""
    if days.untested is None:
        return []
    return [hatched(days.untested, rates, width / (days.last + 1.0), height)]


def _means(result: Monitored, row: pd.Series) -> str:
    """The rates of a slice since the change, in words."""
    since = "" if result.episode is None else f" since {day_words(result.episode.since)}"
    rows = f"{plural(int(row['rows']), 'row')}{since}"
    if not row["rows"]:
        return rows
    mean, observed = percents(row["mean_score"], row["observed"], distinct=False)
    return f"{rows}: {mean} predicted, {observed} observed"


def _title(periods: pd.DataFrame) -> str:
    """How many of the drawn periods are outside the band."""
    if not len(periods):
        return "No day is old enough to be tested"
    outside, drawn = int(periods["outside"].sum()), plural(len(periods), "period")
    if not outside:
        return f"None of {drawn} is outside the band"
    return f"{outside} of {drawn} {'is' if outside == 1 else 'are'} outside the band"


def _details(result: Monitored) -> str:
    tested = int(result.evidence["rows"][result.evidence["mature"]].sum())
    parts = [f"{plural(tested, 'row')} tested"]
    if result.n_immature:
        parts.append(f"hatched: the last {plural(result.horizon, 'day')}, not tested yet")
    return " · ".join(parts)


def _alt(result: Monitored, of: str) -> str:
    shown = f" Evidence and rates are those of the slice {quoted(of)}." if of else ""
    return f"{result.headline}{shown}"
