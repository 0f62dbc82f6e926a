"""A log: contexts, actions, the density with which they were chosen, and what came of it."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from . import _counterpoint, tables
from .errors import Error, PropensityWarning

if TYPE_CHECKING:
    from .policy import Policy

Names = str | Iterable[str]


class Reading(TypedDict, total=False):
    """How rows are read: keywords of everything that takes a log."""

    split: Any
    time: Any
    count: Any
    context: Names
    exclude: Names
    categorical: Names
    missing: str
    predictions: Any
    target_density: Any
    target_action: Any
    drop_invalid: bool
    scratch: str | os.PathLike[str]
    log_config: str | os.PathLike[str]
    threads: int


class Columns(Reading, total=False):
    """Which column is which, and how rows are read: the keywords of `describe`, `evaluate`, `certify` and `compare`.

    A role is the name of a column, or the column itself.
    """

    action: Any
    reward: Any
    cost: Any
    propensity: Any
    cluster: Any
    sample_weight: Any


class Log:
    """Rows that have been read and checked; read once, asked many times.

    `X` is a table: NumPy, pandas, Polars, PyArrow, DuckDB, a dictionary of columns, anything with `__arrow_c_stream__`; or a path, a
    pattern or several of them, which are read without Python's memory (a `log.toml` beside them may name the columns).
    Every role is the name of a column of `X` or a column of its own. Where all roles are columns of their own, the
    contexts are the columns of `X`; otherwise `context` names them (`"*"`: all without another role).

    Columns of words and categories become categories, booleans 0 and 1. Dates, amounts and missing values are refused with the row and
    a remedy, as by the command line. `split` says train, valid or test; `time` divides the log by time instead, the latest quarter being
    the test part. `log_config` is a file that names the columns once (TOML); keywords win over it.
    `predictions` are what a model of yours predicts of the outcome at a list of actions, for a greedy policy to
    follow: columns (`"q_*"`, the star being the action, or `"q1@0.5"`), or `(actions, values)` with a row of values for each row. The
    model must not have seen the row.

    Examples:
        >>> import counterpoint as cp
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> log = cp.Log(moons, context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> log
        Log(3000 rows, contexts x0, x1, action action, reward reward)
    """

    def __init__(
        self,
        X: Any,
        action: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        cluster: Any = None,
        sample_weight: Any = None,
        count: Any = None,
        split: Any = None,
        time: Any = None,
        context: Names | None = None,
        exclude: Names | None = None,
        categorical: Names | None = None,
        missing: str | None = None,
        predictions: Any = None,
        target_density: Any = None,
        target_action: Any = None,
        drop_invalid: bool = False,
        scratch: str | os.PathLike[str] | None = None,
        log_config: str | os.PathLike[str] | None = None,
        threads: int = 0,
        policy: Policy | None = None,
    ) -> None:
        self._said = {name: value for name, value in locals().items() if name not in ("self", "X", "__class__")}
        config: dict[str, Any] = {} if log_config is None else json.loads(_counterpoint.log_config(log_config))
        X = config.get("path") if X is None else X
        self.table = X
        roles = _Roles(X, None if policy is None else policy.contexts)
        roles.add("action", action, several=True, names=None if policy is None else policy.actions)
        for name, value in [("reward", reward), ("cost", cost), ("propensity", propensity), ("cluster", cluster)]:
            roles.add(name, value)
        roles.add("weight", sample_weight)
        roles.add("count", count)
        roles.add("split", split)
        roles.predict(predictions)
        roles.add("target_density", target_density)
        roles.add("target_action", target_action, several=True)
        said: dict[str, Any] = roles.said
        times = roles.times(X, config.get("time") if time is None and split is None else time)
        if "reward" in said and "cost" in said:
            raise Error("both reward and cost are given; a log has one outcome", remedy="take one of the two out")
        context = roles.own if context is None and roles.all_given and not config else context
        for name, value in [("context", context), ("exclude", exclude), ("categorical", categorical)]:
            if value is not None:
                said[name] = tables.listed(value)
        if missing is not None:
            said["missing"] = missing
        roles.check({**config, **said})
        manner = {"drop_invalid": drop_invalid, "threads": threads, "scratch": scratch and os.fspath(scratch)}
        manner["log_config"] = log_config and os.fspath(log_config)
        native = None if policy is None else policy._native
        self._native = _counterpoint.Log(roles.rows, json.dumps(said), json.dumps(manner), type(X).__name__, native, times)
        self._contexts = context
        given = {"action": action, "reward": reward, "cost": cost, "propensity": propensity}
        self._given = {role: config.get(role) if value is None else value for role, value in given.items()}
        self._hints = [] if cluster is not None or policy is not None or "cluster" in config else roles.likely_clusters(X)
        for note in self.notes:
            if note.startswith("warning: "):
                warnings.warn(note.removeprefix("warning: "), PropensityWarning, stacklevel=2)

    def with_outcome(self, column: Any, direction: str, name: str | None = None) -> Log:
        """The same rows with another outcome: the name of a column, or the column itself, which then has this name."""
        known = [] if tables.is_path(self.table) else tables.names_of(tables.table(self.table))
        if isinstance(column, str) and not tables.is_path(self.table) and column not in known:
            remedy = "name a column of the table, or give a dictionary of rules and their columns"
            raise Error(f"there is no column {column!r}", column=column, remedy=remedy)
        if name in known and not isinstance(column, str):
            if not np.array_equal(np.asarray(self.table[name]), np.asarray(column)):
                raise Error("the table has another column of this name", column=name, remedy="rename one of the two")
            column = name
        outcome = column if isinstance(column, str) else _Named(str(name), column)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PropensityWarning)  # it has been said of these rows
            return type(self)(self.table, **{**self._said, "reward": None, "cost": None, direction: outcome})

    def with_predictions(self, actions: Any, values: Any) -> Log:
        """The same rows with what a model predicts of them at these actions, one column an action."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PropensityWarning)  # it has been said of these rows
            return type(self)(self.table, **{**self._said, "predictions": (actions, values)})

    @classmethod
    def of(cls, X: Any, columns: Any = None, policy: Policy | None = None) -> Log:
        """`X` itself if it is a log, else the log that it is by these keywords."""
        known(columns or {})
        if not isinstance(X, Log):
            return cls(X, **{**(columns or {}), "policy": policy})
        if columns:
            raise Error(f"{', '.join(columns)}: the log has been read already", remedy="give these to Log(...)")
        return X

    @property
    def rows(self) -> int:
        """Number of rows, without those that were dropped."""
        return self._native.rows

    @property
    def name(self) -> str:
        """What certificates call it: its paths, or the kind of table it was."""
        return self._native.name

    @property
    def notes(self) -> list[str]:
        """What was dropped, filled or estimated, which columns are categories or may be clusters, and warnings."""
        return [*self._native.notes, *self._hints]

    @property
    def schema(self) -> dict[str, Any]:
        """Contexts, actions, outcome and how they were read."""
        facts: dict[str, Any] = json.loads(self._native.schema)
        return facts

    def inputs(self) -> Any:
        """The contexts as the user's own table, for a policy or a model of the user's own."""
        if tables.is_path(self.table):
            raise Error(
                "the log is a file: its rows are not in Python",
                remedy="read the table first, or put the policy's densities into a column: target_density=...",
            )
        names = tables.listed(self._contexts)
        if names is None or any("*" in n or "?" in n for n in names):
            names = [i["name"] for i in self.schema["inputs"]]
        if isinstance(self.table, np.ndarray) or not hasattr(self.table, "__getitem__"):
            return self.table
        if isinstance(self.table, dict):
            return {name: self.table[name] for name in names}
        return self.table[names]

    def actions(self) -> Any:
        """The logged actions as the user gave them, for a policy of the user's own."""
        return self.column("action", self.schema["actions"])

    def column(self, role: str, names: Names | None = None) -> Any:
        """The column that has this role, as the user gave it or as numbers; `names` where none was given."""
        given = self._given.get(role) if self._given.get(role) is not None else names
        if not isinstance(given, str) and not _are_names(given):
            return given
        if tables.is_path(self.table):
            raise Error("the log is a file: its rows are not in Python", remedy="read the table first")
        columns = [np.asarray(self.table[name], dtype=np.float64) for name in tables.listed(given) or []]
        return columns[0] if len(columns) == 1 else np.column_stack(columns)

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        s = self.schema
        contexts = ", ".join(i["name"] for i in s["inputs"]) or "none"
        outcome = f"{s['direction']} {s['outcome']}"
        return f"Log({self.rows} rows, contexts {contexts}, action {', '.join(s['actions'])}, {outcome})"


def known(columns: Iterable[str]) -> None:
    """Refuses keywords that no log has."""
    names = sorted(Columns.__optional_keys__)
    unknown = next((name for name in columns if name not in names), None)
    if unknown is not None:
        import difflib

        near = difflib.get_close_matches(unknown, names, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"they are {', '.join(names)}"
        raise TypeError(f"there is no argument {unknown!r}; {meant}")


class _Named:
    """A column that has a name of its own."""

    def __init__(self, name: str, values: Any) -> None:
        self.name, self.values = name, values


class _Roles:
    """The rows for the native part, and the roles by name."""

    def __init__(self, X: Any, names: list[str] | None) -> None:
        self.said: dict[str, Any] = {}
        self.all_given = True
        self.is_files = tables.is_path(X)
        if self.is_files:
            self.rows: Any = tables.paths(X)
            self.own: list[str] | None = None
            self.all_given = False
        else:
            self.rows = tables.table(X, names)
            self.own = tables.names_of(self.rows)

    def add(self, role: str, value: Any, several: bool = False, names: list[str] | None = None) -> None:
        """Gives a column a role: one that is named, or one that is given, which then has these names."""
        if value is None:
            return
        if isinstance(value, _Named):
            value, names = value.values, [value.name]
        if isinstance(value, str) or (several and _are_names(value)):
            self.said[role] = tables.listed(value) if several else value
            self.all_given &= role == "propensity" and value == "fit"
            return
        if self.is_files:
            raise Error(f"{role} is a column of its own, and the log is a file", remedy="name a column of the file")
        shape = np.asarray(value).shape if several else ()
        many = len(shape) == 2 and shape[1] > 1
        columns = np.asarray(value).T if many else [value]
        roles = [f"{role}{i}" for i in range(len(columns))] if many else [role]
        known = names if names is not None and len(names) == len(roles) else [getattr(value, "name", None)] * len(roles)
        named = [self._free(name, role) for name, role in zip(known, roles, strict=True)]
        for name, values in zip(named, columns, strict=True):
            self.rows.columns.append((name, tables.column(values)))
        self.said[role] = named if several else named[0]

    def predict(self, predictions: Any) -> None:
        """Columns of predictions: named, or given as actions and one row of values for each row."""
        if predictions is None:
            return
        if isinstance(predictions, str) or _are_names(predictions):
            self.said["predictions"] = tables.listed(predictions)
            return
        if self.is_files:
            raise Error("predictions are columns of their own, and the log is a file", remedy="name columns of the file")
        actions, values, *_ = predictions
        values = np.asarray(values, dtype=np.float64)
        actions = [float(a) for a in np.asarray(actions)]
        if values.ndim != 2 or values.shape[1] != len(actions):
            raise Error(f"the predictions are {values.shape} for {len(actions)} actions", remedy="one column an action")
        names = [self._free(None, predicted(a)) for a in actions]
        for name, column in zip(names, values.T, strict=True):
            self.rows.columns.append((name, tables.column(column)))
        self.said["predictions"] = [f"{name}@{a!r}" for name, a in zip(names, actions, strict=True)]

    def times(self, X: Any, time: Any) -> Any:
        """When every row happened, as numbers or words with the name of their column; nothing where it is not said or stands in files."""
        if time is None or self.is_files:
            if time is not None:
                self.said["time"] = time
            return None
        if isinstance(time, str):
            self.said["time"] = time
            if time not in tables.names_of(self.rows):
                raise Error(f"there is no column {time!r}", column=time, remedy=f"the columns are: {', '.join(self.own or [])}")
            time = X[time]
        values = tables.column(tables.days(time))
        if isinstance(values, list):
            return self.said.get("time", "time"), ["" if v is None else v for v in values]
        return self.said.get("time", "time"), np.asarray(values, dtype=np.float64).tolist()

    def check(self, said: dict[str, Any]) -> None:
        """Refuses columns with a role that hold what is no value of a row."""
        if not self.is_files:
            several = ("weight", "count", "split", "target_density", "target_action", "predictions")
            roles = ("action", "reward", "cost", "propensity", "cluster", *several)
            taken = [n for role in roles for n in tables.listed(said.get(role)) or []]
            self.rows.check(taken)
            self.rows.check(tables.listed(said.get("context")) or [], [*taken, *(tables.listed(said.get("exclude")) or [])])

    def likely_clusters(self, X: Any) -> list[str]:
        """What to say of columns without a role that may tell which rows belong together."""
        if self.is_files or isinstance(X, np.ndarray) or not hasattr(X, "__getitem__"):
            return []  # files have been looked at by their reader
        taken = [n for role, value in self.said.items() if role != "context" for n in tables.listed(value) or []]
        names = [n for n in self.own or [] if n not in taken and _counterpoint.names_an_id(n)]
        found = (_counterpoint.likely_cluster(n, tables.column(X[n])) for n in names if n not in self.rows.strange)
        return [words for words in found if words is not None]

    def _free(self, name: Any, otherwise: str) -> str:
        taken = {*(self.own or []), *self.rows.names}
        free: str = name if isinstance(name, str) and name and name not in taken else otherwise
        while free in taken or free == "fit":
            free += "_"
        return free


def predicted(action: float) -> str:
    """The column of predictions at this action, where nobody has named it."""
    return f"prediction_{action:.10g}"


def _are_names(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, str) for v in value)
