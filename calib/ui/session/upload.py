"""Upload: a person's own tables, the mapping of their columns, and the resulting rows."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calib.data.aggregate import Aggregate
from calib.data.base import Data, Progress
from calib.loading import (
    Choice,
    Columns,
    InputError,
    Problem,
    Table,
    assess,
    for_test_file,
    guess,
)
from calib.loading.checking.inspection import class_structure
from calib.loading.loader import with_arguments
from calib.loading.logs import answers_by_task
from calib.loading.problems import error, refuse, warning
from calib.loading.reading.delimited_text import read_anew
from calib.loading.reading.reader import stem
from calib.reports.contents.structure import Declared
from calib.text import plain, plural, quoted

if TYPE_CHECKING:
    import pandas as pd

    from calib.scanning.connections import Connection


@dataclass(frozen=True, slots=True)
class Connected:
    """A table of a source that the operator named, with the mapping of its columns."""

    source: Connection
    table: str
    mapping: Columns

    @property
    def label(self) -> str:
        return f"{self.source.name}: {self.table}"

    def counted(self, progress: Progress | None = None) -> Aggregate:
        """Raises InputError if the columns do not fit the mapping, or there is no answer."""
        from calib.scanning import scan

        mapping = self.mapping
        if mapping.predicted is not None:
            raise refuse("predicted")
        if problems := list(class_structure(mapping)):
            raise with_arguments(problems, mapping)
        arguments = mapping.changed() | {"name": self.label}
        arguments.pop("decimal", None)  # An engine has numbers, not text.
        rows, table = self.source.source(self.table)
        return scan(rows, table=table, progress=progress, **arguments)

    def some_rows(self, score: str, low: float, high: float, limit: int) -> pd.DataFrame:
        """Some rows of a range of scores, both ends included."""
        from calib.scanning import rows_between

        mapping = self.mapping
        rows, table = self.source.source(self.table)
        return rows_between(
            rows,
            low,
            high,
            outcome=mapping.outcome or "",
            score=score,
            transform=mapping.transform,
            swap=mapping.swap,
            table=table,
            limit=limit,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Upload:
    """Tables as they were read, their mapping, and the rows that result from both."""

    # The tables as they were read, because the mapping can be changed at any time. Several are one
    # model each. There are none if the files hold counts, whose columns were named when they were
    # counted.
    tables: tuple[Table, ...]
    mapping: Columns
    problems: tuple[Problem, ...]
    models: Mapping[str, Data]  # One entry per model; empty while a problem is an error.
    checklist: tuple[str, ...]  # Short sentences about checks that found no problem.
    counted: tuple[str, ...] = ()  # The names of the files of counts.
    # The table whose rows are counted where they are. `tables` has its first rows then.
    source: Connected | None = None
    # Evaluation logs have a table of what was read, by task and model.
    answers: tuple[Mapping[Hashable, object], ...] = ()
    # The answer to "Was the model trained on these rows?": "yes" if they are held out.
    unseen: Declared = "unknown"

    @classmethod
    def of(cls, *tables: Table, mapping: Columns | None = None) -> Upload:
        if mapping is None:
            mapping = guess(tables[0], models=len(tables) == 1)
        assessed = assess(tables, mapping)
        made = cls(tables, mapping, assessed.problems, assessed.models, assessed.checklist)
        if not tables[0].log:
            return made
        return replace(made, answers=tuple(answers_by_task(tables[0].frame).to_dict("records")))

    @classmethod
    def of_counts(cls, counts: Sequence[tuple[str, Aggregate]], *, add: bool = False) -> Upload:
        """Raises InputError if it is not known whether to add several, or they cannot be added."""
        files = tuple(name for name, _ in counts)
        first, *others = (counted for _, counted in counts)
        if others and not add:
            raise InputError([_question(files)])
        sources = [source for _, counted in counts for source in counted.sources]
        if len(set(sources)) < len(sources):
            raise refuse("counted-twice")
        try:
            for other in others:
                first += other
        except ValueError as error:
            raise refuse("not-added", message=str(error)) from None
        mapping = Columns(
            outcome=first.outcome_name, score=first.score_name, time=first.time_name or None
        )
        several = first.models != ("",)
        models = {name: first.of_model(name) for name in first.models} if several else {}
        models = models or {first.name: first}
        return cls((), mapping, _warnings(first), models, _checklist(first, models), files)

    @classmethod
    def of_table(cls, source: Connection, table: str, given: Columns | None = None) -> Upload:
        """A table of a source with guessed columns, before its rows are counted.

        Raises InputError if the source has no such table, or does not answer.
        """
        first = source.first_rows(table)
        # A file may have predicted labels, but an engine does not compare them with the outcome.
        predicted = None if given is None else given.predicted
        mapping = replace(guess(first, given, models=True), predicted=predicted)
        # A person settles doubts about the columns before the rows are counted.
        connected = Connected(source, table, mapping)
        return cls((first,), mapping, mapping.open_doubts, {}, (), source=connected)

    @property
    def is_uncounted(self) -> bool:
        """Whether the rows of the source are not counted yet as the columns are mapped."""
        severities = {problem.severity for problem in self.problems}
        return (
            self.source is not None and not self.models and not severities & {"error", "question"}
        )

    def with_counts(self, progress: Progress | None = None) -> Upload:
        """The same table with the counts of its rows. Raises InputError as `counted` does."""
        assert self.source is not None
        made = Upload.of_counts([(self.source.label, self.source.counted(progress))])
        return replace(
            made,
            tables=self.tables,
            mapping=self.mapping,
            problems=(*self.problems, *made.problems),
            source=self.source,
            unseen=self.unseen,
        )

    @property
    def table(self) -> Table:
        return self.tables[0]

    @property
    def tests(self) -> Table | None:
        """Test rows, if they are in a separate file."""
        return self.tables[0].tests if self.tables else None

    @property
    def question(self) -> Problem | None:
        """A doubt that a person must settle before anything is concluded from the rows."""
        return next((problem for problem in self.problems if problem.severity == "question"), None)

    @property
    def asks(self) -> bool:
        """Whether a question is open: a doubt, or an error whose answers are known."""
        errors = [problem for problem in self.problems if problem.severity == "error"]
        return self.question is not None or (bool(errors) and bool(errors[0].choices))

    @property
    def predictions(self) -> Data | None:
        """Predictions of the only or first model, or None while there is an error."""
        return next(iter(self.models.values()), None)

    @property
    def read_as(self) -> tuple[str, ...]:
        """What the columns were read as, one line per model."""
        if len(self.models) < 2:
            return tuple(rows.read_as for rows in self.models.values())
        return tuple(f"{name}: {rows.read_as}" for name, rows in self.models.items())

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the rows and names of all models, or "" while there is an error."""
        fingerprints = {name: predictions.fingerprint for name, predictions in self.models.items()}
        if len(fingerprints) < 2:
            return "".join(fingerprints.values())
        return hashlib.sha256(repr(fingerprints).encode()).hexdigest()

    @property
    def name(self) -> str:
        return short_list([stem(file) for file in self.counted] or [t.name for t in self.tables])

    @property
    def files(self) -> str:
        """Names of the files as they were dropped, their endings included."""
        return short_list(self.counted or [table.file or table.name for table in self.tables])

    def mapped(self, mapping: Columns) -> Upload:
        """The same rows with another mapping. Which rows they are stays declared."""
        if self.source is not None:
            made = Upload(self.tables, mapping, mapping.open_doubts, {}, ())
            source = replace(self.source, mapping=mapping)
            return replace(made, source=source, unseen=self.unseen)
        return replace(Upload.of(*self.tables, mapping=mapping), unseen=self.unseen)

    def with_header(self, header: bool) -> Upload:
        """The same file with its first line as names, or as data. The columns are guessed anew.

        Raises InputError if it cannot be read like that.
        """
        return Upload.of(read_anew(self.table, header=header))

    def is_of_files_of(self, other: Upload) -> bool:
        """Whether both were read from the same files, perhaps with another mapping."""
        same = len(self.tables) == len(other.tables) and self.files == other.files
        return same and all(a is b for a, b in zip(self.tables, other.tables, strict=True))

    def with_test(self, tests: Table | None) -> Upload:
        tables = replace(self.table, tests=tests), *self.tables[1:]
        return Upload.of(*tables, mapping=for_test_file(self.mapping, tests))


