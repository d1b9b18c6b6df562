"""Files that are written, read back, changed and forged."""

import json

import numpy as np
import pandas as pd
import pytest

import calib
from calib.calibrators import Calibrator, calibrator
from calib.calibrators.clip import Clip
from calib.exports import DIALECTS, TARGETS, ExportError, offer, verify
from calib.exports.document import canonical


@pytest.fixture
def beta(fit, tmp_path):
    """Writes the beta calibrator to a file of this name; the path."""
    return lambda name, **more: calib.export(fit("beta"), tmp_path / name, **more)


@pytest.mark.parametrize("key", ["beta", "isotonic", "spline", "ks_spline", "venn_abers"])
def test_a_calibrator_is_read_back_with_the_same_bits(key, fit, tmp_path):
    fitted = fit(key)
    loaded = calib.load_calibrator(calib.export(fitted, tmp_path / "map.json"))
    scores = np.random.default_rng(3).random(5_000)
    assert loaded.predict(scores).tolist() == fitted.predict(scores).tolist()
    assert loaded.json() == calib.load_calibrator(calib.export(loaded, tmp_path / "b.json")).json()


def test_a_file_tells_where_the_calibrator_comes_from(rows, tmp_path):
    scores, y = rows
    predictions = calib.Predictions.from_arrays(y, scores)
    analysis = calib.analyze(predictions, {"methods": ("uncalibrated", "beta")})
    fitted = analysis.held_out.maps["beta"]
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
    found = verify(path)
    assert (found.ulps, found.edited) == (0, False)
    assert found.here == (dialect in ("duckdb", "sqlite"))
    assert ("Not executed here" in path.read_text()) != found.here


@pytest.mark.parametrize(("classes", "sentence"), [
    (("a", "A", "b", "c"), "does not distinguish upper and lower case"),
    (("", "x", "y", "z"), "SQL needs a name"),
])  # fmt: skip
def test_classes_that_cannot_name_columns_are_refused_in_sql(classes, sentence, fit, tmp_path):
    fitted = fit("vector", matrix=True)
    with pytest.raises(ExportError, match=sentence):
        calib.export(fitted, tmp_path / "map.sql", classes=classes)
    calib.export(fitted, tmp_path / "map.py", classes=classes)
    named = {"classes": classes, "columns": ["p1", "p2", "p3", "p4"]}
    assert verify(calib.export(fitted, tmp_path / "map.sql", **named)).ulps == 0


@pytest.mark.parametrize("suffix", TARGETS)
def test_every_form_of_a_score_and_of_a_matrix_is_verified(suffix, fit, tmp_path):
    for fitted in (fit("histogram"), fit("vector", matrix=True)):
        assert verify(calib.export(fitted, tmp_path / f"map{suffix}")).ulps == 0


def test_scores_that_are_none_are_null_and_refused(beta, tmp_path):
    import duckdb

    frame = pd.DataFrame({"score": [0.5, np.nan, -0.1, 1.1, None]})
    with duckdb.connect() as connection:
        connection.register("scores", frame)
        made = connection.execute(beta("map.sql").read_text()).df()["calibrated"]
    assert made.isna().tolist() == [False, True, True, True, True]
    names = {}
    exec(beta("map.py").read_text(), names)
    with pytest.raises(ValueError, match=r"within \[0, 1\]"):
        names["calibrate"](1.1)


@pytest.mark.parametrize("name", ["map.json", "map.sql", "map.py", "map.js"])
def test_a_changed_number_is_found(name, beta):
    path = beta(name)
    text = path.read_text()
    whole = calib.load_calibrator(beta("whole.json"))
    number = repr(whole.form.coefficients[0])
    other = repr(whole.form.coefficients[0] * 1.01)
    shown = calib.exports.sql.e_notation(float(number)) if name == "map.sql" else number
    assert shown in text
    new = calib.exports.sql.e_notation(float(other)) if name == "map.sql" else other
    path.write_text(text.replace(shown, new, 1))
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


def test_a_changed_model_names_the_score(beta):
    import onnx

    path = beta("map.onnx")
    model = onnx.load(path)
    slope = np.array(calib.load_calibrator(beta("map.json")).form.coefficients[0]).tobytes()
    (constant,) = (each for each in model.graph.initializer if each.raw_data == slope)
    constant.raw_data = np.array(0.25).tobytes()
    onnx.save(model, path)
    with pytest.raises(ExportError, match="at score"):
        verify(path)


