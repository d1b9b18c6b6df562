"""Overview, and a switch to every page, as multiples of bare Streamlit pages, in one run.

A first visit of Overview, by a browser that has no file of the app, is compared with that of a bare
page of three elements. A switch from Overview to a page that was seen before is compared with that
between two bare pages with as many elements as the page has: texts, and elements of the same kinds,
which is the least that such a page of Streamlit takes.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from tests.browser import harness

BARE_APP = str(Path(__file__).with_name("_bare_app") / "app.py")
N_VISITS, N_SWITCHES = 7, 5
# These goals are listed in benchmarks/README.md.
MAX_OVERVIEW_RATIO, MAX_SWITCH_RATIO, MAX_CHART_SECONDS = 1.3, 1.3, 0.3
SIZE = {"width": 1440, "height": 900}
# The script notes when the answer and its chart are drawn, and the last time when a part was still
# missing, in milliseconds since the address was asked for.
NOTE = """
(() => {
    const times = window.times = {};
    const isDrawn = chosen => document.querySelector(chosen)?.getBoundingClientRect().height;
    const idle = "[data-testid=stApp]" +
        "[data-test-connection-state=CONNECTED][data-test-script-state=notRunning]";
    const look = () => {
        const now = performance.now();
        if (isDrawn("[class*=st-key-answer] :is(h1, h2)")) times.answer ??= now;
        if (isDrawn("[class*=st-key-summary] svg.plot")) times.chart ??= now;
        if (!isDrawn(idle) || document.querySelector("[data-testid=stSkeleton]")) times.whole = now;
        requestAnimationFrame(look);
    };
    look();
})();
"""
# The script lists the elements of the page by the names that Streamlit gives them, or gives to the
# first part in them.
KINDS = r"""
() => [...document.querySelectorAll(".stElementContainer > :first-child")]
    .map(({outerHTML}) => outerHTML.match(/\bst[A-Z]\w*/)[0])
"""


@dataclass(frozen=True, slots=True)
class Ratios:
    """Seconds of first visits, and of switches by page, with the number of elements of each.

    A page has the time of the app, that of as many texts, and that of the same kinds of elements.
    """

    overview: float
    bare: float
    chart_after_answer: float
    pages: dict[str, tuple[int, float, float, float]]

    def report(self) -> int:
        """Print the table; return how many promises are missed."""
        ratio = self.overview / self.bare
        print(f"load of the machine {os.getloadavg()[0]:.1f}")
        print(f"Overview, first visit, s  {self.overview:8.2f}")
        print(f"  bare page of 3 elements {self.bare:8.2f}")
        print(f"  ratio                   {ratio:8.2f}  promised {MAX_OVERVIEW_RATIO:g}")
        print(
            f"  chart after answer, s   {self.chart_after_answer:8.2f}  "
            f"promised {MAX_CHART_SECONDS:g}"
        )
        print("switch to a page, s       elements, time; texts, ratio; same kinds, ratio")
        print(f"                          promised {MAX_SWITCH_RATIO:g}")
        for label, (n, own, texts, same) in self.pages.items():
            ratios = f"{texts:6.2f} {own / texts:6.2f} {same:6.2f} {own / same:6.2f}"
            print(f"  {label:12s} {n:4d} {own:6.2f} {ratios}")
        missed = (
            ratio > MAX_OVERVIEW_RATIO,
            self.chart_after_answer > MAX_CHART_SECONDS,
            *(own / texts > MAX_SWITCH_RATIO for _, own, texts, _ in self.pages.values()),
        )
        return sum(missed)


def first_visit(browser: Browser, url: str) -> dict[str, float]:
    """Seconds until a browser without files has drawn the parts of the first page."""
    context = browser.new_context(base_url=url, viewport=SIZE)
    context.add_init_script(NOTE)
    page = context.new_page()
    page.goto("/")
    harness.settle(page)
    times = page.evaluate("() => window.times")
    context.close()
    return {part: value / 1000.0 for part, value in times.items()}


def switched(page: Page, label: str, go: Callable[[Page, str], tuple[float, float]]) -> float:
    """Seconds of one switch, in front of all other tabs: hidden ones are not painted."""
    page.bring_to_front()
    return go(page, label)[1]


def measure(
    browser: Browser,
    app: str,
    bare: str,
    labels: tuple[str, ...],
    go: Callable[[Page, str], tuple[float, float]],
) -> Ratios:
    """Visits and switches of the app and of the bare pages take turns."""
    visits = [(first_visit(browser, app), first_visit(browser, bare)) for _ in range(1 + N_VISITS)]
    own, other = zip(*visits[1:], strict=True)
    page = browser.new_context(base_url=app, viewport=SIZE).new_page()
    plain = browser.new_context(base_url=bare, viewport=SIZE).new_page()
    harness.visit(page)
    pages = {}
    for label in labels:
        # The first switch loads scripts and results that the later ones share.
        switched(page, label, go)
        counted = Counter(page.evaluate(KINDS))
        n = sum(counted.values())
        kinds = "_".join(f"{kind}.{number}" for kind, number in counted.items())
        times: dict[str, list[float]] = {"Texts": [], "Elements": [], label: []}
        for bare_page in ("Texts", "Elements"):
            harness.visit(plain, f"/?n={n}&kinds={kinds}")
            switched(plain, bare_page, go)
            for _ in range(N_SWITCHES):
                switched(plain, "Start", go)
                times[bare_page].append(switched(plain, bare_page, go))
                switched(page, "Overview", go)
                times[label].append(switched(page, label, go))
        texts, same, own_time = (statistics.median(one) for one in times.values())
        pages[label] = (n, own_time, texts, same)
    page.context.close()
    plain.context.close()
    return Ratios(
        overview=statistics.median(one["whole"] for one in own),
        bare=statistics.median(one["whole"] for one in other),
        chart_after_answer=statistics.median(one["chart"] - one["answer"] for one in own),
        pages=pages,
    )
