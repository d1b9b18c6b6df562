"""How exported calibrators look, how near they come to `predict`, and how long a query takes.

``python -m benchmarks.export_accuracy`` writes these parts of benchmarks/export.md: queries as
printed; lines, characters and the largest deviation of every calibrator in every engine that is
here, over its test scores and 200,000 random ones (20,000 rows of class scores); processor time of
the queries in DuckDB over 1e7 rows; and what skl2onnx makes of scikit-learn's calibrated models.
"""

from __future__ import annotations

import sys
import time
import warnings
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from calib.calibrators import CALIBRATORS, calibrator, multiclass_calibrator, score_methods
from calib.exports import MAX_DEVIATION, TARGETS, ExportError, describe, offer
from calib.exports.document import deviation
from calib.exports.file_formats import choices_for, content_of, engine_of, note_for
from calib.numerics.transforms import sigmoid

N, N_ROWS, N_CLASSES = 200_000, 20_000, 4
N_TIMED, REPEATS = 10_000_000, 3
FORMS = (
    (".sql", "duckdb", f"DuckDB {version('duckdb')}"),
    (".sql", "sqlite", "SQLite"),
    (".py", None, "Python"),
    (".js", None, "Node"),
    (".onnx", None, f"onnxruntime {version('onnxruntime')}"),
)
PRINTED = ("platt", "beta", "isotonic", "spline")
TIMED = ("platt", "logistic", "beta", "isotonic", "ispline", "spline")
PAGE = Path(__file__).parent / "export.md"
Array = NDArray[np.float64]


def problem() -> tuple[Array, NDArray[np.bool_]]:
    """Scores that are overconfident, and outcomes."""
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-0.5, 1.5, 2_000)
    return sigmoid(1.8 * log_odds + 0.4), rng.random(2_000) < sigmoid(log_odds)


def fitted_ones() -> list[tuple[str, object, Array]]:
    """Label, fitted calibrator and random scores of every method, of scores and of matrices."""
    rng = np.random.default_rng(0)
    scores, y = problem()
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
        if key != "ks_spline":  # The form of this method for matrices is not exported.
            fitted = multiclass_calibrator(key).fit(matrix, label)
            made.append((f"{method.words(matrix=True)[0]} (matrix)", fitted, rows))
    return made


def largest(fitted: object, suffix: str, dialect: str | None, scores: Array) -> float:
    """The largest deviation of one form from `predict`."""
    made = describe(fitted)  # type: ignore[arg-type]
    everywhere = np.concatenate([made.scores, scores])
    choices, target = choices_for(made, dialect, "scores", None), TARGETS[suffix]
    _, run = engine_of(target, choices)
    if run is None:
        raise ExportError(f"The engine of {suffix} is not installed.")
    values = run(content_of(made, target, note_for(made, choices)), everywhere)
    return float(deviation(fitted.predict(everywhere), values).max())  # type: ignore[attr-defined]


def accuracy() -> tuple[list[str], float]:
    """The table of sizes and deviations, and the largest deviation."""
    sizes = ("SQL", "Python", "JavaScript")
    columns = [f"{size}, lines / characters" for size in sizes] + [name for *_, name in FORMS]
    lines = [f"| calibrator | {' | '.join(columns)} |", "| --- |" + " ---: |" * len(columns)]
    worst = 0.0
    for label, fitted, scores in fitted_ones():
        code = [offer(fitted, suffix).code for suffix in (".sql", ".py", ".js")]  # type: ignore[arg-type]
        cells = [f"{len(text.splitlines()):,} / {len(text):,}" for text in code]
        deviations = [largest(fitted, suffix, dialect, scores) for suffix, dialect, _ in FORMS]
        worst = max(worst, *deviations)
        cells += [f"{value:.1g}" for value in deviations]
        lines.append(f"| {label} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines, worst


def printed() -> list[str]:
    """Queries as they are printed; of long ones the beginning and the end."""
    lines = []
    for key in PRINTED:
        text = offer(calibrator(key).fit(*problem()), ".sql").code.splitlines()
        shown = text if len(text) <= 24 else [*text[:16], "...", *text[-5:]]
        lines += [f"{CALIBRATORS[key].label}, {len(text)} lines:", "", "```sql", *shown, "```", ""]
    return lines[:-1]


def times() -> list[str]:
    """Processor time of the queries, and of the formulas of parametric ones alone."""
    lines = ["| calibrator | CPU s | its formula alone | ratio | times Platt scaling |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute(f"CREATE TABLE scores AS SELECT random() AS score FROM range({N_TIMED})")
        platt = 0.0
        for key in TIMED:
            query = offer(calibrator(key).fit(*problem()), ".sql").code.partition(";\n")[0]
            seconds = _seconds(connection, query)
            platt = platt or seconds
            alone, ratio = "", ""
            if "calib_2" not in query and key != "isotonic":
                last = query.rpartition("\nSELECT")[2].replace("calib_s", "score")
                plain = _seconds(connection, f"SELECT{last}".replace("calib_1", "scores"))
                alone, ratio = f"{plain:.3f}", f"{seconds / plain:.1f}"
            label = CALIBRATORS[key].label
            lines.append(f"| {label} | {seconds:.3f} | {alone} | {ratio} | {seconds / platt:.1f} |")
            print(lines[-1], flush=True)
    return lines


def _seconds(connection: duckdb.DuckDBPyConnection, query: str) -> float:
    """The least processor time of some runs."""
    seconds = []
    for _ in range(REPEATS):
        start = time.process_time()
        connection.execute(f"SELECT SUM(calibrated) FROM ({query})").fetchall()
        seconds.append(time.process_time() - start)
    return min(seconds)


def converted() -> list[str]:
    """What skl2onnx makes of scikit-learn's calibrated models: lines of a table."""
    import onnxruntime
    from skl2onnx import to_onnx

    warnings.simplefilter("ignore")  # The converter gives warnings.
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
                    values = run.run(None, {run.get_inputs()[0].name: X[new]})[1]
                    cells.append(f"off by {np.abs(values - made.predict_proba(X[new])).max():.1g}")
                except Exception as error:  # Any error of the converter is its result.
                    cells.append(f"fails ({type(error).__name__})")
            lines.append(f"| {type(model).__name__} | {way} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def replace_part(name: str, lines: list[str]) -> None:
    """Write lines between the marks of a part of the page."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(end)[2]
    text = "\n".join(lines)
    PAGE.write_text(f"{before}{begin}\n{text}\n\n{end}{after}", encoding="utf-8")


def main() -> int:
    """Write the page; 1 if a form deviates by more than 1e-12."""
    lines, worst = accuracy()
    replace_part("table", lines)
    replace_part("printed", printed())
    replace_part("times", times())
    if find_spec("skl2onnx"):
        replace_part("peer", converted())
    return int(worst > MAX_DEVIATION)


if __name__ == "__main__":
    sys.exit(main())
