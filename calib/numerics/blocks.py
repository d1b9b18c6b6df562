"""Large matrices a few rows at a time."""

from collections.abc import Iterator

BLOCK = 131_072  # numbers whose temporaries stay in the processor's cache


def row_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows that together hold about 131,072 numbers.

    Examples
    --------
    >>> list(row_blocks(300, 1000))
    [slice(0, 131, None), slice(131, 262, None), slice(262, 300, None)]
    """
    step = max(1, BLOCK // n_columns)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
