"""Report: an analysis without its rows, with its author, its time and the software versions."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from calib.analysis import Analysis, LiveAnalysis
from calib.analysis.judge import JudgeResult, gold_analysis
from calib.crossfit.settings import Settings
from calib.data import strict_json
from calib.data.views import default_view
from calib.distribution import __version__
from calib.reports.contents.checklist import Checklist
from calib.reports.contents.codec import SCHEMA_VERSION, ReportError, decode, encode, upgraded
from calib.reports.contents.consistency import check_contents
from calib.reports.contents.counting import evidence_of
from calib.reports.contents.disclosure import aggregated
from calib.reports.contents.evidence import Grade
from calib.reports.contents.judged import judge_part, why_no_report
from calib.reports.contents.sealing import read_key, seal_of
from calib.reports.contents.slices_periods_decisions import recounted_parts
from calib.reports.contents.structure import Contents, Declared, Parts, Seal
from calib.reports.render.archive import archive, table_files
from calib.reports.render.files import Printable

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from calib.blocks.kinds import ReportDocument

LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas")


class Report(Contents, Printable):
    """A report of one analysis. Make it with `calib.report` or `from_analysis`. It never changes.

    Its attributes are those of `calib.reports.Contents`.

    Examples
    --------
    >>> import numpy as np
    >>> from calib.analysis import analyze
    >>> from calib.data.predictions import Predictions
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(500)
    >>> predictions = Predictions.from_arrays(rng.random(500) < score, score)
    >>> analysis = analyze(predictions, {"methods": ("platt",)})
    >>> report = Report.from_analysis(analysis, title="March", created="2026-03-01")
    >>> opened = Report.open(report.json())
    >>> opened.heading, opened.html() == report.html()
    ('March', True)
    """

    __slots__ = ()
    formats: ClassVar = {".html": "html", ".json": "json", ".md": "markdown", ".zip": "tables"}

    def __repr__(self) -> str:
        """Heading, date, verdict and recommendation."""
        analysis = self.analysis
        said = (analysis.verdict.sentence, analysis.recommendation.sentence)
        return "\n".join((f"{self.heading}, {self.created}", *said))

    @classmethod
    def from_analysis(
        cls,
        analysis: Analysis,
        *,
        parts: Parts | None = None,
        title: str = "",
        author: str = "",
        note: str = "",
        reviewer: str = "",
        sign_off: str = "",
        model_version: str = "",
        limits: Mapping[str, float] | None = None,
        held_out_declared: Declared = "unknown",
        grade: Grade = "guarded",
        created: str | None = None,
        source: str = "",
        checklist: Checklist | None = None,
    ) -> Report:
        """Make a report, which contains no rows. Groups of fewer than ten rows are merged.

        Parameters
        ----------
        analysis : Analysis
        parts : Parts, optional
            Slices, periods and decisions, made by `calib.reports.parts_of`.
        title, author, note : str
            Plain text at the top of the report.
        reviewer, sign_off : str
            Who reviewed the report, and who signed it off and when. If they are empty, the printed
            report has lines to write on.
        model_version : str
            The model that made the scores and its version, such as "churn 2.3".
        limits : mapping of str to float, optional
            Limits of the uncalibrated scores, such as ``{"max_ks": 0.02}``. The names are those of
            `calib check`: max_ks, max_ece, max_log_loss and min_p.
        held_out_declared : {"unknown", "yes", "no"}
            Whether the predictions were made on rows on which the model was not trained. Those of
            the examples were.
        grade : {"guarded", "exact"}
            The counts in the report. "guarded": cells of at least ten rows, for charts; numbers
            cannot be computed again from them. "exact": each distinct score with its outcomes, from
            which `calib verify` computes each number again.
        created : str, optional
            Time of creation (ISO 8601). Default: now.
        source : str
            The named source from which the dashboard can count the rows again, as in its links.
        checklist : Checklist, optional
            The template by which the report is printed, see `calib.reports.checklist`.

        Raises
        ------
        ValueError
            If the analysis has fewer than ten rows or was read from a report, or the grade is
            "exact" and there are more than 50,000 distinct scores.
        ReportError
            If `created` or `held_out_declared` is not allowed.
        """
        without_rows = aggregated(analysis)
        assert isinstance(analysis, LiveAnalysis)
        evidence = evidence_of(analysis, parts, grade)
        if grade == "exact" and parts is not None:
            # Sums over counts are rounded differently from sums over rows.
            parts = recounted_parts(parts, evidence, analysis.data.n_rows)
        made = cls(
            schema_version=SCHEMA_VERSION,
            contains=evidence.contains,
            title=title,
            author=author,
            note=note,
            created=created or _now(),
            held_out_declared=_declared(analysis, held_out_declared),
            versions=versions(),
            settings_changed=changed_settings(analysis),
            analysis=without_rows,
            parts=parts,
            evidence=evidence,
            seal=Seal(""),
            source=source,
            reviewer=reviewer,
            sign_off=sign_off,
            model_version=model_version,
            limits=dict(limits or {}),
            checklist=checklist,
        )
        # The report is read back from its JSON, so that a fresh report equals an opened one.
        data = encode(made)
        return cls._read(data)._sealed(counts=data["evidence"])

    @classmethod
    def from_judge(cls, result: JudgeResult, **words: Any) -> Report:
        """Make a report of a judge: its pass rate, and the calibration of its scores.

        The analysis of the report is of the labelled rows. Lists of rows are not part of it.

        Parameters
        ----------
        result : JudgeResult
            Result of `calib.judge`.
        **words
            Other arguments of `from_analysis`, except `parts`.

        Raises
        ------
        ValueError
            If fewer than ten rows have a label, or all labels are alike.

        Examples
        --------
        >>> from calib.analysis.judge import judge_rows
        >>> from calib.loading.judged_rows import judged_example
        >>> result = judge_rows(judged_example())
        >>> report = Report.from_judge(result, title="Judge, March")
        >>> report.parts.judge.numbers.sentence == result.sentence
        True
        """
        if reason := why_no_report(result):
            raise ValueError(reason)
        level, seed = result.confidence_level, result.seed
        analysis = gold_analysis(result.rows, confidence_level=level, seed=seed)
        return cls.from_analysis(analysis, parts=Parts(judge=judge_part(result)), **words)

    def _sealed(self, key: Ed25519PrivateKey | None = None, *, counts: Any = None) -> Report:
        """The same report with a seal. `counts` is its evidence in JSON, if that was made."""
        counts = encode(self.evidence) if counts is None else counts
        values = {entry: getattr(self, entry.name) for entry in fields(self)}
        rest = {
            entry.name: encode(value)
            for entry, value in values.items()
            if entry.name != "evidence" and strict_json.is_written(entry, value)
        }
        return replace(self, seal=seal_of(rest | {"evidence": counts}, key))

    def signed(self, key: str | bytes | Path) -> Report:
        """The same report with a signature. `calib verify` prints who signed it.

        Parameters
        ----------
        key : path, str or bytes
            Private Ed25519 key without a passphrase, in PEM or OpenSSH format, or its file.

        Raises
        ------
        ReportError
            If the key is not valid, or the package cryptography is not installed.
        """
        return self._sealed(read_key(key, "private"))

    @classmethod
    def open(cls, source: str | bytes | Path) -> Report:
        """Read a report.json.

        Parameters
        ----------
        source : path, str or bytes
            A file, or the content of one as bytes or as a str that begins with a brace.

        Raises
        ------
        ReportError
            If the source is not a report, is damaged, or was written by a version of calib whose
            schema this version does not read.
        """
        return cls.open_json(read_json(source))

    @classmethod
    def open_json(cls, data: Any) -> Report:
        """Read a report from the result of `read_json`."""
        return cls._read(upgraded(data))

    @classmethod
    def _read(cls, data: Any) -> Report:
        report = decode(cls, data)
        check_contents(report)
        return report

    def edited(
        self,
        *,
        title: str | None = None,
        author: str | None = None,
        note: str | None = None,
        reviewer: str | None = None,
        sign_off: str | None = None,
        model_version: str | None = None,
        created: str | None = None,
        checklist: Checklist | None = None,
    ) -> Report:
        """Make a new report with the same numbers and other texts.

        Parameters
        ----------
        title, author, note, reviewer, sign_off, model_version : str, optional
            New texts. Default: the same.
        created : str, optional
            Time of creation (ISO 8601). Default: now.
        checklist : Checklist, optional
            A new template with its answers. Default: the same.
        """
        made = replace(
            self,
            title=_storable(self.title if title is None else title),
            author=_storable(self.author if author is None else author),
            note=_storable(self.note if note is None else note),
            reviewer=_storable(self.reviewer if reviewer is None else reviewer),
            sign_off=_storable(self.sign_off if sign_off is None else sign_off),
            model_version=_storable(self.model_version if model_version is None else model_version),
            created=created or _now(),
            checklist=self.checklist if checklist is None else checklist,
        )
        check_contents(made)
        return made._sealed()

    def json(self) -> str:
        """The report as strict JSON. The same report always gives the same text."""
        return json.dumps(encode(self), allow_nan=False, ensure_ascii=False, indent=1) + "\n"

    def document(self) -> ReportDocument:
        """The report as a document of sections."""
        from calib.reports.render.sections import document_of

        return document_of(self)

    def tables(self) -> bytes:
        """The tables as CSV files in a ZIP archive. The same report always gives the same bytes."""
        return archive(table_files(self))


def _declared(analysis: Analysis, declared: Declared) -> Declared:
    """Whether the rows are held out. The scores of the examples are."""
    origin = analysis.data.origin
    is_example = origin is not None and bool(origin.example)
    return "yes" if is_example and declared == "unknown" else declared


def _storable(text: str) -> str:
    """A text can contain half a character (a lone surrogate), which a file cannot hold."""
    return text.encode("utf-8", "replace").decode()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def changed_settings(analysis: Analysis) -> tuple[str, ...]:
    """Names of the settings that differ from the defaults."""
    start = Settings(view=default_view(is_matrix=analysis.multiclass is not None))
    return tuple(analysis.settings.changed(start))


def versions() -> dict[str, str]:
    libraries = {name: metadata.version(name) for name in LIBRARIES}
    return {"calib": __version__, "python": platform.python_version(), **libraries}


def read_json(source: str | bytes | Path) -> Any:
    """Read the JSON of a report, without a check of what it contains."""
    try:
        return strict_json.loads(_text(source))
    except ReportError:
        raise
    except (ValueError, RecursionError) as error:
        raise ReportError(f"This is not a report: it is not valid JSON ({error}).") from error


def _text(source: str | bytes | Path) -> str:
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    try:
        content = source if isinstance(source, bytes) else Path(source).read_bytes()
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ReportError("This is not a report: it is not UTF-8 text.") from error
    except (OSError, ValueError) as error:
        raise ReportError(
            f"No report can be read from {str(source)[:200]!r}. Check the path."
        ) from error
