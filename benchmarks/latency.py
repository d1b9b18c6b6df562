"""A million rows in the app: from a key press on a bin slider to the diagram painted.

In a real Chromium, and paired in one run with a bare page of one slider and one chart of 200
points: blocks of presses on the page's slider, which asks the server, on that of the explorer,
which does not, and on that of the bare page take turns. Then the explorer's again, with the server
200 ms away. The first page is timed until its answer can be read.

Last, Overview and switches between pages of an example are compared with bare pages; with --pages
nothing else is measured.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks import _page_ratios
from benchmarks._far_server import far
from calib.ui.layout.charts import PAINT_SECONDS
from tests.browser import chromium, harness

N_ROWS = 1_000_000
BLOCKS, PRESSES = 6, 10
# These goals are listed in benchmarks/README.md.
MAX_PAINT_RATIO = 1.5
MAX_SERVER_SECONDS, MAX_SWITCH_SECONDS, MAX_FIRST_SECONDS = 0.015, 1.0, 6.0
# Half of all steps in the explorer take at most the first time, and 19 of 20 the second.
MAX_MEDIAN_STEP_MS, MAX_SLOW_STEP_MS = 16.0, 25.0
ROUND_TRIP_SECONDS = 0.2
# The answer of the first page can be read within this time if server and browser know the page.
MAX_ANSWER_SECONDS, N_VISITS = 1.5, 7
ANSWERED = """
() => document.querySelector("[class*=st-key-answer] h2")?.getBoundingClientRect().height
    ? performance.now() : 0
"""
# The first slider is drawn by the server, the second by the explorer.
CHART, SLIDER = "chart_reliability", ".st-key-n_bins input[type=range]"
EXPLORER = ".st-key-explorer .explorer"
OWN_SLIDER = f"{EXPLORER} input[type=range]"
# The timed server measures these parts of a script run.
TIMED = (
    "cpu",
    "analysis",
    "explorer sent",
    "figures",
    "charts sent",
    "tables sent",
    "navigation",
)
PAGES = ("Calibrators", "Slices", "Decisions", "Reports", "Overview")
# The script measures the milliseconds from the next key press until what plotly or the explorer
# drew has changed on the screen: a frame with the change, and the start of the frame after it.
WATCH = """
key => {
    const explorer = document.querySelector("[data-explorer]")?.shadowRoot;
    const own = () => explorer?.querySelectorAll(".diagram path");
    const drawn = () => [...own() ?? document.querySelectorAll(
        `.st-key-${key} .scatterlayer path.js-line, .st-key-${key} .scatterlayer path.point`
    )].map(path => path.getAttribute("d") + path.getAttribute("transform")).join("");
    window.painted = new Promise(done => {
        document.addEventListener("keydown", () => {
            const start = performance.now(), before = drawn();
            const look = () => {
                const now = drawn();
                if (!now || now === before) return requestAnimationFrame(look);
                // The frame is painted after its callbacks, before the next task.
                const {port1, port2} = new MessageChannel();
                port1.onmessage = () => done(performance.now() - start);
                port2.postMessage(null);
            };
            requestAnimationFrame(look);
        }, {capture: true, once: true});
    });
}
"""
# The page can be read when all of it is there except a part that shows its progress.
READABLE = """
label => {
    const here = document.title.startsWith(`${label} ·`);
    const main = document.querySelector("[data-testid=stMain]");
    const idle = document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]");
    const told = main.querySelector("[data-testid=stProgress], [data-testid=stSpinner]");
    return here && main.querySelector("h2") && (idle || told) ? performance.now() : 0;
}
"""
# A visit takes two times: the seconds until the page can be read, and until it is complete.
Visit = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Found:
    """Seconds, and milliseconds of presses; pages by label, at the first visit and at the next."""

    first: float
    progress: bool
    app: list[float]
    bare: list[float]
    explorer: list[float]
    far: list[float]
    answer: list[float]
    new: dict[str, Visit]
    seen: dict[str, Visit]


def press(page: Page, key: str, slider_of: str) -> float:
    """Milliseconds from a key press on a slider to the chart painted anew."""
    slider = page.locator(slider_of)
    slider.focus()
    page.evaluate(WATCH, CHART)
    slider.press(key)
    waited = float(page.evaluate("() => window.painted"))
    harness.settle(page)
    return waited


def block(page: Page, key: str, slider: str = SLIDER) -> list[float]:
    """A row of presses, in front of all other tabs: hidden ones are not painted."""
    page.bring_to_front()
    return [press(page, key, slider) for _ in range(PRESSES)]


def rows(folder: Path) -> Path:
    """A file of scores that are too bold, with a column to slice by."""
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-1.0, 1.5, N_ROWS)
    table = pd.DataFrame(
        {
            "outcome": rng.random(N_ROWS) < 1.0 / (1.0 + np.exp(-log_odds)),
            "score": 1.0 / (1.0 + np.exp(-1.3 * log_odds)),
            "region": rng.choice(["north", "east", "south", "west"], N_ROWS),
        }
    ).astype({"outcome": np.int8})
    path = folder / "million.parquet"
    table.to_parquet(path)
    return path


def go(page: Page, label: str) -> Visit:
    """Open another page."""
    link = harness.by_key(page, "navigation").get_by_role("link", name=label, exact=True)
    start = page.evaluate("() => performance.now()")
    link.click()
    readable = float(page.wait_for_function(READABLE, arg=label).json_value())
    harness.settle(page)
    complete = float(page.evaluate("() => window.restless"))
    return (readable - start) / 1000.0, (max(readable, complete) - start) / 1000.0


def load(page: Page, path: Path) -> tuple[float, bool]:
    """Upload, then seconds to the first verdict, and whether progress was shown meanwhile."""
    harness.visit(page, "/data")
    harness.by_key(page, "data_file").locator("input[type=file]").set_input_files(path)
    harness.by_key(page, "checklist").wait_for(timeout=60_000)
    harness.settle(page)
    start = time.perf_counter()
    harness.by_key(page, "navigation").get_by_role("link", name="Reliability", exact=True).click()
    line = f"{EXPLORER} .diagram path.line"
    # A distant browser may see only the end of the progress.
    page.locator(f"[data-testid=stProgress], {line}").first.wait_for()
    progress = page.get_by_test_id("stProgress").count() > 0
    page.locator(line).first.wait_for(timeout=60_000)
    return time.perf_counter() - start, progress


def answers(browser: Browser, app: str) -> list[float]:
    """Seconds from the first page's address to its answer; the first visit fills the cache."""
    page = browser.new_context(base_url=app, viewport={"width": 1440, "height": 900}).new_page()
    visits = []
    for _ in range(1 + N_VISITS):
        page.goto("/")
        visits.append(float(page.wait_for_function(ANSWERED).json_value()) / 1000.0)
        harness.settle(page)
    page.context.close()
    return visits[1:]


