"""``check``: compare predictions with limits; the exit status is the result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from calib.analysis import LiveAnalysis, analyze
from calib.analysis.summary import LIMITS, Finding
from calib.analysis.verdicts import verdict_after
from calib.cli import against, certified, judge, options
from calib.cli.parameters import option_of
from calib.cli.predictions import predictions_of, progress_of, settings_of
from calib.cli.streams import tell, writing
from calib.feature import FEATURES, resolve

# XML 1.0 cannot contain these characters, even if they are escaped.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "calib check"


def check_rows(
    rows: options.Rows,
    stated: options.SettingsOptions,
    limits: options.CheckedLimits,
    method: str,
    junit: Path | None,
) -> int:
    bounds, certifies = limits.bounds(), certified.is_limited(limits)
    if not (bounds or certifies or limits.against):
        names = ", ".join(option_of(limit.argument) for limit in LIMITS)
        names += ", --against, --certify-error, --min-kappa, --max-width"
        raise ValueError(f"check must be given at least one of {names}, got none.")
    predictions = predictions_of(rows)
    settings = settings_of(stated, predictions, methods=(method,))
    analysis = analyze(predictions, settings, progress=progress_of(rows))
    if method not in analysis.methods:
        raise ValueError(" ".join(analysis.warnings))
    findings: list[Finding | against.Worsening | certified.CertifiedFinding] = [
        limit.finding(analysis, method, bounds[limit.argument], strict_point=limits.strict_point)
        for limit in LIMITS
        if limit.argument in bounds
    ]
    if limits.against is not None:
        findings += against.findings(limits.against, analysis, method)
    if certifies:
        share = certified.finding(limits, method, analysis, predictions)
        findings.append(share)
        tell(f"note: {share.certificate.tested_on}")
    if junit is not None:
        cases = [(finding.rule, finding.kind, finding.sentence) for finding in findings]
        data = analysis.data
        facts = {"data": data.name, "fingerprint": data.fingerprint, "rows": str(data.n_rows)}
        facts |= {"columns": data.read_as, "method": method}
        facts |= {"tests": _tested(analysis, method)}
        with writing(junit):
            write_junit(junit, cases, facts)
    for remark in predictions.remarks:
        tell(f"note: {remark}")
    tell(f"tests: {_tested(analysis, method)}")
    failed = [finding for finding in findings if not finding.is_met]
    reasons = "; ".join(finding.sentence for finding in failed or findings)
    scored = f"({analysis.methods[method].short_label}, {analysis.data.n_rows} rows)"
    print(f"{'fail' if failed else 'pass'}: {reasons} {scored}")
    return 1 if failed else 0


def check_judge(
    rows: options.Rows,
    stated: options.SettingsOptions,
    limits: options.CheckedLimits,
    judged: options.JudgeLimits,
    junit: Path | None,
) -> int:
    _check_alone(limits, "A judge has the limits --min-kappa and --max-width")
    findings = judge.findings(judge.compared_rows(rows, judged, stated), judged)
    if junit is not None:
        with writing(junit):
            cases = [(finding.rule, finding.kind, finding.sentence) for finding in findings]
            write_junit(junit, cases)
    failed = [finding for finding in findings if not finding.is_met]
    reasons = "; ".join(finding.sentence for finding in failed or findings)
    print(f"{'fail' if failed else 'pass'}: {reasons}")
    return 1 if failed else 0


def check_log(
    rows: options.Rows,
    stated: options.SettingsOptions,
    limits: options.CheckedLimits,
    log: options.LogLimits,
    junit: Path | None,
) -> int:
    """Check a log of a decision model, which a feature reads."""
    _check_alone(limits, "A log of a decision model has the limit --max-error")
    if log.max_error is None:
        raise ValueError("--labels are those of the log that --max-error checks: give it too.")
    (check,) = (feature.check for feature in FEATURES.values() if feature.check)
    findings: Sequence[Finding] = resolve(check)(rows, stated, log)
    if junit is not None:
        with writing(junit):
            cases = [(finding.rule, finding.kind, finding.sentence) for finding in findings]
            write_junit(junit, cases)
    for finding in findings:
        print(f"{'pass' if finding.is_met else 'fail'}: {finding.sentence}")
    return 0 if all(finding.is_met for finding in findings) else 1


def _check_alone(limits: options.CheckedLimits, instead: str) -> None:
    others = ["certify_error"] * certified.is_limited(limits)
    others += ["against"] * (limits.against is not None)
    if bounds := [*limits.bounds(), *others]:
        raise ValueError(f"{instead}, got {', '.join(map(option_of, bounds))} too.")


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
