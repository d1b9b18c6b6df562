"""Dates as programs and people of several countries write them."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from calib.loading import InputError, InputWarning, guess, load, read
from calib.loading.dates import as_times
from calib.scanning import scan
from tests.golden import Texts
from tests.loading.test_words import inspect

DAYS = [date(2023, 7, 1) + timedelta(days=17 * i) for i in range(30)]
GERMAN = ["Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"]
FRENCH = [
    *("janv.", "févr.", "mars", "avr.", "mai", "juin"),
    *("juil.", "août", "sept.", "oct.", "nov.", "déc."),
]
SPANISH = [
    *("enero", "febrero", "marzo", "abril", "mayo", "junio"),
    *("julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"),
]
# Each program or country writes a day like this.
WRITTEN = {
    "ISO": "{d:%Y-%m-%d}",
    "USA, Excel": "{d.month}/{d.day}/{d:%y}",
    "Germany, short": "{d:%d.%m.%y}",
    "Excel": "{d:%d-%b-%y}",
    "Oracle": "{d:%d-%b-%Y}",
    "SAS": "{sas}",
    "SAS datetime": "{sas}:00:00:00",
    "SPSS": "{d:%d-%b-%Y} 00:00:00",
    "C": "{d:%a %b %d 00:00:00 %Y}",
    "mail": "{d:%a, %d %b %Y} 00:00:00 +0200",
    "weekday": "{d:%a %d %b %Y}",
    "USA, long": "{d:%B %d, %Y}",
    "Japan": "{d.year}年{d.month}月{d.day}日",
    "Korea": "{d.year}. {d.month}. {d.day}.",
    "Germany, long": "{d.day}. {german} {d.year}",
    "France": "{d.day} {french} {d.year}",
    "Spain": "{d.day} de {spanish} de {d.year}",
    "slashes": "{d:%Y/%m/%d}",
    "USA with a time": "{d.month}/{d.day}/{d.year} 2:30 PM",
}
OF_MONTHS = {
    "month": "{d:%b %Y}",
    "Excel": "{d:%b-%y}",
    "Germany": "{german} {d.year}",
    "number": "{d:%m/%Y}",
    "number with a point": "{d:%m.%Y}",
    "year first": "{d:%Y/%m}",
}


def written(form: str, day: date) -> str:
    names = {"german": GERMAN, "french": FRENCH, "spanish": SPANISH}
    months = {name: words[day.month - 1] for name, words in names.items()}
    return form.format(d=day, sas=f"{day:%d%b%Y}".upper(), **months)


def table(cells: list[str]) -> str:
    rows = pd.DataFrame({"y": [0, 1] * 15, "p": np.linspace(0.1, 0.9, 30), "date": cells})
    return rows.to_csv(index=False, sep="\t")


def days(found: np.ndarray) -> list[date]:
    return found.astype("datetime64[D]").tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("form", WRITTEN)
def test_a_day_is_read(form: str, tmp_path: Path) -> None:
    text = table([written(WRITTEN[form], day) for day in DAYS])
    assert days(load(text).columns["date"]) == DAYS
    (tmp_path / "rows.csv").write_text(text)
    counted = scan(tmp_path / "rows.csv", outcome="y", score="p", positive=1, time="date")
    assert sorted(part.value for part in counted.parts if part.column == "date") == [
        str(day) for day in DAYS
    ]


@pytest.mark.parametrize("form", OF_MONTHS)
def test_a_month_is_read(form: str) -> None:
    text = table([written(OF_MONTHS[form], day) for day in DAYS])
    assert days(load(text, time="date").columns["date"]) == [day.replace(day=1) for day in DAYS]


@pytest.mark.parametrize("form", ["Q{q} {d.year}", "{d.year}Q{q}", "{d.year}-Q{q}", "{q}Q{d:%y}"])
def test_a_quarter_is_read(form: str) -> None:
    firsts = [day.replace(day=1, month=(day.month - 1) // 3 * 3 + 1) for day in DAYS]
    cells = [form.format(d=day, q=(day.month + 2) // 3) for day in DAYS]
    assert days(load(table(cells), time="date").columns["date"]) == firsts


def test_months_of_the_year_2000_are_no_fractions() -> None:
    text = table(["11.2000", "10.2000", "12.2000"] * 10)
    assert days(load(text, time="date").columns["date"])[:2] == [
        date(2000, 11, 1),
        date(2000, 10, 1),
    ]


def test_an_unclear_order_of_day_and_month_is_asked_for(texts: Texts, tmp_path: Path) -> None:
    known = [day for day in DAYS if day.day <= 12]
    cells = [f"{day:%d/%m/%Y}" for day in (known * 30)[:30]]
    with texts.raises(InputError) as refused:
        load(table(cells), time="date")
    assert [each.code for each in refused.value.problems] == ["date-order"]
    for choice in refused.value.problems[0].choices:
        found = load(table(cells), time="date", **choice.arguments)
        wanted = "%d/%m/%Y" if choice.arguments["day_first"] else "%m/%d/%Y"
        assert days(found.columns["date"]) == pd.to_datetime(cells, format=wanted).date.tolist()
        origin = found.origin.arguments()  # type: ignore[union-attr]
        assert load(table(cells), **origin).fingerprint == found.fingerprint
    (tmp_path / "rows.csv").write_text(table(cells))
    what = {"outcome": "y", "score": "p", "positive": 1, "time": "date"}
    with pytest.raises(InputError) as caught:
        scan(tmp_path / "rows.csv", **what)
    assert caught.value.problems[0].code == "date-order"
    assert scan(tmp_path / "rows.csv", **what, day_first=True).time_kind == "M"


def test_texts_without_an_order_are_no_times(texts: Texts, tmp_path: Path) -> None:
    text = table(["spring", "summer", "autumn"] * 10)
    with texts.raises(InputError) as refused:
        load(text, time="date")
    assert [each.code for each in refused.value.problems] == ["not-times"]
    # Columns that were not named are left out with a warning.
    with pytest.warns(InputWarning, match="not used as the time"):
        assert not load(text).columns
    (tmp_path / "rows.csv").write_text(text)
    with texts.raises(InputError) as caught:
        scan(tmp_path / "rows.csv", outcome="y", score="p", positive=1, time="date")
    assert caught.value.problems[0].code == "not-times"


def test_years_of_two_digits_may_stand_first() -> None:
    assert days(as_times(pd.Series([f"{day:%y-%m-%d}" for day in DAYS])).values) == DAYS  # type: ignore[arg-type]
    same = pd.Series(["01-02-03", "02-03-01", "03-01-02"])
    assert as_times(same).unclear


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_time_with_a_zone_counts_to_its_local_day(
    suffix: str, texts: Texts, tmp_path: Path
) -> None:
    # Half an hour after midnight in Berlin is the day before in UTC.
    times = pd.Series(pd.to_datetime(DAYS) + pd.Timedelta(minutes=30)).dt.tz_localize(
        "Europe/Berlin"
    )
    rows = pd.DataFrame({"y": [0, 1] * 15, "p": np.linspace(0.1, 0.9, 30), "date": times})
    path = tmp_path / f"rows.{suffix}"
    if suffix == "csv":
        rows.assign(date=[f"{time.isoformat()}" for time in times]).to_csv(path, index=False)
    else:
        rows.to_parquet(path)
    found = read(path)
    (note,) = [each for each in inspect(found, guess(found)) if each.code == "time-zone"]
    texts(note.sentence)
    assert days(load(path).columns["date"]) == DAYS
    counted = scan(path, outcome="y", score="p", positive=1, time="date")
    assert sorted(part.value for part in counted.parts if part.column == "date") == [
        str(day) for day in DAYS
    ]


def test_an_infinite_number_is_no_date() -> None:
    assert as_times(pd.Series([0.0, np.inf])).values.tolist() == [0.0, np.inf]
