"""Feature: a part of calib that registers itself, and that the rest does not import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from calib.data.registry import Registry


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the dashboard.

    Attributes
    ----------
    title : str
    after : str
        The title of the page that it follows in the navigation, or of the group that it begins:
        "Analyse" or "Operate".
    draw : str
        The function that draws it, such as "their_package.room:page".
    without_data, without_view, with_analysis, own_data : bool
        It is shown while the data of a link are missing; it is the same in every view of a matrix;
        it depends on the settings of the analysis; it shows other data than those of the header.
    """

    title: str
    after: str
    draw: str
    without_data: bool = False
    without_view: bool = False
    with_analysis: bool = False
    own_data: bool = False


@dataclass(frozen=True, slots=True)
class Feature:
    """What a feature adds, by name, so that nothing is imported before somebody uses it.

    Attributes
    ----------
    page : Page or None
    command : str
        A function whose parameters are the options of a command, or a tuple of functions: a group
        and its commands. Its module is imported for every help text, so it must be fast to import.
    check : str
        A function of the rows, the settings and the limit of a log that `calib check` was given,
        which returns a finding per question. One feature has it.
    report : str
        A function that makes a section of a report from its contents, or returns None. It is called
        when a report is printed, so the section is not part of report.json.
    sections : mapping of str to str
        By the title of a page, a function of the session and the model that draws a section of it.
    charts, choices : str
        Modules that register charts, and that declare choices which links carry.
    """

    page: Page | None = None
    command: str = ""
    check: str = ""
    report: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    charts: str = ""
    choices: str = ""


FEATURES: Registry[Feature] = Registry("feature", "calib.features")


def resolve(name: str) -> Any:
    """What "module:name" names."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
