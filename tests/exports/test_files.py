"""Files that are written, read back, changed and forged."""

import json
import sqlite3
import subprocess
from contextlib import closing
from shutil import which

import numpy as np
import pandas as pd
import pytest

import calib
from calib.calibrators import Calibrator, calibrator, score_methods
from calib.calibrators.clip import Clip
from calib.cli.main import main
from calib.distribution import pip_install
from calib.exports import DIALECTS, TARGETS, ExportError, describe, offer, verify
from calib.exports.document import canonical, seal_of
from tests.rare import common_first, members


@pytest.fixture
def beta(fit, tmp_path):
    """Writes the beta calibrator to a file of this name; the path."""
    return lambda name, **more: calib.export(fit("beta"), tmp_path / name, **more)


@pytest.mark.parametrize("key", ["beta", "isotonic", "spline", "ks_spline", "venn_abers"])
def test_a_calibrator_is_read_back(key, fit, tmp_path):
    fitted = fit(key)
    loaded = calib.load_calibrator(calib.export(fitted, tmp_path / "map.json"))
    scores = np.random.default_rng(3).random(5_000)
    assert loaded.predict(scores) == pytest.approx(fitted.predict(scores), rel=1e-13)
    assert loaded.json() == calib.load_calibrator(calib.export(loaded, tmp_path / "b.json")).json()


def test_a_file_tells_where_the_calibrator_comes_from(rows, tmp_path):
    scores, y = rows
    predictions = calib.Predictions.from_arrays(y, scores)
    analysis = calib.analyze(predictions, {"methods": ("uncalibrated", "beta")})
    fitted = analysis.held_out.calibrators["beta"]
    made = calib.load_calibrator(calib.export(fitted, tmp_path / "m.json", analysis=analysis))
    assert (made.method, made.n_rows, made.monotone) == ("beta", len(y), True)
    assert made.fitted_range == (0.0, 1.0)
    assert made.base_rate == pytest.approx((y.mean(),))
    assert made.data["fingerprint"] == predictions.fingerprint
    assert made.held_out["log_loss"] == analysis.methods["beta"].metrics["log_loss"].value


def test_test_scores_are_the_knots_their_neighbours_and_the_ends(fit):
    fitted = fit("isotonic")
    tested = set(calib.exports.describe(fitted).scores.tolist())
    knots = fitted.knots_
    beside = np.concatenate([np.nextafter(knots, 2.0), np.nextafter(knots, -1.0)])
    always = [0.0, 5e-324, 1e-300, 1.0 - 2.0**-53, 1.0]
    inside = beside[(beside >= 0.0) & (beside <= 1.0)]
    assert {*knots.tolist(), *inside.tolist(), *always} <= tested


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_written_and_verified(dialect, beta):
    path = beta("map.sql", dialect=dialect, table="My scores", columns=["My score"])
    verified = verify(path)
    assert verified.deviation <= 1e-12
    assert verified.here == (dialect in ("duckdb", "sqlite"))
    assert ("It was run by DuckDB, not by" in path.read_text()) != verified.here


@pytest.mark.parametrize(("classes", "sentence"), [
    (("a", "A", "b", "c"), "does not distinguish upper and lower case"),
    (("", "x", "y", "z"), "SQL needs a name"),
    (("a\nb", "x", "y", "z"), "printable characters"),
])  # fmt: skip
def test_classes_that_cannot_name_columns_are_refused_in_sql(classes, sentence, fit, tmp_path):
    fitted = fit("vector", matrix=True)
    with pytest.raises(ExportError, match=sentence):
        calib.export(fitted, tmp_path / "map.sql", classes=classes)
    calib.export(fitted, tmp_path / "map.py", classes=classes)
    options = {"classes": classes, "columns": ["p1", "p2", "p3", "p4"]}
    assert verify(calib.export(fitted, tmp_path / "map.sql", **options)).deviation <= 1e-12


@pytest.mark.parametrize("suffix", TARGETS)
def test_every_form_of_a_score_and_of_a_matrix_is_verified(suffix, fit, tmp_path):
    for fitted in (fit("histogram"), fit("vector", matrix=True)):
        calib.export(fitted, tmp_path / "map.json")
        assert verify(calib.export(fitted, tmp_path / f"map{suffix}")).deviation <= 1e-12


