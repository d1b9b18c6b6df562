"""What hangs in the gallery: a paper's point, what can be opened, and which numbers are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from calib.settings import Settings
from calib.ui.links import Link, Look

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
    link : Link
    """

    key: str
    label: str
    page: str
    link: Link


@dataclass(frozen=True, slots=True)
class Exhibit:
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


EXHIBITS = (
    Exhibit(
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
                Link(
                    Settings(methods=("platt", "isotonic", "spline")),
                    Look(knots=True),
                    "random_forest",
                ),
            ),
            Opening(
                "compact_logit",
                "Move the compact logit's epsilon",
                "Functions",
                Link(
                    Settings(methods=("splinecalib", "spline"), epsilon=0.01),
                    Look(over_epsilon=("splinecalib", "spline")),
                    "naive_bayes",
                ),
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
    Exhibit(
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
                Link(
                    Settings(methods=("temperature", "beta", "ks_spline", "spline")),
                    Look(shown=("uncalibrated", "ks_spline")),
                    "naive_bayes",
                ),
            ),
        ),
        {
            "ks_resnet110": "ResNet-110, uncalibrated",
            "ks_wideresnet": "WideResNet, before and after",
        },
        "ks_resnet110",
        "Four cumulative panels of ResNet-110: confidence above accuracy.",
    ),
    Exhibit(
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
                Link(
                    Settings(
                        methods=("platt", "logistic", "isotonic", "beta", "beta_am", "beta_ab")
                    ),
                    Look(),
                    "naive_bayes",
                ),
            ),
            Opening(
                "boosting",
                "The same for boosted trees",
                "Compare",
                Link(
                    Settings(
                        methods=("platt", "logistic", "isotonic", "beta", "beta_am", "beta_ab")
                    ),
                    Look(),
                    "boosting",
                ),
            ),
        ),
        {"beta": "Losses on six sets", "beta_ranks": "Mean ranks and their tests"},
        "beta_ranks",
        "Mean ranks of six methods over six sets, with critical differences.",
    ),
    Exhibit(
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
                Link(
                    Settings(methods=("platt", "isotonic", "ispline", "pwl"), n_bins=10),
                    Look(axis="logit", shown=("uncalibrated", "ispline")),
                    "rare_event",
                ),
            ),
        ),
        {"google_rare_event": "Loss, its parts, and AUC"},
        "google_rare_event",
        "Reliability of the re-weighted model and of five repairs on log-odds axes.",
    ),
    Exhibit(
        "The expected calibration error by hand",
        "A blog post on the ECE with two worked examples",
        "Ten rows, three bins, 0.241; ten labels, three bins, 0.194. The listing beside them "
        "passes as many edges as it wants bins and gets one bin fewer: 0.103 and 0.042.",
        (
            Opening(
                "ten_rows",
                "Open the ten rows",
                "Reliability",
                Link(Settings(strategy="uniform", n_bins=3), Look(), "ten_rows"),
            ),
            Opening(
                "ten_labels",
                "Open the ten labels",
                "Reliability",
                Link(Settings(strategy="uniform", n_bins=3), Look(), "ten_labels"),
            ),
        ),
        {"ece_blog": "Worked errors, and those of the listing"},
        "ece_blog",
        "Three bins of ten rows, whose intervals all reach the diagonal.",
    ),
    Exhibit(
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
                Link(Settings(), Look(lines=("corp",)), "logistic"),
            ),
        ),
        {"corp": "Ten decompositions of the Brier score"},
        "corp",
        "Ten CORP diagrams with their bands.",
    ),
)
OPENINGS = tuple(opening for exhibit in EXHIBITS for opening in exhibit.openings)
