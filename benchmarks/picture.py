"""The picture of README.md: python -m benchmarks.picture."""

from pathlib import Path

from benchmarks.reproduce.pictures import draw
from calib import analyze, examples
from calib.figures.reliability import reliability_chart

DOCS = Path(__file__).parents[1] / "docs"


def main() -> None:
    """Draw the example that the dashboard opens with, before and after its recommendation."""
    analysis = analyze(examples.EXAMPLES["naive_bayes"].load())
    methods = ("uncalibrated", analysis.recommendation.method)
    draw({"reliability": reliability_chart(analysis, methods)}, DOCS)


if __name__ == "__main__":
    main()
