"""``check``: compare predictions with limits; the exit status is the result."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from calib.analysis import Analysis, LiveAnalysis, analyze
from calib.analysis.verdicts import verdict_after
from calib.calibrators import CALIBRATORS
from calib.cli import options
from calib.cli.predictions import predictions_of
from calib.cli.streams import tell, writing
from calib.text import significant

EXAMPLES = """examples:
  calib check predictions.parquet --outcome y --score p --max-ks 0.02
  calib check cal.csv --test test.csv --outcome y --score p --method spline \\
      --max-ks 0.02 --min-p 0.01 --junit calibration.xml

exit status:
  0  all limits are met         1  a limit is exceeded
  2  the input cannot be used   3  an internal error of calib, with a traceback
"""

# XML 1.0 cannot contain these characters, even if they are escaped.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "calib check"


@dataclass(frozen=True, slots=True)
class Limit:
    argument: str  # `option_of` gives the option of this argument.
    meaning: str
    # Key of the metric's column. The p-value has no column.
    column: Callable[[Analysis], str] | None = None
    # A bound above the largest possible value would always be met, or never.
    largest: float = 1.0

    def bound(self, text: str) -> float:
        """The bound that a person gave, as a number."""
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (0.0 <= value <= self.largest and value < math.inf):
            most = f" and at most {self.largest:g}" if self.largest < math.inf else ""
            raise argparse.ArgumentTypeError(f"must be a number of at least 0{most}, got {text!r}.")
        return value

    def finding(self, analysis: Analysis, method: str, bound: float) -> Finding:
        result = analysis.methods[method]
        if self.column is None:
            return Finding("p of the KS test", result.ks.p_value, bound, at_most=False)
        key = self.column(analysis)
        label = next(column.label for column in analysis.columns if column.key == key)
        estimate = result.metrics[key]
        return Finding(label, estimate.value, bound, at_most=True, noise_floor=estimate.noise_floor)


LIMITS = (
    Limit("max_ks", "maximum KS error", lambda _: "ks_error"),
    Limit(
        "max_ece",
        "maximum expected calibration error, with the bins of the settings",
        lambda analysis: f"ece_{analysis.settings.strategy}",
    ),
    Limit("max_log_loss", "maximum log loss of the view", lambda _: "log_loss", math.inf),
    Limit("min_p", "minimum p-value of the KS test alone"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """A limit and the value found. A calibration error also has the value of a calibrated model."""

    label: str
    value: float
    bound: float
    at_most: bool
    noise_floor: float = math.nan

    @property
    def is_met(self) -> bool:
        """Whether the value is within the bound. NaN is not."""
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    @property
    def kind(self) -> str:
        """JUnit's name of the result."""
        return "system-out" if self.is_met else "failure"

    @property
    def rule(self) -> str:
        return f"{self.label} at {'most' if self.at_most else 'least'} {significant(self.bound, 6)}"

    @property
    def sentence(self) -> str:
        """The finding in words.

        >>> Finding("KS error", 0.0412345678, 0.02, at_most=True).sentence
        'KS error 0.0412346 is above 0.02'
        >>> Finding("KS error", 0.041, 0.02, at_most=True, noise_floor=0.0352).sentence[30:]
        'a calibrated model with this many rows shows 0.0352 on average'
        """
        met, exceeded = ("at most", "above") if self.at_most else ("at least", "below")
        relation = f"is {met if self.is_met else exceeded} {significant(self.bound, 6)}"
        # A value that rounding would move to the other side of the bound is printed in full.
        rounded = Finding(self.label, float(f"{self.value:.6g}"), self.bound, self.at_most)
        shown = significant(self.value, 6) if rounded.is_met == self.is_met else repr(self.value)
        sentence = f"{self.label} {shown} {relation}"
        if self.is_met or math.isnan(self.noise_floor):
            return sentence
        floor = significant(self.noise_floor)
        return f"{sentence}; a calibrated model with this many rows shows {floor} on average"


