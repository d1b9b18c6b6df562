"""The verdict: whether the scores are calibrated, in words, with the evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from calib.analysis.miscalibration import CURVE_TESTS, finding_of, kind_of
from calib.analysis.recommendation import Recommendation, shift_power, too_few
from calib.calibrators import CALIBRATORS
from calib.data.cells import ScoreCells
from calib.data.strict_json import added
from calib.metrics import spiegelhalter_test
from calib.metrics.base import TestResult
from calib.metrics.by_class import Classwise
from calib.metrics.cumulative import cumulative_tests
from calib.metrics.goodness_of_fit import groups_test
from calib.metrics.regression import calibration_slope_intercept, line_test
from calib.numerics.arrays import FloatArray
from calib.numerics.intervals import Estimate, holm
from calib.numerics.logistic import LogisticFit
from calib.numerics.poisson_binomial import few_scores, simulated_noise
from calib.numerics.score_grid import written
from calib.text import number, p_value, percent, plural, shortened
from calib.uncertainty import fit_line
from calib.words import verdicts
from calib.words.findings import ViewWords
from calib.words.verdicts import Answer, Kind

SIGNIFICANCE = 0.05
# The first of these tests that rejects is cited as evidence of a kind. Gaps of groups have no
# direction, so the test of the line is not cited for them.
CITED_TESTS = {
    "uneven": CURVE_TESTS,
    "reversed": ("line", *CURVE_TESTS),
    "uninformative": ("line", *CURVE_TESTS),
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the scores are calibrated.

    Attributes
    ----------
    kind : str
        If a test rejects: "overconfident", "underconfident", "too high", "too low", "reversed"
        (higher scores have fewer positives), "uninformative" (they do not have more), or "uneven"
        (too high in some ranges, too low in others) if none of these applies. If only tests of
        single classes of a matrix reject: "some classes". If no test rejects:
        "calibrated" if the recommendation is to keep the scores, otherwise "unknown".
    sentence : str
        Heading, finding and evidence in one or two sentences.
    answer : str
        "not calibrated", "no evidence" (of miscalibration) or "inconclusive". It is inconclusive if
        no test rejects but there are too few rows, or if tests and recommendation disagree.
    p_adjusted : mapping of str to float
        Holm-adjusted p-value of each test, NaN if there is no test. For a matrix these are the
        tests of the view, and the KS test of each class, "class:0", "class:1", ...
    notes : tuple of str
        Further sentences.
    finding : str or None
        What is wrong, where, and by how much, or why the answer is another one. None in a report
        of version 0.1, which has only the sentence.
    evidence : str
        The test on which the finding is based, or "" if the finding names the reason itself.
    """

    kind: Kind
    sentence: str
    answer: Answer
    p_adjusted: Mapping[str, float]
    notes: tuple[str, ...] = ()
    finding: str | None = added(None)
    evidence: str = added("")

    @classmethod
    def of(
        cls,
        kind: Kind,
        answer: Answer,
        p_adjusted: Mapping[str, float],
        finding: str,
        evidence: str = "",
    ) -> Verdict:
        """The verdict whose sentence is made of its heading, its finding and its evidence."""
        heading, body = verdicts.heading(answer, kind), verdicts.body(finding, evidence)
        sentence = f"{heading}. {body}".rstrip()
        return cls(kind, sentence, answer, p_adjusted, finding=finding, evidence=evidence)

    @property
    def rejected(self) -> tuple[str, ...]:
        """Keys of the tests that reject calibration."""
        return tuple(key for key, p in self.p_adjusted.items() if p < SIGNIFICANCE)

    @property
    def tested(self) -> str:
        """The number of tests, and the smallest p-value, or "" if there is no test."""
        p_values = [p for p in self.p_adjusted.values() if not math.isnan(p)]
        if not p_values:
            return ""
        smallest = p_value(min(p_values))
        return f"{plural(len(p_values), 'test')}, smallest {smallest} after Holm's correction"

    @property
    def heading(self) -> str:
        """The answer in a few words, with the kind of the miscalibration if there is one."""
        return verdicts.heading(self.answer, self.kind)

    @property
    def body(self) -> str:
        """What follows the heading. A report of version 0.1 has only the sentence as a whole."""
        return self.sentence if self.finding is None else verdicts.body(self.finding, self.evidence)

    def after(self, label: str) -> str:
        """This verdict of held-out calibrated scores in sentences that name the calibrator."""
        return verdicts.after(label, self.summary, self.body, self.notes)

    @property
    def summary(self) -> str:
        """The kind of the miscalibration, or the answer, within a sentence."""
        return verdicts.summary(self.answer, self.kind)


def adjusted(
    tests: Mapping[str, TestResult], class_p_values: Sequence[float] | FloatArray = ()
) -> dict[str, float]:
    """Holm-adjusted p-values of tests and of classes. A test rejects if its value is below 0.05."""
    p_values = {key: test.p_value for key, test in tests.items()}
    p_values |= {f"class:{k}": float(p) for k, p in enumerate(class_p_values)}
    return dict(zip(p_values, holm(np.array(list(p_values.values()))).tolist(), strict=True))


def strongest(tests: Mapping[str, TestResult]) -> tuple[str, float]:
    """The key and the Holm-adjusted p-value of the test with the smallest one.

    Of tests with equal p-values it is the first; without any p-value it is ("", NaN).
    """
    p_values = {key: p for key, p in adjusted(tests).items() if not math.isnan(p)}
    return min(p_values.items(), key=lambda one: one[1], default=("", math.nan))