PARAMETRIC = (
    "platt",
    "logistic",
    "beta",
    "beta_ab",
    "beta_am",
    "temperature",
    "prior_shift",
    "intercept",
)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("key", members(PARAMETRIC))
def test_the_query_of_a_parametric_calibrator_is_short(key, dialect, fit):
    code = offer(fit(key), ".sql", dialect).code
    assert len(code.splitlines()) <= 12
    assert max(map(len, code.splitlines()[:-1])) <= 100
    assert len(code.splitlines()[-1]) <= 1_000
    assert key != "platt" or len(code) <= 1_500


@pytest.mark.parametrize("key", members(PARAMETRIC))
@pytest.mark.parametrize("suffix", [".py", ".js"])
def test_the_code_of_a_parametric_calibrator_is_short(key, suffix, fit):
    lines = offer(fit(key), suffix).code.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines[:-1])) <= 100


def test_scores_that_are_none_are_null_and_refused(beta, tmp_path):
    import duckdb

    frame = pd.DataFrame({"score": [0.5, np.nan, -0.1, 1.1, None]})
    with duckdb.connect() as connection:
        connection.register("scores", frame)
        made = connection.execute(beta("map.sql").read_text()).df()["calibrated"]
    assert made.isna().tolist() == [False, True, True, True, True]
    names = {}
    exec(beta("map.py").read_text(), names)
    for wrong in (1.1, -0.1, float("nan")):
        with pytest.raises(ValueError, match=r"within \[0, 1\]"):
            names["calibrate"](wrong)
    for wrong in (None, "", "0.5", []):
        with pytest.raises(TypeError):
            names["calibrate"](wrong)


@pytest.mark.parametrize("key", members(["platt", "beta", "isotonic", "spline", "venn_abers"]))
def test_text_that_is_no_score_is_null_in_sqlite(key, fit, tmp_path):
    path = calib.export(fit(key), tmp_path / "map.sql", dialect="sqlite")
    given = [None, "", "x", b"\0\1", "0x", 1.5, -1, 2**60, "0.25", 0.25, 0, 1]
    for kind in ("", "TEXT", "REAL", "NUMERIC"):
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.execute(f"CREATE TABLE scores (score {kind})")
            connection.executemany("INSERT INTO scores VALUES (?)", [(value,) for value in given])
            values = [row[-1] for row in connection.execute(path.read_text())]
        assert values[:8] == [None] * 8
        assert values[8:] == pytest.approx(fit(key).predict([0.25, 0.25, 0.0, 1.0]), abs=1e-14)


