"""Logs of other programs, in and out: Open Bandit Pipeline's dictionaries and Vowpal Wabbit's `ca` lines."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from . import tables
from .errors import Error
from .log import Log


def from_obp(feedback: dict[str, Any]) -> Log:
    """The log in a `bandit_feedback` dictionary with continuous actions, as Open Bandit Pipeline makes it.

    Examples:
        >>> import counterpoint as cp
        >>> feedback = dict(context=[[0.1], [0.2]], action=[1.0, 2.0], reward=[0.0, 1.0], pscore=[0.5, 0.5])
        >>> cp.from_obp(feedback)
        Log(2 rows, contexts x0, action action, reward reward)
    """
    missing = [key for key in ("context", "action", "reward", "pscore") if feedback.get(key) is None]
    if missing:
        raise Error(f"the dictionary has no {missing[0]!r}", remedy="it needs context, action, reward and pscore")
    context = np.asarray(feedback["context"], dtype=np.float64)
    return Log(context, feedback["action"], reward=feedback["reward"], propensity=feedback["pscore"])


def to_obp(log: Log) -> dict[str, Any]:
    """A log in memory as the dictionary that Open Bandit Pipeline's continuous estimators take.

    Examples:
        >>> import counterpoint as cp
        >>> moons = cp.simulate("moons", rows=600, seed=1)
        >>> log = cp.Log(moons, context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> feedback = cp.to_obp(log)
        >>> feedback["n_rounds"], feedback["context"].shape
        (600, (600, 2))
    """
    context, _ = _contexts(log)
    return {
        "n_rounds": len(context),
        "context": context,
        "action": np.asarray(log.actions(), dtype=np.float64),
        "reward": -_costs(log),
        "pscore": np.asarray(log.column("propensity"), dtype=np.float64),
        "position": None,
        "expected_reward": None,
    }


def from_vw(lines: str | os.PathLike[str] | Iterable[str]) -> Log:
    """The log in lines `ca action:cost:density | features`, or in a file of them; a feature that a line leaves out is 0.

    Examples:
        >>> import counterpoint as cp
        >>> cp.from_vw(["ca 1.5:0.2:0.4 | hour:9 price:2", "ca 2.5:0.1:0.4 | hour:17 weekend"])
        Log(2 rows, contexts hour, price, weekend, action action, cost cost)
    """
    if isinstance(lines, (str, os.PathLike)):
        lines = Path(lines).read_text(encoding="utf-8").splitlines()
    labels: list[list[float]] = []
    rows: list[dict[str, float]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            label, *spaces = line.split("|")
            action, cost, density = label.split()[1].split(":")
            if label.split()[0] != "ca":
                raise ValueError
            labels.append([float(action), float(cost), float(density)])
            rows.append({name: value for space in spaces for name, value in _features(space)})
        except (ValueError, IndexError):
            raise Error(f"line {number} is not `ca action:cost:density | features`: {line.strip()[:80]!r}", row=number) from None
    names = list(dict.fromkeys(name for row in rows for name in row))
    X: dict[str, Any] = {name: np.array([row.get(name, 0.0) for row in rows]) for name in names}
    action_, cost_, density_ = np.array(labels, dtype=np.float64).reshape(-1, 3).T
    return Log(X, action_, cost=cost_, propensity=density_)


def _features(space: str) -> Iterator[tuple[str, float]]:
    """Names and values behind a bar; `| a` has no namespace, `|n a` has the namespace n, whose name leads the feature's."""
    words = space.split()
    prefix = f"{words.pop(0).partition(':')[0]}^" if words and not space[0].isspace() else ""
    for word in words:
        name, _, value = word.partition(":")
        yield prefix + name, float(value) if value else 1.0


def to_vw(log: Log) -> Iterator[str]:
    """The lines that `vw --cats` reads, one a row of a log in memory with one action; rewards become negative costs.

    Examples:
        >>> import counterpoint as cp
        >>> rows = dict(x=[0.5, 1.0], a=[1.5, 2.0], y=[3.0, 4.0], p=[0.25, 0.5])
        >>> log = cp.Log(rows, "a", cost="y", propensity="p", context="x")
        >>> next(cp.to_vw(log))
        'ca 1.5:3.0:0.25 | x:0.5'
    """
    context, names = _contexts(log)
    bad = next((name for name in names if any(c in name for c in ":| \t")), None)
    if bad is not None:
        raise Error("a name with a colon, a bar or a space in it is no name of a feature", column=bad, remedy="rename the column")
    actions = np.asarray(log.actions(), dtype=np.float64)
    if actions.ndim != 1:
        raise Error("Vowpal Wabbit's lines have one action")
    rows = zip(actions, _costs(log), np.asarray(log.column("propensity"), dtype=np.float64), context, strict=True)
    for a, y, p, x in rows:
        features = " ".join(f"{name}:{value!r}" for name, value in zip(names, x.tolist(), strict=True))
        yield f"ca {float(a)!r}:{float(y)!r}:{float(p)!r} | {features}"


def _costs(log: Log) -> npt.NDArray[np.float64]:
    side = log.schema["direction"]
    values = np.asarray(log.column(side), dtype=np.float64)
    return values if side == "cost" else -values


def _contexts(log: Log) -> tuple[npt.NDArray[np.float64], list[str]]:
    """The contexts as numbers; words have no number here."""
    X = log.inputs()
    if isinstance(X, dict):
        table = {name: tables.column(values) for name, values in X.items()}
    elif hasattr(X, "columns"):
        table = {str(name): tables.column(X[name]) for name in X.columns}
    else:
        matrix = np.asarray(X, dtype=np.float64)
        return matrix, [i["name"] for i in log.schema["inputs"]]
    for name, values in table.items():
        if isinstance(values, list):
            raise Error("it holds words, and the other program takes numbers", column=name, remedy="make 0/1 columns of it")
    return np.column_stack([np.asarray(v, dtype=np.float64) for v in table.values()]), list(table)
