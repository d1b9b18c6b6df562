"""The look of the pages: style.css, the answer, and what depends on pages and lengths of tables."""

from __future__ import annotations

from pathlib import Path

from calib.figures import answer
from calib.ui.session.page_list import GROUPS

# Widths in rem of a letter of a link, and of a link without its letters. The links of a group are
# drawn late, and the group must be about as wide before.
LETTER, LINK = 0.37, 0.75


def css() -> str:
    labels = "".join(
        f".st-key-pages_{name.lower()} {{ min-width: calc({len(''.join(pages))} * {LETTER}rem"
        f" + {len(pages)} * {LINK}rem); }}\n"
        for name, pages in GROUPS.items()
    )
    # The place of a table that arrives late is kept free.
    heights = "".join(
        f"[class*=st-key-rows_{n}_lines_metrics] {{ min-height: {4.75 + 4 * n}rem; }}\n"
        f":is([class*=st-key-rows_{n}_lines_tests], [class*=st-key-rows_{n}_lines_conventions]) "
        f"{{ min-height: {5.5 + 2.1875 * n}rem; }}\n"
        for n in range(1, 16)
    )
    pages = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
    return answer.style() + pages + labels + heights
