"""The verdict: whether the scores are calibrated, in words, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from calib.analysis.recommendation import Recommendation, too_few
from calib.calibrators import CALIBRATORS
from calib.core.cells import ScoreCells
from calib.core.estimate import Estimate
from calib.core.views import parse_view
from calib.metrics import hosmer_lemeshow_test, ks_test, kuiper_test, spiegelhalter_test
from calib.metrics.base import TestResult
from calib.metrics.regression import calibration_slope_intercept, line_test
from calib.numerics.intervals import holm
from calib.numerics.logistic import LogisticFit
from calib.text import number, p_value, percents, probability
from calib.uncertainty import fit_line

Answer = Literal["not calibrated", "no evidence", "inconclusive"]
Kind = Literal[
    "calibrated", "overconfident", "underconfident", "too high", "too low", "uneven", "unknown"
]
SIGNIFICANCE = 0.05
# From this share of the whole swing on, the signed end is the story, and not the slope.
MOSTLY = 0.75
# Share of the rows, and of the swing, beyond a range that is not worth a number of its own.
BEYOND = 0.05
# The tests that a verdict rests on, as a sentence names them.
TEST_NAMES = {
    "ks": "KS error",
    "kuiper": "Kuiper error",
    "spiegelhalter": "Spiegelhalter z",
    "hosmer_lemeshow": "Hosmer-Lemeshow χ²",
    "line": "slope and intercept χ²",
}
BY_CURVE = ("ks", "kuiper")


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the scores are calibrated.

    Attributes
    ----------
    kind : str
        If a test rejects: "overconfident", "underconfident", "too high", "too low", or "uneven" if
        none of these applies. If no test rejects: "calibrated" if the recommendation is to keep the
        scores, otherwise "unknown".
    sentence : str
        The answer, what is wrong, and the evidence, in one or two sentences.
    answer : str
        "not calibrated", "no evidence" (of miscalibration) or "inconclusive". It is inconclusive if
        no test rejects but there are too few rows, or if tests and recommendation disagree.
    p_adjusted : mapping of str to float
        Holm-adjusted p-value of each test, NaN if there is no test. Empty in reports of earlier
        versions, whose verdict uses only the KS test.
    """

    kind: Kind
    sentence: str
    answer: Answer
    p_adjusted: Mapping[str, float] = field(default_factory=dict)

    @property
    def rejected(self) -> tuple[str, ...]:
        """Keys of the tests that reject calibration."""
        return tuple(key for key, p in self.p_adjusted.items() if p < SIGNIFICANCE)

    @property
    def summary(self) -> str:
        """The answer in a few words, with the direction of the miscalibration if there is one."""
        if self.answer == "not calibrated":
            return f"not calibrated: {self.kind}"
        return {"no evidence": "no evidence of miscalibration"}.get(self.answer, self.answer)

    @property
    def heading(self) -> str:
        """The summary as the heading of a page. The sentence begins with it."""
        return self.summary[:1].upper() + self.summary[1:]

    @property
    def finding(self) -> str:
        """What is wrong, where, and by how much: the sentence without heading and evidence."""
        text = self._after_heading
        return text.rpartition(" (")[0] if self.evidence else text[:1].upper() + text[1:]

    @property
    def evidence(self) -> str:
        """The test on which the finding is based, or "" if the finding names the reason itself."""
        if self.answer != "not calibrated":
            return ""
        return self._after_heading.rpartition(" (")[2].removesuffix(")")

    @property
    def _after_heading(self) -> str:
        return self.sentence.removeprefix(self.heading).lstrip(".: ")


@dataclass(frozen=True, slots=True)
class ViewWords:
    """Names of scores and outcomes in one view of the data."""

    scores: str = "Predictions"
    positive: str = "were positive"
    outcomes: tuple[str, str] = ("positives", "negatives")
    loss: str = "log loss"
    top_label: bool = False


