"""Names that are numbers, as those of checkpoints are."""

from __future__ import annotations

import re
from collections.abc import Sequence

NUMBER = re.compile(r"-?\d+(\.\d+)?")


def numbers_of(names: Sequence[str]) -> tuple[float, ...] | None:
    """The number in each name, if they are all alike but for that; None where they are not.

    Examples
    --------
    >>> numbers_of(["10", "2.5"]), numbers_of(["epoch_2.npz", "epoch_10.npz"])
    ((10.0, 2.5), (2.0, 10.0))
    >>> numbers_of(["a1", "b2"]) is numbers_of(["7", "7.0"]) is None
    True
    """
    found = [list(NUMBER.finditer(name)) for name in names]
    if not names or any(not matches for matches in found):
        return None
    # A name may hold other numbers, such as that of its seed: the last one counts.
    last = [matches[-1] for matches in found]
    around = {
        (name[: match.start()], name[match.end() :])
        for name, match in zip(names, last, strict=True)
    }
    values = tuple(float(match.group()) for match in last)
    if len(around) > 1 or len(set(values)) < len(values):
        return None
    return values
