"""What hangs in the gallery: a paper's point, what can be opened, and which numbers are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calib.ui.choice import Choice
from calib.ui.choices import (
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
from calib.ui.links import Link

BETA_FAMILY = ("platt", "logistic", "isotonic", "beta", "beta_am", "beta_ab")


@dataclass(frozen=True, slots=True)
class Opening:
    """A built-in example with the settings and the page that show a paper's point.

    Attributes
    ----------
    key : str
        Of the button.
    label, page : str
        What the button says, and the page's title.
    example : str
        Key of the example.
    values : mapping
        What is chosen.
    """

    key: str
    label: str
    page: str
    example: str
    values: Mapping[Choice[Any], Any]

    @property
    def link(self) -> Link:
        """What opens it."""
        return Link(Chosen.of(self.values), self.example)


@dataclass(frozen=True, slots=True)
class GalleryEntry:
    """One paper: its point, what can be opened, and its numbers beside ours.

    Attributes
    ----------
    title, source, story : str
    openings : tuple of Opening
    numbers : mapping of str to str
        Titles of tables, by the name of their file among the reproductions.
    picture, alt : str
        Name of the picture among the reproductions, and what it shows.
    """

    title: str
    source: str
    story: str
    openings: tuple[Opening, ...]
    numbers: Mapping[str, str]
    picture: str
    alt: str


ENTRIES = (
    GalleryEntry(
        "SplineCalib: smooth maps on a stretched scale",
        "Lucena 2018, arXiv:1809.07751",
        "The map from score to probability is a smooth curve of the log-odds, fitted on a scale "
        "that gives scores near 0 and 1 room: the compact logit. The table holds the paper's log "
        "losses on Adult, the picture the calibration of a random forest, read in four panels.",
        (
            Opening(
                "forest",
                "Read a random forest",
                "Functions",
                "random_forest",
                {METHODS: ("platt", "isotonic", "spline"), KNOTS: True},
            ),
            Opening(
                "compact_logit",
                "Move the compact logit's epsilon",
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
        "KS error: calibration without bins",
        "Gupta et al. 2021, arXiv:2006.12800",
        "Add up what was predicted and what came true along the scores: their largest gap is the "
        "KS error, and the slope of the gap says where. The picture shows ResNet-110 on CIFAR-10, "
        "too sure nearly everywhere; the tables the networks before and after calibration.",
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
        "Beta calibration: one formula more than logistic",
        "Kull, Silva Filho, Flach 2017",
        "Logistic curves cannot leave scores that are right alone, nor pull overconfident ones "
        "back to the middle; three parameters can. Six UCI sets, naive Bayes and boosted trees, "
        "ten times five folds: beta ranks first by log loss among uncalibrated, Platt, isotonic "
        "and beta.",
        (
            Opening(
                "beta",
                "Compare the beta family",
                "Compare",
                "naive_bayes",
                {METHODS: BETA_FAMILY},
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
        "Counting rare events many times over keeps the ranking and ruins every probability. "
        "Dividing the odds by the weight repairs nearly all of it, and strictly rising maps leave "
        "AUC alone to its eighth digit.",
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
        "Reliability of the re-weighted model and of five repairs on log-odds axes.",
    ),
    GalleryEntry(
        "The expected calibration error by hand",
        "A blog post on the ECE with two worked examples",
        "Ten rows, three bins, 0.241; ten labels, three bins, 0.194. The listing beside them "
        "passes as many edges as it wants bins and gets one bin fewer: 0.103 and 0.042.",
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
        {"ece_blog": "Worked errors, and those of the listing"},
        "ece_blog",
        "Three bins of ten rows, whose intervals all reach the diagonal.",
    ),
    GalleryEntry(
        "CORP: let the data choose the bins",
        "Dimitriadis, Gneiting, Jordan 2021, doi:10.1073/pnas.2016191118",
        "Isotonic regression is a reliability diagram that needs no bins, and splits the Brier "
        "score exactly: miscalibration, discrimination, uncertainty. Rain in Niamey, solar flares "
        "and recidivism: all thirty printed numbers.",
        (
            Opening(
                "corp",
                "See the CORP line of a nearly right model",
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
OPENINGS = tuple(opening for entry in ENTRIES for opening in entry.openings)