@pytest.mark.skipif(which("node") is None, reason="needs Node")
@pytest.mark.parametrize("matrix", [False, True])
def test_javascript_refuses_what_is_no_number(matrix, fit, tmp_path):
    path = calib.export(fit("temperature", matrix=matrix), tmp_path / "map.js")
    wrong = 'null, "", [], true, "0.5", [0.5], undefined, NaN, {}, "x", 1.5, -1, Infinity'
    given = "[given, 0.2, 0.3, 0.5]" if matrix else "given"
    script = tmp_path / "run.mjs"
    script.write_text(
        f'import {{ calibrate }} from "{path.as_uri()}";\nlet n = 0;\n'
        f"for (const given of [{wrong}])\n"
        f"  try {{ calibrate({given}); }} catch (error) {{ n += error instanceof RangeError; }}\n"
        "console.log(n);"
    )
    module = path.rename(path.with_suffix(".mjs"))
    script.write_text(script.read_text().replace(path.name, module.name))
    done = subprocess.run(["node", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("13\n", "")


@pytest.mark.parametrize("name", ["map.json", "map.sql", "map.py", "map.js"])
def test_a_changed_number_is_found(name, beta):
    path = beta(name)
    text = path.read_text()
    number = repr(calib.load_calibrator(beta("whole.json")).form.coefficients[0])
    assert number[-6:] in text
    path.write_text(text.replace(number[-6:], "123456", 1))
    with pytest.raises(ExportError, match=r"score|Line \d+ was changed"):
        verify(path)


def test_any_changed_character_of_the_json_is_found(beta):
    path = beta("map.json")
    text = path.read_text()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(text) - 1, 300).tolist():
        digit = text[place]
        if digit.isalnum():
            path.write_text(text[:place] + ("1" if digit != "1" else "2") + text[place + 1 :])
            with pytest.raises(ExportError):
                verify(path)


def test_a_changed_model_is_not_run(beta, monkeypatch, texts):
    import onnx

    path = beta("map.onnx")
    model = onnx.load(path)
    slope = np.array(calib.load_calibrator(beta("map.json")).form.coefficients[0]).tobytes()
    (constant,) = (constant for constant in model.graph.initializer if constant.raw_data == slope)
    constant.raw_data = np.array(0.25).tobytes()
    onnx.save(model, path)
    monkeypatch.setattr("calib.exports.onnx_file.run_onnx", None)
    with texts.raises(ExportError):
        verify(path)


def test_a_model_that_fills_the_memory_is_not_run(beta, monkeypatch, texts):
    """A constant of 27 kB can be repeated to gigabytes by one operator."""
    from onnx import helper, load, save

    path = beta("map.onnx")
    model = load(path)
    model.graph.node.append(helper.make_node("Expand", ["scores", "shape"], ["large"]))
    model.graph.initializer.append(helper.make_tensor("shape", 7, [2], [10**5, 10**5]))
    save(model, path)
    monkeypatch.setattr("calib.exports.onnx_file.run_onnx", None)
    with texts.raises(ExportError):
        verify(path)


@pytest.mark.parametrize("first", [
    "# -*- coding: raw_unicode_escape -*-",
    "#\\u000aopen('{}', 'w')",
    "open('{}', 'w')",
])  # fmt: skip
def test_nothing_of_a_python_file_is_run(first, beta, tmp_path):
    path, mark = beta("map.py"), tmp_path / "ran"
    path.write_text(f"{first.format(mark)}\n{path.read_text()}")
    with pytest.raises(ExportError, match="Line 1 was changed"):
        verify(path)
    assert not mark.exists()


def noted(path, change):
    """Changes the JSON of the last line."""
    before, mark, line = path.read_text().rpartition("calib-file: ")
    content = json.loads(line)
    change(content)
    path.write_text(f"{before}{mark}{canonical(content)}\n")


CODING = "-*- coding: raw_unicode_escape -*-\\u000aopen('ran', 'w')\\u000a#"


@pytest.mark.parametrize(("change", "words"), [
    (lambda c: c["calibrator"].update(method=CODING), "method must be a name"),
    (lambda c: c.update(version=CODING), "version must be"),
    (lambda c: c.update(sha256=CODING), "sha256 must be"),
    (lambda c: c["choices"].update(table=CODING), "Line"),
    (lambda c: c["choices"].update(columns=["a\u2028b"]), "Line|printable characters"),
    (lambda c: c["choices"].update(columns=["a", "b"]), "columns must name 1"),
    (lambda c: c["choices"].update(dialect="none"), "dialect must be one of"),
    (lambda c: c["choices"].update(dialect=5), "dialect must be text"),
    (lambda c: c["choices"].update(extra=1), "only known entries"),
    (lambda c: c["calibrator"]["form"].update(kind="eval"), "kind must be one of"),
    (lambda c: c["calibrator"].update(classes=["a", CODING]), "form.kind must be one of"),
    (lambda c: c["calibrator"]["form"].update(intercept=0.5), "Line"),
    (lambda c: c.update(calibrator=[]), "calibrator must be an object"),
    (lambda c: c.update(calibrator=None), "does not hold its calibrator"),
    (lambda c: c.update(schema=2), "schema must be"),
])  # fmt: skip
@pytest.mark.parametrize("name", common_first(["map.py", "map.sql", "map.js"], ["map.py"]))
def test_a_forged_last_line_is_refused(name, change, words, beta, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = beta(name)
    noted(path, change)
    with pytest.raises(ExportError, match=words):
        verify(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("suffix", [".sql", ".py", ".js"])
def test_no_comment_has_a_character_that_a_language_acts_on(suffix, fit, tmp_path):
    names = ["a\\u000ab", "c\u2028d", "e\nf", "g\x85*/h"]
    fitted = fit("vector", matrix=True)
    more = {"columns": ["a\\u000ab", "c*/d", "e f", '"']} if suffix == ".sql" else {}
    path = calib.export(fitted, tmp_path / f"map{suffix}", classes=names, **more)
    mark = TARGETS[suffix].mark
    text = path.read_text(encoding="utf-8")
    lines = [line for line in text.split("\n") if line.startswith(mark)]
    assert str(mark) in lines[0]
    assert len(lines) >= 2
    for line in lines:
        assert line.isascii()
        assert line.isprintable()
        assert "\\" not in line
    assert verify(path).exported.classes == tuple(names)


def test_a_curve_is_verified_with_its_json_file(fit, tmp_path, texts):
    path = calib.export(fit("isotonic"), tmp_path / "map.sql")
    with texts.raises(ExportError):
        verify(path)
    source = calib.export(fit("isotonic"), tmp_path / "source.json")
    assert verify(path, source).deviation <= 1e-12
    other = calib.export(fit("spline"), tmp_path / "other.json")
    with texts.raises(ExportError):
        verify(path, other)
    source.rename(tmp_path / "map.json")
    assert verify(path).exported.method == "isotonic"
    path.write_text(path.read_text().replace("CASE", "case", 1))
    with pytest.raises(ExportError, match=r"Line \d+ was changed"):
        verify(path)


def test_the_hash_of_a_file_is_that_of_its_json_file(beta):
    from hashlib import sha256

    path = beta("map.json")
    assert sha256(path.read_bytes()).hexdigest() in beta("map.sql").read_text()


def changed(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(canonical(content))


@pytest.mark.parametrize(("change", "sentence"), [
    (lambda c: c.update(schema=2), "schema must be 1"),
    (lambda c: c.update(extra=1), "The file must have only known entries"),
    (lambda c: c["form"].update(kind="eval"), "form.kind must be one of"),
    (lambda c: c.update(base_rate=[]), "base_rate must hold one share"),
    (lambda c: c["form"].update(coefficients=[1.0]), "one feature per coefficient"),
    (lambda c: c["form"].update(intercept="1"), "form.intercept must be a finite number"),
    (lambda c: c["form"].update(intercept=True), "form.intercept must be a finite number"),
    (lambda c: c["form"].update(intercept=10**400), "form.intercept must be a finite number"),
    (lambda c: c["form"].update(coefficients=[10**400, 1.0]), "must be a finite number"),
    (lambda c: c["tests"].update(scores=["0x1p9"] * 2), "tests cannot be used"),
    (lambda c: c["tests"].update(scores=["inf"]), "tests.scores must hold finite numbers"),
    (lambda c: c["tests"].update(scores=[], expected=[]), "must hold finite numbers"),
    (lambda c: c["conversion"].update(transform="eval"), "transform must be one of"),
    (lambda c: c["conversion"].update(swap=1), "swap must be true or false"),
    (lambda c: c.update(method="a b"), "method must be a name"),
    (lambda c: c["tests"].update(expected=c["tests"]["expected"][:-1]), "must give"),
    (lambda c: c.update(classes=["a"]), "classes must be"),
    (lambda c: c.update(classes=["a", "b"]), "form.kind must be one of"),
    (lambda c: c.update(base_rate=[0.25]), "SHA-256"),
])  # fmt: skip
def test_a_forged_file_is_refused_in_a_sentence(change, sentence, beta):
    path = beta("map.json")
    changed(path, change)
    with pytest.raises(ExportError, match=sentence.replace(".", r"\.")):
        calib.load_calibrator(path)


def forged(path, change):
    """Changes the content, and the seal so that it fits."""
    content = json.loads(path.read_text())
    change(content)
    del content["sha256"]
    path.write_text(canonical(content | {"sha256": seal_of(content)}))


@pytest.mark.parametrize(("change", "sentence"), [
    (lambda c: c.update(formula="s"), "^formula was changed"),
    (lambda c: c.update(label="Isotonic"), "^label was changed"),
    (lambda c: c["versions"].update(note="approved"), "^versions must name versions of calib"),
    (lambda c: c["versions"].update(numpy="2.4, approved"), "^versions must name versions of"),
])  # fmt: skip
@pytest.mark.parametrize("matrix", [False, True])
def test_forged_words_are_found(matrix, change, sentence, fit, tmp_path):
    path = calib.export(fit("vector" if matrix else "spline", matrix), tmp_path / "map.json")
    assert verify(path).deviation == 0.0
    forged(path, change)
    with pytest.raises(ExportError, match=sentence):
        verify(path)


def test_words_of_another_version_are_neither_compared_nor_read(beta, capsys, texts):
    path = beta("map.json")
    formula = calib.load_calibrator(path).formula
    assert main(["verify", str(path)]) == 0
    assert "label and formula" not in capsys.readouterr().err
    forged(path, lambda c: c["versions"].update(calib="0.9.0"))
    forged(path, lambda c: c.update(formula="s", label="Isotonic"))
    assert main(["verify", str(path)]) == 0
    texts.shown(capsys.readouterr().err)
    loaded = calib.load_calibrator(path)
    assert (loaded.formula, loaded.label) == (formula, "Beta")


@pytest.mark.parametrize("key", members(score_methods()))
def test_the_formula_follows_from_the_numbers(key, fit, texts):
    texts(describe(fit(key)).formula)


@pytest.mark.parametrize("text", [
    "", "[]", "null", "{", '{"format": NaN}', '{"a": 1, "a": 2}', "[" * 100_000, "\x80",
    '{"format": 1e999}',
])  # fmt: skip
def test_what_is_no_calibrator_is_refused_in_a_sentence(text, tmp_path):
    path = tmp_path / "map.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ExportError):
        calib.load_calibrator(path)


def test_a_map_that_is_not_what_is_predicted_is_not_written(rows, tmp_path):
    class Wrong(Clip):
        def _map(self, scores):
            return np.where(scores == 0.5, 0.6, super()._map(scores))

    with pytest.raises(ExportError, match=r"instead of 0\.6 at 0\.5"):
        calib.export(Wrong(0.01).fit(*rows), tmp_path / "map.json")
    assert not (tmp_path / "map.json").exists()


@pytest.mark.parametrize(("name", "more", "sentence"), [
    ("map.pkl", {}, "path must end in one of"),
    ("map.json", {"dialect": "duckdb"}, "dialect is for files"),
    ("map.sql", {"dialect": "oracle"}, "dialect must be one of"),
    ("map.sql", {"columns": ["a", "b"]}, "columns must name 1 different columns"),
])  # fmt: skip
def test_unknown_choices_are_refused(name, more, sentence, beta):
    with pytest.raises(ValueError, match=sentence):
        beta(name, **more)


def test_a_page_gets_code_file_and_verification(fit):
    made = offer(fit("platt"), ".sql", "bigquery", name="churn")
    assert (made.file_name, made.label) == ("churn.sql", "SQL (bigquery)")
    assert made.code == made.content.decode()
    assert made.run.deviation <= 1e-12
    assert not made.run.here


def test_what_is_missing_is_offered_with_its_command(fit, monkeypatch):
    monkeypatch.setattr("calib.exports.file_formats.find_spec", lambda _: None)
    assert pip_install("onnx") in offer(fit("platt"), ".onnx").missing


def test_the_conversion_of_the_data_is_in_the_file(rows, tmp_path, texts):
    """A file with percentages of the negative class, and what the analysis calibrates."""
    scores, y = rows
    raw = 100.0 * (1.0 - scores)
    frame = pd.DataFrame({"y": y, "p": raw})
    predictions = calib.load(frame, outcome="y", score="p", transform="percent", swap=True)
    analysis = calib.analyze(predictions, {"methods": ("uncalibrated", "beta")})
    fitted = analysis.held_out.calibrators["beta"]
    names = {}
    exec(calib.export(fitted, tmp_path / "map.py", analysis=analysis).read_text(), names)
    values = [names["calibrate"](score) for score in raw.tolist()]
    assert values == pytest.approx(fitted.predict(predictions.scores), rel=1e-12)
    with texts.raises(ValueError):
        calib.export(calib.exports.describe(fitted), tmp_path / "map.py", swap=True)


def test_a_method_without_its_map_as_data_says_so(rows, tmp_path, texts):
    class Own(Clip):
        def to_map(self):
            return super(Clip, self).to_map()

    with texts.raises(ExportError):
        calib.export(Own(0.1).fit(*rows), tmp_path / "map.json")


def test_calibrators_read_columns_of_pandas(rows):
    scores, y = rows
    fitted = calibrator("beta").fit(pd.Series(scores), pd.Series(y))
    assert fitted.predict(pd.Series(scores)).tolist() == fitted.predict(scores).tolist()


def test_a_method_may_keep_a_base_rate_of_its_own(rows):
    class Shrink(Calibrator):
        def _fit(self, cells):
            self.base_rate_ = cells.base_rate

        def _map(self, scores):
            return 0.9 * scores + 0.1 * self.base_rate_

    assert Shrink().fit(*rows).predict([0.0]) == pytest.approx(0.1 * rows[1].mean())


def test_a_calibrator_without_a_form_is_refused_in_a_sentence(tmp_path, texts):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 300)
    fitted = calib.multiclass_calibrator("ks_spline").fit(scores, rng.integers(0, 3, 300))
    with texts.raises(ExportError):
        calib.export(fitted, tmp_path / "map.json")
    assert not list(tmp_path.iterdir())