def add(commands: options.Commands) -> None:
    parser = options.add_command(
        commands,
        "check",
        run,
        help="check predictions against limits; exit with status 1 if one is exceeded",
        description="Check the scores, or a calibrator's held-out scores, against limits. One "
        "line on standard output reports the result.",
        epilog=EXAMPLES,
    )
    options.add_data(parser)
    options.add_settings(parser, leave_out=("methods",))
    limits = parser.add_argument_group("limits", "At least one must be given.")
    for limit in LIMITS:
        limits.add_argument(
            options.option_of(limit.argument),
            type=limit.bound,
            metavar="NUMBER",
            help=limit.meaning,
        )
    limits.add_argument(
        "--method",
        choices=CALIBRATORS,
        default="uncalibrated",
        metavar="KEY",
        help="method whose scores are checked: uncalibrated (the default) or a calibrator: "
        f"{', '.join(CALIBRATORS)}",
    )
    parser.add_argument("--junit", metavar="FILE", type=Path, help="also write JUnit XML")


def run(given: argparse.Namespace) -> int:
    bounds = {limit: getattr(given, limit.argument) for limit in LIMITS}
    bounds = {limit: bound for limit, bound in bounds.items() if bound is not None}
    if not bounds:
        names = ", ".join(options.option_of(limit.argument) for limit in LIMITS)
        raise ValueError(f"check must be given at least one of {names}, got none.")
    predictions = predictions_of(given)
    settings = options.settings_of(given, predictions, methods=(given.method,))
    analysis = analyze(predictions, settings, progress=options.progress_of(given))
    if given.method not in analysis.methods:
        raise ValueError(" ".join(analysis.warnings))
    findings = [limit.finding(analysis, given.method, bound) for limit, bound in bounds.items()]
    if given.junit is not None:
        cases = [(finding.rule, finding.kind, finding.sentence) for finding in findings]
        data = analysis.data
        facts = {"data": data.name, "fingerprint": data.fingerprint, "rows": str(data.n_rows)}
        facts |= {"columns": data.read_as, "method": given.method}
        facts |= {"tests": _tested(analysis, given.method)}
        with writing(given.junit):
            write_junit(given.junit, cases, facts)
    for remark in predictions.remarks:
        tell(f"note: {remark}")
    tell(f"tests: {_tested(analysis, given.method)}")
    failed = [finding for finding in findings if not finding.is_met]
    reasons = "; ".join(finding.sentence for finding in failed or findings)
    scored = f"({analysis.methods[given.method].label}, {analysis.data.n_rows} rows)"
    print(f"{'fail' if failed else 'pass'}: {reasons} {scored}")
    return 1 if failed else 0


def _tested(analysis: LiveAnalysis, method: str) -> str:
    """Result of the tests of the checked scores, in a sentence."""
    after = verdict_after(
        analysis.held_out, analysis.methods, analysis.settings, method, analysis.multiclass
    )
    if after is None:
        return analysis.verdict.sentence
    return after.after(analysis.methods[method].label, analysis.verdict)


def write_junit(
    path: Path, cases: Sequence[tuple[str, str, str]], properties: Mapping[str, str] | None = None
) -> None:
    """JUnit XML of cases: name, "system-out", "failure" or "error", and its sentence.

    It has no times, so that the same input gives the same bytes.
    """
    kinds = [kind for _, kind, _ in cases]
    failures, errors = kinds.count("failure"), kinds.count("error")
    counts = {"tests": len(cases), "failures": failures, "errors": errors}
    attributes = {"name": SUITE} | {name: str(count) for name, count in counts.items()}
    suites = ElementTree.Element("testsuites", attributes)
    suite = ElementTree.SubElement(suites, "testsuite", attributes)
    if properties:
        listed = ElementTree.SubElement(suite, "properties")
        for name, value in properties.items():
            ElementTree.SubElement(listed, "property", name=name, value=_clean(value))
    for rule, kind, sentence in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=SUITE, name=rule)
        words = {} if kind == "system-out" else {"message": _clean(sentence)}
        ElementTree.SubElement(case, kind, words).text = _clean(sentence)
    ElementTree.indent(suites)
    path.write_bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n")


def _clean(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)