def view_words(view: str) -> ViewWords:
    """The names of scores and outcomes in a view."""
    kind, rank = parse_view(view)
    if kind == "class":
        return ViewWords()
    if kind == "within":
        hits = f"had their class among the {rank} ranked first"
        outcomes = (f"rows whose class is among the {rank} ranked first", "other rows")
        return ViewWords(f"Sums of the {rank} largest scores", hits, outcomes)
    if rank > 1:
        outcomes = (f"rows whose class is ranked {rank}", "other rows")
        return ViewWords(f"Scores of rank {rank}", f"had the class ranked {rank}", outcomes)
    outcomes = ("correctly classified rows", "misclassified rows")
    return ViewWords("Confidences", "were classified correctly", outcomes, top_label=True)


def adjusted(tests: Mapping[str, TestResult]) -> dict[str, float]:
    """Holm-adjusted p-values of tests. A test rejects if its value is below 0.05."""
    p_values = np.array([test.p_value for test in tests.values()])
    return dict(zip(tests, holm(p_values).tolist(), strict=True))


def calibration_tests(cells: ScoreCells, line: LogisticFit | None = None) -> dict[str, TestResult]:
    """The five tests of calibration on which a verdict is based, for independent rows."""
    return {
        "ks": ks_test(cells),
        "kuiper": kuiper_test(cells),
        "spiegelhalter": spiegelhalter_test(cells),
        "hosmer_lemeshow": hosmer_lemeshow_test(cells),
        "line": line_test(cells, line or fit_line(cells)),
    }


def judge(
    cells: ScoreCells,
    tests: Mapping[str, TestResult] | None = None,
    advice: Recommendation | None = None,
    *,
    slope: Estimate | None = None,
    words: ViewWords | None = None,
) -> Verdict:
    """Test whether the scores are calibrated, and state the result in a sentence.

    The scores are not calibrated if one of the tests rejects after the correction of Holm 1979
    (https://www.jstor.org/stable/4615733), which limits the probability of any false rejection to
    5%. The verdict is inconclusive if the recommendation, if any, disagrees with the tests, or if
    no test rejects and there are few rows. The default tests and slope are of independent rows.
    """
    tests, words = tests or calibration_tests(cells), words or ViewWords()
    p_adjusted = adjusted(tests)
    rejected = [key for key, p in p_adjusted.items() if p < SIGNIFICANCE]
    method = advice.method if advice else ""
    if not rejected:
        return _without_rejection(cells, p_adjusted, method, words)
    if slope is None:
        fit = calibration_slope_intercept(cells)
        slope = Estimate(fit.slope, fit.slope_low, fit.slope_high)
    kind = _kind(cells, tests, rejected, slope, words)
    evidence = _evidence(tests, p_adjusted, kind)
    if method == "uncalibrated":
        reject = "a test rejects" if len(rejected) == 1 else f"{len(rejected)} tests reject"
        sentence = (
            f"Inconclusive: {reject} calibration ({kind}; {evidence}), but no calibrator lowers "
            f"the {words.loss} significantly."
        )
        return Verdict(kind, sentence, "inconclusive", p_adjusted)
    finding = _finding(cells, rejected, kind, slope, words)
    sentence = f"Not calibrated: {kind}. {finding} ({evidence})"
    return Verdict(kind, sentence, "not calibrated", p_adjusted)


def _without_rejection(
    cells: ScoreCells, p_adjusted: Mapping[str, float], method: str, words: ViewWords
) -> Verdict:
    if method not in ("", "uncalibrated"):
        sentence = (
            "Inconclusive: no test rejects calibration, but "
            f"{CALIBRATORS[method].label} lowers the {words.loss} significantly."
        )
    elif rarer := too_few(cells, words.outcomes):
        few = f"{rarer} {'is' if rarer.startswith('1 ') else 'are'} too few"
        sentence = f"Inconclusive: {few} to detect typical miscalibration."
    else:
        return Verdict("calibrated", "No evidence of miscalibration.", "no evidence", p_adjusted)
    return Verdict("unknown", sentence, "inconclusive", p_adjusted)


