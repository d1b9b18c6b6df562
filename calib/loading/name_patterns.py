"""Words from which the meaning of a column or label is guessed."""

from __future__ import annotations

import re

# Each list begins with its strongest pattern.
OUTCOME_NAMES = (
    # These names say that a column is the truth. A column of predicted labels does not have them.
    r"y|y_?true|true_?(label|class|y|outcome|value)?|truth|(.*_)?ground_?truth(_.*)?|.*_truth|gt"
    r"|targets?|outcomes?|(.*_)?(actuals?|gold|observed|observation|obs)|rlz_.*"
    r"|(actual|gold|observed|obs|truth|outcome|target)_.*|.*_(true|outcome|target)",
    r"labels?|class|event|response|results?\d*|(.*_)?(resolution|resolved|winner|won|result)"
    r"|(result|resolution|label|true)_.*|.*_(label|class|result\d*)",
    r".*(default|churn|recid|readmi|death|died|mortality|fraud|convert|conversion|clicked|surviv).*",
    r"positive|win|hit|(.*_)?correct(ness)?|employed|disease|relapsed?",
    # These names hint at any fact.
    r"y_.*|is_.*|.*_flag",
)
# A column with such a name can hold predicted labels.
PREDICTED_NAMES = (r".*pred.*|into|assigned.*|scored_labels?|y_?hat(_.*)?|decision",)
SCORE_NAMES = (
    r"(y_?)?(prob|proba|probs|probability)|y_?(score|hat)|p_?hat|scores?|p|fitted(_values?)?",
    r"(y_?)?(pred|prediction|predicted|predict)|forecast(_.*)?|pd|event_?prob(ability)?",
    r"(prob|proba|score|p|pred)_?(1|yes|true|pos|positive)|pos_prob",
    r".*(prob|likelihood|forecast|logp|log_p).*",
    r"(.*_)?(confidence|conf)(_.*)?",
    r".*(score|pred|risk|logit|odds).*|p_.*|q|xb|oof|.*_oof",
)
# A column with one of these words is computed from the outcome or from the score.
DERIVED_WORDS = {
    *("brier", "resid", "residual", "cooksd", "leverage", "shap", "loss", "error", "sigma"),
    *("threshold", "cutoff", "stdp"),
}
# Arrays with one score per class have these names in a NumPy archive.
SCORE_ARRAYS = (
    r"(y_?)?(probs?|probas?|probabilities|softmax)|y_?(scores?|hat)|scores|p",
    r"(y_?)?(logits|preds?|predictions|outputs?)|log_?probs?",
    r".*(prob|softmax).*",
    r".*(logit|score|pred).*",
)
NAMES_OF_CLASSES = r"(class(es)?|label|target|category|categories)(_?names?)?"
MODEL_NAMES = (
    r"models?|model_?(name|id|version)|checkpoint|ckpt",
    r"classifier|estimator|algorithm|epochs?|steps?|iteration|run",
)
MODEL_SCORE = r"(?P<word>(y_?)?(prob|proba|probability|score|pred|p))_.+"
WEIGHT_NAMES = (
    r"(sample|case|row|obs|instance|survey|sampling|freq(uency)?)_?weights?|.*wgt|freq(uency)?s?",
)
# These names are also those of other weights, such as that of a body.
PERHAPS_WEIGHT_NAMES = (r"weights?|w|wt",)
GROUP_NAMES = (r"groups?|clusters?|group_id|cluster_id",)
# A question that was answered several times has the same id in several rows.
QUESTION_IDS = (r"(sample|question|query|prompt|doc|item|example|instance|problem)_?id",)
SPLIT_NAMES = (r"splits?|subset|partition|sets?|data_?set|part|sample_type", "fold")
FOLD_NAMES = (r"((cv|k)_?)?folds?(_?(id|no|nr|number|index))?",)
TIME_NAMES = (
    r"(valid_?)?(date|time|datetime)|timestamp|ts|.*_(date|time|at)",
    r"day|week|year|month|season|period",
)
# These ids are of single rows. Any other name that ends in "_id" may be shared by many rows.
OWN_IDS = r"(row|case|sample|record|obs|observation|example|instance|prediction)?_?id|uuid|guid"
ID_NAMES = rf"{OWN_IDS}|.*_id"
# Columns of judged rows: the score or the answer of the judge, the gold label, and what else the
# judge wrote.
JUDGE_NAMES = (
    r"(llm_?)?(judge|grader|judgement|judgment)(_?(score|rating|confidence|prob))?|judge_.*",
    r".*_(judge|grader)(_score)?|ratings?|grades?|verdict",
)
GOLD_NAMES = (
    r"gold(en)?(_?(labels?|standard))?|human(_?(labels?|rating|verdict|grade|score))?",
    r"(annotat|expert|reviewer).*|.*_(gold|human)|labels?",
)
JUDGE_WORDS = r".*(explanation|reason|rationale|critique|feedback|comment|judge|grader|verdict).*"
PASS_WORDS = {
    *("1", "true", "yes", "y", "t", "pass", "passed", "correct", "c", "right", "good", "ok"),
    *("positive", "pos", "accept", "accepted", "success"),
}
FAIL_WORDS = {
    *("0", "false", "no", "n", "f", "fail", "failed", "incorrect", "i", "wrong", "bad"),
    *("negative", "neg", "reject", "rejected", "failure"),
}
# Columns of numbers are slices only if they have one of these names.
SLICE_NAMES = (
    r"race|ethnicity|sex|gender|region|country|state|site|segment|cohort|class|category|type",
    r"season|year|quarter|month|weekday",
)

