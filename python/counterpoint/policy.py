"""A policy: a density of actions given contexts, in one JSON file that a person can read."""

from __future__ import annotations

import os
import secrets
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _counterpoint, tables

Array = npt.NDArray[np.float64]


class Policy:
    """A policy that was learned here or comes from a policy file.

    Examples:
        >>> import counterpoint as cp, numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x, a = rng.uniform(size=(3000, 1)), rng.uniform(0, 3, size=3000)
        >>> reward = 1 - abs(a - 1 - x[:, 0])
        >>> learner = cp.Learner(policy="linear", starts=1).fit(x, a, reward=reward, propensity=np.full(3000, 1 / 3))
        >>> policy = learner.policy_
        >>> policy.contexts, policy.actions, policy.kind
        (['x0'], ['action'], 'parametric')
        >>> bool(abs(policy.mean([[0.5]])[0] - 1.5) < 0.1)
        True
        >>> cp.Policy.from_json(policy.to_json()) == policy
        True
    """

    def __init__(self, native: _counterpoint.Policy) -> None:
        self._native = native

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Policy:
        """The policy of a file that `learn`, `select`, `rival` or `save` has written."""
        return cls(_counterpoint.Policy.load(os.fspath(path)))

    @classmethod
    def from_json(cls, text: str) -> Policy:
        """The policy that the text of a policy file says; it is checked before it is believed."""
        return cls(_counterpoint.Policy(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy file, whole or not at all."""
        self._native.save(os.fspath(path))

    def to_json(self) -> str:
        """The text of the policy file."""
        return self._native.text

    @property
    def kind(self) -> str:
        """model, parametric, rule or softmax."""
        return self._native.kind

    @property
    def contexts(self) -> list[str]:
        """The columns that a row of new data must have."""
        return self._native.contexts

    @property
    def actions(self) -> list[str]:
        """The names of the actions."""
        return self._native.actions

    @property
    def sha256(self) -> str:
        """The hash that certificates name the policy by."""
        return self._native.sha256

    def _rows(self, X: Any) -> tables.Parts:
        rows = tables.table(X, self.contexts)
        rows.check(self.contexts)
        return rows

    def mean(self, X: Any) -> Array:
        """The mean action of every row: one number a row, or one column an action where there are several."""
        return _flat(self._native.mean(self._rows(X)))

    def sample(self, X: Any, seed: int | None = None) -> tuple[Array, Array]:
        """An action for every row, and the density with which it was drawn: the next log.

        Draws are those of `counterpoint act`: the same seed and contexts give the same actions. Without a seed they are fresh.
        """
        seed = secrets.randbits(48) if seed is None else seed
        actions, densities = self._native.sample(self._rows(X), seed)
        return _flat(actions), densities

    def log_density(self, X: Any, actions: Any) -> Array:
        """Ln pi(a|x) of every row; minus infinity where the policy never acts."""
        return self._native.log_density(self._rows(X), tables.actions(actions))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> Any:
        return Policy.from_json, (self.to_json(),)

    def __repr__(self) -> str:
        contexts = ", ".join(self.contexts) or "none"
        return f"Policy({self.kind}, contexts {contexts}, action {', '.join(self.actions)})"


def _flat(actions: Array) -> Array:
    return actions[:, 0] if actions.shape[1] == 1 else actions
