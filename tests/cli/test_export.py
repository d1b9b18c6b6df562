"""`export` and `verify`: files of a calibrator, and exit statuses."""

import calib


def test_a_calibrator_is_written_and_verified(run, folder, tmp_path):
    files = [tmp_path / f"map{suffix}" for suffix in (".json", ".sql", ".py")]
    outputs = [part for file in files for part in ("-o", file)]
    data = (folder / "scores.csv", "--outcome", "y", "--score", "p")
    done = run("export", *data, "--method", "beta", "--dialect", "bigquery", *outputs)
    assert done.status == 0, done.err
    assert done.out.split() == [str(file) for file in files]
    for file in files:
        assert run("verify", file).status == 0
    loaded = calib.load_calibrator(files[0])
    assert (loaded.method, loaded.n_rows) == ("beta", 600)
    assert loaded.held_out["log_loss"] > 0.0


def test_a_json_file_is_written_in_another_form(run, folder, tmp_path):
    source, query = tmp_path / "map.json", tmp_path / "map.sql"
    data = (folder / "scores.csv", "--outcome", "y", "--score", "p")
    assert run("export", *data, "--method", "isotonic", "-o", source).status == 0
    done = run("export", source, "-o", query, "--dialect", "trino", "--table", "t", "--column", "p")
    assert done.status == 0, done.err
    assert 'FROM "t"' in query.read_text()


def test_a_changed_file_fails(run, folder, tmp_path):
    path = tmp_path / "map.sql"
    data = (folder / "scores.csv", "--outcome", "y", "--score", "p")
    run("export", *data, "--method", "clip", "-o", path)
    text = path.read_text()
    assert "BETWEEN 0" in text
    path.write_text(text.replace("BETWEEN 0", "BETWEEN 1", 1))
    done = run("verify", path)
    assert (done.status, done.out[:6]) == (1, "fail: ")
    assert "was changed" in done.out


def test_a_curve_is_verified_with_its_source(run, folder, tmp_path):
    query, source = tmp_path / "map.sql", tmp_path / "source.json"
    data = (folder / "scores.csv", "--outcome", "y", "--score", "p")
    run("export", *data, "--method", "isotonic", "-o", query, "-o", source)
    assert run("verify", query).status == 1
    assert run("verify", query, "--source", source).status == 0


def test_the_conversion_of_the_scores_is_in_every_file(run, tmp_path):
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    p = rng.random(400)
    y = rng.random(400) < p**2
    pd.DataFrame({"y": y.astype(int), "p": 100.0 - 100.0 * p}).to_csv(tmp_path / "p.csv")
    files = [tmp_path / f"map{suffix}" for suffix in (".json", ".py")]
    outputs = [part for file in files for part in ("-o", file)]
    data = (tmp_path / "p.csv", "--outcome", "y", "--score", "p", "--positive", "1")
    converted = ("--transform", "percent", "--swap")
    expected = calib.calibrator("beta").fit(p, y).predict(p)
    raw = 100.0 - 100.0 * p
    counts = tmp_path / "counts.parquet"
    assert run("scan", *data, *converted, "-o", counts).status == 0
    for source in ((*data, *converted), (counts,)):
        done = run("export", *source, "--method", "beta", *outputs)
        assert done.status == 0, done.err
        assert np.allclose(calib.load_calibrator(files[0]).predict(raw), expected, rtol=1e-9)
        names = {}
        exec(files[1].read_text(), names)
        assert np.allclose([names["calibrate"](value) for value in raw], expected, rtol=1e-9)


def test_a_matrix_is_exported_with_the_names_of_its_classes(run, tmp_path):
    path = tmp_path / "map.json"
    done = run("export", "example:digits", "--method", "temperature", "-o", path)
    assert done.status == 0, done.err
    names = calib.load_calibrator(path).classes
    assert names == tuple(calib.examples.EXAMPLES["digits"].load().class_names)
