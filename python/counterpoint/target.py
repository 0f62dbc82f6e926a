"""Policies that people bring, as the native part takes them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import tables
from .errors import Error
from .log import Log
from .policy import Policy


def policy_of(policy: Any) -> Policy | None:
    """The policy of ours that is meant: itself, a fitted learner's, or that of a file."""
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, (str, os.PathLike)):
        return Policy.load(policy)
    learned = getattr(policy, "policy_", None)
    return learned if isinstance(learned, Policy) else None


def brought(policy: Any, log: Log, std: Any = None, family: str = "normal") -> Any:
    """Any policy in the rows of a log: a policy of ours, log densities, actions with a std, or columns of the log.

    What is brought is asked for the user's own contexts and the logged actions:

    - an array: the density of the policy at each logged action;
    - an object with `log_density(X, a)`;
    - an object with `predict(X)`, such as a regressor of scikit-learn, with `target_std`;
    - a function of (X, a) that gives densities; or of X that gives actions, with `target_std`;
    - `None`: the columns of the log that `target_density` or `target_action` name.
    """
    ours = policy_of(policy)
    if ours is not None:
        return ours._native
    stds = [] if std is None else [float(s) for s in np.atleast_1d(std)]
    if policy is None:
        if log.schema.get("target") is None:
            raise Error("no policy is given", remedy="a policy, or target_density=... or target_action=...")
        return stds, family
    if hasattr(policy, "log_density"):
        X = log.inputs()
        return _function(_column(policy.log_density(X, log.actions())), lambda a: np.exp(_column(policy.log_density(X, a))), log)
    if hasattr(policy, "predict"):
        return _actions(policy.predict(log.inputs()), stds, family)
    if callable(policy):
        if stds:
            return _actions(policy(log.inputs()), stds, family)
        X = log.inputs()
        return _function(_logs(policy(X, log.actions())), lambda a: _column(policy(X, a)), log)
    return _logs(policy)


#: Steps along the action at which a policy that is a function is asked, and the most numbers that this may take.
STEPS, NUMBERS = 100, 20_000_000


def _function(logged: Any, density: Callable[[Any], Any], log: Log) -> Any:
    """Log densities at the logged actions, and densities along the action for the expectations of a model and the overlap."""
    actions = tables.actions(log.actions())
    if actions.shape[1] != 1 or STEPS * len(actions) > NUMBERS:
        return logged
    low, high = np.nanmin(actions), np.nanmax(actions)
    edges = np.linspace(low - 0.5 * (high - low), high + 0.5 * (high - low), STEPS + 1)
    try:
        with np.errstate(all="ignore"):
            steps = np.column_stack([density(np.full(len(actions), m)) for m in 0.5 * (edges[1:] + edges[:-1])])
    except Exception as e:  # a function that only knows the logged actions has no law, and is judged by its weights
        words = f"the policy fails at actions other than the logged ones ({type(e).__name__}: {e}), so models and overlap are left out"
        warnings.warn(words, stacklevel=4)
        return logged
    return logged, edges.tolist(), np.nan_to_num(steps, nan=0.0, posinf=0.0)


def _actions(values: Any, std: list[float], family: str) -> Any:
    if not std:
        raise Error(
            "an action alone has no density and cannot be weighed",
            remedy="target_std=...: a small share of the std of the logged actions is usual",
        )
    return tables.actions(values), std, family


def _column(values: Any) -> Any:
    return np.ascontiguousarray(np.asarray(values, dtype=np.float64).reshape(-1))


def _logs(densities: Any) -> Any:
    values = _column(densities)
    bad = np.flatnonzero(~(values >= 0) | np.isinf(values))
    if bad.size:
        row = int(bad[0])
        raise Error(f"row {row + 1}: {values[row]} is not a density (must be >= 0)", row=row + 1)
    with np.errstate(divide="ignore"):
        return np.log(values)
