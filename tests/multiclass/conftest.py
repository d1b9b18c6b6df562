"""Data that several files of this room need."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture(scope="session")
def mc3(shared):
    data = pd.read_csv(shared / "reference/data/mc3_600.csv")
    return data[["p0", "p1", "p2"]].to_numpy(), data.y.to_numpy()


@pytest.fixture(scope="session")
def peers(shared):
    """Records of the peers on mc3_600: by (calibrator, first word of the peer)."""
    result = json.loads((shared / "reference/reference.json").read_text())["calibrators"]
    return {(r["calibrator"], r["peer"].split()[0]): r for r in result if r["dataset"] == "mc3_600"}


@pytest.fixture(scope="session")
def cnn(shared):
    """A wide residual network on CIFAR-10, and what is known of it."""
    folder = shared / "data/cnn"
    data = np.load(folder / "efs_wideresnet-16-4-cifar-10.npz")
    reference = pd.read_csv(folder / "wideresnet_reference.csv").set_index("method")
    return data["probs"], data["y"], reference
