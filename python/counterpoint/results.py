"""Results: objects that print well, give their data, and draw themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _counterpoint, page
from .errors import Error

if TYPE_CHECKING:
    from .log import Log
    from .policy import Policy


class Result:
    """Data of the library with its names as attributes."""

    _data: dict[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_data"][name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._data]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as the command line says it with --json."""
        copy: dict[str, Any] = json.loads(json.dumps(self._data))
        return copy

    def records(self) -> list[dict[str, Any]]:
        """The result as rows of a table."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The result as a DataFrame of pandas."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def to_polars(self) -> Any:
        """The result as a DataFrame of Polars."""
        import polars as pl

        return pl.DataFrame(self.records(), infer_schema_length=None)


def _ends(name: str, i: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, **{k: i[k] for k in ("estimate", "std_error", "lower", "upper")}}


class Certificate(Result):
    """Whether a policy may be deployed: the verdict, its reasons and every figure behind it.

    Examples:
        >>> import counterpoint as cp
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> learner = cp.Learner(policy="linear", starts=1, seed=1)
        >>> learner = learner.fit(moons, "action", reward="reward", propensity="propensity", context=["x0", "x1"])
        >>> certificate = learner.certificate_
        >>> certificate.verdict in ("deploy", "promising", "keep", "invalid")
        True
        >>> certificate.difference["lower"] <= certificate.difference["estimate"] <= certificate.difference["upper"]
        True
    """

    def __init__(
        self, native: _counterpoint.Certified | None, text: str | None = None, words: str = "", also: dict[str, Any] | None = None
    ) -> None:
        self._native = native
        self._text = native.json if native is not None else (text or "{}")
        self._words = native.words if native is not None else words
        self._segments: dict[str, Any] = {}
        self._also: dict[str, Any] = also or ({} if native is None else json.loads(native.also))
        file = json.loads(self._text)
        # with guardrails the file holds the certificate of the outcome, and the verdict on all of them
        self._data = {**file.pop("primary"), **file} if "primary" in file else file

    def _with(self, segments: Segments) -> Certificate:
        """The same, with the gain by a context."""
        self._segments = segments.to_dict()
        self._words += f"\n\n{segments!r}"
        return self

    @property
    def guardrails(self) -> list[dict[str, Any]]:
        """What was found of every guardrail that was asked for."""
        return list(self._data.get("guardrails", []))

    @property
    def segments(self) -> list[dict[str, Any]]:
        """The gain in every segment, where `certify` was asked for it; see also `by`."""
        return list(self._segments.get("segments", []))

    @property
    def ratio(self) -> dict[str, Any] | None:
        """The outcome per unit of another one, where `certify` was asked for it with `per`."""
        return self._also.get("ratio")

    @property
    def abstains(self) -> dict[str, Any] | None:
        """In which share of the valid rows, and mostly where, the policy that abstains does what the log did."""
        return self._also.get("abstains")

    @property
    def policy(self) -> Policy | None:
        """The policy that was certified, with `abstain` the one that abstains; nothing of a policy without a file, or after pickling."""
        from .policy import Policy

        native = None if self._native is None else self._native.policy
        return None if native is None else Policy(native)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as the command line says it with --json."""
        said: dict[str, Any] = {**json.loads(self._text), **json.loads(json.dumps(self._also))}
        return {**said, "segments": self._segments} if self._segments else said

    def by(self, column: str) -> Segments:
        """The gain by a context: its categories, or four cuts of a number. Intervals hold for all of them together."""
        if self._native is None:
            raise _without_rows()
        return Segments(*self._native.by(column))

    @property
    def verdict(self) -> str:
        """deploy, promising, keep or invalid."""
        return str(self._data["verdict"])

    @property
    def deploys(self) -> bool:
        """Whether the verdict is to deploy."""
        return self.verdict == "deploy"

    def to_json(self) -> str:
        """The certificate as the command line writes it."""
        return self._text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the certificate (JSON)."""
        Path(path).write_text(self._text, encoding="utf-8")

    def report_html(self, with_rows: bool = False) -> str:
        """The report as a page of HTML, which loads nothing; see `report`."""
        if self._native is None:
            raise _without_rows()
        return self._native.page(with_rows)

    def report(self, path: str | os.PathLike[str], with_rows: bool = False) -> Path:
        """Writes the report (HTML): means and counts of ten rows and more; `with_rows` lets it show some rows of the log as they are."""
        Path(path).write_text(self.report_html(with_rows), encoding="utf-8")
        return Path(path)

    def records(self) -> list[dict[str, Any]]:
        """Log, policy and difference, each with its interval; and the difference of every guardrail."""
        d = self._data
        own = [_ends("log", d["logged"]), _ends("policy", d["value"]), _ends("difference", d["difference"])]
        return own + [_ends(g["guardrail"]["column"], g["difference"]) for g in self.guardrails]

    def plot(self, ax: Any = None) -> Any:
        """The intervals of log, policy and difference (matplotlib)."""
        return page.intervals(self.records(), ax, title=f"Certificate: {self.verdict.upper()}")

    def __reduce__(self) -> Any:
        return Certificate, (None, self._text, self._words, self._also)

    def __repr__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        return page.certificate(self._data, self.records()) + (page.table(_gains(self.segments)) if self.segments else "")


def _without_rows() -> Error:
    return Error(
        "a certificate that was pickled has left its rows behind, and this needs them",
        remedy="ask where the certificate was made",
    )


def _gains(segments: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a segment."""
    ends = ("estimate", "lower", "upper")

    def row(s: dict[str, Any]) -> dict[str, Any]:
        finding = s["finding"] if isinstance(s["finding"], str) else next(iter(s["finding"].values()))
        gain = s["difference"] or dict.fromkeys(ends)
        return {"segment": s["name"], "rows": s["rows"], "finding": finding, **{k: gain[k] for k in ends}}

    return [row(s) for s in segments]


