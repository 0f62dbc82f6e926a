"""`Learner` and `Selector`: from a log to a policy and its certificate, with scikit-learn's habits."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from . import _counterpoint, judge, models, target
from .errors import Error
from .log import Log, Reading, known
from .policy import Policy
from .results import Certificate

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = npt.NDArray[np.float64]
Self = TypeVar("Self", bound="_Estimator")

#: The fields of a recipe, each a keyword of `Learner`.
RECIPE = {name: (default, meaning) for name, default, meaning in _counterpoint.recipe_fields()}


@dataclass
class _Wish:
    terms: str
    certify: bool
    threads: int
    progress: Callable[[int, int], None] | None

    def close(self) -> None:
        """Ends the line of a bar."""
        if isinstance(self.progress, _Bar):
            self.progress.close()


class _Estimator:
    """What a learner and a selector share: parameters, and what a policy does after it was learned."""

    _own: ClassVar[dict[str, Any]] = {}
    _fields: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, **params: Any) -> None:
        for name in params:
            self._check(name)
        for name, value in {**self._own, **params}.items():
            setattr(self, name, value)
        self._names = [*self._own, *(name for name in params if name not in self._own)]

    @classmethod
    def _check(cls, name: str) -> None:
        known = [*cls._own, *cls._fields]
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"{cls.__name__} has no parameter {name!r}{meant}")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters: those of this class, and the fields that were set."""
        return {name: getattr(self, name) for name in self._names}

    def set_params(self: Self, **params: Any) -> Self:
        """Sets parameters; a field of the recipe that was not set before may be set too."""
        for name, value in params.items():
            if name not in self._own and name not in self._fields:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
            if name not in self._names:
                self._names.append(name)
            setattr(self, name, value)
        return self

    def _wish(self) -> _Wish:
        terms = judge.terms({name: getattr(self, name) for name in judge.TERMS})
        progress = _Bar() if self.progress is True else self.progress or None  # type: ignore[attr-defined]
        return _Wish(terms, bool(self.certify), int(self.threads), progress)  # type: ignore[attr-defined]

    def _keep(self, learned: _counterpoint.Learned, certificate: Certificate | None = None) -> None:
        self.policy_ = Policy(learned.policy)
        self.certificate_ = certificate if learned.certificate is None else Certificate(learned.certificate)
        self.facts_: dict[str, Any] = json.loads(learned.facts)
        self.n_features_in_ = len(self.policy_.contexts)
        self.feature_names_in_ = np.array(self.policy_.contexts, dtype=object)
        if learned.interrupted:
            raise KeyboardInterrupt("the fit was ended early; policy_ holds what was learned until then")

    def _fitted(self) -> Policy:
        policy = getattr(self, "policy_", None)
        if policy is None:
            raise _not_fitted(type(self).__name__)
        assert isinstance(policy, Policy)
        return policy

    def _asking(self, X: Any) -> Any:
        """X with the predictions that the policy follows beside it, where the model that was brought can be asked."""
        asks = getattr(self, "_asks", None)
        return X if asks is None else asks(X)

    def predict(self, X: Any) -> Array:
        """The mean action of every row."""
        return self._fitted().mean(self._asking(X))

    def sample(self, X: Any, seed: int | None = None) -> tuple[Array, Array]:
        """An action for every row and the density with which it was drawn; see `Policy.sample`."""
        return self._fitted().sample(self._asking(X), seed)

    def log_density(self, X: Any, actions: Any) -> Array:
        """Ln pi(a|x) of every row."""
        return self._fitted().log_density(self._asking(X), actions)

    def score(
        self,
        X: Any,
        action: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        sample_weight: Any = None,
        **columns: Unpack[Reading],
    ) -> float:
        """The policy's value per row by SNIPS on these rows, larger is better: of costs it is the negative."""
        roles: dict[str, Any] = {**columns, "action": action, "reward": reward, "cost": cost}
        roles |= {"propensity": propensity, "sample_weight": sample_weight}
        given = {name: value for name, value in roles.items() if value is not None}
        found = judge.evaluate(self._fitted(), X, rows="all", **given)
        value = float(found["snips"]["estimate"])
        return value if found.direction == "reward" else -value

    def __sklearn_is_fitted__(self) -> bool:
        return getattr(self, "policy_", None) is not None

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=True))

    def get_metadata_routing(self) -> Any:
        """What scikit-learn hands to `fit` and `score` where metadata routing is on: every column of the log."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        for name in ("reward", "cost", "propensity", "sample_weight"):
            request.fit.add_request(param=name, alias=True)
            request.score.add_request(param=name, alias=True)
        request.fit.add_request(param="cluster", alias=True)
        return request

    def _get_default_requests(self) -> Any:
        # scikit-learn before 1.8 asks here what `score` is handed
        return self.get_metadata_routing()

    def __repr__(self) -> str:
        changed = [n for n in self._names if not _same(getattr(self, n), self._own.get(n))]
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in changed)})"


_COMMON: dict[str, Any] = {
    "certify": True,
    **dict.fromkeys(judge.TERMS),
    "threads": 0,
    "progress": None,
}


class Learner(_Estimator):
    """One recipe, one policy, one certificate: what `counterpoint learn` does.

    Keywords are the fields of the recipe (`counterpoint recipe` prints them, `RECIPE` holds them): `policy`, `models`, `max_action`, `cap`,
    `seed` and so on; what is not said is left to the library. `recipe` names a recipe file. Beside these:
    `certify` (whether the test part is read), the terms of the certificate (`confidence`, `min_effective_rows`, `min_effective_share`,
    `interval`, `outcome_range`, `trust_estimated`, `paper`), `guardrails` (outcomes that must not become worse, such as
    `["refunds:max+2%"]`: they steer the search and are certified), `logging_policy`, `threads` (0: one a core; the result does
    not depend on it) and `progress` (True, or a function of done and all).

    After `fit`: `policy_`, `certificate_`, and `facts_`, what else is known of the fit.

    Examples:
        >>> import counterpoint as cp, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x, a = rng.uniform(size=(3000, 1)), rng.uniform(0, 3, size=3000)
        >>> reward = 1 - abs(a - 1 - x[:, 0])
        >>> learner = cp.Learner(policy="linear", starts=1)
        >>> learner = learner.fit(x, a, reward=reward, propensity=np.full(3000, 1 / 3))
        >>> learner.certificate_.verdict
        'deploy'
        >>> bool(abs(learner.predict([[0.5]])[0] - 1.5) < 0.1)
        True
    """

    _own: ClassVar[dict[str, Any]] = {"recipe": None, "logging_policy": None, "guardrails": (), **_COMMON}
    _fields: ClassVar[frozenset[str]] = frozenset(RECIPE)

    def _recipe(self) -> str:
        given = {n: getattr(self, n) for n in self._names if n in self._fields}
        return json.dumps({name: _plain(value) for name, value in given.items() if value is not None})

    def recipe_toml(self) -> str:
        """The whole recipe, every field that has an effect, as TOML."""
        return _counterpoint.recipe_grammar(self._recipe(), self._file())

    def _brought(self, model: Any, log: Log) -> Log:
        """The log with the predictions of a model beside it; the model itself is kept to act by, where it can be asked."""
        self._asks = None
        if model is None:
            return log
        seed = re.search(r"^seed = (\d+)", self.recipe_toml(), re.MULTILINE)
        found, self._asks = models.to_follow(model, log, int(seed.group(1)) if seed else 0)
        return log.with_predictions(*found)

    def _file(self) -> str | None:
        recipe: str | os.PathLike[str] | None = self.recipe  # type: ignore[attr-defined]
        return None if recipe is None else os.fspath(recipe)

    def fit(
        self,
        X: Any,
        action: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        cluster: Any = None,
        sample_weight: Any = None,
        model: Any = None,
        **columns: Unpack[Reading],
    ) -> Learner:
        """Learns on the train part, certifies on the test part; see `Log` for what X and the columns may be.

        `model` is a model of the outcome of your own, one more among those that a greedy policy follows: a regressor, which is
        cross-fitted here without the test part and then fitted on all other rows for the policy to act by; or `(actions, predictions)`
        from a model that has not seen the rows. See `evaluate`, and `predictions` of `Log`.
        """
        roles: dict[str, Any] = {"reward": reward, "cost": cost, "propensity": propensity, "cluster": cluster}
        log = _log(X, {**roles, "action": action, "sample_weight": sample_weight, **columns}, self)
        log = self._brought(model, log)
        logging = target.policy_of(self.logging_policy)  # type: ignore[attr-defined]
        native = None if logging is None else logging._native
        guards = list(judge._guards(log, self.guardrails))  # type: ignore[attr-defined]
        wish = self._wish()
        try:
            learned = _counterpoint.learn(log._native, self._recipe(), self._file(), native, wish, guards)
        finally:
            wish.close()
        self._keep(learned)
        return self


class Selector(_Estimator):
    """The offline protocol: many candidates, judged on rows they have not seen, the best one certified; what `counterpoint select` does.

    `grid` is a built-in grid (auto, clp, wide, ..), a grid file, or a dictionary such as `{"recipe": {"cap": [5, 15]}}`, in which any
    field of the recipe may be a list. `folds` is the number of cross-validation folds, `seed` that of everything random.
    `journal` names a file that every finished fit is written to at once; after ctrl-C or a crash, `resume=True` goes on with it and ends in
    the same policy.
    `budget` is how many seconds the search may take: `facts_["left_out"]` says what there was no time for.
    `guardrails`, terms, `threads` and `progress` are those of `Learner`. After `fit`, `leaderboard_` holds the candidates, best first.

    Examples:
        >>> import counterpoint as cp
        >>> moons = cp.simulate("moons", rows=3000, seed=1)
        >>> grid = {"recipe": {"policy": ["constant", "linear"], "starts": 1, "proximal_steps": 0}}
        >>> selector = cp.Selector(grid=grid, seed=1)
        >>> selector = selector.fit(moons, "action", reward="reward", propensity="propensity", context=["x0", "x1"])
        >>> len(selector.leaderboard_)
        2
    """

    _own: ClassVar[dict[str, Any]] = {
        "grid": "auto",
        "folds": None,
        "seed": 0,
        "journal": None,
        "resume": False,
        "budget": None,
        "guardrails": (),
        **_COMMON,
    }

    def fit(
        self,
        X: Any,
        action: Any = None,
        *,
        reward: Any = None,
        cost: Any = None,
        propensity: Any = None,
        cluster: Any = None,
        sample_weight: Any = None,
        **columns: Unpack[Reading],
    ) -> Selector:
        """Learns every candidate, keeps the best, certifies it on the test part."""
        roles: dict[str, Any] = {"reward": reward, "cost": cost, "propensity": propensity, "cluster": cluster}
        log = _log(X, {**roles, "action": action, "sample_weight": sample_weight, **columns}, self)
        guards = list(judge._guards(log, self.guardrails))  # type: ignore[attr-defined]
        wish = self._wish()
        try:
            budget: float | None = self.budget  # type: ignore[attr-defined]
            learned = _counterpoint.select(log._native, *self._asked(), wish, self._journal(), guards, budget)
        finally:
            wish.close()
        self._keep(learned)
        self.leaderboard_: list[dict[str, Any]] = self.facts_["leaderboard"]
        return self

    def _journal(self) -> tuple[str, bool] | None:
        """The file of finished fits, and whether those in it are gone on with."""
        journal: str | os.PathLike[str] | None = self.journal  # type: ignore[attr-defined]
        if journal is None and self.resume:  # type: ignore[attr-defined]
            raise Error("resume goes on with a journal, and none is named", remedy="journal=FILE, as in the fit that was interrupted")
        return None if journal is None else (os.fspath(journal), bool(self.resume))  # type: ignore[attr-defined]

    def _asked(self) -> tuple[str, int | None, int]:
        """Grid, folds and seed."""
        grid: Any = self.grid  # type: ignore[attr-defined]
        text = json.dumps(grid) if isinstance(grid, dict) else os.fspath(grid)
        return text, self.folds, int(self.seed)  # type: ignore[attr-defined]


def _log(X: Any, roles: dict[str, Any], estimator: Any) -> Log:
    known(roles)
    given = {name: value for name, value in roles.items() if value is not None}
    if isinstance(X, Log):
        return Log.of(X, given)
    return Log(X, **{"threads": int(estimator.threads), **given})


def _same(a: Any, b: Any) -> bool:
    return a is b or bool(np.all(a == b))


def _plain(value: Any) -> Any:
    """A number of NumPy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


class _Bar:
    """A bar on stderr, in a terminal and in a notebook; seconds where nobody knows how much there is to do."""

    def __init__(self) -> None:
        self.begun, self.told = time.monotonic(), False

    def __call__(self, done: int, of: int) -> None:
        full = 30 * done // max(of, 1)
        self._tell(f"[{'#' * full}{'.' * (30 - full)}] {done}/{of}")

    def tick(self) -> None:
        self._tell("learning")

    def close(self) -> None:
        sys.stderr.write("\n" if self.told else "")

    def _tell(self, words: str) -> None:
        self.told = True
        sys.stderr.write(f"\rcounterpoint: {words}, {time.monotonic() - self.begun:.0f} s")
        sys.stderr.flush()


def _not_fitted(name: str) -> Exception:
    words = f"this {name} is not fitted yet: call fit first"
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return AttributeError(words)
    error: Exception = NotFittedError(words)
    return error
