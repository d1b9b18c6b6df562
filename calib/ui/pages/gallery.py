"""Gallery: published results, our reproduction of them, and data to open."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import streamlit as st

from calib.figures.svg import in_page
from calib.text import count, plain
from calib.ui.layout import charts, frame
from calib.ui.session.choices import (
    AXIS,
    EPSILON,
    KNOTS,
    LINES,
    METHODS,
    N_BINS,
    OVER_EPSILON,
    SHOWN,
    STRATEGY,
    Chosen,
)
from calib.ui.session.choices.choice import Choice
from calib.ui.session.links import Link
from calib.ui.session.page_list import PAGES
from calib.ui.session.serving import app_file

FOLDER = app_file().parent / "docs" / "reproductions"
# Differences of decimals are rounded in double precision, so a little is added.
ROUNDING = 1e-12
MAX_TABLE_PIXELS, MAX_ROWS_IN_FULL = 320, 8
BETA_FAMILY = ("platt", "logistic", "isotonic", "beta", "beta_am", "beta_ab")


@dataclass(frozen=True, slots=True)
class Opening:
    """A built-in example with the settings and the page that show a paper's point."""

    key: str  # The key of the button.
    # The label of the button, and the title of the page.
    label: str
    page: str
    example: str  # The key of the example.
    values: Mapping[Choice[Any], Any]  # The choices of the link.

    @property
    def link(self) -> Link:
        return Link(Chosen.of(self.values), self.example)


@dataclass(frozen=True, slots=True)
class GalleryEntry:
    title: str
    source: str  # This is Markdown.
    story: str
    openings: tuple[Opening, ...]
    # Titles of tables, by the name of their file among the reproductions.
    numbers: Mapping[str, str]
    # The name of the picture among the reproductions, and what it shows.
    picture: str
    alt: str


ENTRIES = (
    GalleryEntry(
        "SplineCalib: smooth calibrators on a compact-logit scale",
        "Lucena 2018, [arXiv:1809.07751](https://arxiv.org/abs/1809.07751)",
        "A smooth function of the compact logit, which spreads out scores near 0 and 1. The "
        "picture shows a random forest before and after calibration.",
        (
            Opening(
                "forest",
                "Calibrate a random forest",
                "Functions",
                "random_forest",
                {METHODS: ("platt", "isotonic", "spline"), KNOTS: True},
            ),
            Opening(
                "compact_logit",
                "Change epsilon of the compact logit",
                "Functions",
                "naive_bayes",
                {
                    METHODS: ("splinecalib", "spline"),
                    EPSILON: 0.01,
                    OVER_EPSILON: ("splinecalib", "spline"),
                },
            ),
        ),
        {
            "splinecalib_table1": "Table 1: log loss on Adult",
            "splinecalib_algorithm4": "Algorithm 4 against a calibration set",
            "splinecalib_clipping": "Clipping against calibration",
        },
        "splinecalib_forest",
        "Reliability of a random forest before and after calibration, and its scores.",
    ),
    GalleryEntry(
        "KS calibration error: calibration without bins",
        "Gupta et al. 2021, [arXiv:2006.12800](https://arxiv.org/abs/2006.12800)",
        "The largest gap between the sums of predictions and of outcomes, over rows sorted by "
        "score. ResNet-110 on CIFAR-10 is overconfident at nearly all scores.",
        (
            Opening(
                "cumulative",
                "See the four panels of an overconfident model",
                "Cumulative",
                "naive_bayes",
                {
                    METHODS: ("temperature", "beta", "ks_spline", "spline"),
                    SHOWN: ("uncalibrated", "ks_spline"),
                },
            ),
        ),
        {
            "ks_resnet110": "ResNet-110, uncalibrated",
            "ks_wideresnet": "WideResNet, before and after",
        },
        "ks_resnet110",
        "Four cumulative panels of ResNet-110: confidence above accuracy.",
    ),
    GalleryEntry(
        "Beta calibration: one more parameter than Platt scaling",
        "Kull, Silva Filho, Flach 2017",
        "Platt scaling (on scores) cannot represent the identity; logistic calibration (on "
        "log-odds) can. Beta calibration has one parameter more than either, and the best mean "
        "rank by log loss on six UCI data sets among uncalibrated, Platt scaling, isotonic and "
        "beta.",
        (
            Opening(
                "beta", "Compare the beta family", "Compare", "naive_bayes", {METHODS: BETA_FAMILY}
            ),
            Opening(
                "boosting",
                "The same for boosted trees",
                "Compare",
                "boosting",
                {METHODS: BETA_FAMILY},
            ),
        ),
        {"beta": "Losses on six sets", "beta_ranks": "Mean ranks and their tests"},
        "beta_ranks",
        "Mean ranks of six methods over six sets, with critical differences.",
    ),
    GalleryEntry(
        "A rare event and a re-weighted model",
        "Richardson, Pospisil 2021, The Unofficial Google Data Science Blog",
        "Trained with a large weight on rare events, a model ranks well, but its probabilities "
        "are far too high. Dividing the odds by the weight corrects nearly all of it.",
        (
            Opening(
                "rare_event",
                "Open the re-weighted model",
                "Reliability",
                "rare_event",
                {
                    METHODS: ("platt", "isotonic", "ispline", "pwl"),
                    N_BINS: 10,
                    AXIS: "logit",
                    SHOWN: ("uncalibrated", "ispline"),
                },
            ),
        ),
        {"google_rare_event": "Loss, its parts, and AUC"},
        "google_rare_event",
        "Reliability of the re-weighted model and of five calibrators on log-odds axes.",
    ),
    GalleryEntry(
        "The expected calibration error by hand",
        "A blog post on the ECE with two worked examples",
        "With three bins, the ECE of the ten rows is 0.241 and that of the ten labels 0.194. "
        "The code in the post has one bin too few and gives 0.103 and 0.042.",
        (
            Opening(
                "ten_rows",
                "Open the ten rows",
                "Reliability",
                "ten_rows",
                {STRATEGY: "uniform", N_BINS: 3},
            ),
            Opening(
                "ten_labels",
                "Open the ten labels",
                "Reliability",
                "ten_labels",
                {STRATEGY: "uniform", N_BINS: 3},
            ),
        ),
        {"ece_blog": "Errors by hand, and those of the code in the post"},
        "ece_blog",
        "Three bins of ten rows, whose intervals all reach the diagonal.",
    ),
    GalleryEntry(
        "CORP: let the data choose the bins",
        "Dimitriadis, Gneiting, Jordan 2021, "
        "[doi:10.1073/pnas.2016191118](https://doi.org/10.1073/pnas.2016191118)",
        "Isotonic regression gives a reliability diagram without bins, and an exact "
        "decomposition of the Brier score. The data are rain in Niamey, solar flares and "
        "recidivism.",
        (
            Opening(
                "corp",
                "See the CORP line of a well calibrated model",
                "Reliability",
                "logistic",
                {LINES: ("corp",)},
            ),
        ),
        {"corp": "Ten decompositions of the Brier score"},
        "corp",
        "Ten CORP diagrams with their bands.",
    ),
)


