"""Workbooks of Excel and OpenDocument, as small as they can be."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

Cell = str | float | bool | None
Sheets = Mapping[str, Sequence[Sequence[Cell]]]
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
OASIS = "urn:oasis:names:tc:opendocument:xmlns"


def zipped(members: Mapping[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def xlsx(sheets: Sheets, replaced: Mapping[str, str] | None = None) -> bytes:
    """A workbook of Excel; some parts of its sheets may be replaced."""
    numbers = range(1, len(sheets) + 1)
    listed = "".join(
        f'<sheet name="{escape(name)}" sheetId="{i}" r:id="r{i}"/>'
        for i, name in zip(numbers, sheets, strict=True)
    )
    related = "".join(
        f'<Relationship Id="r{i}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in numbers
    )
    content = "".join(
        f'<Override PartName="/xl/worksheets/sheet{i}.xml" '
        f'ContentType="{SHEET_TYPE}.worksheet+xml"/>'
        for i in numbers
    )
    return zipped(
        {
            "[Content_Types].xml": f'<Types xmlns="{TYPES}"><Default Extension="xml" '
            f'ContentType="{SHEET_TYPE}.sheet.main+xml"/>{content}</Types>',
            "_rels/.rels": f'<Relationships xmlns="{RELATIONS}"><Relationship Id="r1" '
            f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}">'
            f"<sheets>{listed}</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{RELATIONS}">{related}'
            "</Relationships>",
            **{
                f"xl/worksheets/sheet{i}.xml": _sheet(rows, replaced or {})
                for i, rows in zip(numbers, sheets.values(), strict=True)
            },
        }
    )


def _sheet(rows: Sequence[Sequence[Cell]], replaced: Mapping[str, str]) -> str:
    written = "".join(
        f'<row r="{number}">{"".join(map(_cell, _references(number, row), row))}</row>'
        for number, row in enumerate(rows, 1)
    )
    sheet = f'<worksheet xmlns="{MAIN}"><sheetData>{written}</sheetData></worksheet>'
    for old, new in replaced.items():
        sheet = sheet.replace(old, new)
    return sheet


def _references(number: int, row: Sequence[Cell]) -> list[str]:
    return [f"{chr(ord('A') + i)}{number}" for i in range(len(row))]


def _cell(reference: str, value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{reference}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{reference}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{reference}"><v>{value!r}</v></c>'


def ods(sheets: Sheets) -> bytes:
    """A workbook of OpenDocument."""
    tables = "".join(
        f'<table:table table:name="{escape(name)}">'
        + "".join(
            f"<table:table-row>{''.join(map(_open_cell, row))}</table:table-row>" for row in rows
        )
        + "</table:table>"
        for name, rows in sheets.items()
    )
    spaces = " ".join(f'xmlns:{name}="{OASIS}:{name}:1.0"' for name in ("office", "table", "text"))
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
            "META-INF/manifest.xml": "<manifest/>",
            "content.xml": f"<office:document-content {spaces}><office:body>"
            f"<office:spreadsheet>{tables}</office:spreadsheet></office:body>"
            "</office:document-content>",
        }
    )


def _open_cell(value: Cell) -> str:
    if value is None:
        return "<table:table-cell/>"
    if isinstance(value, str):
        text = f"<text:p>{escape(value)}</text:p>"
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'
    return f'<table:table-cell office:value-type="float" office:value="{float(value)!r}"/>'
