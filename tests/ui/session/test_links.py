"""The address: what is written is read back, and what cannot be is refused in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calib.calibrators import score_methods
from calib.ui.session.choices import AXIS, CHOICES, EPSILON_RANGE, N_BINS, Chosen
from calib.ui.session.links import Link, LinkedData, decode, encode
from calib.ui.session.upload import short_list
from tests.choices import cases

METHODS = st.lists(st.sampled_from(sorted(score_methods())), unique=True, min_size=1).map(tuple)
# For these choices an address may have other values than the declaration offers to a widget.
OWN_VALUES = {
    "metrics": st.lists(
        st.sampled_from(sorted(CHOICES["metrics"].values.options)), unique=True, max_size=3
    ).map(tuple),
    "view": st.sampled_from(["class:1", "class:0", "top:1", "within:2"]),
    "methods": METHODS,
    "band": st.sampled_from(["per_bin", "simultaneous"]),
    "epsilon": st.none() | st.floats(*EPSILON_RANGE).map(lambda value: float(f"{value:.6g}")),
    "seed": st.integers(0, 10**6),
    "score_range": st.sampled_from([(), (0.0, 1e-5), (0.25, 0.123456789 + 0.5)]),
    "hidden": st.sampled_from([(), ("band",), ("intervals", "band")]),
    "shown": METHODS,
    "columns": st.sampled_from([(), ("auc",), ("slope", "log_loss_change")]),
    "lines": st.sampled_from([(), ("corp",), ("smooth", "corp")]),
    "after": st.sampled_from(["", "platt"]),
    "slice_by": st.sampled_from(["", "race", "a column, with = & % ü"]),
    "cross": st.sampled_from(["", "sex"]),
    "picked": st.lists(st.integers(0, 999), unique=True, max_size=6).map(tuple),
    "apart": st.integers(-1, 999),
    "time": st.sampled_from([None, "", "season"]),
    "unit": st.sampled_from(["", "week"]),
    "cost_fp": st.sampled_from([1.0, 0.25, 1e6]),
    "cost_fn": st.sampled_from([1.0, 12.5]),
    "capacity": st.sampled_from([None, 0.05, 1.0]),
    "count_from": st.sampled_from([0.5, 0.0, 0.25]),
    "count_to": st.sampled_from([1.0, 0.75]),
    "reproduced": st.sampled_from(["", "0.174", "17.40%", "1e-3"]),
    "horizon": st.sampled_from([None, 0, 30, 3650]),
    "stored_monitor": st.sampled_from(["", "churn"]),
    "watched": st.sampled_from(["", "prepaid", "a slice, with = & % ü"]),
    "model": st.text(),
}
# A bin and what is shown of it are left out of an address together.
OF_A_BIN = {"bin_of", "bin_at"}


def strategy(choice):
    """Values from the declaration: all whole numbers between its bounds, or one of its options."""
    ends = choice.values.bounds
    whole = ends and all(isinstance(end, int) for end in ends)
    return st.integers(*ends) if whole else st.sampled_from((choice.default, *cases(choice)))


VALUES = {
    key: strategy(choice) for key, choice in CHOICES.items() if key not in OF_A_BIN
} | OWN_VALUES
LINKS = st.builds(
    Link,
    chosen=st.fixed_dictionaries({}, optional={CHOICES[key]: of for key, of in VALUES.items()}).map(
        Chosen.of
    ),
    example=st.sampled_from([None, "svm", "boosting"]),
    source=st.sampled_from(
        [
            LinkedData(),
            LinkedData("0123456789ab"),
            LinkedData("0123456789ab", "a, b & <c> ü.csv", 4000),
        ]
    ),
)


def test_every_choice_is_tried_in_links():
    assert all(key in OWN_VALUES or cases(choice) for key, choice in CHOICES.items())


@given(LINKS)
def test_a_link_restores_what_it_was_made_from(link):
    assert decode(encode(link)) == (link, ())


def test_an_address_holds_only_what_differs():
    assert encode(Link()) == {}
    chosen = Chosen.of({N_BINS: 20, AXIS: "logit"})
    assert encode(Link(chosen)) == {"v": "1", "bins": "20", "axis": "logit"}


def test_a_refusal_says_the_reason_and_the_value():
    link, refused = decode({"bins": "7", "seed": "x"})
    assert link.chosen.settings.n_bins == 7
    reason = "it must be a whole number. The value is 0."
    assert refused == (f"`seed=x` in the link was ignored: {reason}",)


@pytest.mark.parametrize(
    ("named", "reason"),
    [
        ({"bins": "1600"}, "between 2 and 100"),
        ({"bins": "many"}, "whole number"),
        ({"by": "kmeans"}, "quantile, uniform"),
        ({"band": "both"}, "per_bin, simultaneous"),
        ({"eps": "0.4"}, "between 1e-15 and 0.32"),
        ({"eps": "nan"}, "between 1e-15 and 0.32"),
        ({"level": "0.5"}, "0.8, 0.9, 0.95, 0.99"),
        ({"m": "platt.magic"}, "platt"),
        ({"show": ""}, "uncalibrated"),
        ({"folds": "1"}, "between 2 and 20"),
        ({"seed": "-1"}, "between 0 and"),
        ({"seed": "99999999999"}, "between 0 and"),
        ({"at": "1.01"}, "between 0 and 1"),
        ({"at": "nan"}, "between 0 and 1"),
        ({"of": "magic"}, "platt"),
        ({"axis": "log"}, "linear, logit"),
        ({"knots": "yes"}, "0, 1"),
        ({"num": "0,174"}, "a number such as 0.174"),
        ({"num": "![x](http://x)"}, "a number such as 0.174"),
        ({"after": "magic"}, "platt"),
        ({"ranges": "1"}, "between 2 and 20"),
        ({"pick": "1.x"}, "whole number"),
        ({"apart": "-1"}, "between 0"),
        ({"unit": "hour"}, "day, week, month"),
        ({"fp": "0"}, "between 1e-06 and 1e+09"),
        ({"fn": "inf"}, "between 1e-06 and 1e+09"),
        ({"cap": "1.5"}, "between 1e-06 and 1"),
        ({"from": "nan"}, "between 0 and 1"),
        ({"to": "2"}, "between 0 and 1"),
        ({"line": "corp.loess"}, "corp, smooth"),
        ({"ex": "iris"}, "naive_bayes"),
        ({"colour": "red"}, "there is no such setting"),
        ({"v": "2"}, "another version"),
    ],
)
def test_what_cannot_be_is_refused_and_keeps_the_default(named, reason):
    link, refused = decode(named)
    assert link == Link()
    assert len(refused) == 1
    assert reason in refused[0]


def test_one_refusal_costs_no_other_setting():
    link, refused = decode({"bins": "0", "by": "uniform", "axis": "logit"})
    assert (link.chosen.settings.strategy, link.chosen[AXIS]) == ("uniform", "logit")
    assert len(refused) == 1


def test_a_refusal_quotes_the_link_as_text_only():
    _, refused = decode({"![](http://example.com/x.png)": "`<b>`"})
    assert "`![](http://example.com/x.png)='<b>'`" in refused[0]


def test_what_a_link_says_of_data_is_short_and_one_line():
    link, refused = decode(
        {"data": "f" * 99, "file": "a\nb\x00c\u202e" + "x" * 999, "rows": "4000"}
    )
    assert not refused
    assert link.source == LinkedData("f" * 12, ("a b c " + "x" * 99)[:80], 4000)
    assert decode({"file": "c.csv", "rows": "-1"})[1]
    assert decode({"file": "c.csv", "rows": "many"})[0].source == LinkedData("", "c.csv")


def test_many_files_are_named_in_few_words(texts):
    names = ["a", "b", "c", "d"]
    texts("\n".join([short_list(names[:n]) for n in (1, 2, 4)]))