class Segments(Result):
    """The gain of a policy segment by segment; all intervals hold together."""

    def __init__(self, text: str, words: str) -> None:
        self._data = json.loads(text)
        self._words = words

    def records(self) -> list[dict[str, Any]]:
        """One row a segment: its rows, what was found, the gain with its interval."""
        return _gains(self._data["segments"])

    def plot(self, ax: Any = None) -> Any:
        """The interval of every segment's gain (matplotlib)."""
        rows = [_ends(s["name"], s["difference"]) for s in self._data["segments"] if s["difference"] is not None]
        return page.intervals(rows, ax, title=f"Difference to the log by {self._data['by']}")

    def __repr__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        return page.table(self.records())


class Plan(Result):
    """How many rows a gain needs: of a policy, and of policies that move the action by so much."""

    def __init__(self, text: str, words: str) -> None:
        self._data = json.loads(text)
        self._words = words

    def records(self) -> list[dict[str, Any]]:
        """One row a move of the action: what this log's noise needs, and what the best noise needs."""

        def row(m: dict[str, Any]) -> dict[str, Any]:
            now = m["now"] or dict.fromkeys(("effective_share", "rows", "detectable"))
            best = {"best_std": m["best_std"], "best_share": m["best"]["effective_share"], "best_rows": m["best"]["rows"]}
            return {"move": m["by"], **{k: now[k] for k in ("effective_share", "rows", "detectable")}, **best}

        return [row(m) for m in self._data["moves"]]

    def plot(self, ax: Any = None) -> Any:
        """Rows needed by how far a policy moves the action, with this log's noise and with the best (matplotlib)."""
        return page.rows_needed(self.records(), ax)

    def __repr__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        return page.table(self.records()) + page.lines([line for line in self._words.splitlines() if line.startswith("this policy")])


