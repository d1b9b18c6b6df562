"""Analyses and reports as notebooks show them."""

from html import unescape

import numpy as np

import calib
from calib.data.predictions import Predictions


def test_a_report_shows_the_same_file_in_a_sandboxed_frame(report):
    shown = report._repr_html_()
    assert shown.startswith('<iframe sandbox="allow-scripts" srcdoc="')
    assert "allow-same-origin" not in shown
    page = shown.split('srcdoc="')[1].split('"')[0]
    assert unescape(page) == report.html()
    assert report.analysis.verdict.sentence in repr(report)
    assert len(repr(report)) < 1000


def test_an_analysis_shows_its_report(analysis):
    shown = unescape(unescape(analysis._repr_html_()))
    assert analysis.verdict.sentence in shown
    assert "<h2>Explore</h2>" in shown


def test_an_analysis_of_too_few_rows_shows_its_text():
    score = np.linspace(0.1, 0.9, 9)
    few = calib.analyze(Predictions.from_arrays(score > 0.45, score), {"methods": ()})
    assert few._repr_html_() is None


def test_hostile_text_stays_in_the_frame(hostile_report):
    shown = hostile_report._repr_html_()
    assert shown.count("<") == 2
