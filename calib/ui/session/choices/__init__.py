"""Every choice that a link carries, each declared once; see `calib.ui.session.choice`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, TypeVar

from calib.crossfit.settings import Settings
from calib.feature import FEATURES
from calib.ui.session.choice import Choice
from calib.ui.session.choices.analysis import *  # noqa: F403
from calib.ui.session.choices.charts import *  # noqa: F403
from calib.ui.session.choices.slices import *  # noqa: F403

# isort: split
# Links and chips list the choices in the order of these imports.
from calib.ui.session.choices.decisions import *  # noqa: F403

T = TypeVar("T")
_ADDED = [feature.choices for feature in FEATURES.values() if feature.choices]
CHOICES: Mapping[str, Choice[Any]] = {
    value.key: value
    for names in (globals(), *(vars(import_module(name)) for name in _ADDED))
    for value in list(names.values())
    if isinstance(value, Choice)
}
LINK_NAMES: Mapping[str, Choice[Any]] = {choice.link: choice for choice in CHOICES.values()}
# Pages use the default rule. Only reports of earlier versions have the other one.
WITHOUT_CHOICE = {"epsilon_rule"}
if len(LINK_NAMES) < len(CHOICES) or Settings.defaults().keys() - CHOICES.keys() != WITHOUT_CHOICE:
    raise ImportError("Every choice must have a link name of its own, and every setting a choice.")


@dataclass(frozen=True, slots=True)
class Chosen:
    settings: Settings = field(default_factory=Settings)
    # Choices that only change charts, by key, if they differ from their default.
    drawing: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, values: Mapping[Choice[Any], Any]) -> Chosen:
        chosen = cls()
        for choice, value in values.items():
            chosen = chosen.having(choice, value)
        return chosen

    def __getitem__(self, choice: Choice[T]) -> T:
        if choice.is_setting:
            value: T = getattr(self.settings, choice.key)
            return value
        return dict(self.drawing).get(choice.key, choice.default)

    def having(self, choice: Choice[T], value: T) -> Chosen:
        if choice.is_setting:
            changed: dict[str, Any] = {choice.key: value}
            return replace(self, settings=replace(self.settings, **changed))
        kept = {key: old for key, old in self.drawing if key != choice.key}
        if value != choice.default:
            kept[choice.key] = value
        return replace(self, drawing=tuple(sorted(kept.items())))

    def changed(self, start: Settings) -> dict[Choice[Any], Any]:
        """The choices that differ from the defaults of the data, in the declared order."""
        values = self.settings.changed(start) | dict(self.drawing)
        return {choice: values[key] for key, choice in CHOICES.items() if key in values}
