"""Segments: what is searched, what is confirmed, and every number by a slower way."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

import calib
from calib.analysis.slices import slice_by
from calib.data.predictions import Predictions
from calib.data.views import BinaryView
from calib.features.segments import search as segments
from calib.features.segments.search import Cut, Segments, find_segments, in_halves
from calib.metrics.by_cluster import RANGE, widened_test
from calib.metrics.cumulative import kuiper_test
from calib.numerics.poisson_binomial import range_by_cluster, range_survival


def made(seed=0, n=6000, shift=1.5, **others):
    """Rows that are calibrated, except where device is b and region is 1."""
    rng = np.random.default_rng(seed)
    columns = {
        "device": rng.choice(list("abc"), n),
        "region": rng.integers(0, 4, n),
        "age": rng.normal(40, 10, n),
    }
    score = expit(rng.normal(-0.5, 1.2, n))
    fails = (columns["device"] == "b") & (columns["region"] == 1)
    y = rng.random(n) < expit(logit(score) + shift * fails)
    return {"y_true": y, "y_prob": score, "columns": columns, **others}


def predictions(rows, order=slice(None)):
    """The rows in another order."""

    def pick(value):
        if isinstance(value, dict):
            return {key: pick(one) for key, one in value.items()}
        return value[order] if isinstance(value, np.ndarray) else value

    return Predictions.from_arrays(**{name: pick(value) for name, value in rows.items()})


def same(one: Segments, other: Segments) -> bool:
    return one.names == other.names and one.frame().equals(other.frame())


def law(x):
    """P(range > x) by the series of Feller's paper, as ../shared/language-models.md prints it."""
    k = np.arange(200) + 0.5
    square = k**2 * np.pi**2
    return 1.0 - float(((8 / x**2 + 2 / square) * np.exp(-2 * square / x**2)).sum())


def test_the_pair_that_fails_is_all_that_is_confirmed(texts):
    result = find_segments(predictions(made()))
    assert result.columns == (("device", "region"),)
    assert result.values == (("b", "1"),)
    assert result.p_adjusted[0] < 1e-6
    assert 0.0 < result.saved_low[0] < result.saved[0] < result.saved_high[0]
    assert result.remark == ""  # One row in twelve does not show in all rows together.
    texts(result.sentence)


def test_every_number_is_that_of_the_confirming_half():
    rows = made()
    result = find_segments(predictions(rows))
    data = predictions(rows)
    cuts = [
        Cut(name, cut.names, cut.codes)
        for name in sorted(data.columns)
        for cut in [slice_by(data.columns, [name])]
    ]
    first, second = in_halves(data.view(), cuts, None, 0)
    assert len(first.rows) == len(second.rows) == 3000
    place = ((1, cuts[1].names.index("b")), (2, cuts[2].names.index("1")))
    old, new = (half.rows.rows(half.member(place)) for half in (first, second))
    fails = (rows["columns"]["device"] == "b") & (rows["columns"]["region"] == 1)
    # Together the two halves hold the rows of the segment, each once.
    both = np.concatenate([old.score, new.score])
    assert sorted(both.tolist()) == sorted(rows["y_prob"][fails].tolist())
    assert result.rows[0] == fails.sum()
    assert result.rows_confirming[0] == len(new)
    assert result.mean_score[0] == pytest.approx(new.score.mean())
    assert result.observed[0] == pytest.approx(new.outcome.mean())
    assert result.gap[0] == pytest.approx(new.outcome.mean() - new.score.mean())
    order = np.argsort(new.score)
    path = np.concatenate([[0.0], np.cumsum((new.outcome - new.score)[order])]) / len(new)
    assert result.kuiper[0] == pytest.approx(np.ptp(path))
    sigma = math.sqrt((new.score * (1 - new.score)).sum()) / len(new)
    assert result.p_value[0] == pytest.approx(law(np.ptp(path) / sigma), abs=1e-12)
    # Holm's correction counts all rows, too.
    assert result.p_adjusted[0] == pytest.approx(result.p_value[0] * (result.n_tested + 1))
    own = LogisticRegression(C=np.inf, tol=1e-12).fit(logit(old.score)[:, None], old.outcome)
    after = own.predict_proba(logit(new.score)[:, None])[:, 1]

    def loss(p):
        return -np.where(new.outcome, np.log(p), np.log(1 - p))

    saved = loss(new.score) - loss(after)
    assert result.saved[0] == pytest.approx(saved.mean(), rel=1e-5)
    assert result.saved_in_all[0] == pytest.approx(saved.sum() / 3000, rel=1e-5)
    # Hall's correction moves the interval of 95% a little.
    half = 1.96 * saved.std(ddof=1) / math.sqrt(len(new))
    assert (result.saved_high[0] - result.saved_low[0]) / 2 == pytest.approx(half, rel=0.05)