def far_presses(browser: Browser, app: str, path: Path) -> list[float]:
    """Presses on the explorer's slider while the server is far away."""
    with far(app, ROUND_TRIP_SECONDS) as url:
        page = browser.new_context(base_url=url, viewport={"width": 1280, "height": 900}).new_page()
        load(page, path)
        harness.settle(page)
        milliseconds = [
            t for key in 2 * ("ArrowRight", "ArrowLeft") for t in block(page, key, OWN_SLIDER)
        ]
        page.context.close()
        return milliseconds


def measure(browser: Browser, app: str, bare: str, path: Path) -> Found:
    """All times, in the order in which a person meets them."""
    size = {"width": 1280, "height": 900}
    page = browser.new_context(base_url=app, viewport=size).new_page()
    other = browser.new_context(base_url=bare, viewport=size).new_page()
    first, progress = load(page, path)
    harness.settle(page)
    # The page's own slider is beside the static diagram.
    harness.open_static(page)
    harness.visit(other)
    presses: dict[str, list[float]] = {"app": [], "bare": [], "explorer": []}
    for number in range(BLOCKS):
        key = "ArrowLeft" if number % 2 else "ArrowRight"
        presses["bare"] += block(other, key)
        presses["app"] += block(page, key)
        presses["explorer"] += block(page, key, OWN_SLIDER)
    page.bring_to_front()
    new = {label: go(page, label) for label in PAGES}
    seen = {label: go(page, label) for label in PAGES}
    page.context.close()
    other.context.close()
    away, answer = far_presses(browser, app, path), answers(browser, app)
    return Found(first, progress, **presses, far=away, answer=answer, new=new, seen=seen)


def server_times(runs: Path) -> list[dict[str, float]]:
    """Script runs of the presses: each draws the diagram, pauses, and draws the page."""
    lines = [json.loads(line) for line in runs.read_text().splitlines()]
    return [line for line in lines if line["fragment"]]


def median_ms(runs: list[dict[str, float]], part: str) -> float:
    """Median of a part of the runs in milliseconds."""
    return 1000.0 * statistics.median(run.get(part, 0.0) for run in runs)


