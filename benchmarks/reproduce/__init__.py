"""The published numbers, reproduced: ``python -m benchmarks.reproduce [paper ...]``.

Each paper is a module with its `STUDIES`. A study measures rows, which docs/reproductions/ keeps as
a CSV file, and pictures; docs/reproductions.md is written from those files alone, so that a study
whose data are not here keeps what the documents already hold.
"""