def page() -> None:
    session = frame.begin("Gallery")
    st.markdown(f"## {heading(FOLDER)}")
    if session.upload is not None:
        st.caption(
            "An example that you open here replaces your file. The menu of the data opens it again."
        )
    for shown in ENTRIES:
        opened = show_entry(shown)
        if opened is not None:
            session.follow(opened.link)
            st.switch_page(PAGES[opened.page])


def heading(folder: Path) -> str:
    """How many of the published numbers ours agree with."""
    agrees = [
        abs(float(line["ours"]) - float(line["published"])) <= float(line["tolerance"]) + ROUNDING
        or (line["at_most"] == "True" and float(line["ours"]) <= float(line["published"]))
        for path in sorted(folder.glob("*.csv"))
        for line in _lines(path)
        if line["published"] and line["tolerance"]
    ]
    if not agrees:
        return "Published results, reproduced"
    which = f"All {count(len(agrees))}" if all(agrees) else f"{sum(agrees)} of {len(agrees)}"
    return f"{which} published numbers with a tolerance are reproduced"


def show_entry(entry: GalleryEntry) -> Opening | None:
    """Draw one paper; returns the opening whose button was pressed."""
    st.markdown(f"### {entry.title}")
    words, picture = st.columns([2, 3], gap="large")
    with words:
        st.markdown(f"{entry.story}  \n:small[{entry.source}]")
        pressed = None
        for opening in entry.openings:
            if st.button(opening.label, key=f"open_{opening.key}", icon=":material/arrow_forward:"):
                pressed = opening
        for name, title in entry.numbers.items():
            path = FOLDER / f"{name}.csv"
            if path.is_file():
                with st.expander(title, key=f"numbers_{name}"):
                    _table(name, path)
    with picture:
        path = FOLDER / f"{entry.picture}.svg"
        if path.is_file():
            # A picture of its own would have neither the font of the page nor its dark colours.
            drawn = in_page(path.read_text(encoding="utf-8"), entry.alt)
            # A phone shows a part of it at a size that can be read.
            shown = f'<div class="scrolled" tabindex="0">{drawn}</div>'
            charts.drawing(shown, f"picture_{entry.picture}")
        else:
            st.caption("The picture and the numbers are in the project's repository only.")
    return pressed


def _table(name: str, path: Path) -> None:
    rows, notes = read_numbers(path)
    st.dataframe(
        rows,
        hide_index=True,
        key=f"table_{name}",
        height=MAX_TABLE_PIXELS if len(rows["Number"]) > MAX_ROWS_IN_FULL else "content",
        alt="One row per number: the published value and ours.",
    )
    for note in notes:
        st.caption(note)


def read_numbers(path: Path) -> tuple[dict[str, list[str]], list[str]]:
    """Columns of published numbers and ours, rounded to their digits, and notes."""
    lines = _lines(path)
    columns: dict[str, list[str]] = {
        "Number": [line["name"] for line in lines],
        # The published text may have fewer digits than `digits`: then it is shown as it was
        # printed.
        "Published": [
            min(line["published"], _rounded(line, "published"), key=len) for line in lines
        ],
        "Ours": [_rounded(line, "ours") for line in lines],
    }
    notes = [f"{plain(line['name'])}: {plain(line['note'])}" for line in lines if line["note"]]
    return {name: values for name, values in columns.items() if any(values)}, notes


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _rounded(line: Mapping[str, str], name: str) -> str:
    return f"{float(line[name]):.{int(line['digits'])}f}" if line[name] else ""
