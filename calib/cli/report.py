"""``report``: from a file of predictions to files of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.decisions import Costs
from calib.analysis.model_comparison import compare_models, compared_method
from calib.analysis.plans import choose_plan, with_plan
from calib.cli import certified, judge, options
from calib.cli.predictions import models_of, predictions_of, progress_of, settings_of
from calib.cli.streams import save_each
from calib.data.base import Data, Progress
from calib.reports import Report, parts_of
from calib.reports.contents.checklist import with_metrics_of
from calib.reports.render.archive import archive, table_files
from calib.reports.render.files import write_whole
from calib.text import quoted


def report_of(
    rows: options.Rows,
    settings: options.SettingsOptions,
    parts: options.PartsOptions,
    certificate: options.CertificateOptions,
    words: Mapping[str, Any],
) -> Report:
    """The report of predictions."""
    predictions, costs = predictions_of(rows), _costs(parts)
    chosen = settings_of(settings, predictions)
    if words["checklist"] is not None:
        chosen = with_metrics_of(chosen, words["checklist"])
        costs = costs or Costs()
    analysis = analyze(predictions, chosen, progress=progress_of(rows))
    if not parts.parts:
        return Report.from_analysis(analysis, **words)
    time = predictions.time_name if parts.time_column is None else parts.time_column
    analysis = with_plan(analysis, choose_plan(predictions, analysis, time))
    made = parts_of(
        predictions,
        analysis,
        slices=_slices(parts, predictions, time),
        n_ranges=parts.n_ranges,
        time=time,
        unit=parts.unit,
        costs=costs,
        error_limit=certified.error_limit(certificate, analysis.settings),
        **_compared(rows, analysis),
    )
    return Report.from_analysis(analysis, parts=made, **words)


def _compared(rows: options.Rows, analysis: LiveAnalysis) -> dict[str, Any]:
    """The arguments of `parts_of` for all models of the file, of which one is named."""
    models = models_of(rows)
    names = {one.fingerprint: name for name, one in models.items()}
    shown = names.get(analysis.data.fingerprint)
    if len(models) < 2 or shown is None:
        return {}
    method = compared_method(analysis)
    progress = progress_of(rows)
    compared = compare_models(models, analysis.settings, method=method, progress=progress)
    return {"models": compared, "model": shown}


def report_of_judge(
    rows: options.Rows,
    judged: options.JudgeRows,
    settings: options.SettingsOptions,
    words: Mapping[str, Any],
) -> Report:
    """The report of rows that a judge scored."""
    results = judge.compared_rows(rows, judged, settings).results
    if len(results) > 1:
        names = ", ".join(map(quoted, results))
        raise ValueError(f"A report has one judge and one model, got {names}. Name one --score.")
    (result,) = results.values()
    return Report.from_judge(result, **words)


def save(
    report: Report, paths: Sequence[Path], images: Literal["png", "svg"] | None, progress: Progress
) -> int:
    """Write the files, with every chart in an archive if `images` names their format."""

    def save_one(path: Path) -> None:
        if images and path.suffix.lower() == ".zip":
            from calib.reports.render.printed_files import pictures

            drawn = pictures(report, images, progress)
            write_whole(path, archive(table_files(report) | drawn))
        else:
            report.save(path)

    save_each(paths, save_one)
    return 0


def _slices(parts: options.PartsOptions, predictions: Data, time: str) -> Sequence[tuple[str, ...]]:
    if parts.slice_columns is not None:
        return parts.slice_columns
    single = [(name,) for name in predictions.columns if name != time]
    return list(dict.fromkeys([*single, *predictions.crossings, *map(tuple, parts.cross)]))


def _costs(parts: options.PartsOptions) -> Costs | None:
    values = {
        "false_positive": parts.cost_fp,
        "false_negative": parts.cost_fn,
        "capacity": parts.capacity,
    }
    chosen = {name: value for name, value in values.items() if value is not None}
    return Costs(**chosen) if chosen else None


def check_images(paths: Sequence[Path]) -> None:
    if not any(path.suffix.lower() == ".zip" for path in paths):
        raise ValueError(f"--images needs an --output that ends in .zip, got {paths[0].name!r}.")
    if find_spec("plotly") is None:
        raise ValueError("Charts need plotly, which is not installed: pip install plotly.")
    from calib.figures.chart import missing

    if missing():
        raise ValueError(missing())
