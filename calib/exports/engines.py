"""What an engine gives at any scores: for tables of how near every form is."""

from __future__ import annotations

from calib.exports.codec import ExportError
from calib.exports.document import ExportedCalibrator
from calib.exports.targets import Target, body_of, choices_for, engine_of
from calib.numerics.arrays import FloatArray


def values(
    made: ExportedCalibrator, target: Target, dialect: str | None, scores: FloatArray
) -> FloatArray:
    """Calibrated probabilities as the engine of a form computes them.

    The target is any but JSON. Raises ExportError if the engine is not here.
    """
    choices = choices_for(made, dialect, "scores", None)
    engine, run = engine_of(target, choices)
    if run is None:
        raise ExportError(f"{engine} is not installed.")
    return run(body_of(made, target, choices), scores)
