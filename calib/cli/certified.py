"""Limits of the rows that are decided automatically, for ``check``."""

from __future__ import annotations

from dataclasses import dataclass

from calib.analysis import LiveAnalysis
from calib.analysis.decisions import Certificate, ErrorLimit, certify
from calib.analysis.decisions.certificate import certify_rows
from calib.cli.options import CertificateOptions, CheckedLimits
from calib.crossfit.settings import Settings
from calib.data.base import Data
from calib.text import percent, significant


@dataclass(frozen=True, slots=True)
class CertifiedFinding:
    """A certificate, and the share of the rows that it must decide."""

    certificate: Certificate
    min_share: float

    @property
    def is_met(self) -> bool:
        """Whether a threshold is certified that decides enough rows."""
        return 0.0 < self.certificate.share >= self.min_share

    @property
    def kind(self) -> str:
        """JUnit's name of the result."""
        return "system-out" if self.is_met else "failure"

    @property
    def rule(self) -> str:
        errors = f"at most {significant(100.0 * self.certificate.max_error)}% errors"
        share = f" at least {percent(self.min_share)}" if self.min_share else ""
        return f"Certified share{share} with {errors}"

    @property
    def sentence(self) -> str:
        said = self.certificate.sentence.rstrip(".")
        if self.is_met or not self.certificate.share:
            return said
        share = percent(self.certificate.share)
        return f"certified share {share} is below {percent(self.min_share)}: {said}"


def error_limit(given: CertificateOptions, settings: Settings) -> ErrorLimit | None:
    """What is to be certified, if anything."""
    if given.certify_error is None:
        return None
    confidence = given.certify_confidence or settings.confidence_level
    return ErrorLimit(given.certify_error, confidence, given.certify_sides)


def is_limited(given: CheckedLimits) -> bool:
    """Whether a certificate is wanted. Refuses a minimum share without its error rate."""
    if given.certify_error is None and given.min_share is not None:
        raise ValueError("--min-share is the share that --certify-error certifies: give it too.")
    return given.certify_error is not None


def finding(
    given: CheckedLimits, method: str, analysis: LiveAnalysis, rows: Data
) -> CertifiedFinding:
    """Certify the scores of the checked method, if no calibrator was fitted on their rows."""
    settings, limit = analysis.settings, error_limit(given, analysis.settings)
    assert limit is not None
    limits, sides = (limit.max_error, limit.confidence), limit.sides
    if method == "uncalibrated":
        made = certify(rows, *limits, sides=sides, view=settings.view, seed=settings.seed)
    elif analysis.held_out.protocol == "folds":
        raise ValueError(
            "--certify-error needs rows on which no calibrator was fitted, got out-of-fold scores "
            f"of {method}. Name test rows (--test), or check the uncalibrated scores."
        )
    else:
        scored = analysis.held_out.view(method)
        scores = f"{analysis.methods[method].short_label} scores"
        made = certify_rows(scored, *limits, sides=sides, seed=settings.seed, scores=scores)
    return CertifiedFinding(made, given.min_share or 0.0)