class Watch(Result):
    """A policy that is followed: what the rows so far say, and the state to go on with.

    `standing` is better, worse or undecided; `value` and `difference` are intervals that hold at all moments together; `looks` is what was
    said after every batch.
    """

    def __init__(self, state: str) -> None:
        self._state = state
        facts = json.loads(_counterpoint.monitor_look(state))
        self._data = {**facts.pop("look"), **facts}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Watch:
        """The state of a file; a damaged one is refused."""
        return cls(_counterpoint.monitor_load(os.fspath(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the state, whole or not at all; `counterpoint monitor --state` reads it too."""
        _counterpoint.monitor_save(self._state, os.fspath(path))

    def to_json(self) -> str:
        """The text of the file."""
        return self._state

    def merge(self, other: Watch) -> Watch:
        """What both have seen, of the same policy on the same terms."""
        return Watch(_counterpoint.monitor_merge(self._state, other.to_json()))

    def records(self) -> list[dict[str, Any]]:
        """One row a look: rows so far, standing, the interval of the difference."""
        looks = self._data["looks"]
        return [{"rows": k["rows"], "standing": k["standing"], "lower": k["difference"][0], "upper": k["difference"][1]} for k in looks]

    def plot(self, ax: Any = None) -> Any:
        """The interval of the difference after every batch (matplotlib)."""
        return page.looks(self.records(), ax)

    def __reduce__(self) -> Any:
        return Watch, (self._state,)

    def __repr__(self) -> str:
        d = self._data
        told = f"{d['standing'].upper()}: difference in [{d['difference'][0]:.4f}, {d['difference'][1]:.4f}] after {d['rows']} rows"
        own = "every weight is 1: these rows are the policy's own; start with against=, what the log earned before"
        return f"{told}\n{own}" if d["own_rows"] and d["terms"]["against"] is None else told

    def _repr_html_(self) -> str:
        return page.lines(repr(self).splitlines()) + page.table(self.records())


class Comparison(Result, Sequence[Certificate]):
    """Certificates of several policies on one test part, adjusted for their number; the adjusted p-values are in `adjusted`."""

    def __init__(self, names: Sequence[str], certificates: Sequence[Certificate]) -> None:
        self.names = list(names)
        self.certificates = list(certificates)
        self._data = {n: c._data for n, c in zip(self.names, self.certificates, strict=True)}

    def __getitem__(self, key: Any) -> Any:
        return self.certificates[self.names.index(key) if isinstance(key, str) else key]

    def __len__(self) -> int:
        return len(self.certificates)

    def __iter__(self) -> Iterator[Certificate]:
        return iter(self.certificates)

    def records(self) -> list[dict[str, Any]]:
        """One row a policy: verdict, gain with its interval, p-values."""

        def row(name: str, c: Certificate) -> dict[str, Any]:
            adjusted = c.adjusted or {}
            return {
                "policy": name,
                "verdict": c.verdict,
                **{k: c.difference[k] for k in ("estimate", "lower", "upper")},
                "p_value": c.p_value,
                "holm": adjusted.get("holm"),
                "max_t": adjusted.get("max_t"),
            }

        return [row(n, c) for n, c in zip(self.names, self.certificates, strict=True)]

    def plot(self, ax: Any = None) -> Any:
        """The interval of every policy's difference to the log (matplotlib)."""
        rows = [_ends(n, c.difference) for n, c in zip(self.names, self.certificates, strict=True)]
        return page.intervals(rows, ax, title="Difference to the log")

    def __repr__(self) -> str:
        return page.text_table(self.records())

    def _repr_html_(self) -> str:
        return page.table(self.records())


#: The parts of a ratio, by their words.
_RATIO = (("policy", "policy"), ("log", "logged"), ("difference", "difference"))


class Estimates(Result):
    """What every estimator says of a policy on the same rows; those that could not answer say why."""

    def __init__(self, text: str) -> None:
        self._data = json.loads(text)

    def __getitem__(self, estimator: str) -> dict[str, Any]:
        found = [e for e in self._data["table"]["estimators"] if e["name"] == estimator]
        if not found:
            known = ", ".join(e["name"] for e in self._data["table"]["estimators"])
            raise KeyError(f"there is no estimator {estimator!r}; they are {known}")
        row: dict[str, Any] = found[0]
        if row["answer"] is None:
            raise Error(f"{estimator} has no answer: {row['failure']}")
        return {**row["answer"], "effective_share": row["effective_share"], "mean_weight": row["mean_weight"]}

    @property
    def logged(self) -> dict[str, float]:
        """The mean outcome of the log itself."""
        logged: dict[str, float] = self._data["table"]["logged"]
        return logged

    def records(self) -> list[dict[str, Any]]:
        """One row an estimator, and the log itself last."""
        nothing: dict[str, Any] = dict.fromkeys(("estimate", "std_error", "lower", "upper"))
        rows = [
            {
                **_ends(e["name"], {**nothing, **(e["answer"] or {})}),
                "effective_share": e["effective_share"],
                "mean_weight": e["mean_weight"],
                "failure": e["failure"],
            }
            for e in self._data["table"]["estimators"]
        ]
        log = {**_ends("the log itself", self.logged), "effective_share": None, "mean_weight": None, "failure": None}
        return [*rows, log]

    def plot(self, ax: Any = None) -> Any:
        """The interval of every estimator (matplotlib)."""
        answered = [r for r in self.records() if r["estimate"] is not None]
        return page.intervals(answered, ax, title=f"{self.outcome} on the {self.part} rows")

    def __repr__(self) -> str:
        answered, silent = self._told()
        return "\n".join([page.text_table(answered), *(f"{name}: {why}" for name, why in silent), *self._more()])

    def _repr_html_(self) -> str:
        answered, silent = self._told()
        return page.table(answered) + page.lines([*(f"{name}: {why}" for name, why in silent), *self._more()])

    def _more(self) -> list[str]:
        """The ratio and the paper's bounds in words, where they were asked for."""
        found: list[str] = []
        if "ratio" in self._data:
            r = self._data["ratio"]
            ends = ", ".join(f"{n} {r[k]['estimate']:.4f} [{r[k]['lower']:.4f}, {r[k]['upper']:.4f}]" for n, k in _RATIO)
            found.append(f"{r['outcome']} per {r['per']}: {ends}")
        return found + str(self._data.get("bounds_in_words", "")).splitlines()

    def _told(self) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
        """The rows that have an answer, and why the others have none."""
        rows = self.records()
        answered = [{k: v for k, v in r.items() if k != "failure"} for r in rows if r["failure"] is None]
        return answered, [(r["name"], f"not available: {r['failure']}") for r in rows if r["failure"] is not None]


class Description(Result):
    """What a log holds, whether its propensities can be densities, and which policies it can support."""

    def __init__(self, log: Log) -> None:
        self._log = log
        text, words = _counterpoint.describe(log._native)
        self._words = "\n".join([words.rstrip(), *(f"note: {note}" for note in log.notes if not note.startswith("warning: "))])
        self._data = json.loads(text)

    def records(self) -> list[dict[str, Any]]:
        """One row a column, with mean, std and quantiles."""
        levels = ("min", "q01", "q25", "median", "q75", "q99", "max")

        def row(role: str, c: dict[str, Any]) -> dict[str, Any]:
            numbers = dict(zip(levels, c["quantiles"], strict=True))
            return {"column": c["name"], "role": role, "mean": c["mean"], "std": c["std"], **numbers}

        d = self._data
        columns = [("context", c) for c in d["contexts"]] + [("action", c) for c in d["actions"]]
        return [row(role, c) for role, c in [*columns, (d["direction"], d["outcome"])]]

    def plot(self, ax: Any = None) -> Any:
        """How much of the log an estimate would rest on, by action and noise (matplotlib)."""
        return page.support(self._data["support"], ax)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page about the log (HTML)."""
        Path(path).write_text(_counterpoint.describe_page(self._log._native), encoding="utf-8")
        return Path(path)

    def __reduce__(self) -> Any:
        raise TypeError("a Description holds its log and is not pickled; to_dict() is")

    def __repr__(self) -> str:
        return self._words

    def _repr_html_(self) -> str:
        return page.description(self._words, self.records())
