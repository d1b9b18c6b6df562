"""A monitor: evidence by day, differences by period and the states of slices, on one time axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd

from calib.features.monitor.result import Monitored
from calib.figures.axes import PanelAxis, Panels, padded, power, stacked
from calib.figures.chart import TITLE_ROW, TOP, Chart, chart, draw
from calib.figures.layers import Layer, Line, Marker, Note, area, reference
from calib.figures.theme import ADVISED, DOUBT, FRAME, GREY, RIM, faded
from calib.numerics.arrays import FloatArray
from calib.text import (
    MONTHS,
    count,
    escaped,
    percent,
    plural,
    points,
    quoted,
    shortened,
    significant,
)

# These are pixels.
WIDTH, EVIDENCE_HEIGHT, PERIOD_HEIGHT, SLICE_HEIGHT, GAP = 640, 170, 120, 20, 34
SLICE_LINE, HATCH_GAP = 10, 7
# Evidence beyond these powers of ten would press the threshold to an edge of the panel.
LOWEST, HIGHEST = -4.0, 6.0
# The band of a period with a smaller share of the median rows may leave the panel.
MIN_SHARE_OF_MEDIAN = 0.25
# On a phone, words need this share of the panel.
MIN_NOTE_SHARE = 0.38
MAX_SLICES, MAX_TICKS, MAX_NAME = 12, 5, 12
BAND = ("band_low", "band_high")
CHANGE = faded(DOUBT, 0.2)
LEAST = "Least evidence of an alarm"
HATCH = Line(FRAME, 1)
# Colours of states, the first one at the bottom of the legend.
STATES: Mapping[str, tuple[str, str]] = {
    "alarm": ("Alarm", DOUBT),
    "calm": ("Calm", FRAME),
    "too early": ("Too early", faded(GREY, 0.25)),
}


@chart
def monitor_chart(
    result: Monitored, of: str = "", *, new_calibrators: Sequence[date] = ()
) -> Chart:
    """Evidence of miscalibration by day, the mean error by period, and the state of each slice.

    The evidence is drawn in orange while an alarm is open. The shaded days are those on which the
    change may have begun; the hatched days are not tested yet.

    Parameters
    ----------
    result : Monitored
        Result of `calib.monitor`.
    of : str
        The slice whose evidence and mean errors are drawn. The default is all rows.
    new_calibrators : sequence of date
        First days of new calibrators.

    Examples
    --------
    >>> import calib, numpy as np
    >>> day = np.datetime64("2026-01-01") + np.repeat(np.arange(60), 20)
    >>> rows = calib.Predictions.from_arrays([0, 1] * 600, [0.3, 0.6] * 600, columns={"day": day})
    >>> figure = calib.plot.monitor(calib.monitor(rows, time="day"))
    >>> figure.layout.annotations[0].text
    'Evidence against calibration (below 1: none)'
    """
    days = _Days(result)
    slices = _shown_slices(result)
    periods = result.periods_of(of)
    upward = [_evidence_range(result, of), _difference_range(periods)]
    panels = _panels(days, upward, slices, of)
    layers = [*_hatched(days, upward), *_change(result, days, upward)]
    layers += _calibrators(new_calibrators, days, upward)
    evidence = _evidence_of_slice(result, days, periods, of) if of else _evidence(result, days)
    layers += [*evidence, *_differences(result, periods, days)]
    layers += _strips(result, days, slices)
    notes = _notes(result, days, new_calibrators, upward[0][1], of)
    return draw(
        "monitor",
        panels,
        layers,
        _alt(result, of),
        title=_title(periods),
        details=_details(result),
        of=(of,) if of else (),
        top=TOP + TITLE_ROW,
        left=_left(slices),
        notes=notes,
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


def _shown_slices(result: Monitored) -> list[str]:
    """The slices with the most evidence, in the order of their names."""
    table = result.slices
    ordered = table.sort_values(["log10_evidence", "slice"], ascending=[False, True])
    return sorted(ordered["slice"][:MAX_SLICES], key=list(table["slice"]).index)


def _left(slices: Sequence[str]) -> int:
    """Pixels for the names of slices beside their strips."""
    return max(54, *(7 * len(_label(name)) + 16 for name in slices), 0)


def _label(name: str) -> str:
    """A name that leaves room for the strips on a phone."""
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…"


def _panels(days: _Days, upward: Sequence[list[float]], slices: Sequence[str], of: str) -> Panels:
    low, high = upward[0]
    powers = list(range(int(np.ceil(low)), int(high) + 1))
    powers = powers[:: max(1, -(-len(powers) // 5))]
    evidence = PanelAxis(
        range=upward[0], tickvals=[float(k) for k in powers], ticktext=[_factor(k) for k in powers]
    )
    difference = PanelAxis(range=upward[1], nticks=5, tickformat="~g")
    axes = [(evidence, EVIDENCE_HEIGHT), (difference, PERIOD_HEIGHT)]
    titles = ["Evidence against calibration (below 1: none)", "Observed minus predicted, in points"]
    if of:
        titles = [f"{title}: {escaped(shortened(of))}" for title in titles]
    if slices:
        labels = [escaped(_label(name)) for name in slices]
        strip = PanelAxis(
            range=[len(slices) - 0.5, -0.5],
            tickvals=list(range(len(slices))),
            ticktext=[f"<b>{x}</b>" if s == of else x for s, x in zip(slices, labels, strict=True)],
            names=dict(enumerate(map(escaped, slices))),
            fixedrange=True,
        )
        axes.append((strip, SLICE_HEIGHT * len(slices)))
        titles.append("State of each slice after each period")
    panels = stacked(days.axis, axes, WIDTH, GAP)
    return replace(panels, titles=dict(zip(panels.names, titles, strict=True)))


def _factor(k: int) -> str:
    return significant(10.0**k) if abs(k) <= 3 else power(10.0**k)


def _evidence_range(result: Monitored, of: str) -> list[float]:
    values = result.evidence_of(of)["log10_evidence"].to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    low = float(np.clip(values.min(initial=-0.5), LOWEST, -0.5))
    high = float(np.clip(values.max(initial=0.0) + 0.3, result.threshold + 0.9, HIGHEST))
    return [low - 0.1, high]


def _difference_range(periods: pd.DataFrame) -> list[float]:
    rows = periods["rows"].to_numpy(np.float64)
    usual = rows >= MIN_SHARE_OF_MEDIAN * np.median(rows) if len(rows) else rows > 0.0
    bands = [100.0 * periods[name].to_numpy(np.float64)[usual] for name in BAND]
    return padded(
        0.0, 100.0 * periods["difference"].to_numpy(np.float64), *bands, margin=0.1, least=5.0
    )


def _evidence(result: Monitored, days: _Days) -> list[Layer]:
    """The evidence by day, in orange while an alarm is open, and a marker for each alarm."""
    tested = days.tested
    at, value = days.at(days.all[tested]), result.evidence["mixture"].to_numpy(np.float64)[tested]
    layers = [Layer("evidence", at, value, name="Evidence", line=Line(GREY, 2.25))]
    for number, episode in enumerate(result.episodes):
        start = days.of(episode.day)
        end = np.inf if episode.closed is None else days.of(episode.closed)
        inside = (at >= start) & (at <= end)
        text = f"Alarm on {episode.raised}, from the rows of {episode.day}"
        layers += [
            Layer(
                f"alarm {number}", at[inside], value[inside], name="Alarm", line=Line(DOUBT, 2.25)
            ),
            Layer(
                f"raised {number}",
                at[inside][:1],
                value[inside][:1],
                name="Alarm raised",
                marker=Marker(DOUBT, symbol="diamond", size=11, line=Line(RIM, 1)),
                hovertext=[text],
                hover="%{hovertext}<extra></extra>",
            ),
        ]
    ends = days.axis.range
    assert ends is not None
    threshold = Layer(
        "threshold",
        ends,
        [result.threshold] * 2,
        name="Alarm threshold",
        line=reference(1.5, "dash"),
    )
    return [threshold, *layers]


def _evidence_of_slice(
    result: Monitored, days: _Days, periods: pd.DataFrame, of: str
) -> list[Layer]:
    """The evidence of a slice by day, in orange in the periods after which it has an alarm."""
    table = result.evidence_of(of)
    at, value = days.at(table["day"]), table["log10_evidence"].to_numpy(np.float64)
    alarm = periods[periods["state"] == "alarm"]
    inside = np.zeros(len(at), dtype=np.bool_)
    for first, last in zip(days.at(alarm["first_day"]), days.at(alarm["last_day"]), strict=True):
        inside |= (at >= first) & (at <= last)
    ends = days.axis.range
    assert ends is not None
    threshold = [result.threshold] * 2
    return [
        Layer(
            "threshold",
            ends,
            threshold,
            name="Least evidence of an alarm",
            line=reference(1.5, "dash"),
        ),
        Layer("evidence", at, value, name="Evidence", line=Line(GREY, 2.25)),
        Layer(
            "alarm of slice",
            at[inside],
            value[inside],
            name="Alarm of the slice",
            line=Line(DOUBT, 2.25),
        ),
    ]


def _notes(
    result: Monitored, days: _Days, new_calibrators: Sequence[date], top: float, of: str
) -> list[Note]:
    """Words at the threshold, and below the upper end of the first panel."""
    one_in = count(1.0 / result.alpha)
    words = f"Alarm: 1 in {one_in} over the whole life"
    if of:
        words = f"{LEAST}: {one_in}"
    notes = [Note(0.0, result.threshold, words, "left", up=10.0)]
    gap = 0.006 * (days.last + 1.0)
    shown = [days.of(day) for day in new_calibrators if 0.0 <= days.of(day) <= days.last]
    for at in shown[-1:]:
        before = at > MIN_NOTE_SHARE * days.last
        place = at - gap if before else at + gap
        notes.append(Note(place, top, "New calibrator", "right" if before else "left", up=-24.0))
    if result.episode is not None:
        low, high = days.of(result.episode.since_low), days.of(result.episode.since_high)
        # Evidence rises after a change, so the words stand before it, or else on its days.
        end = (
            low - gap if low > MIN_NOTE_SHARE * days.last else max(high, MIN_NOTE_SHARE * days.last)
        )
        notes.append(Note(end, top, "Change began", "right", up=-9.0))
    return notes


def _differences(result: Monitored, periods: pd.DataFrame, days: _Days) -> list[Layer]:
    """Observed minus predicted of each period, on the band of a calibrated one."""
    first, last = (days.at(periods[name]) for name in ("first_day", "last_day"))
    edges = np.column_stack([first - 0.5, last + 0.5]).ravel()
    low, high = (100.0 * np.repeat(periods[name].to_numpy(np.float64), 2) for name in BAND)
    layers = []
    if len(periods):
        band = area("band", edges, low, high, name="95% band if calibrated", legend=True)
        layers.append(replace(band, panel=1))
    layers.append(
        Layer("zero", [-0.5, days.last + 0.5], [0.0, 0.0], panel=1, line=reference(1.0, "dot"))
    )
    alarming = periods["outside"] & _in_alarm(result, periods)
    for of_alarm, color, name in ((False, GREY, "Difference"), (True, DOUBT, "During an alarm")):
        chosen = periods[alarming == of_alarm]
        if len(chosen):
            layers.append(_dots(chosen, days, color, name))
    return layers


def _in_alarm(result: Monitored, periods: pd.DataFrame) -> pd.Series:
    """Periods of a change that raised an alarm. Without one, a dot is outside by chance."""
    if "state" in periods:
        return periods["state"] == "alarm"
    inside = pd.Series(False, index=periods.index)
    for episode in result.episodes:
        changed = periods["last_day"] >= pd.Timestamp(episode.since_low)
        if episode.closed is not None:
            changed &= periods["first_day"] <= pd.Timestamp(episode.closed)
        inside |= changed
    return inside


def _dots(rows: pd.DataFrame, days: _Days, color: str, name: str) -> Layer:
    middle = (days.at(rows["first_day"]) + days.at(rows["last_day"])) / 2.0
    return Layer(
        name.lower(),
        middle,
        100.0 * rows["difference"].to_numpy(np.float64),
        panel=1,
        name=name,
        marker=Marker(color, symbol="circle", size=9, line=Line(RIM, 1)),
        hovertext=[_describe(row) for _, row in rows.iterrows()],
        hover="%{hovertext}<extra></extra>",
    )


def _describe(row: pd.Series) -> str:
    return (
        f"{escaped(str(row['period']))}: {points(row['difference'])} points<br>"
        f"{count(row['rows'])} rows, {count(row['positive'])} positive<br>"
        f"predicted {percent(row['mean_score'])}, observed {percent(row['observed'])}"
    )


def _change(result: Monitored, days: _Days, upward: Sequence[list[float]]) -> list[Layer]:
    """The days on which the open change may have begun."""
    episode = result.episode
    if episode is None:
        return []
    ends = np.array([days.of(episode.since_low) - 0.5, days.of(episode.since_high) + 0.5])
    return [
        replace(
            area(
                f"change {panel}",
                ends,
                np.full(2, low),
                np.full(2, high),
                color=CHANGE,
                name="Change began",
            ),
            panel=panel,
        )
        for panel, (low, high) in enumerate(upward)
    ]


def _calibrators(
    first_days: Sequence[date], days: _Days, upward: Sequence[list[float]]
) -> list[Layer]:
    """A line at the first day of each new calibrator."""
    return [
        Layer(
            f"calibrator {number} {panel}",
            [days.of(day) - 0.5] * 2,
            ends,
            panel=panel,
            name="New calibrator",
            line=Line(ADVISED, 1.5, "dot"),
        )
        for number, day in enumerate(first_days)
        if 0.0 <= days.of(day) <= days.last
        for panel, ends in enumerate(upward)
    ]


def _hatched(days: _Days, upward: Sequence[list[float]]) -> list[Layer]:
    """Lines across the days that are not tested yet."""
    if days.untested is None:
        return []
    left, right = days.untested
    by_pixel = (days.last + 1.0) / WIDTH
    layers = []
    for panel, ((low, high), pixels) in enumerate(
        zip(upward, (EVIDENCE_HEIGHT, PERIOD_HEIGHT), strict=True)
    ):
        across = pixels * by_pixel  # A line that rises over the whole panel is as long as this.
        start = np.arange(left - across, right, HATCH_GAP * by_pixel)
        ends = np.stack([np.maximum(start, left), np.minimum(start + across, right)])
        heights = low + (ends - start) / across * (high - low)
        # A line ends at each None.
        x, y = (
            [value for pair in part.T.tolist() for value in (*pair, None)]
            for part in (ends, heights)
        )
        layers.append(Layer(f"untested {panel}", x, y, panel=panel, line=HATCH))
    return layers


def _strips(result: Monitored, days: _Days, slices: Sequence[str]) -> list[Layer]:
    """A line per slice and stretch of periods with one state."""
    layers, in_legend = [], set[str]()
    for place, name in enumerate(slices):
        rows = result.slice_periods[result.slice_periods["slice"] == name]
        state = rows["state"].to_numpy(dtype=object)
        starts = np.flatnonzero(np.append(True, state[1:] != state[:-1])[: len(state)])
        for start, stop in zip(starts, np.append(starts, len(state))[1:], strict=True):
            if not state[start]:
                continue
            label, color = STATES[state[start]]
            first, last = rows["first_day"].iloc[start], rows["last_day"].iloc[stop - 1]
            layers.append(
                Layer(
                    f"slice {place} {start}",
                    [float(days.at(first)) - 0.5, float(days.at(last)) + 0.5],
                    [place, place],
                    panel=2,
                    name=label,
                    line=Line(color, SLICE_LINE),
                    legend=label not in in_legend,
                    group=label,
                )
            )
            in_legend.add(label)
    return layers


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
    shown = f" Evidence and mean errors are those of the slice {quoted(of)}." if of else ""
    return f"{result.headline}{shown}"
