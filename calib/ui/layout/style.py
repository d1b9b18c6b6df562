"""What Streamlit's theme cannot say about the look of the pages, as CSS."""

from __future__ import annotations

from calib.ui.session.pages import GROUPS

# Streamlit writes its own grey into charts: 3.7 to 1 on white, where text needs 4.5.
CHARTS = """
.js-plotly-plot :is(.cartesianlayer, .infolayer, .hoverlayer) text {
    fill: currentColor !important;
}
"""
# Where Streamlit's own ring is missing, or is the look of what is chosen.
FOCUS = """
:is([data-testid=stPageLink] a, [data-testid=stMainMenu] button, .modebar-btn):focus-visible {
    outline: 2px solid currentColor !important; outline-offset: 1px;
}
"""
# The navigation lies over the whole width of the window, so that it is at one place whether or not
# a page has a sidebar; on a narrow screen it scrolls sideways.
NAVIGATION = """
.st-key-navigation {
    position: fixed; z-index: 999980; top: 0; left: 0; right: 0; width: auto; height: 3.5rem;
    border: 0 solid light-dark(#FFFFFF, #14181D); border-width: 0 3rem;
    flex-wrap: nowrap; align-items: flex-end; overflow-x: auto; scrollbar-width: none;
    background: light-dark(#FFFFFF, #14181D); box-shadow: 0 1px rgba(127, 127, 127, .3);
}
.st-key-navigation > * { flex: 0 0 auto; width: auto; }
.st-key-navigation h1 { font-size: 1.375rem; line-height: 1; padding: 0 1.25rem .3rem 0; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
[class*=st-key-pages_] {
    flex-wrap: nowrap; position: relative; padding: 1.35rem .375rem .25rem; width: auto;
}
[class*=st-key-pages_]::before {
    position: absolute; top: .4rem; left: .9rem; font-size: .6875rem; letter-spacing: .06em;
    text-transform: uppercase; opacity: .7;
}
.st-key-navigation [data-testid=stSkeleton] { height: 1.25rem; }
.st-key-navigation > :first-child { min-width: 4.1875rem; }
.st-key-navigation p { white-space: nowrap; font-size: .875rem; }
[data-testid=stHeader] { background: transparent; }
[data-testid=stHeader], [data-testid=stHeader] * { pointer-events: none; }
[data-testid=stHeader] :is(button, button *) { pointer-events: auto; }
[data-testid=stSidebar] { top: 3.5rem; height: calc(100% - 3.5rem); }
"""
# The links of a group are drawn late: it is as wide before as with them.
WIDTHS = {
    "": 5.1875,
    "Diagnose": 13.625,
    "Calibrate": 9.6875,
    "Decide": 5.25,
    "Share": 4.6875,
    "Learn": 8.5,
    "Data": 3.5,
}
# The first page: what this is, where a file goes in, and the answer.
LANDING = """
.purpose { font-size: 1.375rem; font-weight: 600; margin: 0 0 .25rem; }
[class*=st-key-answer_] { border-left: 6px solid; padding: .75rem 1.25rem; gap: .375rem; }
[class*=st-key-answer_red] { border-left-color: #D55E00; }
[class*=st-key-answer_green] { border-left-color: #009E73; }
[class*=st-key-answer_orange] { border-left-color: #E69F00; }
[class*=st-key-answer_] :is([data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]) {
    margin-bottom: 0;
}
[class*=st-key-answer_] :is(h2, p) { padding: 0; margin: 0; }
/* Both charts of the pair beside each other, or the recommendation goes below them. */
[class*=st-key-evidence] > div > [data-testid=stHorizontalBlock] { flex-wrap: wrap; }
[class*=st-key-evidence] > div > div > :first-child { min-width: min(100%, 730px); }
[class*=st-key-evidence] > div > div > :last-child { min-width: min(100%, 320px); }
[class*=st-key-steps] a {
    border: 1px solid rgba(127, 127, 127, .5); padding: .375rem .875rem; margin: 0;
}
[class*=st-key-steps] [data-testid=stElementContainer]:first-child a { background: #0072B2; }
[class*=st-key-steps] [data-testid=stElementContainer]:first-child a * { color: #FFF !important; }
@media (max-width: 640px) {
    .purpose { font-size: 1.1875rem; margin: 0; }
    .purpose + p { display: none; }
    .st-key-landing [data-testid=stHorizontalBlock] { gap: .5rem; }
    [class*=st-key-pair] .xtitle { font-size: 9.5px !important; }
    .st-key-example, .st-key-example * { max-width: 100%; }
    .st-key-example [role=radiogroup] { flex-wrap: nowrap; overflow-x: auto; }
    .st-key-use_form [role=radiogroup] { flex-wrap: wrap; }
    .st-key-example button { flex: 0 0 auto; max-width: none; }
    .st-key-example button * { max-width: none; }
}
"""
PAGE = """
[data-testid=stMainBlockContainer] { max-width: 1320px; padding: 4.5rem 3rem 4rem; }
[data-variant][data-selected=true], [data-variant][data-selected=true] * {
    color: inherit !important; font-weight: 600;
}
.st-key-explorer_cells, .st-key-scripts { display: none; }
[data-testid=stSidebar] .st-key-example :is(button, button *) {
    height: auto; max-width: 100%; white-space: normal; text-align: left;
}
[data-testid=stMetricLabel] *, [data-testid=stMetricDelta] * { white-space: normal; }
[data-testid=stSliderThumbValue], [data-testid=stSliderThumbValue] * { color: inherit !important; }
/* Captions are paler than text: the blue of links would be below 4.5 to 1. */
[data-testid=stCaptionContainer] a { color: inherit !important; }
[data-testid=stTab], [data-testid=stTab] * { color: inherit !important; }
[data-testid=stTab][data-selected=true] * { font-weight: 600; }
div:has(> [data-testid=stMultiSelectTagsContainer]) { max-height: none; }
[data-testid=stMultiSelectTagsContainer] { flex-wrap: wrap; }
@media (max-width: 1160px) {
    [data-testid=stMainBlockContainer] { padding-left: 1.5rem; padding-right: 1.5rem; }
}
@media (max-width: 640px) {
    [data-testid=stMainBlockContainer] { padding-left: 1rem; padding-right: 1rem; }
    /* It lies on the navigation; the page has its own progress and Cancel. */
    [data-testid=stStatusWidget] { display: none; }
}
"""
# One table with the intervals below the values: nothing of it is cut off, it scrolls if it must.
TABLES = """
.metric-table { overflow-x: auto; container-type: inline-size; }
.metric-table table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
.metric-table :is(th, td) {
    padding: .4rem .5rem; text-align: right; vertical-align: top; font-weight: inherit;
    border-bottom: 1px solid rgba(127, 127, 127, .3);
}
.metric-table thead th { font-size: .8125rem; vertical-align: bottom; }
.metric-table :is(thead th:first-child, tbody th, .text) { text-align: left; }
.metric-table small { display: block; font-size: .75rem; }
.metric-table .marked { background: rgba(0, 114, 178, .1); font-weight: 600; }
.metric-table .marked th:first-child { box-shadow: inset 3px 0 #0072B2; }
/* Where there is room, and where it scrolls in any case. Between them are models side by side. */
@container (max-width: 400px) or (min-width: 600px) {
    .metric-table td:not(.text) { white-space: nowrap; }
}
[class*=st-key-lines_][class*=_models] .metric-table td,
[class*=st-key-lines_][class*=_tests_] .metric-table small { white-space: normal; }
@media (max-width: 640px) {
    .metric-table :is(thead th:first-child, tbody th) {
        position: sticky; left: 0; background: light-dark(#FFFFFF, #14181D);
    }
    .metric-table .marked th { background: light-dark(#E5F1F7, #122130); }
}
"""
# Beside a sidebar a chart needs the row for itself; the table of metrics and its changes share one
# where both fit.
COLUMNS = """
@media (max-width: 1240px) {
    [data-testid=stMain]:not(:has(.st-key-landing)) [data-testid=stColumn]:is(
        :has(.st-key-epsilon),
        :has([class*=st-key-chart_]):not([data-testid=stColumn]:has(.st-key-epsilon) ~ *)
    ) { min-width: 100%; }
}
[class*=st-key-table_and_changes] [data-testid=stColumn]:first-child {
    min-width: min(100%, 39rem);
}
[class*=st-key-table_and_changes] [data-testid=stColumn] { min-width: min(100%, 20rem); }
"""
# A square is as wide as its place, and no higher than the window.
SQUARES = """
[class*=st-key-square_] { container-type: inline-size; }
[class*=st-key-pair] > [class*=st-key-square_] { min-width: min(100%, 16rem); }
[class*=st-key-square_] > [class*=st-key-chart_] {
    height: min(var(--by-width, 110cqw), max(26rem, 100vh - 5.5rem)) !important;
    flex: none !important;
}
/* Panels: as many beside each other as there is room for, small ones two on a phone. */
[class*=st-key-panels], [class*=st-key-before_after], [class*=st-key-small_multiples] {
    display: grid;
}
[class*=st-key-small_multiples] {
    grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr));
}
[class*=st-key-panels] {
    grid-template-columns: repeat(auto-fill, minmax(max(220px, (100% - 3rem) / 4), 1fr));
}
[class*=st-key-before_after] {
    grid-template-columns: repeat(auto-fill, minmax(min(48%, 216px), 1fr));
}
@media (min-width: 1700px) {
    [class*=st-key-before_after] { grid-template-columns: repeat(auto-fill, minmax(196px, 1fr)); }
}
"""
# What arrives late keeps its place free, so that nothing that is read moves: the sidebar of a page
# that has one, and what is higher than the grey bar that Streamlit draws for it.
RESERVED = """
@media (min-width: 768px) {
    .with-sidebar:not(:has([data-testid=stSidebar], h2)) [data-testid=stAppViewContainer] {
        padding-left: 300px;
    }
}
.st-key-explorer { min-height: 44.5rem; }
[class*=st-key-data_file], [class*=st-key-data_test_file],
[data-testid=stMain]:has(.st-key-landing) .st-key-example { min-height: 6rem; }
/* Chips on three lines, as at first. */
:is(.st-key-methods, .st-key-columns):not(:has([data-testid=stMultiSelect])) {
    min-height: 8.375rem;
}
:is(.st-key-methods_filter, .st-key-title, .st-key-author, .st-key-tags, .st-key-grade),
[data-testid=stSidebar] :is(
    .st-key-confidence_level, .st-key-n_bins, .st-key-n_ranges, .st-key-after, .st-key-cost_fn,
    .st-key-cost_fp, .st-key-slice_by, .st-key-cross
) { min-height: 4.25rem; }
.st-key-note { min-height: 7.6rem; }
.st-key-epsilon_matters { min-height: 3.25rem; }
/* The saved reports are drawn before the form above them. */
.st-key-report_form:not(:has([data-testid=stAlert])) { min-height: 50rem; }
/* A drop zone is drawn once as on a phone before it knows its width. */
@media (min-width: 641px) {
    :is([class*=st-key-data_file], [class*=st-key-data_test_file]):not(
        :has([data-testid=stFileUploaderFile])
    ) { height: 6rem; }
}
@media (max-width: 1160px) {
    .st-key-report_form .st-key-downloads { min-height: 6rem; }
    .st-key-epsilon_matters { min-height: 4.75rem; }
    .st-key-explorer { min-height: 78rem; }
    /* Two beside each other, beside the sidebar, are as narrow as on a phone. */
    [data-testid=stColumn] [class*=st-key-data_]:not(.st-key-landing *) {
        height: auto; min-height: 8rem;
    }
    .st-key-landing { min-height: 6.625rem; }
    [data-testid=stMain]:has(.st-key-landing) .st-key-example { min-height: 8.25rem; }
}
@media (max-width: 640px) {
    [class*=st-key-data_file], [class*=st-key-data_test_file] { min-height: 8rem; }
    [data-testid=stMain]:has(.st-key-landing) .st-key-example { min-height: 3.75rem; }
    .st-key-landing [data-testid=stColumn]:first-child [data-testid=stSkeleton] { height: 1.9rem; }
    .st-key-grade { min-height: 5.5rem; }
    .st-key-epsilon_matters { min-height: 6.25rem; }
}
""" + "".join(
    f"[class*=st-key-rows_{n}_] {{ min-height: {2 + 4.875 * n}rem; }}\n"
    f"[class*=st-key-lines_{n}_] {{ min-height: {5.5 + 2.1875 * n}rem; }}\n"
    for n in range(1, 16)
)
# On paper only the results: no controls.
PRINT = """
@media print {
    [data-testid=stSidebar], [data-testid=stHeader], .st-key-navigation, .modebar { display: none; }
    [data-testid=stMainBlockContainer] { max-width: none; padding: 0; }
}
"""


def css() -> str:
    labels = "".join(
        f".st-key-pages_{name.lower()} {{ min-width: {WIDTHS[name]}rem; }}\n"
        f'.st-key-pages_{name.lower()}::before {{ content: "{name.replace("Data", "")}"; }}\n'
        for name in GROUPS
    )
    look = NAVIGATION, labels, LANDING, PAGE, CHARTS, FOCUS, TABLES, COLUMNS, SQUARES
    return "".join((*look, RESERVED, PRINT))
