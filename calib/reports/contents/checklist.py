"""Checklist: a template whose items a reader must tick, and what the author of a report wrote."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from calib.analysis import Analysis, LiveAnalysis, analyze
from calib.crossfit.settings import Settings
from calib.data.strict_json import Reader
from calib.text import joined, quoted

TEMPLATES = ("clinical", "credit", "ai-act", "plain")
# An item can show these blocks, which `calib.reports.render.checklist` makes.
BLOCKS = (
    *("calibration", "centres", "concentration", "dates", "decision-curve", "declare", "fairness"),
    *("file", "formula", "grades", "guide", "initial-auc", "left-out", "limitations", "limits"),
    *("measures", "metrics", "net-benefit", "outcome", "participants", "protocol", "risks"),
    *("sample-size", "signature", "software", "subgroups", "title", "updating", "verdict"),
    "version",
)


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a checklist.

    Attributes
    ----------
    id, name : str
        As the checklist names it.
    show : tuple of str
        Blocks made of the report, names of `BLOCKS`.
    refuse : str
        Why a report cannot answer it.
    write : str
        What the author has to write. "" if there is nothing to write.
    answer : str
        Key of what the author wrote. "" stands for the id.
    """

    id: str
    name: str
    show: tuple[str, ...] = ()
    refuse: str = ""
    write: str = ""
    answer: str = ""

    def __post_init__(self) -> None:
        if not (self.show or self.refuse or self.write):
            raise ValueError(f"item {quoted(self.id)} must have show, refuse or write, got none.")
        if unknown := [name for name in self.show if name not in BLOCKS]:
            raise ValueError(
                f"show of item {quoted(self.id)} must be among {', '.join(BLOCKS)}, "
                f"got {quoted(unknown[0])}."
            )

    @property
    def key(self) -> str:
        return self.answer or self.id


@dataclass(frozen=True, slots=True)
class ItemGroup:
    """The items of a section of the printed report."""

    title: str
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A checklist as it is printed.

    Attributes
    ----------
    name, title, about : str
    sections : tuple of ItemGroup
    metrics : tuple of str
        Metrics that it needs beside those of every analysis.
    """

    name: str
    title: str
    sections: tuple[ItemGroup, ...]
    about: str = ""
    metrics: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        Settings(metrics=self.metrics)
        keys = [item.key for item in self.written]
        if again := [key for i, key in enumerate(keys) if key in keys[:i]]:
            raise ValueError(
                f"two items have the field {quoted(again[0])}. Give one of them another answer."
            )

    @property
    def items(self) -> tuple[Item, ...]:
        return tuple(item for section in self.sections for item in section.items)

    @property
    def written(self) -> tuple[Item, ...]:
        """The items with a field for the author."""
        return tuple(item for item in self.items if item.write)


@dataclass(frozen=True, slots=True)
class Checklist:
    """A template, and what the author wrote into its fields, by their keys."""

    template: Template
    answers: Mapping[str, str]

    def __post_init__(self) -> None:
        keys = [item.key for item in self.template.written]
        if unknown := [key for key in self.answers if key not in keys]:
            raise ValueError(
                f"the template {quoted(self.template.name)} has no field {quoted(unknown[0])}. Its "
                f"fields are {joined(keys)}."
            )


def checklist(
    template: str | Path, answers: Mapping[str, str] | str | Path | None = None
) -> Checklist | None:
    """The checklist of a template with answers, or None without a template.

    Parameters
    ----------
    template : str or path
        "clinical", "credit", "ai-act", "plain", or a file that ends in .toml or .json. "": none.
    answers : mapping of str to str, or path, optional
        Texts for the fields by their keys, or a file of them that ends in .toml or .json.

    Raises
    ------
    ValueError
        If the template is not known, a file cannot be read, or an answer has no field.

    Examples
    --------
    >>> chosen = checklist("clinical", {"thresholds": "0.1, 0.2"})
    >>> chosen.template.items[0].id, chosen.answers["thresholds"]
    ('23a', '0.1, 0.2')
    """
    if not str(template):
        if answers:
            raise ValueError("Answers need a template. Name one, such as clinical.")
        return None
    if isinstance(answers, str | Path):
        texts = Reader().read(Mapping[str, str], _data(Path(answers)), str(answers))
    else:
        texts = dict(answers or {})
    return Checklist(_template(template), texts)


def _template(name: str | Path) -> Template:
    if str(name) in TEMPLATES:
        text = (files("calib.reports") / "templates" / f"{name}.toml").read_text(encoding="utf-8")
        data = tomllib.loads(text)
    elif Path(name).suffix.lower() in (".toml", ".json"):
        data = _data(Path(name))
    else:
        raise ValueError(
            f"template must be {', '.join(TEMPLATES)}, or a file that ends in .toml or .json, got "
            f"{quoted(str(name))}."
        )
    made: Template = Reader().read(Template, data, f"the template {Path(name).name}")
    return made


def _data(path: Path) -> Any:
    """The contents of a file of TOML or JSON."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise ValueError(f"{quoted(str(path))} cannot be read. Check the path.") from error
    except ValueError as error:
        raise ValueError(f"{quoted(str(path))} cannot be read: {error}.") from error


def with_metrics_of(settings: Settings, chosen: Checklist) -> Settings:
    """The settings with the metrics that a template needs."""
    return replace(
        settings, metrics=tuple(dict.fromkeys((*settings.metrics, *chosen.template.metrics)))
    )


def with_metrics(analysis: Analysis, chosen: Checklist) -> LiveAnalysis:
    """The analysis with the metrics that a template needs. No calibrator is fitted again.

    Raises ValueError if the analysis was read from a report.
    """
    if not isinstance(analysis, LiveAnalysis):
        raise ValueError("analysis was read from a report and has no rows. Analyse the data.")
    settings = with_metrics_of(analysis.settings, chosen)
    return analyze(analysis.source, settings, earlier=analysis)
