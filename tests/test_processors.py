"""The same rows give the same numbers on every processor and with any number of threads."""

import json
import os
import signal
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from tests.rare import rare

PROCESSORS = ("SkylakeX", "Haswell", "Prescott", "Sandybridge")
THREADS = (1, 2, 8)


@cache
def numbers(processor, threads, *populations):
    """What a process of its own prints: BLAS reads these variables when it is loaded."""
    variables = {"OPENBLAS_CORETYPE": processor, "OPENBLAS_NUM_THREADS": str(threads)}
    run = subprocess.run(
        [sys.executable, "-m", "tests.processors", *populations],
        env={**os.environ, **variables, "OMP_NUM_THREADS": str(threads)},
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode == -signal.SIGILL:
        pytest.skip(f"This processor does not have the instructions of {processor}.")
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def compare(one, other):
    """Numbers agree within 1e-5; counts of distinct values and words agree exactly."""
    assert list(one) == list(other)
    for population, numbers in one.items():
        assert list(numbers) == list(other[population])
        for key, value in numbers.items():
            theirs, where = other[population][key], f"{population}: {key}"
            if key == "verdict" or key.endswith("distinct values"):
                assert theirs == value, where
            else:
                np.testing.assert_allclose(theirs, value, rtol=1e-5, atol=1e-5, err_msg=where)


@rare
def test_two_processors_give_the_same_numbers():
    compare(numbers("Haswell", 1, "u_shaped"), numbers("Prescott", 2, "u_shaped"))


@rare
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("processor", PROCESSORS)
def test_every_processor_and_number_of_threads_gives_the_same_numbers(processor, threads):
    compare(numbers("Haswell", 1), numbers(processor, threads))
