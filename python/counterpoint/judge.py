"""What a log holds, what a policy would have earned, and whether that may be believed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _counterpoint, target
from .errors import Error
from .log import Columns, Log
from .results import Certificate, Comparison, Description, Estimates

if TYPE_CHECKING:
    from typing_extensions import Unpack

TERMS = (
    "confidence",
    "min_effective_share",
    "min_effective_rows",
    "interval",
    "outcome_range",
    "trust_estimated",
    "paper",
)


def terms(given: Mapping[str, Any]) -> str:
    """The terms of a certificate; what is not said is left to the library."""
    unknown = [name for name in given if name not in TERMS]
    if unknown:
        raise Error(f"{unknown[0]} is not a term of a certificate", remedy=f"they are {', '.join(TERMS)}")
    return json.dumps({name: value for name, value in given.items() if value is not None})


def describe(X: Any, **columns: Unpack[Columns]) -> Description:
    """What a log holds, whether its propensities can be densities, and which policies it can support.

    Examples:
        >>> import counterpoint as cp
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> facts = cp.describe(moons, context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> facts.rows, facts.propensity["plausible"]
        (3000, True)
    """
    return Description(Log.of(X, columns))


@dataclass
class _Question:
    rows: str
    seed: int
    cap: float
    model_ridge: float
    threads: int


def evaluate(
    policy: Any,
    X: Any,
    *,
    rows: str = "valid",
    seed: int = 0,
    cap: float = 15.0,
    model_ridge: float = 1e-3,
    logging_policy: Any = None,
    target_std: Any = None,
    target_family: str = "normal",
    **columns: Unpack[Columns],
) -> Estimates:
    """What a policy would have earned or cost, by every estimator; intervals are normal ones of 95%.

    `policy` is one of ours, a fitted learner or a policy file; or a policy of your own: an array with its density at each
    logged action, an object with `log_density(X, a)`, a function of (X, a) that gives densities, or a regressor
    with `predict(X)` and a `target_std`; or `None`, with `target_density` or `target_action`.
    `rows` is all, train, valid or test, divided by `split` or by a hash with `seed` as when learning.

    Examples:
        >>> import counterpoint as cp, numpy as np
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> roles = dict(context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> own = cp.evaluate(moons["propensity"], moons, **roles)  # the policy that logged the data
        >>> bool(abs(own["snips"]["estimate"] - own.logged["estimate"]) < 1e-9)
        True
    """
    log = Log.of(X, columns, target.policy_of(policy))
    logging = target.policy_of(logging_policy)
    question = _Question(rows, seed, cap, model_ridge, int(columns.get("threads", 0)))
    asked = target.brought(policy, log, target_std, target_family)
    return Estimates(_counterpoint.evaluate(asked, log._native, question, None if logging is None else logging._native))


def certify(
    policy: Any,
    X: Any,
    *,
    seed: int = 0,
    confidence: float | None = None,
    min_effective_share: float | None = None,
    min_effective_rows: float | None = None,
    interval: str | None = None,
    outcome_range: tuple[float, float] | None = None,
    trust_estimated: bool | None = None,
    paper: bool | None = None,
    target_std: Any = None,
    target_family: str = "normal",
    **columns: Unpack[Columns],
) -> Certificate:
    """Deploy, keep, or invalid: whether a policy is better than the log, on rows it has not seen.

    `policy` is what `evaluate` takes. `seed` (or `split`) must be what the policy was learned with.

    Examples:
        >>> import counterpoint as cp, numpy as np
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> roles = dict(context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> cp.certify(moons["propensity"], moons, **roles).verdict  # the log's own policy is no better than the log
        'keep'
    """
    log = Log.of(X, columns, target.policy_of(policy))
    wanted = terms(
        {
            "confidence": confidence,
            "min_effective_share": min_effective_share,
            "min_effective_rows": min_effective_rows,
            "interval": interval,
            "outcome_range": outcome_range,
            "trust_estimated": trust_estimated,
            "paper": paper,
        }
    )
    asked = target.brought(policy, log, target_std, target_family)
    return Certificate(_counterpoint.certify(asked, log._native, wanted, seed, int(columns.get("threads", 0))))


def compare(
    policies: Mapping[str, Any] | Sequence[Any],
    X: Any,
    *,
    seed: int = 0,
    confidence: float | None = None,
    target_std: Any = None,
    target_family: str = "normal",
    **columns: Unpack[Columns],
) -> Comparison:
    """Certificates of several policies on one test part, such that the chance of any false `deploy` stays what was asked for.

    Policies that all were learned here read the log by the encoding of the first; they must have the same contexts.

    Examples:
        >>> import counterpoint as cp, numpy as np
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> log = cp.Log(moons, context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> cp.compare({"log": moons["propensity"], "lower": lambda X: 1 + 0 * X["x0"]}, log, target_std=0.5).names
        ['log', 'lower']
    """
    named = policies if isinstance(policies, Mapping) else {str(i): p for i, p in enumerate(policies)}
    ours = [p for p in map(target.policy_of, named.values()) if p is not None]
    log = Log.of(X, columns, ours[0] if ours else None)

    def ask(p: Any) -> Any:
        # a policy that has densities needs no std
        has_density = hasattr(p, "log_density") or not (callable(p) or hasattr(p, "predict"))
        return target.brought(p, log, None if has_density else target_std, target_family)

    asked = [ask(p) for p in named.values()]
    wanted, threads = terms({"confidence": confidence}), int(columns.get("threads", 0))
    made = _counterpoint.compare(asked, log._native, wanted, seed, threads)
    return Comparison(list(named), [Certificate(c) for c in made])