def test_the_search_measures_what_a_loop_over_all_segments_measures():
    """With at most 64 distinct scores none are joined, so the ratios are exact."""
    rng = np.random.default_rng(3)
    n = 8000
    score = rng.integers(1, 40, n) / 41.0
    weight = rng.exponential(size=n) + 0.1
    view = BinaryView(rng.random(n) < score, score, weight)
    codes = [rng.integers(0, k, n) for k in (3, 5, 40)]
    cuts = [Cut(f"c{i}", tuple(map(str, range(50))), code) for i, code in enumerate(codes)]
    half, _ = in_halves(view, cuts, 45, 0)
    expected = {}
    columns = [(i,) for i in range(3)] + list(combinations(range(3), 2))
    for chosen in columns:
        values = np.column_stack([half.cuts[i].codes for i in chosen])
        for value in np.unique(values, axis=0):
            rows = half.rows.rows((values == value).all(axis=1))
            s, w = rows.score, rows.weights
            spread = (w**2 * s * (1 - s)).sum()
            if len(rows) < 45 or (w * s * (1 - s)).sum() ** 2 < 10 * spread:
                continue
            path, low, high = 0.0, 0.0, 0.0
            for at in np.unique(s):
                path += (w * (rows.outcome - s))[s == at].sum()
                low, high = min(low, path), max(high, path)
            expected[tuple(zip(chosen, value.tolist(), strict=True))] = (high - low) / spread**0.5
    ratios = {
        table.place(at): table.ratio[at]
        for table in half._tables(lambda _share, _text: None)
        for at in range(len(table.ratio))
    }
    assert ratios.keys() == expected.keys()
    assert len(ratios) > 40
    for place, ratio in ratios.items():
        assert ratio == pytest.approx(expected[place])


@pytest.mark.parametrize("kind", ["plain", "tied", "weighted", "clustered"])
def test_the_order_of_rows_and_columns_has_no_effect(kind):
    rows = made(n=4000, shift=1.0)
    rng = np.random.default_rng(1)
    if kind == "tied":
        rows["y_prob"] = np.round(rows["y_prob"], 1).clip(0.1, 0.9)
    if kind == "weighted":
        rows["sample_weight"] = rng.choice([0.5, 1.0, 3.0], 4000)
    if kind == "clustered":
        rows["group"] = rng.integers(0, 700, 4000)
    given = find_segments(predictions(rows))
    assert len(given)
    order = rng.permutation(4000)
    shuffled = predictions(rows, order)
    assert same(find_segments(shuffled), given)
    assert same(find_segments(shuffled, ["region", "age", "device"]), given)
    other = find_segments(shuffled, seed=1)
    assert not same(other, given)  # The halves depend on the seed.


def test_columns_of_which_the_values_are_swapped_are_other_rows():
    """Otherwise such rows would count as equal, and their order would decide about their half."""
    n = 3000
    rng = np.random.default_rng(5)
    a, b = rng.integers(0, 2, (2, n))
    score, y = np.full(n, 0.5), rng.random(n) < np.where(a > b, 0.8, 0.5)
    rows = {"y_true": y, "y_prob": score, "columns": {"a": a, "b": b}}
    order = rng.permutation(n)
    assert same(find_segments(predictions(rows, order)), find_segments(predictions(rows)))


def test_a_unit_of_weight_has_no_effect():
    rows = made(sample_weight=np.random.default_rng(0).exponential(size=6000) + 0.2)
    tripled = {**rows, "sample_weight": 4.0 * rows["sample_weight"]}
    one, other = (find_segments(predictions(each)) for each in (rows, tripled))
    assert one.names == other.names == ("device b × region 1",)
    np.testing.assert_allclose(one.p_value, other.p_value)
    np.testing.assert_allclose(one.saved, other.saved, rtol=1e-6)


def test_calibrated_scores_have_no_segment():
    result = find_segments(predictions(made(seed=2, shift=0.0)))
    assert len(result) == 0
    # Devices, regions, ranges of age, and all pairs of them.
    assert result.n_searched == 3 + 4 + 5 + 12 + 15 + 20
    assert next(iter(result.frame().columns)) == "segment"
    assert result.frame()["rows"].dtype == np.int64
    assert f"{result.n_searched}" in result.sentence
    assert result.remark == ""


def test_a_missing_value_is_a_value():
    rows = made(shift=0.0)
    age = rows["columns"]["age"]
    age[:1500] = np.nan
    rows["y_true"][:1500] = np.random.default_rng(0).random(1500) < rows["y_prob"][:1500] ** 2
    result = find_segments(predictions(rows))
    assert result.values[0] == ("(missing)",)


