"""The look of the pages: style.css, the answer, and what depends on pages and lengths of tables."""

from __future__ import annotations

from pathlib import Path

from calib.figures import answer
from calib.ui.layout.navigation import key_of
from calib.ui.session.page_list import GROUPS

# Widths in rem. The links of a group are drawn late, and the group must be as wide before.
GROUP_WIDTHS_REM = {
    "": 5.1875,
    "Diagnose": 13.625,
    "Calibrate": 9.6875,
    "Decide and share": 16.0,
    "Learn": 4.5,
    "Data": 3.5,
}


def css() -> str:
    labels = "".join(
        f".st-key-pages_{key_of(name)} {{ min-width: {GROUP_WIDTHS_REM[name]}rem; }}\n"
        for name in GROUPS
    )
    # In a window that is not wide, links are closer and smaller, as the style sheet has it.
    closer = ""
    for name, width in GROUP_WIDTHS_REM.items():
        rem = round(0.93 * width - 0.25 * len(GROUPS[name]), 3)
        closer += f".st-key-pages_{key_of(name)} {{ min-width: {rem}rem; }}\n"
    labels += f"@media (min-width: 1271px) and (max-width: 1400px) {{\n{closer}}}\n"
    # The place of a table that arrives late is kept free.
    heights = "".join(
        f"[class*=st-key-rows_{n}_] {{ min-height: {4.75 + 4 * n}rem; }}\n"
        f"[class*=st-key-lines_{n}_] {{ min-height: {5.5 + 2.1875 * n}rem; }}\n"
        for n in range(1, 16)
    )
    pages = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    return answer.style() + pages + labels + heights
