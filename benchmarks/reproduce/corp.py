"""[CORP] Dimitriadis, Gneiting, Jordan 2021: ten forecasts, decomposed and drawn."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from benchmarks.reproduce.published import Measured, Published, Rows, Study
from benchmarks.reproduce.small import small_multiples
from benchmarks.reproduce.sources import find
from benchmarks.reproduce.tables import beside, markdown
from calib import ScoreCells, metrics
from calib.curves.rate import corp_curve
from calib.figures import Chart
from calib.figures.axes import LINEAR
from calib.figures.layers import diagonal, rate_layers

TITLE = "CORP reliability diagrams"
SOURCE = (
    'Dimitriadis, Gneiting, Jordan 2021, "Stable reliability diagrams for probabilistic '
    'classifiers", PNAS, doi:10.1073/pnas.2016191118.'
)
PARTS = {"MCB": "miscalibration", "DSC": "discrimination", "UNC": "uncertainty"}
PLACES = {
    "precip_Niamey_2016.csv": "rain in Niamey",
    "SF.FC.C1.csv": "solar flares",
    "recid.csv": "recidivism",
}
NAMES = {
    "compaspredprobs.linear": "COMPAS",
    "mturkpredprobs": "MTurk",
    "logitpredprobs": "Logit",
    "gbmpredprobs": "GBM",
}
PROTOCOL = "Brier score of all rows with a forecast; printed with three decimals."


def measure() -> Measured:
    """Three parts of ten decompositions, and their diagrams."""
    rows, drawn = [], {}
    for entry in pd.read_csv(find("corp/published.csv")).itertuples():
        table = pd.read_csv(find(f"corp/{entry.file}"))[[entry.forecast, entry.outcome]].dropna()
        cells = ScoreCells.from_arrays(table[entry.outcome], table[entry.forecast])
        parts = metrics.brier_decomposition(cells)
        name = f"{PLACES[entry.file]}, {NAMES.get(entry.forecast, entry.forecast)}"
        drawn[name] = cells
        for part, attribute in PARTS.items():
            printed = getattr(entry, f"{part}_pub")
            rows.append(
                # The tolerance is half a unit of the last printed decimal.
                Published(
                    f"{name}, {part}", printed, getattr(parts, attribute), 5e-4, PROTOCOL, digits=6
                )
            )
    return Measured(tuple(rows), {"corp": diagrams(drawn)})


def diagrams(drawn: dict[str, ScoreCells]) -> Chart:
    """One small CORP diagram a forecast, with its 95 % band."""
    panels = {}
    for name, cells in drawn.items():
        what, forecast = name.rsplit(", ", 1)
        layers = [diagonal(LINEAR), *rate_layers([corp_curve(cells)], LINEAR)]
        panels[f"<b>{forecast}</b><br>{what}"] = [replace(layer, legend=False) for layer in layers]
    titles = ("Forecast probability", "Observed frequency")
    return small_multiples(panels, titles, columns=5, side=124)


def table(rows: Rows) -> str:
    """Forecasts down; the three parts, ours in full and the printed ones in brackets."""
    names = dict.fromkeys(name.rsplit(", ", 1)[0] for name in rows)
    lines = {name: [beside(rows[f"{name}, {part}"]) for part in PARTS] for name in names}
    return markdown(list(PARTS), lines)


def tell(rows: Rows) -> str:
    """What agrees."""
    return (
        f"All {len(rows)} numbers round to the printed ones (in brackets). The line of each "
        "diagram is isotonic regression, so that the data choose the bins, and the decomposition "
        "is exact: Brier score = MCB - DSC + UNC. Some flare forecasts are missing, all on the "
        "same days; those rows are left out, as in the paper. The bands are 95 % intervals of the "
        "line; the paper's grey bands lie around the diagonal instead."
    )


STUDIES = (
    Study(
        "corp",
        "Ten decompositions of the Brier score",
        measure,
        tell,
        {
            "corp": "Ten CORP diagrams: four rain forecasts in Niamey, two of solar flares, four "
            "of recidivism, each with its band around the diagonal."
        },
        table,
    ),
)
