"""What a log holds, what a policy would have earned, and whether that may be believed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _counterpoint, models, target
from .errors import Error
from .log import Columns, Log
from .results import Certificate, Comparison, Description, Estimates, Plan, Watch

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
    tail: float
    bounds: bool
    threads: int


@dataclass
class _Beside:
    guardrails: list[tuple[str, _counterpoint.Log]]
    per: _counterpoint.Log | None
    abstain: bool
    logging: _counterpoint.Policy | None


def evaluate(
    policy: Any,
    X: Any,
    *,
    rows: str = "valid",
    seed: int = 0,
    cap: float = 15.0,
    model: Any = None,
    model_ridge: float = 1e-3,
    tail: float = 0.1,
    per: Any = None,
    bounds: bool = False,
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

    `model` is a model of the outcome for the direct method and doubly robust estimates; without it, a ridge regression on the train
    rows. A regressor (scikit-learn, LightGBM, CatBoost, or your own with `fit(X, a, y)` and `predict(X, a)`) is cross-fitted here; a
    function of (X, a) is asked as it is; `(actions, predictions)` are K actions and a prediction for every row at each of them.
    `tail` is the share of the worst outcomes whose mean is in `distribution`. `per` is a column to divide the outcome by, such as
    spend: `ratio` then holds the ratio of their means under policy and log. `bounds` computes the paper's bounds for a policy of
    `policy="clp"` with a normal law; they are vacuous at common sizes. `logging_policy` is what switch and cab need.

    Examples:
        >>> import counterpoint as cp, numpy as np
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> roles = dict(context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> own = cp.evaluate(moons["propensity"], moons, **roles)  # the policy that logged the data
        >>> bool(abs(own["snips"]["estimate"] - own.logged["estimate"]) < 1e-9)
        True
        >>> spend = 1 + np.abs(moons["action"])
        >>> own = cp.evaluate(moons["propensity"], moons, per=spend, **roles)
        >>> bool(abs(own.ratio["difference"]["estimate"]) < 1e-9)
        True
    """
    log = Log.of(X, columns, target.policy_of(policy))
    logging = target.policy_of(logging_policy)
    question = _Question(rows, seed, cap, model_ridge, tail, bounds, int(columns.get("threads", 0)))
    asked = target.brought(policy, log, target_std, target_family)
    native = None if logging is None else logging._native
    brought = models.asked(model, log, rows, seed)
    return Estimates(_counterpoint.evaluate(asked, log._native, question, native, brought, _below(log, per)))


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
    guardrails: Sequence[str] | Mapping[str, Any] = (),
    by: str | None = None,
    per: Any = None,
    abstain: bool | str | os.PathLike[str] = False,
    logging_policy: Any = None,
    target_std: Any = None,
    target_family: str = "normal",
    **columns: Unpack[Columns],
) -> Certificate:
    """Deploy, keep, or invalid: whether a policy is better than the log, on rows it has not seen.

    `policy` is what `evaluate` takes. `seed` (or `split`) must be what the policy was learned with.
    `guardrails` are outcomes that must not become worse: `"refunds:max+2%"` (at most 2% more of that column), `"sales:min-1%"`, or an
    amount without %; as a dictionary each with its column. `by` shows the gain by a context: `Certificate.segments`. `per` is a column
    to divide the outcome by, such as spend: `Certificate.ratio`; the verdict stays one on the outcome itself.

    `abstain=True` certifies another policy instead: it does what the log did in contexts where the log does not support yours, and what
    yours does elsewhere. `Certificate.policy` is that policy, `Certificate.abstains` says where; a path writes its file too.
    `logging_policy` is what the log did; without it, it is fitted on the train part.

    Examples:
        >>> import counterpoint as cp, numpy as np
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> roles = dict(context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> cp.certify(moons["propensity"], moons, **roles).verdict  # the log's own policy is no better than the log
        'keep'
        >>> moons["refunds"] = moons["action"] / 10
        >>> guarded = cp.certify(moons["propensity"], moons, guardrails=["refunds:max+5%"], by="x0", **roles)
        >>> guarded.guardrails[0]["holds"], len(guarded.segments)
        (True, 4)
        >>> learner = cp.Learner(policy="linear", starts=1, seed=1, certify=False)
        >>> learner = learner.fit(moons, "action", reward="reward", propensity="propensity", context=["x0", "x1"])
        >>> careful = cp.certify(learner, moons, seed=1, abstain=True, **roles)
        >>> careful.policy.kind, 0 <= careful.abstains["share"] <= 1
        ('abstain', True)
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
    logging = target.policy_of(logging_policy)
    native = None if logging is None else logging._native
    if logging_policy is not None and abstain is False:
        raise Error("logging_policy is for abstain", remedy="say abstain=True, or leave logging_policy out")
    beside = _Beside(list(_guards(log, guardrails)), _below(log, per), abstain is not False, native)
    made = Certificate(_counterpoint.certify(asked, log._native, wanted, seed, int(columns.get("threads", 0)), beside))
    if not isinstance(abstain, bool) and made.policy is not None:
        made.policy.save(abstain)
    return made if by is None else made._with(made.by(by))


def _below(log: Log, per: Any) -> _counterpoint.Log | None:
    """The log that has this column as its outcome: the name of a column, or the column itself."""
    if per is None:
        return None
    return log.with_outcome(per, "cost", per if isinstance(per, str) else getattr(per, "name", None) or "per")._native


def _guards(log: Log, guardrails: Sequence[str] | Mapping[str, Any]) -> Iterator[tuple[str, _counterpoint.Log]]:
    """Every rule with the log that has its column as the outcome."""
    given = guardrails if isinstance(guardrails, Mapping) else {}
    for rule in [guardrails] if isinstance(guardrails, str) else guardrails:
        column, direction = _counterpoint.guardrail(rule)
        yield rule, log.with_outcome(given.get(rule, column), direction, column)._native


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


def plan(
    X: Any,
    policy: Any = None,
    *,
    gain: float | None = None,
    power: float = 0.8,
    confidence: float = 0.95,
    rows: float | None = None,
    policy_std: float | None = None,
    target_std: Any = None,
    target_family: str = "normal",
    **columns: Unpack[Columns],
) -> Plan:
    """How many rows a gain needs, what the rows there will be could find, and how noisy the next log should be.

    `gain` is in the unit of the outcome (a tenth of its spread if it is not said), `rows` those there will be, `policy_std` the std of
    policies to come. With a policy the answer is measured on these rows. Plan on the log you have, test on rows to come.

    Examples:
        >>> import counterpoint as cp
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> roles = dict(context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
        >>> found, finer = (cp.plan(moons, gain=g, **roles) for g in (0.02, 0.01))
        >>> bool(finer.moves[0]["best"]["test_rows"] > 3 * found.moves[0]["best"]["test_rows"])  # half the gain, four times the rows
        True
    """
    log = Log.of(X, columns, target.policy_of(policy))
    asked = None if policy is None else target.brought(policy, log, target_std, target_family)
    terms = {"gain": gain, "power": power, "confidence": confidence, "rows": rows, "policy_std": policy_std}
    return Plan(*_counterpoint.plan(log._native, asked, json.dumps(terms), int(columns.get("threads", 0))))


def monitor(
    policy: Any,
    X: Any,
    *,
    state: Watch | str | os.PathLike[str] | None = None,
    outcome_range: tuple[float, float] | None = None,
    confidence: float | None = None,
    against: float | None = None,
    target_std: Any = None,
    target_family: str = "normal",
    **columns: Unpack[Columns],
) -> Watch:
    """Follows a policy as rows come in: better, worse, or undecided so far; look as often as you like.

    The first call needs the `outcome_range`, the smallest and the largest outcome that can happen; later ones take what came before as
    `state`: a `Watch`, or a file, which is read if it is there and written. Every row counts once. `against` is a value to
    compare with; without it, what the log earned on the same rows. Intervals hold at all moments together.

    Examples:
        >>> import counterpoint as cp
        >>> monday, tuesday = (cp.simulate("moons", rows=3000, seed=s) for s in (1, 2))
        >>> roles = dict(context=["x0", "x1"], reward="reward", propensity="propensity")
        >>> policy = cp.Learner(policy="linear", starts=1, seed=1).fit(monday, "action", **roles).policy_
        >>> low, high = min(monday["reward"]) - 1, max(monday["reward"]) + 1
        >>> watch = cp.monitor(policy, monday, outcome_range=(low, high), action="action", **roles)
        >>> watch = cp.monitor(policy, tuesday, state=watch, action="action", **roles)
        >>> watch.rows, watch.standing in ("better", "undecided", "worse")
        (6000, True)
    """
    log = Log.of(X, columns, target.policy_of(policy))
    asked = target.brought(policy, log, target_std, target_family)
    terms = json.dumps({"outcome_range": outcome_range, "confidence": confidence, "against": against})
    file = None if state is None or isinstance(state, Watch) else os.fspath(state)
    begun = state if isinstance(state, Watch) else Watch.load(file) if file is not None and os.path.exists(file) else None
    text = _counterpoint.monitor(asked, log._native, terms, None if begun is None else begun.to_json(), int(columns.get("threads", 0)))
    watch = Watch(text)
    if file is not None:
        watch.save(file)
    return watch
