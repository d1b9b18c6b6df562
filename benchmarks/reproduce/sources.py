"""Where the data are: ../shared/data beside the repository, or for the UCI sets OpenML."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.reproduce.published import Absent

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data"


def find(name: str) -> Path:
    """A file of the reference data.

    Raises
    ------
    Absent
        If it is not there.
    """
    path = DATA / name
    if not path.is_file():
        raise Absent(f"{name} is not in ../shared/data")
    return path


# The values are name and version on OpenML, and the class that counts as positive.
OPENML = {
    "diabetes": ("diabetes", 1, "tested_negative"),
    "german": ("credit-g", 1, "bad"),
    "ionosphere": ("ionosphere", 1, "g"),
    "sonar": ("sonar", 1, "Rock"),
    "vehicle": ("vehicle", 1, "bus"),
    "wdbc": ("wdbc", 1, "2"),
}


def uci(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Features and binary target of a UCI set.

    Raises
    ------
    Absent
        If the file is not there and OpenML does not answer.
    """
    try:
        table = pd.read_parquet(find(f"uci/{name}.parquet"))
    except Absent:
        return _from_openml(name)
    return table.filter(regex=r"^x\d+$").to_numpy(), table["positive"].to_numpy()


def _from_openml(name: str) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import fetch_openml

    title, version, positive = OPENML[name]
    try:
        data_set = fetch_openml(title, version=version, as_frame=True, parser="auto")
    except Exception as error:  # The network, the server or the format can fail in many ways.
        raise Absent(f"{name} is not in ../shared/data, and OpenML gave none ({error})") from None
    # Levels become numbers, as in the files of the paper.
    columns = [
        pd.factorize(c, sort=True)[0] if c.dtype.kind not in "if" else c
        for _, c in data_set.data.items()
    ]
    return np.column_stack(columns).astype(np.float64), (data_set.target == positive).to_numpy()