def test_columns_that_cannot_be_searched_are_named_with_the_reason(texts):
    rows = made()
    n, columns = 6000, rows["columns"]
    columns["id"] = np.array([f"user {i}" for i in range(n)], dtype=object)
    columns["copy"], columns["reversed"] = rows["y_prob"].copy(), 1.0 - rows["y_prob"]
    columns["paid"] = np.where(rows["y_true"], "yes", "no")
    columns["model"] = np.repeat("a", n)
    columns["number"] = np.arange(n)  # Numbers are cut into ranges, however many they are.
    result = find_segments(predictions(rows))
    assert set(result.left_out) == {"id", "copy", "reversed", "paid", "model"}
    assert result.names == ("device b × region 1",)
    texts(" | ".join(f"{column}: {reason}" for column, reason in result.left_out.items()))


def test_a_column_with_one_value_in_the_test_rows_is_left_out():
    rows = made(test=np.arange(6000) >= 3000)
    rows["columns"]["month"] = np.repeat(["April", "May"], 3000)
    result = find_segments(predictions(rows))
    assert set(result.left_out) == {"month"}


def test_values_with_few_rows_are_in_no_segment(texts):
    rows = made(n=1000, shift=0.0)
    rare = np.arange(1000) < 40
    rows["columns"] = {"site": np.where(rare, "small", "large")}
    rows["y_true"][rare] = rows["y_prob"][rare] < 0.5
    assert find_segments(predictions(rows)).n_searched == 1
    searched = find_segments(predictions(rows), min_rows=5)
    # These rows do not expect enough positives and negatives for the law.
    assert searched.n_searched == 1
    none = find_segments(predictions(rows), min_rows=600)
    texts(none.sentence)


def test_a_segment_of_one_class_has_no_calibrator_and_comes_last():
    rows = made()
    device = rows["columns"]["device"]
    rows["y_true"][device == "c"] = False
    result = find_segments(predictions(rows))
    at = result.names.index("device c")
    assert at == len(result) - 1 > 0
    assert np.isnan(result.saved[at])
    assert np.isnan(result.saved_in_all[at])
    assert not np.isnan(result.saved[:at]).any()


def test_scores_of_0_and_1_are_not_searched():
    rows = made()
    rows["y_prob"] = np.where(rows["columns"]["device"] == "a", 1.0, rows["y_prob"])
    result = find_segments(predictions(rows), ["device"])
    assert result.n_searched == 2


def test_copies_in_clusters_are_no_evidence():
    rows = made(n=800, shift=0.0, seed=8)
    ten = np.repeat(np.arange(800), 10)
    copied = {
        "y_true": rows["y_true"][ten],
        "y_prob": rows["y_prob"][ten],
        "columns": {name: values[ten] for name, values in rows["columns"].items()},
    }
    assert len(find_segments(predictions(copied)))
    assert not len(find_segments(predictions({**copied, "group": ten})))


def test_a_cluster_is_in_one_half():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 50, 1000)
    score = rng.random(1000)
    view = BinaryView(rng.random(1000) < score, score, group=group)
    halves = in_halves(view, [Cut("c", ("a",), np.zeros(1000, dtype=np.int64))], None, 0)
    one, other = (set(half.rows.group.tolist()) for half in halves)
    assert not one & other
    assert len(one) == len(other) == 25


def test_rows_of_few_clusters_are_not_tested():
    rows = made()
    device = rows["columns"]["device"]
    rng = np.random.default_rng(0)
    rows["group"] = np.where(device == "b", rng.integers(0, 12, 6000), rng.integers(12, 900, 6000))
    assert not len(find_segments(predictions(rows)))


def test_equal_rows_are_split_at_random():
    """If they were split evenly, the second half would repeat what the first one showed."""
    y = np.repeat([False, True], 500)
    view = BinaryView(y, np.full(1000, 0.5))
    cut = Cut("c", ("a",), np.zeros(1000, dtype=np.int64))
    halves = (in_halves(view, [cut], None, seed)[0] for seed in range(400))
    positives = np.array([half.rows.outcome.sum() for half in halves])
    # The number is hypergeometric: 500 of 1,000 rows are drawn, of which 500 are positive.
    assert positives.std() == pytest.approx(math.sqrt(500 * 0.25 * 500 / 999), rel=0.12)


def test_test_rows_alone_are_searched():
    rows = made(test=np.random.default_rng(0).random(6000) < 0.5)
    test = rows["test"]
    result = find_segments(predictions(rows))
    changed = {**rows, "y_true": np.where(test, rows["y_true"], ~rows["y_true"])}
    assert same(find_segments(predictions(changed)), result)
    fails = (rows["columns"]["device"] == "b") & (rows["columns"]["region"] == 1)
    assert result.rows[0] == (fails & test).sum()