def short_list(names: Sequence[str]) -> str:
    if len(names) < 4:
        return ", ".join(names)
    return f"{names[0]}, {names[1]} and {len(names) - 2} more"


def _question(files: Sequence[str]) -> Problem:
    add = Choice("Add them", {"add": True})
    return error("several-counts", files=short_list([*map(quoted, files)]), choices=(add,))


def _warnings(counts: Aggregate) -> tuple[Problem, ...]:
    """Remarks of the count that may matter, as warnings."""
    return tuple(
        warning("noticed", remark=remark, of_model=model)
        for model, remarks in counts.noticed.items()
        for remark in remarks
    )


def _checklist(counts: Aggregate, models: Mapping[str, Aggregate]) -> tuple[str, ...]:
    cells = "one per score" if counts.exact else "on a grid of scores"
    several = len(models) > 1
    sentences = [f"{plural(len(models), 'model')}: {short_list([*map(plain, models)])}"] * several
    sentences += [
        f"{plain(name) + ': ' if several else ''}{plural(model.n_rows, 'row')}, counted in "
        f"{plural(model.table.n_cells, 'cell')}, {cells}"
        for name, model in models.items()
    ]
    outcome, positive = plain(counts.outcome_name), plain(counts.positive_name)
    sentences.append(f"Outcome: {outcome}, positive: {positive}")
    if counts.score_name:
        sentences.append(f"Score: {plain(counts.score_name)}")
    if slices := [plain(name) for name in counts.columns if name != counts.time_name]:
        sentences.append(f"Counted by {', '.join(slices)}")
    if counts.time_name:
        sentences.append(f"Time: {plain(counts.time_name)}")
    sentences += [
        f"{plural(n, 'row')} not counted: {plain(reason)}" for reason, n in counts.set_aside.items()
    ]
    return tuple(sentences)