POSITIVE_WORDS = (
    *("1", "true", "yes", "y", "t", "positive", "pos", "+", "+1"),
    *("malignant", "bad", "default", "defaulted", "churned", "spam", "fraud"),
    *("won", "win", "event"),
)
# A column with one of these words has the score of the negative class.
NEGATIVE_WORDS = {
    *("0", "false", "no", "n", "not", "non", "negative", "neg", "minus", "complement", "inverse"),
    *("benign", "good", "ham", "lost", "loss", "repaid", "paid", "stayed", "retained", "none"),
}
# A column with one of these words holds the bound of an interval, or a standard error.
BOUND_WORDS = {
    *("lo", "low", "lower", "lwr", "lb", "lcl", "hi", "high", "upper", "upr", "ub", "ucl"),
    *("ci", "se", "sd", "std", "stderr", "sem"),
}
QUANTILE = r"(.*_)?(q|quantile|pct|perc|percentile)_?\d+(_\d+)?|.*_(2_5|97_5|025|975)"
# In these pairs of labels, one is positive by convention.
PLAIN_PAIRS = ({"0", "1"}, {"-1", "1"}, {"false", "true"})
COMMON_PAIRS = (
    *PLAIN_PAIRS,
    {"no", "yes"},
    {"n", "y"},
    {"f", "t"},
    {"lost", "won"},
    {"loss", "win"},
)
TEST_WORDS = ("test", "testing", "holdout", "hold-out", "eval", "evaluation", "heldout")
CALIBRATION_WORDS = ("cal", "calib", "calibration", "valid", "validation", "val", "dev", "train")


# An outcome with one of these labels is undecided, if its other labels are a common pair.
UNDECIDED_WORDS = {
    *("ambiguous", "annulled", "void", "voided", "cancelled", "canceled", "tie", "tied", "draw"),
    *("push", "no contest", "abandoned", "0.5", "unresolved", "pending"),
}


def is_derived(column: str) -> bool:
    """Whether a column is computed from the outcome or the score, by its name.

    >>> [is_derived(name) for name in ("Your Brier score", ".resid", "p", "threshold")]
    [True, True, False, True]
    """
    return bool(set(plain_name(column).split("_")) & DERIVED_WORDS)


def is_bound(column: str) -> bool:
    """Whether a column holds a bound of an interval of a score, or a standard error, by its name.

    >>> [is_bound(name) for name in ("p", "p_lower", "prob.upr", "q97.5", "hi95", "p_high_risk")]
    [False, True, True, True, True, False]
    """
    name = plain_name(column)
    words = [word.rstrip("0123456789") for word in name.split("_")]
    ends = {words[0], *[word for word in words if word][-1:]}
    return bool(ends & BOUND_WORDS) or re.fullmatch(QUANTILE, name) is not None


LOGARITHM = r"(.*_)?log_?(p|probs?|probabilit(y|ies)|lik|likelihoods?)(_.*)?"


def is_logarithm(column: str) -> bool:
    """Whether a column holds logarithms of probabilities, by its name.

    >>> [is_logarithm(name) for name in ("logprob", "answer_log_prob", "log_p", "p", "logit")]
    [True, True, True, False, False]
    """
    return re.fullmatch(LOGARITHM, plain_name(column)) is not None


# Names that say what a column of confidences holds.
SOURCES_OF_CONFIDENCE = {
    r"(verbali[sz]ed|stated|self_reported)_.*": "stated by the model",
    rf"{LOGARITHM}|p_true": "a token probability",
}


def source_of_confidence(column: str) -> str:
    """What a column of confidences holds, by its name; "" if the name does not say it.

    >>> [source_of_confidence(name) for name in ("verbalized_confidence", "p_true", "confidence")]
    ['stated by the model', 'a token probability', '']
    """
    name = plain_name(column)
    return next((s for p, s in SOURCES_OF_CONFIDENCE.items() if re.fullmatch(p, name)), "")


def plain_name(column: str) -> str:
    """A column's name in lower-case words joined by underscores: P(yes) is p_yes."""
    # Names can be very long, and the patterns need only their first words.
    return re.sub(r"[^0-9a-z+]+", "_", column[:80].casefold()).strip("_")