def test_calibration_of_all_rows_leaves_what_it_cannot_correct(texts):
    rows = made(n=12_000)
    # All scores are too extreme, so that every segment fails.
    rows["y_prob"] = expit(2.0 * logit(rows["y_prob"]))
    data = predictions(rows)
    everywhere = find_segments(data)
    texts(everywhere.remark)
    held_out = calib.analyze(data, {"methods": ("logistic",)}).held_out
    left = find_segments(data, held_out=held_out, method="logistic")
    assert left.names == ("device b × region 1",)
    assert same(find_segments(data, held_out=held_out), everywhere)


def test_a_view_of_a_matrix_is_searched():
    rng = np.random.default_rng(0)
    n = 6000
    matrix = rng.dirichlet([1, 1, 1], n)
    site = rng.choice(list("ab"), n)
    label = (rng.random(n)[:, None] > matrix.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    label[site == "b"] = rng.integers(0, 3, (site == "b").sum())
    data = Predictions.from_arrays(label, matrix, columns={"site": site})
    assert find_segments(data).names == ("site b",)


def test_progress_rises_and_an_exception_ends_the_search():
    shares, steps = [], []

    def note(share, text):
        shares.append(share)
        steps.append(text)

    find_segments(predictions(made()), progress=note)
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] <= shares[-1] <= 1.0
    assert list(dict.fromkeys(steps)) == [
        *("Cutting age", "Cutting device", "Cutting region"),
        *("Searching", "Confirming"),
    ]

    def cancel(share, _text):
        if share > 0.5:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        find_segments(predictions(made()), progress=cancel)


def test_what_cannot_be_searched_is_refused(texts):
    rows = made(n=300)
    data = predictions(rows)
    with texts.raises(ValueError):
        find_segments(calib.aggregate(data, slices=["device"]))
    with texts.raises(ValueError):
        find_segments(data, ["x"])
    with texts.raises(ValueError):
        find_segments(Predictions.from_arrays(rows["y_true"], rows["y_prob"]))
    with texts.raises(ValueError):
        find_segments(data, method="beta")
    held_out = calib.analyze(data, {"methods": ("platt",)}).held_out
    with pytest.raises(ValueError, match=r"\(uncalibrated, platt\), got 'beta'"):
        find_segments(data, held_out=held_out, method="beta")
    with texts.raises(ValueError):
        find_segments(data, min_rows=0)
    for level in (95, -1, 1.0):
        with pytest.raises(ValueError, match=rf"confidence_level must fulfil .*, got {level}"):
            find_segments(data, confidence_level=level)
    with texts.raises(ValueError):
        find_segments(data, n_ranges=1)
    with pytest.raises(ValueError, match=r"at least 2 clusters, got 1"):
        find_segments(predictions({**rows, "group": np.zeros(300)}))
    # The test rows are of one cluster, the calibration rows of another one.
    split = {**rows, "test": np.arange(300) < 200, "group": np.arange(300) < 200}
    with pytest.raises(ValueError, match=r"at least 2 clusters, got 1"):
        find_segments(predictions(split))


def test_the_limit_by_cluster_is_that_of_independent_rows_with_many_clusters():
    for x in (0.8, 2.0, 3.5):
        assert range_survival(x) == pytest.approx(law(x), rel=1e-9)
        assert range_by_cluster(x, 10**7) == pytest.approx(range_survival(x), rel=1e-4)
        assert range_by_cluster(x, 8) > range_survival(x)
    assert math.isnan(range_by_cluster(2.0, 1))


def test_the_widened_kuiper_test_does_not_count_copies(texts):
    rng = np.random.default_rng(0)
    score = rng.random(600)
    y = rng.random(600) < score
    single = BinaryView(y, score).cells()
    copies = np.repeat(np.arange(600), 4)
    rows = BinaryView(y[copies], score[copies], group=copies)
    copied = kuiper_test(rows.cells())
    widened = widened_test(copied, rows, rows.cells(), RANGE)
    assert copied.p_value < 0.25 * kuiper_test(single).p_value
    assert widened.p_value == pytest.approx(kuiper_test(single).p_value, rel=0.2)
    texts(widened.null)


def test_no_more_segments_are_tested_than_the_limit(monkeypatch):
    rows = made(n=20_000, shift=0.0)
    site = np.random.default_rng(0).integers(0, 30, 20_000)
    rows["columns"] = {"site": np.array([f"s{i}" for i in range(30)], dtype=object)[site]}
    rows["y_prob"] = np.clip(rows["y_prob"] + 0.3, 0, 0.99)
    assert find_segments(predictions(rows)).n_tested == 20
    assert segments.OWN_CALIBRATOR in calib.calibrators.CALIBRATORS