def calibration_tests(cells: ScoreCells, line: LogisticFit | None = None) -> dict[str, TestResult]:
    """The five tests of calibration on which a verdict is based, for independent rows."""
    # The simulated tests draw from one seed, so they can share one simulation.
    noise = simulated_noise(cells, 0) if few_scores(cells) else None
    return {
        **cumulative_tests(cells, noise),
        "spiegelhalter": spiegelhalter_test(cells),
        "hosmer_lemeshow": groups_test(cells, noise=noise),
        "line": line_test(cells, line or fit_line(cells)),
    }


def judge(
    cells: ScoreCells,
    tests: Mapping[str, TestResult] | None = None,
    advice: Recommendation | None = None,
    *,
    slope: Estimate | None = None,
    words: ViewWords | None = None,
    classes: Classwise | None = None,
    design_effect: float = 1.0,
    certainty: str | None = None,
) -> Verdict:
    """Test whether the scores are calibrated, and state the result in a sentence.

    The scores are not calibrated if one of the tests rejects after the correction of Holm 1979
    (https://www.jstor.org/stable/4615733), which limits the probability of any false rejection to
    5%. The tests of `classes` are corrected together with the others. The verdict is inconclusive
    if the recommendation, if any, disagrees with the tests, or if no test rejects and there are few
    rows. The default tests, slope and design effect (of the power that is stated if there is no
    evidence) are of independent rows.

    `certainty` stands in place of the power if the scores come from calibrators that are fitted to
    rows of the same sample: the tests of such scores have almost no power.
    """
    tests, words = tests or calibration_tests(cells), words or ViewWords()
    p_adjusted = adjusted(tests, () if classes is None else classes.tested)
    method = advice.method if advice else ""
    if not any(p < SIGNIFICANCE for p in p_adjusted.values()):
        return _without_rejection(cells, p_adjusted, method, words, design_effect, certainty)
    rejected = [key for key in tests if p_adjusted[key] < SIGNIFICANCE]
    if rejected:
        if slope is None:
            fit = calibration_slope_intercept(cells)
            slope = Estimate(fit.slope, fit.slope_low, fit.slope_high)
        kind = kind_of(cells, rejected, slope, words)
        evidence = f"{_evidence(tests, rejected, kind, p_adjusted)}{cells.precision}"
        finding = finding_of(cells, rejected, kind, slope, words)
    else:
        kind, finding = "some classes", f"No test of {words.place} rejects calibration."
        evidence = _worst_class(classes, p_adjusted) if classes else ""
    if classes is not None:
        finding = f"{finding} {_classes_sentence(p_adjusted)}"
    if method == "uncalibrated":
        n = sum(p < SIGNIFICANCE for p in p_adjusted.values())
        reject = "A test rejects" if n == 1 else f"{n} tests reject"
        reason = (
            f"{reject} calibration ({verdicts.kind_words(kind)}; {evidence}), but no calibrator "
            f"clearly lowers the {words.loss}."
        )
        return Verdict.of(kind, "inconclusive", p_adjusted, reason)
    return Verdict.of(kind, "not calibrated", p_adjusted, finding, evidence)


def _classes_sentence(p_adjusted: Mapping[str, float]) -> str:
    p_values = [p for key, p in p_adjusted.items() if key.startswith("class:")]
    tested = [p for p in p_values if not math.isnan(p)]
    n = sum(p < SIGNIFICANCE for p in tested)
    if not tested:
        return "No class has enough rows to be tested."
    are = "is" if n == 1 else "are"
    return f"{n:,} of {plural(len(tested), 'class')} {are} significantly miscalibrated."


def _worst_class(classes: Classwise, p_adjusted: Mapping[str, float]) -> str:
    """The class with the largest KS error among those whose tests reject, as evidence."""
    place = next(i for i, k in enumerate(classes.index) if p_adjusted[f"class:{k}"] < SIGNIFICANCE)
    name, ks = shortened(classes.class_name[place]), percent(classes.ks_error[place])
    return f"class {name}: KS calibration error {ks}, {p_value(classes.p_value[place])}"


def _without_rejection(
    cells: ScoreCells,
    p_adjusted: Mapping[str, float],
    method: str,
    words: ViewWords,
    design_effect: float,
    certainty: str | None,
) -> Verdict:
    if method not in ("", "uncalibrated"):
        reason = (
            "No test rejects calibration, but "
            f"{CALIBRATORS[method].short_label} clearly lowers the {words.loss}."
        )
    elif rarer := too_few(cells, words.outcomes):
        few = f"{rarer} {'is' if rarer.n_rows == 1 else 'are'} too few"
        reason = f"{few} to detect typical miscalibration."
    else:
        if certainty is None:
            n_tests = sum(not math.isnan(p) for p in p_adjusted.values())
            certainty = shift_power(cells, design_effect, n_tests).sentence(words.scores.lower())
        step = written(cells.named_step)
        digits = f"Scores have steps of {step}. " if cells.named_step else ""
        finding = f"{digits}{certainty}".rstrip()
        return Verdict.of("calibrated", "no evidence", p_adjusted, finding)
    return Verdict.of("unknown", "inconclusive", p_adjusted, reason)


def _evidence(
    tests: Mapping[str, TestResult],
    rejected: Sequence[str],
    kind: Kind,
    p_adjusted: Mapping[str, float],
) -> str:
    """The test on which the finding is based, with its p-value before Holm's correction."""
    strongest = min(rejected, key=lambda key: p_adjusted[key])
    shape = CITED_TESTS.get(kind, (*CURVE_TESTS, "line"))
    cited = next((key for key in shape if key in rejected), strongest)
    statistic = tests[cited].statistic
    size = percent(statistic) if cited in CURVE_TESTS else number(statistic, 1)
    return f"{verdicts.TEST_NAMES[cited]} {size}, {p_value(tests[cited].p_value)}"
