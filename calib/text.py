"""Numbers, counts, lists and names as text: the one place for pages, charts, reports and errors.

A negative number has a minus sign (−), a number that rounds to zero has no sign, and a dash (–)
stands for an unknown number.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from datetime import date, datetime, timedelta

from calib.numerics.intervals import Estimate

MINUS, UNKNOWN, INFINITE = "−", "–", "∞"
# The names of strftime depend on the machine's language, so they are listed here.
NAMES_OF_PEOPLE = ("Brier", "Kuiper")
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
MAX_DECIMALS = 16
LOSS_DIGITS = 4  # All log losses of a page or a report have these decimals.
# More decimals of a percentage show differences that matter to nobody; such rates are equal.
MAX_PERCENT_DIGITS = 3
# No data set has rows enough for a smaller rate, but the end of an interval may be one.
MIN_RATE = 1e-9
LEAST_RATE = 1e-6  # Smaller rates would be written as powers of ten, which readers stumbled over.

MAX_QUOTE_LENGTH = 60
MAX_NAME_LENGTH = 24
CROSSED = " × "  # The sign stands between the parts of a crossed slice's name.

SCALE = re.compile(r" \(o[nf] [^()]*\)")
SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|$~:&])")
# Escaping Markdown does not stop Streamlit from reading addresses, icons, emoji and arrows, because
# it looks for them after the escapes are resolved. An invisible word joiner separates their parts.
JOINER = "\u2060"
ACTIVE = re.compile(
    r"(?<=:)(?=//)|(?<=:)(?=[\w+/-]+:)|(?<=www)(?=\.)|(?<=[\w.+-])(?=@)|(?<=[<~>-])(?=[->=]+(\s|$))",
    re.IGNORECASE,
)
MENTION = re.compile(r"(?<=@)|(?<=\])(?=\()")
SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
CODE = re.compile(r"(`[^`]+`)")
PRINTED_ARRAY = re.compile(r"\[[-+\d.,einfa\s\[\]]{60,}\]")
# A cell that begins so, also after blanks or line breaks, is a formula in Excel, LibreOffice or
# Google Sheets. Full-width signs start one in East Asian settings.
FORMULA = re.compile(r"\s*[=+\-@|%＝＋－＠]")
# If a number is not zero, its text has a digit other than 0 before the power of ten.
SIZE = re.compile(r"[^e]*[1-9∞]")


def number(value: float, digits: int = 4) -> str:
    return _written(value, f",.{digits}f")


def signed(value: float, digits: int = 4) -> str:
    return _written(value, f"+,.{digits}f")


def _written(value: float, form: str) -> str:
    if math.isnan(value):
        return UNKNOWN
    text = f"{value:{form}}"
    if 0.0 < value < math.inf and form[0] != "+":
        return text
    text = text.replace("inf", INFINITE)
    if not SIZE.match(text):
        return text.lstrip("+-")
    return MINUS + text[1:] if text.startswith("-") else text


def rounded(value: float, digits: int) -> float:
    """The number with this many significant digits."""
    return float(f"{value:.{digits}g}")


def significant(value: float, digits: int = 3) -> str:
    """A number in significant digits; very small and very large ones as powers of ten."""
    text = _written(rounded(value, digits), ",.15g")
    return re.sub(r"e(-?)\+?0*", r"e\1", text)


def count(value: float) -> str:
    """A number of rows or of other things, or a weight."""
    # Sums of whole weights may differ from whole numbers by rounding.
    whole = not math.isfinite(value) or abs(value - round(value)) < 1e-6
    return number(value, 0 if whole else 1)


def plural(number_of: int, noun: str) -> str:
    ending = "" if number_of == 1 else "es" if noun.endswith(("s", "ch")) else "s"
    return f"{count(number_of)} {noun}{ending}"


def joined(parts: Sequence[str], total: int | None = None) -> str:
    """Words in a row: "a, b and c", or "a, b and 7 more" if `total` exceeds their number."""
    more = 0 if total is None else total - len(parts)
    if more > 0:
        return f"{', '.join(parts)} and {count(more)} more"
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def listed(names: Sequence[object], most: int | None = None) -> str:
    """Names from a file in a row, quoted; of many the first `most`."""
    return joined([quoted(name) for name in names[:most]], len(names))


def between(low: float, high: float, digits: int = 4, *, sign: bool = False) -> str:
    written = signed if sign else number
    return f"{written(low, digits)} to {written(high, digits)}"


def interval(estimate: Estimate, digits: int = 4, *, sign: bool = False) -> str:
    """The bounds of an estimate, or "" if it has none."""
    return (
        "" if math.isnan(estimate.low) else between(estimate.low, estimate.high, digits, sign=sign)
    )


def with_interval(estimate: Estimate, digits: int = 4, *, sign: bool = False) -> str:
    """An estimate, and its bounds if it has any."""
    value = (signed if sign else number)(estimate.value, digits)
    bounds = interval(estimate, digits, sign=sign)
    return f"{value} ({bounds})" if bounds else value


def decimals(estimate: Estimate, most: int = 4) -> int:
    """Decimals that the interval supports: half of it keeps two digits."""
    half = (estimate.high - estimate.low) / 2.0
    # If there is no interval, or its width is 0, it does not limit the digits.
    if not (math.isfinite(half) and half > 0.0):
        return most
    return min(most, max(0, 1 - math.floor(math.log10(half))))


def adding_up(
    before: float, after: float, change: Estimate, printed: int | None = None
) -> tuple[str, str, str]:
    """Two log losses and their change, which is the difference of the printed numbers.

    All log losses have the same decimals; the change has as many as its interval supports, or
    `printed` ones.

    >>> adding_up(0.46556, 0.36432, Estimate(-0.10124, -0.129, -0.075))
    ('0.4656', '0.3643', '−0.101')
    """
    digits = min(decimals(change) if printed is None else printed, LOSS_DIGITS)
    difference = round(after, LOSS_DIGITS) - round(before, LOSS_DIGITS)
    return number(before, LOSS_DIGITS), number(after, LOSS_DIGITS), signed(difference, digits)


def printed_change(before: float, after: float, digits: int = 4) -> str:
    """The difference of two numbers as they are printed, which a reader of a table finds, too.

    >>> printed_change(0.46556, 0.36432), signed(0.36432 - 0.46556)
    ('−0.1013', '−0.1012')
    """
    return signed(round(after, digits) - round(before, digits), digits)


def p_value(p: float) -> str:
    if math.isnan(p):
        return "cannot be estimated"
    if p < 0.001:
        return "p < 0.001"
    return "p > 0.99" if p > 0.99 else f"p = {p:.3f}"


def percent(rate: float, digits: int = 1) -> str:
    """A rate as a percentage; one below 0.1% keeps two digits, down to one in 1,000,000.

    >>> percent(0.25), percent(0.000123), percent(6.2e-9), percent(2.9e-25)
    ('25.0%', '0.012%', '< 0.0001%', '0.0%')
    """
    if MIN_RATE <= rate < LEAST_RATE:
        return "< 0.0001%"
    if MIN_RATE <= abs(rate) < 0.001:
        return f"{significant(100.0 * rate, 2)}%"
    return number(100.0 * rate, digits) + ("" if math.isnan(rate) else "%")


def percent_with_interval(estimate: Estimate, digits: int = 1) -> str:
    """A rate and its bounds as percentages.

    >>> percent_with_interval(Estimate(0.7, 0.65, 0.7512)), percent_with_interval(Estimate(0.7))
    ('70.0% (65.0% to 75.1%)', '70.0%')
    """
    if math.isnan(estimate.low):
        return percent(estimate.value, digits) or UNKNOWN
    low, high = percent(estimate.low, digits), percent(estimate.high, digits)
    return f"{percent(estimate.value, digits)} ({low} to {high})"


def between_percents(low: float, high: float) -> str:
    """
    >>> between_percents(0.071, 0.1051)
    '7.1% to 10.5%'
    """
    return f"{percent(low)} to {percent(high)}"


def percents(
    first: float, second: float, digits: int = 1, *, distinct: bool = True
) -> tuple[str, str]:
    """Two rates as percentages, with at least `digits` decimals and enough to be distinct.

    Rates whose difference is not seen in three decimals are written as equal.

    >>> percents(0.2504, 0.2501), percents(1.0, 0.999999), percents(0.12, 0.34)
    (('25.04%', '25.01%'), ('100.0%', '100.0%'), ('12.0%', '34.0%'))
    """
    pairs = [(percent(first, n), percent(second, n)) for n in range(digits, MAX_PERCENT_DIGITS + 1)]
    return next((pair for pair in pairs if pair[0] != pair[1] or not distinct), pairs[0])


def score_percents(*scores: float) -> tuple[str, ...]:
    """Scores as percentages, with more decimals near 0% and 100%, and enough to be distinct.

    >>> score_percents(0.6, 0.0042), score_percents(0.421, 0.424)
    (('60%', '0.4%'), ('42.1%', '42.4%'))
    """

    def as_text(score: float, digits: int) -> str:
        distance = min(score, 1.0 - score)
        if distance == 0.0:
            return f"{number(100.0 * score, 0)}%"
        more = -2 - math.floor(math.log10(distance)) if 0.0 < distance < 0.01 else 0
        return f"{number(100.0 * score, min(digits + more, MAX_DECIMALS))}%"

    different = len(set(scores))
    texts = [tuple(as_text(score, digits) for score in scores) for digits in range(6)]
    return next((written for written in texts if len(set(written)) == different), texts[-1])


def score_percent(score: float) -> str:
    """One score or threshold as a percentage, with the decimals of `probability` that are not 0.

    >>> score_percent(0.5), score_percent(0.229), score_percent(0.99952)
    ('50%', '22.9%', '99.952%')
    """
    digits = max(1, len(probability(score).partition(".")[2]) - 2)
    return f"{number(100.0 * score, digits).rstrip('0').rstrip('.')}%"


def points(difference: float, digits: int = 1) -> str:
    """A difference of two rates in percentage points, with its sign."""
    return signed(100.0 * difference, digits)


def period(name: str, unit: str) -> str:
    """The name of a period within a sentence.

    >>> period("2025-09", "month"), period("week of 2025-09-01", "week")
    ('September 2025', 'the week of 2025-09-01')
    """
    if unit == "month":
        year, month = name.split("-")
        return f"{MONTHS[int(month) - 1]} {year}"
    return f"the {name}" if unit == "week" else name


def level(share: float) -> str:
    return f"{100.0 * share:g}%"


def probability(p: float, digits: int = 3) -> str:
    """A probability with its decimals, and with more if it is near 0 or 1."""
    distance = min(p, 1.0 - p)
    if distance >= 0.01:
        # The result is that of `number` in a third of the time; a chart may have a thousand of
        # them.
        return f"{p:.{digits}f}"
    if not distance > 0.0:
        return number(p, digits)
    return number(p, min(max(digits, digits - 2 - math.floor(math.log10(distance))), MAX_DECIMALS))


def span(low: float, high: float) -> str:
    """A range of scores, with enough decimals for its ends to be distinct.

    >>> span(0.2, 0.35), span(0.421, 0.4239)
    ('20% to 35%', '42.10% to 42.39%')
    """
    width = high - low
    more = max(2, 1 - math.floor(math.log10(width) + 1e-9)) if width > 0.0 else 2
    digits = min(more, MAX_DECIMALS) - 2
    ends = (number(100.0 * end, digits) for end in (low, high))
    return " to ".join(end if end == UNKNOWN else f"{end}%" for end in ends)


def moment(time: datetime) -> str:
    return f"{day_words(time)}, {time:%H:%M} UTC"


def day_words(day: date) -> str:
    """A day in words.

    >>> day_words(date(2026, 5, 1))
    '1 May 2026'
    """
    return _day(day)


def _day(day: date, *, year: bool = True, month: bool = False) -> str:
    parts = ("" if month else day.day, MONTHS[day.month - 1], day.year if year else "")
    return " ".join(str(part) for part in parts if part)


def until_and_since(day: date) -> tuple[str, str]:
    """The last day before a day, and the day; or the months, if it is the first of one.

    >>> until_and_since(date(2026, 5, 1)), until_and_since(date(2026, 1, 1))
    (('April', 'May 2026'), ('December 2025', 'January 2026'))
    >>> until_and_since(date(2026, 5, 4))
    ('3 May', '4 May 2026')
    """
    last, is_month = day - timedelta(1), day.day == 1
    # The year is written once if both have it.
    until, since = _day(last, year=last.year != day.year, month=is_month), _day(day, month=is_month)
    return until, since


def days_between(first: date, last: date) -> str:
    """Two days, with the year once if both have it.

    >>> days_between(date(2026, 5, 1), date(2026, 6, 4))
    '1 May to 4 June 2026'
    """
    return f"{_day(first, year=first.year != last.year)} to {day_words(last)}"


def factor(exponent: float) -> str:
    """A power of ten that is given by its exponent, such as evidence.

    >>> factor(-0.301), factor(2.0), factor(12.4), factor(float("nan"))
    ('0.50', '100', '10¹²', '–')
    """
    if math.isnan(exponent):
        return UNKNOWN
    if exponent >= 6.0:
        return f"10{str(math.floor(exponent)).translate(SUPERSCRIPT)}"
    if exponent >= 1.0:
        return count(10.0**exponent)
    return number(10.0**exponent, 2) if exponent >= -2.0 else "below 0.01"


def quoted(value: object, longest: int = MAX_QUOTE_LENGTH) -> str:
    """A name or cell of a file, fit to stand in a sentence, in at most `longest` characters."""
    text = str(value)[: longest + 1].replace("`", "'")
    text = "".join(c if c.isprintable() else " " for c in text).strip()
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return f"`{text}`" if text else "(blank)"


def plain(text: str) -> str:
    r"""Text from a file that Markdown shows unchanged. Otherwise an image in it would be loaded.

    All text that comes from data, a link or a report passes here on its way to Markdown: to
    sentences and to labels, and to the options of pills, radio buttons and segmented controls.
    Options of select boxes, cells of data frames and input fields are not Markdown.
    """
    return SPECIAL.sub(r"\\\1", ACTIVE.sub(JOINER, " ".join(text.split())))


def without_arrays(message: str) -> str:
    r"""The message of an exception on one line, in which "[...]" stands for a long array.

    NumPy and SciPy print the array that they refuse, which can have thousands of numbers.

    >>> without_arrays("Out of bounds w/ x = [" + "0.25 " * 20 + "\n 0.5].")
    'Out of bounds w/ x = [...].'
    """
    return " ".join(PRINTED_ARRAY.sub("[...]", message).split())


def sentence(text: str) -> str:
    """A sentence that names parts of a file in backticks: these stay code, all else is text."""
    parts = CODE.split(" ".join(text.split()))
    # Streamlit replaces icons in code too.
    return "".join(
        part.replace(":material/", f":{JOINER}material/")
        if CODE.fullmatch(part)
        else SPECIAL.sub(r"\\\1", ACTIVE.sub(JOINER, part))
        for part in parts
    )


def chat(text: str) -> str:
    r"""A sentence that names parts of a file in backticks, as a message that chat programs show.

    Slack reads "<!channel>" and "<address|words>" even in code, so its three signs are written as
    it asks for. Other programs read addresses, links of Markdown and "@all".

    >>> chat("`<!here>` and `[x](https://y)`").replace(JOINER, "")
    '`&lt;!here&gt;` and `[x](https://y)`'
    """
    broken = MENTION.sub(JOINER, ACTIVE.sub(JOINER, text))
    return html.escape(broken, quote=False)


def escaped(text: str) -> str:
    """A name as literal text of a chart: plotly would read tags, entities and %{...} in it."""
    return html.escape(text, quote=False).replace("%{", "%&#123;")


def shortened(name: str) -> str:
    """A name that fits beside an axis or in a legend; of crossed slices a piece of either."""
    if len(name) <= MAX_NAME_LENGTH:
        return name
    parts = name.split(CROSSED)
    room, cut = MAX_NAME_LENGTH - len(CROSSED) * (len(parts) - 1), dict.fromkeys(parts, "")
    # Longer parts get the characters that short parts do not need.
    for left, part in zip(range(len(cut), 0, -1), sorted(cut, key=len), strict=True):
        most = max(room // left, 2)
        cut[part] = part if len(part) <= most else f"{part[: most - 1]}…"
        room -= len(cut[part])
    return CROSSED.join(cut[part] for part in parts)


def within_sentence(name: str) -> str:
    """A name within a sentence; abbreviations and names of people keep their capitals.

    >>> within_sentence("Log loss"), within_sentence("ECE, 15 bins"), within_sentence("Brier score")
    ('log loss', 'ECE, 15 bins', 'Brier score')
    """
    keeps = name[:2].isupper() or name.split()[0] in NAMES_OF_PEOPLE
    return name if keeps else f"{name[0].lower()}{name[1:]}"


def without_scale(label: str) -> str:
    """The label of a method without what it is a function of.

    >>> without_scale("Platt scaling (on scores)"), without_scale("Stack (of calibrators)")
    ('Platt scaling', 'Stack')
    >>> without_scale("Dirichlet (L2)")
    'Dirichlet (L2)'
    """
    return SCALE.sub("", label)


def formula(code: str) -> str:
    """A formula as pages and reports write it: with minus signs, and 1e-8 in place of 1e-08.

    >>> formula("1 / (1 + exp(-logit(s) / 2.25)) - 1e-08")
    '1 / (1 + exp(−logit(s) / 2.25)) − 1e-8'
    """
    text = re.sub(r"(?<=\de)-0(?=\d)", "-", code)
    return re.sub(r"(?<!\w)-(?=[\w.( ])", MINUS, text)


NUMBER = re.compile(r"-?\d+(\.\d+)?")


def numbers_of(names: Sequence[str]) -> tuple[float, ...] | None:
    """The number in each name, if the names differ only in it, otherwise None."""
    matches = [list(NUMBER.finditer(name)) for name in names]
    if not names or not all(matches):
        return None
    # A name may have other numbers, such as a seed; the last one counts.
    last = [numbers[-1] for numbers in matches]
    around = {
        (name[: match.start()], name[match.end() :])
        for name, match in zip(names, last, strict=True)
    }
    values = tuple(float(match.group()) for match in last)
    if len(around) > 1 or len(set(values)) < len(values):
        return None
    return values
