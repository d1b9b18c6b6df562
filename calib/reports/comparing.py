"""compare_reports: what changed between two reports, and by how much."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from calib.analysis import Analysis, Column
from calib.crossfit.comparison import Estimate
from calib.reports.codec import encode
from calib.reports.common_settings import refusal, without_interval
from calib.reports.contents import Contents
from calib.reports.files import save_as
from calib.reports.words import written_setting
from calib.settings import Settings
from calib.text import percent
from calib.uncertainty.unpaired import unpaired_difference

# Suffix of a file -> the method that writes it.
FORMATS = {".html": "html", ".json": "json", ".md": "markdown"}


@dataclass(frozen=True, slots=True)
class Change:
    """One thing in both reports, in words."""

    name: str
    first: str
    second: str

    @property
    def changed(self) -> bool:
        """Whether the two differ."""
        return self.first != self.second


@dataclass(frozen=True, slots=True)
class MetricChange:
    """One number of one method in both reports.

    Attributes
    ----------
    method, label : str
    column : Column
    first, second : Estimate
    difference : Estimate
        Second minus first. Its value is NaN where it is refused, its interval where there is none.
    reason : str
        Why it is refused, or has no interval; "" where it has one.
    """

    method: str
    label: str
    column: Column
    first: Estimate
    second: Estimate
    difference: Estimate
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class ReportComparison:
    """What changed between two reports; made by `compare_reports`.

    Attributes
    ----------
    first, second : Contents
    data, settings, verdict : tuple of Change
        Everything that was compared, changed or not.
    metrics : tuple of MetricChange
        Of the methods that both have.
    only_first, only_second : tuple of str
        Labels of methods that one of them has.
    """

    first: Contents
    second: Contents
    data: tuple[Change, ...]
    settings: tuple[Change, ...]
    verdict: tuple[Change, ...]
    metrics: tuple[MetricChange, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]

    @property
    def same_rows(self) -> bool:
        """Whether both are of the same data: then intervals of differences are too wide."""
        return self.first.analysis.data.fingerprint == self.second.analysis.data.fingerprint

    @property
    def same_view(self) -> bool:
        """Whether both look at the same binary problem."""
        return self.first.analysis.settings.view == self.second.analysis.settings.view

    def frame(self) -> pd.DataFrame:
        """One row a method and metric."""
        return pd.DataFrame([_row(change) for change in self.metrics])

    def json(self) -> str:
        """The comparison as strict JSON: the same two reports give the same text."""
        return (
            json.dumps(encode(_contents(self)), allow_nan=False, ensure_ascii=False, indent=1)
            + "\n"
        )

    def save(self, path: str | Path) -> None:
        """Write it, in the format that the path's suffix names: .html, .json or .md.

        Raises
        ------
        ValueError
            If the suffix is another.
        OSError
            If the file cannot be written; what was there before stays.
        """
        save_as(Path(path), {suffix: getattr(self, name) for suffix, name in FORMATS.items()})

    def html(self) -> str:
        """The comparison as one self-contained HTML page."""
        # As of a report: the numbers alone must not need Plotly.
        from calib.reports.comparison_words import paper_of_comparison
        from calib.reports.html import to_html

        return to_html(paper_of_comparison(self))

    def markdown(self) -> str:
        """The comparison as Markdown, without its chart."""
        from calib.reports.comparison_words import paper_of_comparison
        from calib.reports.markdown import to_markdown

        return to_markdown(paper_of_comparison(self))


def _contents(comparison: ReportComparison) -> dict[str, Any]:
    return {
        "first": _named(comparison.first),
        "second": _named(comparison.second),
        "same_rows": comparison.same_rows,
        **{
            name: [asdict(change) | {"changed": change.changed} for change in changes]
            for name, changes in (
                ("data", comparison.data),
                ("settings", comparison.settings),
                ("verdict", comparison.verdict),
            )
        },
        "metrics": [_row(change) for change in comparison.metrics],
        "only_first": comparison.only_first,
        "only_second": comparison.only_second,
    }


def _named(report: Contents) -> dict[str, str]:
    return {"title": report.heading, "author": report.author, "created": report.created}


def _row(change: MetricChange) -> dict[str, object]:
    row: dict[str, object] = {"method": change.method, "metric": change.column.key}
    for name in ("first", "second", "difference"):
        estimate: Estimate = getattr(change, name)
        row |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    return row | {"reason": change.reason}


def compare_reports(first: Contents, second: Contents) -> ReportComparison:
    """Hold one report against another: data, settings, verdict, and every number of both.

    A difference is taken only under settings that both share where they matter to the number: view;
    bins, for binned errors; protocol, folds and epsilon, for calibrated scores. Intervals are
    unpaired, from those of the two reports.

    Parameters
    ----------
    first, second : Contents
        Two reports, the earlier one first: differences are second minus first.

    References
    ----------
    Zou and Donner 2008, doi:10.1002/sim.3095 (intervals).

    Examples
    --------
    >>> import calib
    >>> from calib.reports import Report
    >>> rows = calib.examples.EXAMPLES["logistic"].load()
    >>> reports = [
    ...     Report.from_analysis(calib.analyze(rows, calib.Settings(methods=(), n_bins=n)))
    ...     for n in (10, 20)
    ... ]
    >>> comparison = compare_reports(*reports)
    >>> [change.name for change in comparison.settings if change.changed]
    ['n_bins']
    >>> comparison.metrics[2].column.key, comparison.metrics[2].reason
    ('ece_uniform', 'n_bins differs: 10 and 20')
    """
    one, two = first.analysis, second.analysis
    both = [key for key in one.methods if key in two.methods]
    columns = [c for c in one.columns if c.key in {other.key for other in two.columns}]
    return ReportComparison(
        first=first,
        second=second,
        data=_changes(_data(first), _data(second)),
        settings=_changes(_settings(one), _settings(two)),
        verdict=_changes(_verdict(one), _verdict(two)),
        metrics=tuple(_metric(one, two, key, column) for key in both for column in columns),
        only_first=tuple(m.label for key, m in one.methods.items() if key not in both),
        only_second=tuple(m.label for key, m in two.methods.items() if key not in both),
    )


def _changes(first: dict[str, str], second: dict[str, str]) -> tuple[Change, ...]:
    return tuple(Change(name, first[name], second[name]) for name in first)


def _data(report: Contents) -> dict[str, str]:
    data = report.analysis.data
    return {
        "Name": data.name,
        "Fingerprint": data.fingerprint,
        "Score column": data.score_name,
        "Outcome column": data.outcome_name,
        "Positive class": data.positive_name,
        "Rows scored": f"{data.n_rows:,}",
        "Positive rows": f"{data.n_positive:,}",
        "Observed frequency": percent(data.base_rate),
        "Mean score": percent(data.mean_score),
        "Scored on": data.protocol,
        "Held-out, as declared": report.held_out_declared,
    }


def _settings(analysis: Analysis) -> dict[str, str]:
    chosen = analysis.settings
    return {field.name: written_setting(getattr(chosen, field.name)) for field in fields(Settings)}


def _verdict(analysis: Analysis) -> dict[str, str]:
    chosen = analysis.recommendation.method
    return {
        "Verdict": analysis.verdict.summary,
        "In a sentence": analysis.verdict.sentence,
        "Recommended": analysis.methods[chosen].label if chosen else "none",
    }


def _metric(one: Analysis, two: Analysis, key: str, column: Column) -> MetricChange:
    first, second = (analysis.methods[key].metrics[column.key] for analysis in (one, two))
    refused = refusal(one, two, key, column.key)
    reason = refused or without_interval(one, two, first, second, column.key)
    if refused:
        difference = Estimate(float("nan"))
    elif reason:
        difference = Estimate(second.value - first.value)
    else:
        difference = unpaired_difference(first, second)
    label = one.methods[key].label
    return MetricChange(key, label, column, first, second, difference, reason)