def _kind(
    cells: ScoreCells,
    tests: Mapping[str, TestResult],
    rejected: list[str],
    slope: Estimate,
    words: ViewWords,
) -> Kind:
    """The kind of miscalibration, from the cumulative curve if its tests reject, or the slope."""
    by_curve = any(key in rejected for key in BY_CURVE)
    # Bounds that cannot be estimated are NaN.
    stretched = slope.high < 1.0 or slope.low > 1.0
    # Gaps of ten groups have no direction: more than a line explains, they alternate.
    groups = min(rejected, key=lambda key: tests[key].p_value) == "hosmer_lemeshow"
    way = _one_way(cells)
    if way and (by_curve or not (stretched or groups)):
        if words.top_label:
            return "underconfident" if way > 0 else "overconfident"
        return "too low" if way > 0 else "too high"
    if groups or not stretched:
        return "uneven"
    return "overconfident" if slope.high < 1.0 else "underconfident"


def _one_way(cells: ScoreCells) -> int:
    """1 if scores are mostly too low, -1 if mostly too high, otherwise 0."""
    difference = cells.cumulative_positive - cells.cumulative_score
    mostly = abs(difference[-1]) >= MOSTLY * np.ptp(difference)
    return int(mostly) * (1 if difference[-1] > 0 else -1)


def _evidence(tests: Mapping[str, TestResult], p_adjusted: Mapping[str, float], kind: Kind) -> str:
    """The test on which the finding is based: of the curve or the slope, or the strongest one."""
    rejected = [key for key, p in p_adjusted.items() if p < SIGNIFICANCE]
    shape = BY_CURVE if kind == "uneven" else (*BY_CURVE, "line")
    strongest = min(rejected, key=lambda key: p_adjusted[key])
    cited = next((key for key in shape if key in rejected), strongest)
    size = number(tests[cited].statistic, 3 if cited in BY_CURVE else 1)
    return f"{TEST_NAMES[cited]} {size}, {p_value(p_adjusted[cited])}"


def _finding(
    cells: ScoreCells, rejected: list[str], kind: Kind, slope: Estimate, words: ViewWords
) -> str:
    by_curve = any(key in rejected for key in BY_CURVE)
    if by_curve and not (words.top_label and _one_way(cells)):
        return _worst_stretch(cells, words)
    if kind == "uneven":
        return f"{words.scores} are too high in some ranges and too low in others."
    if not by_curve and (slope.high < 1.0 or slope.low > 1.0):
        extreme = "too extreme" if slope.high < 1.0 else "not extreme enough"
        digits = 2 if abs(slope.value - 1.0) >= 0.01 else 4
        return (
            f"{words.scores} are {extreme}: the calibration slope is {number(slope.value, digits)} "
            "instead of 1."
        )
    return _averages("", cells.mean_score, cells.base_rate, words)


def _worst_stretch(cells: ScoreCells, words: ViewWords) -> str:
    """The range in which the cumulative difference changes most, and what was observed there."""
    difference = cells.cumulative_positive - cells.cumulative_score
    start, end = sorted((int(difference.argmin()), int(difference.argmax())))
    # A range that all but reaches an end of the scores is named, and averaged, up to that end.
    share = cells.cumulative_weight / cells.total_weight
    swing = difference / np.ptp(difference)
    if share[start] <= BEYOND and abs(swing[start]) <= BEYOND:
        start = 0
    if share[end] >= 1.0 - BEYOND and abs(swing[-1] - swing[end]) <= BEYOND:
        end = len(cells)
    weight = cells.cumulative_weight[end] - cells.cumulative_weight[start]
    stated = (cells.cumulative_score[end] - cells.cumulative_score[start]) / weight
    observed = (cells.cumulative_positive[end] - cells.cumulative_positive[start]) / weight
    return _averages(_place(cells, start, end), stated, observed, words)


def _averages(place: str, stated: float, observed: float, words: ViewWords) -> str:
    predicted, seen = percents(stated, observed)
    if words.top_label and not place:
        return f"Mean confidence is {predicted}, accuracy {seen}."
    rows = "those" if place else "the"
    return f"{words.scores} {place}average {predicted}, but {seen} of {rows} rows {words.positive}."


def _place(cells: ScoreCells, start: int, end: int) -> str:
    low, high = probability(cells.score[start], 2), probability(cells.score[end - 1], 2)
    if start == 0 and end == len(cells):
        return ""
    if end == len(cells):
        return f"from {low} up "
    if start == 0:
        return f"up to {high} "
    return f"of {low} " if low == high else f"between {low} and {high} "
