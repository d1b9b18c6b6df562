"""Make the kept files of a version before it is released: python -m tests.kept.make 1.2"""

import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl

import numpy as np
import pandas as pd

import calib
from calib.analysis.decisions import Costs
from calib.calibrators import CALIBRATORS
from calib.cli.main import main
from calib.exports import DIALECTS as ALL_DIALECTS
from calib.exports import TARGETS, export
from calib.figures import CHARTS
from calib.metrics import METRICS
from calib.reports import Report, parts_of
from calib.reports.contents.evidence import GRADES, Grade
from calib.ui.session.links import decode
from tests.kept import DIGESTS, FOLDER, NUMBERS

# A formula, straight pieces and cubic pieces.
FORMATS = {
    "beta": ("json", "sql", "py", "js", "onnx"),
    "isotonic": ("json", "sql", "js"),
    "spline": ("json", "sql", "py"),
}
# The default dialect is that of DuckDB.
DIALECTS = ("sqlite", "postgres", "bigquery")
CLASSES = ("ant", "bee", "cow")
COMMANDS = (
    *("report", "check", "judge", "compare", "scan", "sql", "export", "verify", "serve"),
    *("monitor add", "monitor check", "monitor list"),
    *("reports verify", "reports delete", "reports restore"),
)
LINKS = {
    "example.txt": "v=1&ex=naive_bayes&m=uncalibrated.platt.isotonic&metric=kuiper_error&by=uniform"
    "&bins=12&eps=1e-06&folds=4&seed=3&level=0.9&band=simultaneous",
    "file.txt": "v=1&data=ae2a07a12932&file=loans.csv&rows=400&m=uncalibrated.beta&axis=logit"
    "&range=0.25~0.75&hide=band&slice=site&cross=age&ranges=4&pick=0.2&time=day&unit=month&fp=2"
    "&fn=12.5&cap=0.05&horizon=30",
}


def loans(n: int) -> pd.DataFrame:
    """Overconfident scores with two slice columns and a time."""
    rng = np.random.default_rng(0)
    score = rng.random(n)
    odds = np.cbrt(score / (1 - score))
    return pd.DataFrame(
        {
            "defaulted": (rng.random(n) < odds / (1 + odds)).astype(int),
            "risk": score,
            "site": rng.choice(["north", "south", "east"], n, p=[0.6, 0.3, 0.1]),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 730, n), "D"),
        }
    )


def rows_of(n: int) -> calib.Predictions:
    columns: dict[str, Any] = {"outcome": "defaulted", "score": "risk", "time": "day"}
    return calib.load(loans(n), **columns, slices=["site"], name="loans")


def save_report(folder: Path, grade: Grade) -> None:
    """A report with slices, periods and decisions."""
    rows = rows_of(300)
    analysis = calib.analyze(rows, {"methods": ("platt", "isotonic"), "n_bins": 8})
    made = Report.from_analysis(
        analysis,
        parts=parts_of(rows, analysis, costs=Costs(1.0, 4.0)),
        title="Loans, with slices",
        author="Ada",
        note="Kept to be opened by every later version.",
        held_out_declared="yes",
        created="2026-06-01T09:05:00+00:00",
        grade=grade,
    )
    made.save(folder / f"{grade}.json")


def numbers_of(counted: calib.Aggregate) -> dict[str, Any]:
    """What an analysis of counts gives without a random number."""
    analysis = calib.analyze(counted, {"methods": ()})
    metrics = analysis.uncalibrated.metrics
    names = ("log_loss", "brier_score", "ks_error", "ece_quantile", "auc")
    return {
        "columns": counted.columns,
        "n_rows": analysis.data.n_rows,
        "base_rate": analysis.data.base_rate,
        **{name: metrics[name].value for name in names},
    }


def save_exports(folder: Path) -> dict[str, Any]:
    """Calibrators in all formats; test scores, and the probabilities that they get."""
    rows, rng = loans(200), np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(3), 200)
    labels = (matrix.cumsum(axis=1) < rng.random((200, 1))).sum(axis=1)
    scores = np.concatenate([[0.0, 1e-9, 0.5, 1.0], rng.random(16)])
    calculated: dict[str, Any] = {"scores": scores.tolist(), "matrix": matrix[:9].tolist()}
    for method, suffixes in FORMATS.items():
        fitted = calib.calibrator(method).fit(rows["risk"], rows["defaulted"])
        for suffix in suffixes:
            export(fitted, folder / f"{method}.{suffix}")
        for dialect in DIALECTS if method == "beta" else ():
            export(fitted, folder / f"beta-{dialect}.sql", dialect)
        calculated[method] = fitted.predict(scores).tolist()
    vector = calib.multiclass_calibrator("vector").fit(matrix, labels)
    for suffix in ("json", "sql", "py"):
        export(vector, folder / f"vector.{suffix}", classes=CLASSES)
    calculated["vector"] = vector.predict(matrix[:9]).tolist()
    return calculated


def named_by(text: str) -> dict[str, Any]:
    """The data and the values of the choices that a link names."""
    link, refused = decode(dict(parse_qsl(text, strict_parsing=True)))
    assert not refused, refused
    source = (link.example, link.source.fingerprint, link.source.name, link.source.n_rows)
    chosen = {choice.key: link.chosen[choice] for choice in link.explicit}
    return {"source": source, **dict(sorted(chosen.items()))}


def options_of(command: str) -> list[str]:
    """The options that the help of a command names, in lines so long that none is broken."""
    wide = patch.dict(os.environ, COLUMNS="100000")
    with wide, redirect_stdout(StringIO()) as printed, suppress(SystemExit):
        main([*command.split(), "--help"])
    return sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", printed.getvalue())))


def public_names() -> dict[str, list[str]]:
    """The names that programs write: of functions, keys, commands and options."""
    modules = {"slices": calib.slices, "periods": calib.periods, "decisions": calib.decisions}
    names: dict[str, Iterable[str]] = {
        "calib": calib.__all__,
        **{name: module.__all__ for name, module in modules.items()},
        "metrics": METRICS,
        "plot": (name.removesuffix("_chart") for name in CHARTS),
        "calibrators": CALIBRATORS,
        "formats": TARGETS,
        "dialects": ALL_DIALECTS,
        **{f"calib {command}": options_of(command) for command in COMMANDS},
    }
    return {kind: sorted(of_kind) for kind, of_kind in names.items()}


def make(version: str) -> None:
    folder = FOLDER / version
    folder.mkdir()  # A folder that exists is refused, because its files are never edited.
    for grade in GRADES:
        save_report(folder, grade)
    counted = calib.aggregate(rows_of(200))
    counted.save(folder / "counts.parquet")
    for name, text in LINKS.items():
        (folder / name).write_text(text)
    numbers = {
        "counts": numbers_of(counted),
        "exports": save_exports(folder),
        "names": public_names(),
        "links": {name: named_by(text) for name, text in LINKS.items()},
    }
    (folder / NUMBERS).write_text(json.dumps(numbers) + "\n")
    digests = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
    ]
    (folder / DIGESTS).write_text("".join(digests))


if __name__ == "__main__":
    make(sys.argv[1])
