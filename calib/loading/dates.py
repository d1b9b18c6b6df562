"""One column read as times: dates as programs and people of several countries write them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from calib.loading.columns import MISSING_WORDS, as_numbers
from calib.numerics.arrays import FloatArray, IntArray

CALENDAR = (1900_01_01, 2100_12_31)  # Whole numbers in this range may be days, such as 20241231.
YEARS = range(1900, 2101)
LOOK_ROWS = 1_000
PIVOT_YEAR = 69  # POSIX reads the year 68 as 2068 and 69 as 1969.
# These are names without accents, in English, German, French, Spanish, Italian, Portuguese, Dutch,
# Swedish, Danish, Polish (both cases), Turkish and Russian, and abbreviations that begin no name.
MONTHS = tuple(
    map(
        str.split,
        (
            "january januar janvier enero gennaio janeiro januari styczen stycznia ocak январь",
            "february februar fevrier febrero febbraio fevereiro februari luty lutego subat "
            "февраль",
            "march marz maerz mars marzo marco maart marts marzec marca mart март mrz mrt",
            "april avril abril aprile kwiecien kwietnia nisan апрель",
            "may mai mayo maggio maio mei maj maja mayis май мая",
            "june juni juin junio giugno junho czerwiec czerwca haziran июнь",
            "july juli juillet julio luglio julho lipiec lipca temmuz июль",
            "august aout agosto augustus augusti sierpien sierpnia agustos август",
            "september septembre septiembre settembre setembro wrzesien wrzesnia eylul сентябрь",
            "october oktober octobre octubre ottobre outubro pazdziernik pazdziernika ekim октябрь",
            "november novembre noviembre novembro listopad listopada kasim ноябрь",
            "december dezember decembre diciembre dicembre dezembro desember grudzien grudnia "
            "aralik декабрь",
        ),
    )
)
WEEKDAYS = (
    *("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"),
    *("montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"),
    *("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
    *("lunes", "martes", "miercoles", "jueves", "viernes", "sabado", "domingo"),
    *("lunedi", "martedi", "mercoledi", "giovedi", "venerdi", "sabato", "domenica"),
)
FILLERS = {"de", "del", "of", "the", "den", "r", "г", "st", "nd", "rd", "th", "er"}
ZONE = r"(?:z|utc|gmt|[a-z]{2,3}t|[+-]\d{2}:?\d{2}|[+-]\d{2})"
TIME_OF_DAY = re.compile(
    rf"(?:(?<=\d)t|[\s,:]+)\d{{1,2}}:\d{{2}}(?::\d{{2}}(?:[.,]\d+)?)?\s*(?:[ap]\.?\s?m\.?)?\s*"
    rf"(?P<zone>{ZONE})?(?:\s*\[[^\]]*\]|\s*\(?[a-z/_]+\)?)?(?=\s|$)"
)
CLOCK = r"\s+\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?$"
ISO_ZONE = r"(\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?)\s*(Z|[+-]\d{2}(?::?\d{2})?)$"
NUMERIC = re.compile(r"(\d{1,4})(\s*[./\-\s]\s*)(\d{1,2})\s*[./\-\s]\s*(\d{1,4})\.?")
MONTH_YEAR = re.compile(r"(\d{1,2})[./\-](\d{4})")
YEAR_MONTH = re.compile(r"(\d{4})\s*[./\-m]\s*(\d{1,2})")
MONTH_AND_YEAR = r"\s*(0?[1-9]|1[0-2])\.(19|20)\d\d\s*"
CHINESE = re.compile(r"(\d{4})\s*[年년]\s*(\d{1,2})\s*[月월]\s*(?:(\d{1,2})\s*[日일]?)?")
PART = r"(?P<kind>q|t|h|s|w|kw|week)"
YEAR = r"(?P<year>\d{4}|\d{2})"
PARTS = (
    re.compile(rf"{PART}\s*(?P<part>\d{{1,2}})[\s\-/.,']*{YEAR}"),
    re.compile(rf"(?P<year>\d{{4}})[\s\-/.]*{PART}\s*(?P<part>\d{{1,2}})"),
    re.compile(rf"(?P<part>\d)\.?\s*(?P<kind>q|h|t|quarter|quartal|trimestre)[\s\-/.,']*{YEAR}"),
)
MONTHS_OF = {"q": 3, "t": 3, "h": 6, "s": 6}
WORD_OR_NUMBER = re.compile(r"[^\W\d_]+|\d+")
ORDERS = {"dmy": (2, 1, 0), "mdy": (2, 0, 1), "ymd": (0, 1, 2)}

Triple = tuple[str, str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """A column as times.

    `values` is None if the cells are neither numbers nor dates, or if they are `unclear`: dates
    both with the day first and with the month first. `unread` are rows whose cell is neither
    missing nor a date, although others are dates. If the times are `zoned`, the values are the
    local days and times in their zone, because they were not converted to UTC.
    """

    values: NDArray[np.generic] | None
    unread: IntArray
    unclear: bool = False
    zoned: bool = False


def as_times(column: pd.Series, *, day_first: bool | None = None, utc: bool = False) -> Times:
    """Read a column as dates, or as numbers such as years.

    `day_first` says whether the day stands before the month if both are possible. With `utc`, times
    with an offset are converted to UTC, but not those with the name of a zone.
    """
    none = np.empty(0, dtype=np.int64)
    if pd.api.types.is_datetime64_any_dtype(column.dtype):
        zoned = isinstance(column.dtype, pd.DatetimeTZDtype)
        if zoned and utc:
            column, zoned = column.dt.tz_convert("UTC"), False
        local = column.dt.tz_localize(None) if column.dt.tz is not None else column
        return Times(local.to_numpy(dtype="datetime64[us]"), none, zoned=zoned)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return Times(_days(column.to_numpy(dtype=np.float64, na_value=np.nan)), none)
    # Only the first rows show whether a column of texts has numbers, because reading all of a
    # million texts takes long. Numbers such as 10.2000 may be months.
    head = column.head(LOOK_ROWS)
    months = head.dropna().astype(str).str.fullmatch(MONTH_AND_YEAR).all()
    if not months and not len(as_numbers(head).text):
        numbers = as_numbers(column)
        if not len(numbers.text) and bool(np.isfinite(numbers.values).any()):
            return Times(_days(numbers.values), none)
    codes, distinct = pd.factorize(column.astype(str), use_na_sentinel=False)
    cells = pd.Series(distinct, dtype=str).str.strip().str.casefold()
    first_rows = np.unique(codes, return_index=True)[1]
    missing = cells.isin(MISSING_WORDS).to_numpy() | column.isna().to_numpy()[first_rows]
    dates, unclear, zoned = _read_cells(cells, missing, day_first, utc)
    is_date = ~np.isnat(dates)
    if unclear or 2 * is_date.sum() < (~missing).sum() or not is_date.any():
        return Times(None, none, unclear=unclear)
    return Times(dates[codes], np.flatnonzero((~is_date & ~missing)[codes]), zoned=zoned)


def _read_cells(
    cells: pd.Series, missing: NDArray[np.bool_], day_first: bool | None, utc: bool
) -> tuple[NDArray[np.datetime64], bool, bool]:
    """Dates of distinct cells, whether their order is unclear, and whether they keep a zone."""
    upper = cells.str.upper()
    local = upper.str.replace(ISO_ZONE, r"\1", regex=True)
    zoned = not utc and bool((local.str.len() != cells.str.len()).any())
    if utc:
        with_offset = upper.str.replace(ISO_ZONE, r"\1\2", regex=True)
        moments = pd.to_datetime(with_offset, errors="coerce", format="ISO8601", utc=True)
        dates = moments.dt.tz_localize(None).to_numpy("datetime64[us]")
    else:
        dates = pd.to_datetime(local, errors="coerce", format="ISO8601").to_numpy("datetime64[us]")
    other = np.flatnonzero(np.isnat(dates) & ~missing)
    if not len(other):
        return dates, False, zoned
    # Without the time of day there are few distinct cells to read.
    without_clock = cells.iloc[other].str.replace(CLOCK, "", regex=True)
    codes, distinct = pd.factorize(without_clock)
    times = [TIME_OF_DAY.search(cell) for cell in distinct]
    zoned |= any(time is not None and time["zone"] is not None for time in times)
    plain = [TIME_OF_DAY.sub("", cell).strip() for cell in distinct]
    days = {cell: _day(cell) for cell in plain}
    triples = {cell: parts for cell, parts in days.items() if isinstance(parts, tuple)}
    triple_days, unclear = _ordered_days(triples, day_first)
    read = [triple_days.get(cell, days[cell]) for cell in plain]
    values = [np.datetime64(day if isinstance(day, date) else "NaT", "us") for day in read]
    dates = dates.copy()
    dates[other] = np.array(values, dtype="datetime64[us]")[codes]
    return dates, unclear, zoned


def _day(cell: str) -> date | Triple | None:
    """The day that a cell means, its parts if their order is unclear, or None."""
    if match := NUMERIC.fullmatch(cell):
        first, mark, second, third = match.groups()
        if len(first) == 4:
            return _date(first, second, third)
        if len(first) > 2 or len(third) not in (2, 4):
            return None
        return _date(third, second, first) if mark.strip() == "." else (first, second, third)
    if match := MONTH_YEAR.fullmatch(cell):
        return _date(match[2], match[1], "1")
    if match := YEAR_MONTH.fullmatch(cell):
        # A season such as 2019/20 begins in its first year.
        is_season = (int(match[1]) + 1) % 100 == int(match[2])
        return _date(match[1], match[2], "1") or (_date(match[1], "1", "1") if is_season else None)
    if match := CHINESE.fullmatch(cell):
        return _date(match[1], match[2], match[3] or "1")
    for pattern in PARTS:
        if match := pattern.fullmatch(cell):
            return _part(match["kind"], int(match["part"]), _year(match["year"]))
    return _day_of_named_month(cell)


def _date(year: str, month: str, day: str) -> date | None:
    try:
        return date(_year(year), int(month), int(day))
    except ValueError:
        return None


def _year(text: str) -> int:
    year = int(text)
    return year if len(text) == 4 else year + (2000 if year < PIVOT_YEAR else 1900)


def _part(kind: str, part: int, year: int) -> date | None:
    """The first day of a quarter, half or week of a year."""
    try:
        if kind in ("w", "kw", "week"):
            return date.fromisocalendar(year, part, 1)
        return date(year, MONTHS_OF[kind[0]] * (part - 1) + 1, 1)
    except ValueError:
        return None


def _day_of_named_month(cell: str) -> date | None:
    """A date with the name of its month, such as 1 Jul 2023, July 1, 2023, 01JUL2023 or Jul-23."""
    tokens = WORD_OR_NUMBER.findall(cell)
    words = [plain for token in tokens if (plain := _plain(token)) and not token.isdigit()]
    numbers = [token for token in tokens if token.isdigit()]
    if len(words) > 1 and len(words[0]) > 1 and any(w.startswith(words[0]) for w in WEEKDAYS):
        words = words[1:]
    months = [MONTH_NUMBERS[word] for word in words if word in MONTH_NUMBERS]
    if len(months) != 1 or any(w not in MONTH_NUMBERS and w not in FILLERS for w in words):
        return None
    if len(numbers) == 1:
        # Jul-23 is a month, but 23-Jul is a day without a year.
        short = len(numbers[0]) == 2 and not tokens[0].isdigit()
        return _date(numbers[0], str(months[0]), "1") if len(numbers[0]) == 4 or short else None
    if len(numbers) != 2:
        return None
    day, year = reversed(numbers) if len(numbers[0]) == 4 else numbers
    return _date(year, str(months[0]), day) if len(year) in (2, 4) and len(day) < 3 else None


def _plain(word: str) -> str:
    """A word without accents."""
    parts = unicodedata.normalize("NFKD", word)
    return "".join(part for part in parts if not unicodedata.combining(part)).replace("ı", "i")


def _prefixes(names: Iterable[Iterable[str]]) -> dict[str, int]:
    """Numbers of months by their names and the beginnings of these that begin no other month."""
    months_of: dict[str, set[int]] = {}
    for month, words in enumerate(names, 1):
        for word in map(_plain, words):
            for length in range(3, len(word) + 1):
                months_of.setdefault(word[:length], set()).add(month)
    # Russian dates have the month in the genitive: 5 января.
    months_of |= {
        f"{stem}я": numbers for stem, numbers in months_of.items() if stem + "ь" in months_of
    }
    return {prefix: numbers.pop() for prefix, numbers in months_of.items() if len(numbers) == 1}


MONTH_NUMBERS = _prefixes(MONTHS)


def _ordered_days(
    triples: dict[str, Triple], day_first: bool | None
) -> tuple[dict[str, date | None], bool]:
    """Days of cells of three numbers, in the order that fits most cells; whether it is unclear."""
    if not triples:
        return {}, False
    firsts, lasts = ({parts[i] for parts in triples.values()} for i in (0, 2))
    # The first of three numbers may be a year if it has fewer values than the last.
    years_first = all(len(last) == 2 for last in lasts) and len(firsts) < len(lasts)
    read = {
        order: {cell: _date(*(parts[i] for i in places)) for cell, parts in triples.items()}
        for order, places in ORDERS.items()
        if order != "ymd" or years_first
    }
    if day_first is not None:
        return read["dmy" if day_first else "mdy"], False
    if "ymd" in read and all(read["ymd"].values()):
        return read["ymd"], False
    counts = {order: sum(day is not None for day in days.values()) for order, days in read.items()}
    best = max(counts, key=counts.__getitem__)
    rivals = [read[order] for order in read if counts[order] == counts[best]]
    return read[best], any(days != read[best] for days in rivals)


def _days(values: FloatArray) -> NDArray[np.generic]:
    """Dates, if all numbers are days such as 20241231 or months such as 07.2023."""
    finite = np.isfinite(values)
    if not finite.any():
        return values
    months = np.floor(values[finite])
    years = np.round((values[finite] - months) * 1e4, 6)
    of_years = _all_in(years, YEARS[0], YEARS[-1]) and (years % 100.0).any()
    if of_years and _all_in(months, 1, 12):
        texts = [f"{int(y)}-{int(m):02d}" for y, m in zip(years, months, strict=True)]
        dates = np.full(len(values), np.datetime64("NaT", "us"))
        dates[finite] = np.array(texts, dtype="datetime64[M]").astype("datetime64[us]")
        return dates
    if not _all_in(values[finite], *CALENDAR):
        return values
    days = pd.to_datetime(pd.Series(np.char.mod("%.12g", values)), errors="coerce", format="%Y%m%d")
    return days.to_numpy(dtype="datetime64[us]") if bool(days[finite].notna().all()) else values


def _all_in(values: FloatArray, low: float, high: float) -> bool:
    return bool((values % 1.0 == 0.0).all() and values.min() >= low and values.max() <= high)
