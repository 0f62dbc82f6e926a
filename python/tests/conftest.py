"""Logs that several tests share."""

import os
import sys

os.environ.setdefault("OMP_NUM_THREADS", "1")  # scikit-learn's threads would wait for each other where others work too

import numpy as np
import pytest

import counterpoint as cp

ROLES = {"context": ["x0", "x1"], "action": "action", "reward": "reward", "propensity": "propensity"}


@pytest.fixture(scope="session")
def moons():
    """A simulated log as a dictionary of columns."""
    return cp.simulate("moons", rows=3000, seed=1)


@pytest.fixture(scope="session")
def roles():
    return dict(ROLES)


@pytest.fixture(scope="session")
def learner(moons):
    """A quick policy, learned and certified."""
    rows = {k: v for k, v in ROLES.items() if k != "action"}
    return cp.Learner(policy="linear", starts=1, proximal_steps=2, seed=3).fit(moons, "action", **rows)


@pytest.fixture
def command(tmp_path):
    """Runs the command line of this wheel in a directory of its own."""
    import subprocess

    def run(*arguments):
        told = [sys.executable, "-m", "counterpoint", *map(str, arguments)]
        return subprocess.run(told, cwd=tmp_path, capture_output=True, text=True)

    return run


@pytest.fixture(scope="session")
def line():
    """Rows whose best action is 1 + x: x, a, reward, propensity."""
    rng = np.random.default_rng(5)
    x, a = rng.uniform(size=(4000, 1)), rng.uniform(0, 3, size=4000)
    return x, a, 1 - abs(a - 1 - x[:, 0]), np.full(4000, 1 / 3)
