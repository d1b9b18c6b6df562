"""Programs and countries: how each writes the cells of a table."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date


@dataclass(frozen=True, slots=True)
class Country:
    """How programs write in a country."""

    decimal: str
    delimiter: str  # A spreadsheet writes CSV files with it.
    encodings: tuple[str, ...]
    months: tuple[str, ...]  # The names are short.
    days: tuple[str, ...]  # These are forms of a date.
    truth: tuple[str, str]  # A spreadsheet writes these words for false and true.
    missing: str  # A spreadsheet writes this word for "not available".
    classes: tuple[str, ...]  # There are three classes.
    pairs: tuple[tuple[str, str], ...]  # The words mean negative and positive.


ENGLISH = tuple("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split())  # noqa: SIM905
WESTERN = ("utf-8", "utf-8-sig", "cp1252", "utf-16")
COUNTRIES = {
    "USA": Country(
        ".",
        ",",
        WESTERN,
        ENGLISH,
        ("{m}/{d}/{y}", "{m}/{d}/{yy}", "{d}-{mon}-{yy}", "{mon} {d}, {y}"),
        ("FALSE", "TRUE"),
        "#N/A",
        ("cat", "dog", "New York"),
        (("no", "yes"), ("good", "bad")),
    ),
    "Britain": Country(
        ".",
        ",",
        WESTERN,
        ENGLISH,
        ("{dd}/{mm}/{y}", "{d} {mon} {y}", "{dd}/{mm}/{yy}", "{dd}-{mon}-{yy}"),
        ("FALSE", "TRUE"),
        "#N/A",
        ("ham", "spam", "eel"),
        (("No", "Yes"), ("alive", "died")),
    ),
    "Germany": Country(
        ",",
        ";",
        WESTERN,
        ("Jan", "Feb", "Mrz", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"),
        ("{dd}.{mm}.{y}", "{dd}.{mm}.{yy}", "{d}. {mon} {y}", "{y}-{mm}-{dd}"),
        ("FALSCH", "WAHR"),
        "#NV",
        ("Bär", "Käse", "Zürich"),
        (("nein", "ja"), ("gesund", "krank")),
    ),
    "France": Country(
        ",",
        ";",
        WESTERN,
        (
            *("janv.", "févr.", "mars", "avr.", "mai", "juin"),
            *("juil.", "août", "sept.", "oct.", "nov.", "déc."),
        ),
        ("{dd}/{mm}/{y}", "{d} {mon} {y}", "{dd}/{mm}/{yy}"),
        ("FAUX", "VRAI"),
        "#N/A",
        ("île", "forêt", "été"),
        (("non", "oui"),),
    ),
    "Spain": Country(
        ",",
        ";",
        WESTERN,
        (
            *("enero", "febrero", "marzo", "abril", "mayo", "junio"),
            *("julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre"),
        ),
        ("{dd}/{mm}/{y}", "{d} de {mon} de {y}"),
        ("FALSO", "VERDADERO"),
        "#N/D",
        ("niño", "año", "sí"),
        (("no", "sí"),),
    ),
    "Poland": Country(
        ",",
        ";",
        ("utf-8", "utf-8-sig", "utf-16"),
        ("sty", "lut", "mar", "kwi", "maj", "cze", "lip", "sie", "wrz", "paź", "lis", "gru"),
        ("{dd}.{mm}.{y}", "{y}-{mm}-{dd}", "{d} {mon} {y}"),
        ("FAŁSZ", "PRAWDA"),
        "#N/D!",
        ("żaba", "łoś", "ćma"),
        (("nie", "tak"),),
    ),
    "Japan": Country(
        ".",
        ",",
        ("utf-8", "utf-8-sig", "utf-16"),
        ENGLISH,
        ("{y}年{m}月{d}日", "{y}/{mm}/{dd}", "{y}/{m}/{d}"),
        ("FALSE", "TRUE"),
        "#N/A",
        ("猫", "犬", "鳥"),
        (("いいえ", "はい"),),
    ),
}


@dataclass(frozen=True, slots=True)
class Program:
    """How a program writes a table; None is as in the country."""

    delimiter: tuple[str, ...] | None = (",",)
    decimal: str | None = "."
    encodings: tuple[str, ...] | None = ("utf-8",)
    missing: tuple[str, ...] | None = ("",)
    truth: tuple[str, str] | None = ("False", "True")
    days: tuple[str, ...] | None = ("{y}-{mm}-{dd}",)
    months: tuple[str, ...] | None = ENGLISH
    quoted: tuple[str, ...] = ("needed",)  # Quoted cells are those that need it, words, or all.
    index: tuple[str, ...] = ("",)  # Row names may have an empty header, or none as in R.
    digits: tuple[int, ...] = (4, 6, 16)  # Scores are rounded to these digits.
    percent: tuple[str, ...] = ("",)  # Percentages end with it.
    newline: str = "\n"
    below: tuple[str, ...] = ("",)  # The line stands below the table.
    above: tuple[str, ...] = ("",)  # The line stands above the header.


SHEET = Program(
    delimiter=None,
    decimal=None,
    encodings=None,
    missing=("", "", None),  # type: ignore[arg-type]
    truth=None,
    days=None,
    months=None,
    digits=(2, 4, 9),
    percent=("", "", "", "%", " %"),
    newline="\r\n",
    below=("", "", "", "", "Total"),
    above=("", "", "", "", "sep="),
)
DAY_MON = ("{dd}-{MON}-{y}", "{dd}-{MON}-{yy}")
PROGRAMS: dict[str, Program] = {
    "Excel": SHEET,
    "LibreOffice": Program(
        delimiter=(",", ";", "\t"), decimal=None, missing=("",), truth=None, days=None, months=None
    ),
    "Excel, Unicode text": Program(
        delimiter=("\t",),
        decimal=None,
        encodings=("utf-16",),
        missing=None,
        truth=None,
        days=None,
        months=None,
        newline="\r\n",
    ),
    "R write.csv": Program(
        missing=("NA",),
        truth=("FALSE", "TRUE"),
        quoted=("words",),
        index=("", "named"),
        digits=(7, 15),
    ),
    "R write.csv2": Program(
        delimiter=(";",),
        decimal=",",
        missing=("NA",),
        truth=("FALSE", "TRUE"),
        quoted=("words",),
        index=("", "named"),
        encodings=("utf-8", "cp1252"),
        digits=(7, 15),
    ),
    "R write.table": Program(
        delimiter=(" ", "\t"),
        missing=("NA",),
        truth=("FALSE", "TRUE"),
        quoted=("words",),
        index=("", "short"),
        digits=(7, 15),
    ),
    "data.table": Program(missing=("",), truth=("FALSE", "TRUE"), digits=(15,)),
    "SPSS": Program(
        delimiter=("\t", ";"),
        decimal=None,
        missing=(" ", "."),
        truth=None,
        days=("{dd}-{MON}-{y}", "{dd}.{mm}.{y}", "{mm}/{dd}/{y}"),
        encodings=("utf-8-sig", "cp1252"),
        digits=(2, 5),
        newline="\r\n",
    ),
    "SAS": Program(
        missing=(".",),
        truth=("0", "1"),
        days=("{dd}{MON}{y}", "{mm}/{dd}/{y}", "{dd}{MON}{y}:00:00:00"),
        encodings=("utf-8", "latin-1"),
        digits=(4, 9),
    ),
    "Stata": Program(missing=("", "."), truth=("0", "1"), days=("{dd}{low}{y}",), digits=(7, 9)),
    "MATLAB": Program(
        missing=("NaN",),
        truth=("0", "1"),
        days=("{dd}-{mon}-{y}", "{dd}-{mon}-{y} 00:00:00"),
        digits=(4, 15),
    ),
    "psql COPY": Program(
        delimiter=("\t",),
        missing=("\\N",),
        truth=("f", "t"),
        days=("{y}-{mm}-{dd}", "{y}-{mm}-{dd} 00:30:00+02"),
        digits=(16,),
    ),
    "psql -A": Program(
        delimiter=("|",),
        truth=("f", "t"),
        digits=(16,),
        below=("(rows)",),
        days=("{y}-{mm}-{dd}", "{y}-{mm}-{dd} 00:30:00+02"),
    ),
    "psql CSV": Program(truth=("f", "t"), digits=(16,)),
    "MySQL": Program(delimiter=("\t",), missing=("NULL", "\\N"), truth=("0", "1"), digits=(16,)),
    "SQL Server": Program(
        missing=("NULL",),
        truth=("0", "1"),
        encodings=("utf-16", "utf-8-sig"),
        newline="\r\n",
        days=("{y}-{mm}-{dd} 00:00:00.000", "{mon}  {d} {y} 12:00AM"),
        digits=(16,),
    ),
    "Oracle": Program(
        quoted=("all", "needed"),
        truth=("N", "Y"),
        days=DAY_MON,
        missing=("", "(null)"),
        digits=(9,),
    ),
    "Access": Program(
        delimiter=None,
        decimal=None,
        truth=("0", "-1"),
        days=("{dd}.{mm}.{y} 00:00:00",),
        quoted=("words",),
        encodings=("cp1252",),
        newline="\r\n",
        digits=(2, 9),
    ),
    "pandas": Program(
        index=("", "named"), digits=(16,), days=("{y}-{mm}-{dd}", "{y}-{mm}-{dd} 00:30:00+02:00")
    ),
    "pandas, float_format": Program(index=("", "named"), digits=(3, 4)),
    "Polars": Program(
        truth=("false", "true"),
        days=("{y}-{mm}-{dd}", "{y}-{mm}-{dd}T00:30:00.000000+0200"),
        digits=(16,),
    ),
    "Spark": Program(
        truth=("false", "true"),
        days=("{y}-{mm}-{dd}", "{y}-{mm}-{dd}T00:30:00.000+02:00"),
        missing=("", '""'),
        digits=(16,),
    ),
    "BigQuery": Program(
        truth=("false", "true"),
        missing=("", "null"),
        days=("{y}-{mm}-{dd} 00:30:00 UTC", "{y}-{mm}-{dd}"),
        digits=(16,),
    ),
    "Snowflake": Program(
        truth=("FALSE", "TRUE"), missing=("\\N", ""), quoted=("all", "needed"), digits=(16,)
    ),
    "Julia": Program(truth=("false", "true"), missing=("missing", ""), digits=(16,)),
    "KNIME": Program(
        truth=("false", "true"),
        missing=("", "?"),
        index=("", "named"),
        quoted=("all",),
        digits=(16,),
    ),
    "Minitab": Program(missing=("*",), truth=("0", "1"), days=("{m}/{d}/{y}",), digits=(4, 6)),
    "Google Sheets": Program(
        decimal=None,
        delimiter=None,
        truth=None,
        days=None,
        months=None,
        missing=("", None),
        digits=(2, 9),
        newline="\r\n",
        percent=("", "", "%"),
    ),  # type: ignore[arg-type]
    "awk": Program(delimiter=(" ", "\t"), truth=("0", "1"), missing=("NA", "-"), digits=(4, 6)),
}


@dataclass(slots=True)
class Writer:
    """A program in a country, with its choices made."""

    rng: random.Random
    name: str
    place: str
    program: Program = field(init=False)
    country: Country = field(init=False)

    def __post_init__(self) -> None:
        self.program, self.country = PROGRAMS[self.name], COUNTRIES[self.place]

    def choice(self, name: str) -> str:
        """One of the ways of the program, or of the country."""
        own = getattr(self.program, name)
        of_country: dict[str, Callable[[], tuple[str, ...]]] = {
            "delimiter": lambda: (self.country.delimiter,),
            "missing": lambda: (self.country.missing,),
            "encodings": lambda: self.country.encodings,
            "days": lambda: self.country.days,
        }
        chosen = self.rng.choice(of_country[name]() if own is None else own)
        return of_country[name]()[0] if chosen is None else str(chosen)

    @property
    def decimal(self) -> str:
        return self.program.decimal or self.country.decimal

    @property
    def truth(self) -> tuple[str, str]:
        return self.program.truth or self.country.truth

    def day(self, form: str, day: date) -> str:
        """A date in a form."""
        months = self.program.months or self.country.months
        name = months[day.month - 1]
        return form.format(
            d=day.day,
            dd=f"{day.day:02d}",
            m=day.month,
            mm=f"{day.month:02d}",
            y=day.year,
            yy=f"{day.year % 100:02d}",
            mon=name,
            MON=name.upper()[:3],
            low=name.lower()[:3],
            q=(day.month + 2) // 3,
        )
