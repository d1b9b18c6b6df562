"""How near is every exported form? Calibrator x form x engine, in units in the last place.

``python -m benchmarks.export_accuracy`` writes the table to docs/export.md: the largest distance
from the fitted calibrator's own numbers, over its test scores and 200,000 random ones; for class
scores, of 20,000 rows. Beside it what skl2onnx makes of scikit-learn's calibrated models.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from calib.calibrators import CALIBRATORS, multiclass_calibrator, score_methods
from calib.exports import TARGETS, ExportError, describe
from calib.exports.document import ulps
from calib.exports.targets import choices_for, content_of, engine_of
from calib.numerics.transforms import sigmoid

N, N_ROWS, N_CLASSES = 200_000, 20_000, 4
MOST = 2
FORMS = (
    (".sql", "duckdb", f"SQL in DuckDB {version('duckdb')}"),
    (".sql", "sqlite", "SQL in SQLite"),
    (".py", None, "Python"),
    (".js", None, "JavaScript in Node"),
    (".onnx", None, f"ONNX in onnxruntime {version('onnxruntime')}"),
)
PAGE = Path(__file__).parents[1] / "docs/export.md"
BEGIN, END = "<!-- table -->\n", "<!-- end of table -->\n"
PEER, PEER_END = "<!-- peer -->\n", "<!-- end of peer -->\n"
Array = NDArray[np.float64]


def fitted_ones() -> list[tuple[str, object, Array]]:
    """Label, fitted calibrator and random scores of every method, of scores and of matrices."""
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-0.5, 1.5, 2_000)
    scores, y = sigmoid(1.8 * log_odds + 0.4), rng.random(2_000) < sigmoid(log_odds)
    tails = [10.0 ** -rng.uniform(0, 300, N // 8), 1.0 - 10.0 ** -rng.uniform(0, 16, N // 8)]
    drawn = np.concatenate([rng.random(N - 2 * (N // 8)), *tails])
    z = rng.normal(np.linspace(0.6, -0.4, N_CLASSES), 1.0, (2_000, N_CLASSES))
    label = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    matrix = np.exp(2.0 * z) / np.exp(2.0 * z).sum(axis=1, keepdims=True)
    rows = rng.dirichlet(np.full(N_CLASSES, 0.3), N_ROWS)
    made: list[tuple[str, object, Array]] = [
        (method.label, method.create().fit(scores, y), drawn)
        for method in score_methods().values()
        if method.create is not None
    ]
    for key, method in CALIBRATORS.items():
        if key != "ks_spline":  # its form for matrices is not exported
            fitted = multiclass_calibrator(key).fit(matrix, label)
            made.append((f"{method.words(matrix=True)[0]} (matrix)", fitted, rows))
    return made


def largest(fitted: object, suffix: str, dialect: str | None, scores: Array) -> int:
    """The largest distance of one form, in ulp."""
    made = describe(fitted)  # type: ignore[arg-type]
    everywhere = np.concatenate([made.scores, scores])
    choices = choices_for(made, dialect, "scores", None)
    _, run = engine_of(TARGETS[suffix], choices)
    if run is None:
        raise ExportError(f"The engine of {suffix} is not installed.")
    found = run(content_of(made, TARGETS[suffix], choices), everywhere)
    expected = made.predict(everywhere) if made.matrix else fitted.predict(everywhere)  # type: ignore[attr-defined]
    return int(ulps(expected, found).max())


def converted() -> list[str]:
    """What skl2onnx makes of scikit-learn's calibrated models: lines of a table."""
    import onnxruntime
    from skl2onnx import to_onnx

    warnings.simplefilter("ignore")  # of the converter
    X, y = make_classification(6_000, 8, n_informative=5, random_state=0)
    X = X.astype(np.float32)
    fitted, calibration, new = np.split(np.arange(6_000), 3)
    lines = [
        "| model | calibrated | sigmoid | isotonic | temperature |",
        "| --- | --- |" + " --- |" * 3,
    ]
    models = (LogisticRegression(), RandomForestClassifier(50, random_state=0), GaussianNB())
    for model in models:
        frozen = FrozenEstimator(model.fit(X[fitted], y[fitted]))
        for way, base, folds in (("the fitted model", frozen, None), ("in 5 folds", model, 5)):
            cells = []
            for method in ("sigmoid", "isotonic", "temperature"):
                made = CalibratedClassifierCV(base, method=method, cv=folds)
                made.fit(X[calibration], y[calibration])
                try:
                    file = to_onnx(made, X[:1], options={id(made): {"zipmap": False}})
                    run = onnxruntime.InferenceSession(file.SerializeToString())
                    found = run.run(None, {run.get_inputs()[0].name: X[new]})[1]
                    cells.append(f"off by {np.abs(found - made.predict_proba(X[new])).max():.1g}")
                except Exception as error:  # whatever the converter raises is its result
                    cells.append(f"fails ({type(error).__name__})")
            lines.append(f"| {type(model).__name__} | {way} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def replace_table(begin: str, lines: list[str], end: str) -> None:
    """Write a table between its marks in the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2]
    table = "\n".join(lines)
    PAGE.write_text(f"{before}{begin}\n{table}\n\n{end}{after}", encoding="utf-8")


def main(*, write: bool = False) -> int:
    """Print the table, or write it into the page; 1 where a form is further off than 2 ulp."""
    named = " | ".join(name for *_, name in FORMS)
    lines = [f"| calibrator | {named} |", "| --- |" + " ---: |" * len(FORMS)]
    worst, start = 0, time.perf_counter()
    for label, fitted, scores in fitted_ones():
        row = [largest(fitted, suffix, dialect, scores) for suffix, dialect, _ in FORMS]
        worst = max(worst, *row)
        lines.append(f"| {label} | {' | '.join(map(str, row))} |")
        print(lines[-1], flush=True)
    print(f"{time.perf_counter() - start:.0f} s")
    if write:
        replace_table(BEGIN, lines, END)
        if find_spec("skl2onnx"):
            replace_table(PEER, converted(), PEER_END)
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main(write=True))
