"""``check``: compare predictions with limits; the exit status is the result."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.limits import LIMITS, Finding
from calib.analysis.verdicts import verdict_after
from calib.calibrators import CALIBRATORS
from calib.cli import against, certified, judge, options
from calib.cli.predictions import predictions_of
from calib.cli.streams import tell, writing

EXAMPLES = """examples:
  calib check predictions.parquet --outcome y --score p --max-ks 0.02
  calib check cal.csv --test test.csv --outcome y --score p --method spline \\
      --max-ks 0.02 --min-p 0.01 --junit calibration.xml
  calib check april.parquet --outcome y --score p --against march.json
  calib check predictions.parquet --outcome y --score p --certify-error 0.05
  calib check judged.csv --gold gold.csv --min-kappa 0.4 --max-width 0.1

exit status:
  0  all limits are met         1  a limit is exceeded
  2  the input cannot be used   3  an internal error of calib, with a traceback
"""

# XML 1.0 cannot contain these characters, even if they are escaped.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "calib check"


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
    limits = parser.add_argument_group(
        "limits",
        "At least one must be given. A maximum is exceeded if the interval of the value lies above "
        "it.",
    )
    options.add_limits(limits)
    limits.add_argument(
        "--strict-point",
        action="store_true",
        help="a maximum is exceeded if the value itself is above it",
    )
    against.add_option(limits)
    certified.add_limits(limits)
    limits.add_argument(
        "--method",
        choices=CALIBRATORS,
        default="uncalibrated",
        metavar="KEY",
        help="method whose scores are checked: uncalibrated (the default) or a calibrator: "
        f"{', '.join(CALIBRATORS)}",
    )
    judged = parser.add_argument_group(
        "limits of a judge",
        "The rows are then those that a judge scored, with --gold. Other limits and settings are "
        "not used.",
    )
    judge.add_gold(judged)
    judge.add_own_columns(judged)
    judged.add_argument(
        "--min-kappa", type=float, metavar="NUMBER", help="minimum kappa of judge and gold labels"
    )
    judged.add_argument(
        "--max-width",
        type=float,
        metavar="NUMBER",
        help="maximum width of the interval of the pass rate, such as 0.1",
    )
    parser.add_argument("--junit", metavar="FILE", type=Path, help="also write JUnit XML")


def run(given: argparse.Namespace) -> int:
    bounds, certifies = options.limits_of(given), certified.is_limited(given)
    if given.min_kappa is not None or given.max_width is not None:
        others = ["certify_error"] * certifies + ["against"] * (given.against is not None)
        return _check_judge(given, [*bounds, *others])
    if not (bounds or certifies or given.against):
        names = ", ".join(options.option_of(limit.argument) for limit in LIMITS)
        names += ", --against, --certify-error, --min-kappa, --max-width"
        raise ValueError(f"check must be given at least one of {names}, got none.")
    predictions = predictions_of(given)
    settings = options.settings_of(given, predictions, methods=(given.method,))
    analysis = analyze(predictions, settings, progress=options.progress_of(given))
    if given.method not in analysis.methods:
        raise ValueError(" ".join(analysis.warnings))
    findings: list[Finding | against.Worsening | certified.CertifiedFinding] = [
        limit.finding(
            analysis, given.method, bounds[limit.argument], strict_point=given.strict_point
        )
        for limit in LIMITS
        if limit.argument in bounds
    ]
    if given.against is not None:
        findings += against.findings(given.against, analysis, given.method)
    if certifies:
        share = certified.finding(given, analysis, predictions)
        findings.append(share)
        tell(f"note: {share.certificate.tested_on}")
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
    scored = f"({analysis.methods[given.method].short_label}, {analysis.data.n_rows} rows)"
    print(f"{'fail' if failed else 'pass'}: {reasons} {scored}")
    return 1 if failed else 0


def _check_judge(given: argparse.Namespace, bounds: Sequence[str]) -> int:
    if bounds:
        names = ", ".join(options.option_of(name) for name in bounds)
        raise ValueError(f"A judge has the limits --min-kappa and --max-width, got {names} too.")
    findings = judge.findings(given)
    if given.junit is not None:
        with writing(given.junit):
            cases = [(finding.rule, finding.kind, finding.sentence) for finding in findings]
            write_junit(given.junit, cases)
    failed = [finding for finding in findings if not finding.is_met]
    reasons = "; ".join(finding.sentence for finding in failed or findings)
    print(f"{'fail' if failed else 'pass'}: {reasons}")
    return 1 if failed else 0


def _tested(analysis: LiveAnalysis, method: str) -> str:
    """Result of the tests of the checked scores, in a sentence."""
    after = verdict_after(
        analysis.held_out,
        analysis.methods,
        analysis.settings,
        method,
        analysis.multiclass,
        answers=analysis.has_answers,
    )
    if after is None:
        return analysis.verdict.sentence
    return after.after(analysis.methods[method].short_label)


def write_junit(
    path: Path,
    cases: Sequence[tuple[str, str, str]],
    properties: Mapping[str, str] | None = None,
    suite: str = SUITE,
) -> None:
    """JUnit XML of cases: name, "system-out", "failure" or "error", and its sentence.

    It has no times, so that the same input gives the same bytes.
    """
    kinds = [kind for _, kind, _ in cases]
    failures, errors = kinds.count("failure"), kinds.count("error")
    counts = {"tests": len(cases), "failures": failures, "errors": errors}
    attributes = {"name": suite} | {name: str(count) for name, count in counts.items()}
    suites = ElementTree.Element("testsuites", attributes)
    only = ElementTree.SubElement(suites, "testsuite", attributes)
    if properties:
        listed = ElementTree.SubElement(only, "properties")
        for name, value in properties.items():
            ElementTree.SubElement(listed, "property", name=name, value=_clean(value))
    for rule, kind, sentence in cases:
        case = ElementTree.SubElement(only, "testcase", classname=suite, name=rule)
        words = {} if kind == "system-out" else {"message": _clean(sentence)}
        ElementTree.SubElement(case, kind, words).text = _clean(sentence)
    ElementTree.indent(suites)
    path.write_bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n")


def _clean(text: str) -> str:
    return NOT_IN_XML.sub("\ufffd", text)
