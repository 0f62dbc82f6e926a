"""Models of the outcome that people bring, for the direct method and doubly robust estimates; their expectations are taken in Rust."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from . import tables
from .errors import Error
from .log import Log, predicted

Array = npt.NDArray[np.float64]

#: Actions at which a model is asked in every row.
KNOTS = 33
#: Folds of the cross-fitting.
FOLDS = 5
#: The part of a log that certificates are given on.
TEST = 2


def asked(model: Any, log: Log, rows: str, seed: int) -> tuple[list[float], Array, Array | None] | None:
    """What a model says of every row: the actions it was asked at, its predictions there, and at the logged actions.

    - `(actions, predictions)`, or with the predictions at the logged actions as a third: taken as they are;
    - an object with `fit` and `predict`: cross-fitted here, so that no row is predicted by a model that has seen it or its cluster.
      Test rows are not learned from unless they are asked about. Where `predict` takes two arguments they are X and the
      action, and `fit` takes X, action and outcome; else the action is one more column behind those of X;
    - an object with `predict` alone, or a function of X and the action: asked as it is.
    """
    if model is None:
        return None
    if isinstance(model, (tuple, list)):
        actions, values, *logged = model
        at = None if not logged else _numbers(logged[0])
        return [float(a) for a in np.asarray(actions)], np.atleast_2d(_matrix(values)), at
    actions = tables.actions(log.actions())
    if actions.shape[1] != 1:
        raise Error("a model of your own is for one action", remedy="leave model out: ours takes several actions")
    knots = np.unique(np.quantile(actions[np.isfinite(actions)], np.linspace(0, 1, KNOTS)))
    model = _Model(model, log.schema["actions"][0])
    X, a = log.inputs(), actions[:, 0]
    if not model.fits:
        return knots.tolist(), model.at(X, knots, len(a)), model.predict(X, a)
    return knots.tolist(), *_cross_fitted(model, log, (X, a, knots), (rows, seed))


def to_follow(model: Any, log: Log, seed: int) -> tuple[tuple[list[float], Array], Callable[[Any], Any] | None]:
    """The actions that a model was asked at and its predictions there, for a policy to follow; and how to ask it of other rows.

    A regressor is cross-fitted without the test part, and asked of other rows after it was fitted on all rows but those.
    """
    found = asked(model, log, "train", seed)
    assert found is not None
    knots, values, _ = found
    if isinstance(model, (tuple, list)):
        return (knots, values), None
    own = _Model(model, log.schema["actions"][0])
    if own.fits:
        part, fold = log._native.dealt(seed, FOLDS)
        rows = np.flatnonzero((fold >= 0) & (part != TEST))
        y = _numbers(log.column(log.schema["direction"]))
        own = own.fitted(tables.some(log.inputs(), rows), tables.actions(log.actions())[rows, 0], y[rows])

    names = [i["name"] for i in log.schema["inputs"]]

    def beside(X: Any) -> Any:
        if isinstance(X, dict):
            X = {name: X[name] for name in names}
        elif hasattr(X, "columns"):
            X = X[names]
        rows, out = len(next(iter(X.values())) if isinstance(X, dict) else X), X
        for knot in knots:
            out = tables.beside(out, predicted(knot), own.predict(X, np.full(rows, knot)))
        return out

    return (knots, values), beside


def _cross_fitted(model: _Model, log: Log, given: tuple[Any, Array, Array], split: tuple[str, int]) -> tuple[Array, Array]:
    X, a, knots = given
    rows, seed = split
    y = _numbers(log.column(log.schema["direction"]))
    part, fold = log._native.dealt(seed, FOLDS)
    learned = fold >= 0 if rows in ("test", "all") else (fold >= 0) & (part != TEST)
    values, logged = np.zeros((len(a), len(knots))), np.zeros(len(a))
    for k in range(FOLDS):
        inside = np.flatnonzero(fold == k)
        outside = np.flatnonzero(learned & (fold != k))
        fitted = model.fitted(tables.some(X, outside), a[outside], y[outside])
        mine = tables.some(X, inside)
        values[inside] = fitted.at(mine, knots, len(inside))
        logged[inside] = fitted.predict(mine, a[inside])
    return values, logged


class _Model:
    """Any model by two verbs: fit on contexts, actions and outcomes; predict of contexts and actions."""

    def __init__(self, model: Any, action: str) -> None:
        self.model, self.action = model, action
        ask: Callable[..., Any] | None = getattr(model, "predict", model if callable(model) else None)
        if ask is None:
            raise Error(
                f"{type(model).__name__} is no model of the outcome",
                remedy="a regressor with fit and predict, a function of (X, action), or (actions, predictions)",
            )
        self.ask = ask
        self.fits = hasattr(model, "fit")
        self.apart = _needs_two(ask)

    def predict(self, X: Any, a: Array) -> Array:
        """One prediction a row."""
        values = self.ask(X, a) if self.apart else self.ask(tables.beside(X, self.action, a))
        values = _numbers(values)
        if values.shape != a.shape:
            raise Error(f"the model gave {values.size} predictions for {a.size} rows", remedy="one number a row")
        return values

    def at(self, X: Any, knots: Array, rows: int) -> Array:
        """Predictions at every knot, one column a knot."""
        return np.column_stack([self.predict(X, np.full(rows, k)) for k in knots])

    def fitted(self, X: Any, a: Array, y: Array) -> _Model:
        """A fresh copy, fitted on these rows."""
        fresh = _copy(self.model)
        if self.apart:
            fresh.fit(X, a, y)
        else:
            fresh.fit(tables.beside(X, self.action, a), y)
        return _Model(fresh, self.action)


def _copy(model: Any) -> Any:
    try:
        from sklearn.base import clone
    except ImportError:
        return copy.deepcopy(model)
    return clone(model, safe=False)


def _needs_two(ask: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(ask).parameters.values()
    except (TypeError, ValueError):
        return False
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in places and p.default is inspect.Parameter.empty for p in parameters) >= 2


def _numbers(values: Any) -> Array:
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values, dtype=np.float64).reshape(-1)


def _matrix(values: Any) -> Array:
    return np.ascontiguousarray(values.to_numpy() if hasattr(values, "to_numpy") else values, dtype=np.float64)
