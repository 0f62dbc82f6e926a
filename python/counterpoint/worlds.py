"""Logs whose truth is known."""

from __future__ import annotations

from typing import Any

from . import _counterpoint


def simulate(environment: str = "moons", rows: int = 30_000, seed: int = 1) -> dict[str, Any]:
    """A log from one of the paper's environments, as a dictionary of columns: what `counterpoint simulate` writes.

    The environments are moons, circles, anisotropic, outlier, chess, cocoa and what-if. A DataFrame is one call away.

    Examples:
        >>> import counterpoint as cp
        >>> log = cp.simulate("moons", rows=600, seed=1)
        >>> list(log)
        ['x0', 'x1', 'action', 'reward', 'propensity', 'split', 'potential', 'group']
    """
    columns, _ = _counterpoint.simulate(environment, rows, seed)
    return columns
