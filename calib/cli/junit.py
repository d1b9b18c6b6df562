"""JUnit XML, which pipelines show as tests. No time stamps: the same input gives the same bytes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

# What XML 1.0 cannot hold, however it is escaped.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SUITE = "calib check"


def write(
    path: Path, cases: Sequence[tuple[str, str, bool]], properties: Mapping[str, str]
) -> None:
    """Write one test case per limit: the limit in words, what was found, and whether it is kept.

    `properties` say what the data are.
    """
    failures = sum(not kept for _, _, kept in cases)
    suites, suite = _suite(tests=len(cases), failures=failures, errors=0)
    listed = ElementTree.SubElement(suite, "properties")
    for name, value in properties.items():
        ElementTree.SubElement(listed, "property", name=name, value=_clean(value))
    for rule, sentence, kept in cases:
        case = ElementTree.SubElement(suite, "testcase", classname=SUITE, name=rule)
        if not kept:
            ElementTree.SubElement(case, "failure", message=sentence).text = sentence
        else:
            ElementTree.SubElement(case, "system-out").text = sentence
    _save(suites, path)


def write_error(path: Path, message: str) -> None:
    """Write that nothing could be checked, in place of the result of an earlier run."""
    suites, suite = _suite(tests=1, failures=0, errors=1)
    case = ElementTree.SubElement(suite, "testcase", classname=SUITE, name="input")
    ElementTree.SubElement(case, "error", message=_clean(message)).text = _clean(message)
    _save(suites, path)


def _suite(**counts: int) -> tuple[ElementTree.Element, ElementTree.Element]:
    named = {"name": SUITE} | {name: str(count) for name, count in counts.items()}
    suites = ElementTree.Element("testsuites", named)
    return suites, ElementTree.SubElement(suites, "testsuite", named)


def _clean(text: str) -> str:
    return FORBIDDEN.sub("\ufffd", text)


def _save(suites: ElementTree.Element, path: Path) -> None:
    ElementTree.indent(suites)
    path.write_bytes(ElementTree.tostring(suites, encoding="utf-8", xml_declaration=True) + b"\n")
