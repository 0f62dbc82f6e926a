"""What users wish of a search: a time, guardrails, the worst outcomes, a model of their own."""

import numpy as np
import pytest

import counterpoint as cp


def world(rows: int = 3000, seed: int = 0):
    """Uniform actions on (0, 3); sales grow with the action, refunds where x > 0.5."""
    rng = np.random.default_rng(seed)
    x, a = rng.uniform(size=(rows, 1)), rng.uniform(0, 3, size=rows)
    sales = a + rng.normal(0, 0.4, rows)
    refunds = 1 + 0.6 * a * (x[:, 0] > 0.5) + rng.normal(0, 0.3, rows)
    return x, a, sales, refunds, np.full(rows, 1 / 3)


def test_a_budget_leaves_a_policy_and_says_what_is_missing():
    x, a, sales, _, p = world(800)
    selector = cp.Selector(budget=0.001, certify=False).fit(x, a, reward=sales, propensity=p)
    assert any("network" in what for what in selector.facts_["left_out"])
    assert selector.predict(x[:3]).shape == (3,)
    with pytest.raises(cp.Error, match="budget"):
        cp.Selector(budget=-1, certify=False).fit(x, a, reward=sales, propensity=p)


def test_guardrails_steer_and_are_certified():
    x, a, sales, refunds, p = world(4000)
    free = cp.Learner(certify=False, models="ridge").fit(x, a, reward=sales, propensity=p)
    bound = cp.Learner(guardrails={"refunds:max+5%": refunds}, models="ridge").fit(x, a, reward=sales, propensity=p)
    high = np.full((5, 1), 0.9)
    assert bound.predict(high).mean() < free.predict(high).mean() - 0.3
    assert bound.certificate_.guardrails[0]["holds"]


def test_the_worst_outcomes_are_an_objective():
    x, a, sales, _, p = world(1500)
    learner = cp.Learner(objective="cvar", tail=0.2, models="linear", certify=False).fit(x, a, reward=sales, propensity=p)
    assert any("worst 20%" in note for note in learner.facts_["search"]["notes"])


class Parabola:
    """A regressor of a reward that is best at one action, which it finds by least squares."""

    def fit(self, X, a, y):
        self.beta = np.linalg.lstsq(np.column_stack([np.ones_like(a), a, a * a]), y, rcond=None)[0]
        return self

    def predict(self, X, a):
        return self.beta[0] + self.beta[1] * a + self.beta[2] * a * a


def test_a_model_of_the_user_is_followed():
    rng = np.random.default_rng(3)
    x, a = rng.uniform(size=(2000, 1)), rng.uniform(0, 3, size=2000)
    reward = -((a - 2) ** 2) + rng.normal(0, 0.3, 2000)
    roles = {"reward": reward, "propensity": np.full(2000, 1 / 3)}
    learner = cp.Learner(models="predictions").fit(x, a, model=Parabola(), **roles)
    assert abs(learner.predict(x[:4]) - 2).max() < 0.2  # the regressor is asked
    assert learner.certificate_.verdict == "deploy"
    actions = np.linspace(0, 3, 7)
    values = -((actions - 1) ** 2) + np.zeros((2000, 1))
    # these are wrong, so of its own accord the learner would go a small part of the way
    given = cp.Learner(models="predictions", step=1.0, certify=False).fit(x, a, predictions=(actions, values), **roles)
    assert abs(given.policy_.mean(np.column_stack([x, values])[:4]) - 1).max() < 0.3
    with pytest.raises(cp.Error):
        given.predict(x[:4])  # the columns are missing