def report(measured: Found, runs: list[dict[str, float]]) -> int:
    """Print the tables; return how many promises are missed."""
    painted, bare = statistics.median(measured.app), statistics.median(measured.bare)
    server, whole = median_ms(runs, "diagram"), median_ms(runs, "run") - 1000.0 * PAINT_SECONDS
    slowest = max(readable for readable, _ in (*measured.new.values(), *measured.seen.values()))
    print(f"{N_ROWS:,} rows; load of the machine {os.getloadavg()[0]:.1f}")
    print(f"first analysis, s         {measured.first:8.2f}  promised {MAX_FIRST_SECONDS:g}")
    print(f"  with progress           {measured.progress!s:>8s}  promised True")
    print(f"press to painted, ms      {painted:8.0f}  (quarter: {_quarter(measured.app):.0f})")
    print(f"  of the bare page        {bare:8.0f}  (quarter: {_quarter(measured.bare):.0f})")
    print(f"  ratio                   {painted / bare:8.2f}  promised {MAX_PAINT_RATIO:g}")
    step, slow = statistics.median(measured.explorer), _slow(measured.explorer)
    print(f"  in the explorer         {step:8.1f}  promised {MAX_MEDIAN_STEP_MS:g}")
    print(f"    one in twenty above   {slow:8.1f}  promised {MAX_SLOW_STEP_MS:g}")
    away, slow_away = statistics.median(measured.far), _slow(measured.far)
    print(
        f"    server {1000 * ROUND_TRIP_SECONDS:g} ms away {away:6.1f}  "
        f"promised {MAX_MEDIAN_STEP_MS:g}"
    )
    print(f"    one in twenty above   {slow_away:8.1f}  promised {MAX_SLOW_STEP_MS:g}")
    answer = statistics.median(measured.answer)
    print(f"first answer, warm, s     {answer:8.2f}  promised {MAX_ANSWER_SECONDS:g}")
    print(f"server, to the diagram, ms {server:7.1f}  promised {1000 * MAX_SERVER_SECONDS:g}")
    print(f"  with all that follows   {whole:8.1f}")
    print(f"  {', '.join(f'{part} {median_ms(runs, part):.1f}' for part in TIMED)}")
    print(f"slowest page to be read, s {slowest:7.2f}  promised {MAX_SWITCH_SECONDS:g}")
    for label in PAGES:
        visits = zip(("first", "again"), (measured.new[label], measured.seen[label]), strict=True)
        said = (f"{when} {read:5.2f}, complete {done:5.2f}" for when, (read, done) in visits)
        print(f"  {label:12s} {'   '.join(said)}")
    missed = (
        measured.first > MAX_FIRST_SECONDS,
        painted > MAX_PAINT_RATIO * bare,
        server > 1000 * MAX_SERVER_SECONDS,
        slowest > MAX_SWITCH_SECONDS,
    )
    steps = (
        step > MAX_MEDIAN_STEP_MS,
        slow > MAX_SLOW_STEP_MS,
        away > MAX_MEDIAN_STEP_MS,
        slow_away > MAX_SLOW_STEP_MS,
        answer > MAX_ANSWER_SECONDS,
    )
    return sum(missed) + (not measured.progress) + sum(steps)


def _slow(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _quarter(times: list[float]) -> float:
    return statistics.quantiles(times, n=4)[0]


def ratios(browser: Browser, folder: Path) -> _page_ratios.Ratios:
    """Pages of the first example against bare ones."""
    labels = tuple(label for label in ("Reliability", *PAGES) if label != "Overview")
    app, bare = folder / "pages.log", folder / "bare_pages.log"
    with harness.serve(app) as own, harness.serve(bare, _page_ratios.BARE_APP) as other:
        return _page_ratios.measure(browser, own, other, labels, go)


def main() -> int:
    """Run the benchmark; return how many promises are missed."""
    executable = chromium.find() or sys.exit(chromium.MISSING)
    only_pages = "--pages" in sys.argv[1:]
    bare_script = str(Path(__file__).with_name("_bare_page.py"))
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        runs = folder / "runs.jsonl"
        browser = harness.launch(playwright, executable)
        if only_pages:
            return ratios(browser, folder).report()
        timed = harness.serve(folder / "app.log", "app.py", "benchmarks._timed_server", str(runs))
        with timed as app, harness.serve(folder / "bare.log", bare_script) as bare:
            measured = measure(browser, app, bare, rows(folder))
        pages = ratios(browser, folder)
        browser.close()
        return report(measured, server_times(runs)) + pages.report()


if __name__ == "__main__":
    sys.exit(min(main(), 1))
