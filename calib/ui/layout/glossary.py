"""What every metric, calibrator and term means, for the Learn page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape

from calib.blocks.methods import DIRECTIONS
from calib.calibrators import CALIBRATORS, score_methods
from calib.metrics import METRICS, Metric
from calib.text import significant
from calib.ui.layout.words import linked
from calib.words.measures import LAYER_MEANINGS

# The file of a metric determines its family. Metrics of new files are last.
FAMILIES: Mapping[str, str] = {
    "proper": "Proper scores",
    "cumulative": "Cumulative errors, without bins",
    "smooth": "Smooth errors",
    "binned": "Binned errors",
    "goodness_of_fit": "Tests and regression",
    "regression": "Tests and regression",
    "ranking": "Ranking",
    "matrix": "All classes of a matrix",
}
OTHER_FAMILY = "More"


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    code: str
    text: str
    source: str
    aliases: str
    facts: str = ""

    def matches(self, query: str) -> bool:
        """Whether it contains every word of the query. Hyphens and spaces are the same."""
        parts = (self.name, self.code, self.text, self.facts, self.source, self.aliases)
        held = " ".join(parts).casefold().replace("-", " ")
        return all(word in held for word in query.casefold().replace("-", " ").split())

    def html(self, *, is_open: bool) -> str:
        """The name and its meaning in a line, which opens the rest."""
        name, anchor = escape(self.name.replace(" - ", " − ")), re.sub(r"\W+", "-", self.name)
        aliases = f"Also: {self.aliases}." if self.aliases else ""
        facts = f"{self.facts}." if self.facts else ""
        more = [escape(facts), escape(aliases), linked(self.source)]
        more += [f"<code>{escape(self.code)}</code>"]
        lines = "".join(f"<p>{line}</p>" for line in filter(None, more))
        return (
            f'<details id="{anchor.strip("-").lower()}"{" open" if is_open else ""}>'
            f"<summary><strong>{name}</strong> "
            f"<span>{escape(self.text)}</span></summary>{lines}</details>"
        )


# Terms of the field that name neither a metric nor a calibrator.
TERMS = (
    Entry(
        "Reliability diagram",
        "reliability_curve",
        "Mean predicted probability against observed frequency, per bin.",
        "Bröcker and Smith 2007, doi:10.1175/WAF993.1",
        "calibration curve, calibration plot",
    ),
    Entry(
        "CORP curve",
        "corp_curve",
        LAYER_MEANINGS["corp"],
        "Dimitriadis, Gneiting and Jordan 2021, doi:10.1073/pnas.2016191118",
        "PAV reliability curve",
    ),
    Entry(
        "Consistency band",
        "band",
        LAYER_MEANINGS["band"],
        "Bröcker and Smith 2007, doi:10.1175/WAF993.1",
        "consistency bars, consistency intervals",
    ),
    Entry(
        "Out-of-fold score",
        "n_folds",
        "Score of a row from a calibrator that was fitted on the other folds.",
        "",
        "held-out, cross-fitting, cross-fitted, cross-validation, OOF",
    ),
    Entry(
        "Decision curve",
        "net_benefit",
        "Net benefit of acting at each threshold: true positives less false positives, weighted "
        "by the odds of the threshold, per row.",
        "Vickers and Elkin 2006, doi:10.1177/0272989X06295361",
        "net benefit, decision curve analysis (DCA)",
    ),
    Entry(
        "Cost curve",
        "cost_curves",
        "Expected cost per row at each threshold, for the costs of a false positive and of a "
        "false negative.",
        "",
        "expected cost, cost-sensitive threshold",
    ),
    Entry(
        "Brier skill score",
        "brier_decomposition",
        "1 minus the Brier score over that of the base rate; 0 is no better than the base rate.",
        "Murphy 1988, doi:10.1175/1520-0493(1988)116<2417:SSBOTM>2.0.CO;2",
        "BSS, index of prediction accuracy; equal to "
        "(discrimination - miscalibration) / uncertainty",
    ),
    Entry(
        "Base rate",
        "base_rate",
        "Share of positive rows.",
        "",
        "observed rate, positive rate, prevalence, event rate",
    ),
    Entry(
        "Confidence",
        "top:1",
        "Highest score of a row, the probability of the predicted class.",
        "Guo et al. 2017, arXiv:1706.04599",
        "top label, top-1, confidence calibration",
    ),
    Entry(
        "Compact logit",
        "epsilon",
        "Log-odds of the score, scaled to [0, 1]; scores outside [epsilon, 1 - epsilon] are left "
        "unchanged.",
        "Lucena 2018, arXiv:1809.07751",
        "epsilon, clipping of log-odds",
    ),
    Entry(
        "Holm's correction",
        "p_adjusted",
        "Raises the p-values of several tests, so that the chance of any false rejection stays "
        "at the chosen level.",
        "Holm 1979, doi:10.2307/4615733",
        "Holm-Bonferroni, multiple testing, family-wise error rate",
    ),
)


def metric_entries() -> dict[str, list[Entry]]:
    families: dict[str, list[Entry]] = {title: [] for title in [*FAMILIES.values(), OTHER_FAMILY]}
    for metric in METRICS.values():
        module = metric.compute.__module__.rsplit(".", 1)[-1]
        families[FAMILIES.get(module, OTHER_FAMILY)].append(_metric_entry(metric))
    return {title: entries for title, entries in families.items() if entries}


def calibrator_entries() -> dict[str, list[Entry]]:
    families: dict[str, list[Entry]] = {
        "Calibrators, simplest first": [],
        "For several classes": [],
    }
    single, several = families.values()
    for key, m in CALIBRATORS.items():
        place = single if key in score_methods() else several
        place.append(Entry(m.label, m.key, m.summary, m.source, m.aliases))
    return families


def kept(entries: Mapping[str, Iterable[Entry]], query: str) -> dict[str, list[Entry]]:
    matching = {
        title: [entry for entry in group if entry.matches(query)]
        for title, group in entries.items()
    }
    return {title: group for title, group in matching.items() if group}


def _metric_entry(metric: Metric) -> Entry:
    facts = [f"{_range(*metric.bounds)}, {DIRECTIONS[metric.better]}", metric.convention]
    return Entry(
        metric.label,
        metric.key,
        metric.meaning,
        metric.source,
        metric.aliases,
        ". ".join(filter(None, facts)).removesuffix("."),
    )


def _range(low: float, high: float) -> str:
    if low == -float("inf"):
        return "any number"
    sentence = f"{low:g} or more" if high == float("inf") else f"{low:g} to {significant(high, 4)}"
    return sentence.replace("-", "−")