@pytest.mark.parametrize("query", [
    "SELECT *, score AS calibrated FROM read_csv('/etc/passwd')",
    "CREATE TABLE t (x INT); SELECT 1",
    "SELECT *, getenv('HOME') AS calibrated FROM scores",
    "SELECT *, score AS calibrated FROM information_schema.tables",
])  # fmt: skip
def test_a_foreign_query_is_not_run(query, beta):
    path = beta("map.sql")
    _, mark, rest = path.read_text().partition("\n-- calib-made: ")
    path.write_text(query + mark + rest)
    with pytest.raises(ExportError, match="The query was changed"):
        verify(path)


@pytest.mark.parametrize("facts", [
    {"dialect": 5}, {"dialect": "none"}, {"columns": "p"}, {"columns": [1]}, {"columns": []},
    {"columns": ["a", "b"]}, {"columns": ["p"]}, {"table": 3}, {"extra": 1},
])  # fmt: skip
def test_forged_facts_are_refused(facts, beta):
    path = beta("map.sql")
    before, mark, rest = path.read_text().partition("-- calib-made: ")
    line, end, source = rest.partition("\n")
    told = json.loads(line)
    told["choices"] |= facts
    path.write_text(before + mark + json.dumps(told) + end + source)
    with pytest.raises(ExportError, match=r"^The (file must say how it was written|query was)"):
        verify(path)


def test_foreign_python_is_not_run(beta, tmp_path):
    path, mark = beta("map.py"), tmp_path / "ran"
    path.write_text(f"open({str(mark)!r}, 'w')\n" + path.read_text())
    with pytest.raises(ExportError, match="Line 1 was changed"):
        verify(path)
    assert not mark.exists()


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
    (lambda c: c["tests"].update(scores=["0x1p9"]), "tests.scores must hold values"),
    (lambda c: c["tests"].update(scores=[], expected=[]), "tests.scores must hold values"),
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
    assert made.code in made.content.decode()
    assert "calib-source" not in made.code
    assert made.row["largest ulp"] == 0
    assert made.row["executed here"] is False


def test_what_is_missing_is_offered_with_its_command(fit, monkeypatch):
    monkeypatch.setattr("calib.exports.targets.find_spec", lambda _: None)
    assert 'pip install "calib[onnx]"' in offer(fit("platt"), ".onnx").missing


def test_a_method_without_its_map_as_data_says_so(rows, tmp_path):
    class Own(Clip):
        def to_map(self):
            return super(Clip, self).to_map()

    with pytest.raises(ExportError, match="Own cannot be exported"):
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


def test_a_calibrator_without_a_form_is_refused_in_a_sentence(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 300)
    fitted = calib.multiclass_calibrator("ks_spline").fit(scores, rng.integers(0, 3, 300))
    with pytest.raises(ExportError, match=r"^TopSpline cannot be exported: .*\.$"):
        calib.export(fitted, tmp_path / "map.json")
    assert not list(tmp_path.iterdir())


def test_a_model_that_reads_other_files_or_does_more_is_not_run(beta, fit):
    import onnx
    from onnx import helper

    from calib.exports import onnx_file

    def refused(path, words):
        with pytest.raises(ExportError, match=words):
            verify(path)

    path = beta("map.onnx")
    model = onnx.load(path)
    first = model.graph.initializer[0]
    first.data_location = onnx.TensorProto.EXTERNAL
    entry = first.external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"
    path.write_bytes(model.SerializeToString())
    refused(path, "lies in another file")
    model = onnx.load_from_string(beta("other.onnx").read_bytes())
    model.graph.node.append(helper.make_node("Loop", ["a", "b"], ["c"], name="loop"))
    path.write_bytes(model.SerializeToString())
    refused(path, "the operator Loop, which calib does not write")
    # Every form of calib's own passes.
    written = {
        node.op_type
        for key in ("isotonic", "spline", "beta", "ks_spline", "venn_abers", "splinecalib")
        for node in onnx.load_from_string(offer(fit(key), ".onnx").content).graph.node
    }
    assert written <= onnx_file.KNOWN
