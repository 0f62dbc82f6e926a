"""Models of the outcome that people bring, for the direct method and doubly robust estimates."""

from typing import ClassVar

import numpy as np
import pytest

import counterpoint as cp


def normal(a, mean, std):
    return np.exp(-0.5 * ((a - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))


def truth(X, a):
    """The expected reward of the log `line`."""
    return 1 - abs(a - 1 - np.asarray(X)[:, 0])


class Straight:
    """A regressor of two arguments: a ridge regression on x, a, a^2 and a x; remembers what it was fitted on."""

    seen: ClassVar[list] = []

    def _columns(self, X, a):
        x = np.asarray(X)[:, 0]
        return np.column_stack([np.ones_like(a), x, a, a**2, a * x, x**2])

    def fit(self, X, a, y):
        type(self).seen.append(set(np.asarray(X)[:, 0]))
        self.w = np.linalg.lstsq(self._columns(X, a), y, rcond=None)[0]

    def predict(self, X, a):
        return self._columns(X, a) @ self.w


@pytest.fixture
def asked(line):
    """Evaluates a policy around 1 + x with a model."""
    x, a, reward, p = line

    def ask(model, **more):
        roles = {"action": a, "reward": reward, "propensity": p, "target_std": 0.4, **more}
        return cp.evaluate(lambda X: 1 + X[:, 0], x, model=model, **roles)

    return ask


def integral(x):
    """E reward of the policy N(1 + x, .4^2): 1 - E|N(0, .4^2)|, whatever x is."""
    return 1 - 0.4 * np.sqrt(2 / np.pi)


def test_a_model_that_knows_the_truth_leaves_no_residual(asked, line):
    found = asked(truth)
    # straight lines between 33 quantiles, 3/32 apart, miss the kink by a sixteenth of their distance or so
    assert found["direct"]["estimate"] == pytest.approx(integral(line[0]), abs=0.01)
    assert found["doubly-robust"]["estimate"] == pytest.approx(found["direct"]["estimate"], rel=1e-9)
    assert found["doubly-robust"]["std_error"] < 0.2 * found["ips"]["std_error"]


def test_predictions_at_many_actions_are_taken_as_they_are(asked, line):
    x, a = line[:2]
    knots = np.linspace(-2, 5, 701)
    at_knots = np.column_stack([truth(x, np.full(len(x), k)) for k in knots])
    for model in [(knots, at_knots), (knots, at_knots, truth(x, a))]:
        found = asked(model)
        # the kink lies on a node in every row: (std / 8)^2 / 12 of the change of the slope, 2, times the density there, 1
        assert found["direct"]["estimate"] == pytest.approx(integral(x), abs=4.2e-4)
        assert found["doubly-robust"]["estimate"] == pytest.approx(integral(x), abs=4.2e-4)


def test_values_are_those_of_numpy(line):
    """The direct method and doubly robust estimates, written out: a policy around 1.5, a model that is linear in the action."""
    x, a, reward, p = line
    knots, at_knots = [-10.0, 10.0], np.tile([-10.0, 10.0], (len(a), 1)) + x
    roles = {"action": a, "reward": reward, "propensity": p, "target_std": 0.4, "rows": "all"}
    expected = 1.5 + x[:, 0]  # of a + x
    w = normal(a, 1.5, 0.4) / p
    terms = w * (reward - a - x[:, 0]) + expected
    for model in [(knots, at_knots), (knots, at_knots, a + x[:, 0]), lambda X, a: a + X[:, 0]]:
        found = cp.evaluate(lambda X: np.full(len(X), 1.5), x, model=model, **roles)
        # a function is asked at quantiles of the logged actions, beyond which its curve is flat: 1e-4 of the policy lies there
        exact = 1e-9 if isinstance(model, tuple) else 2e-3
        assert found["direct"]["estimate"] == pytest.approx(np.mean(expected), abs=exact)
        assert found["doubly-robust"]["estimate"] == pytest.approx(np.mean(terms), abs=exact)
        assert found["doubly-robust"]["std_error"] == pytest.approx(np.std(terms, ddof=1) / np.sqrt(len(a)), rel=exact)


def test_no_row_is_predicted_by_a_model_that_has_seen_it(asked, line):
    Straight.seen = []
    found = asked(Straight(), rows="valid")
    x = line[0][:, 0]
    assert len(Straight.seen) == 5
    # every row of train and valid is left out once and only once; those of the test part are never learned from
    left_out = np.array([[v not in seen for seen in Straight.seen] for v in x])
    assert set(left_out.sum(axis=1)) == {1, 5}
    assert 0.2 < np.mean(left_out.sum(axis=1) == 5) < 0.3
    assert found["doubly-robust"]["std_error"] < found["ips"]["std_error"]
    Straight.seen = []
    asked(Straight(), rows="test")
    assert {sum(v not in seen for seen in Straight.seen) for v in x} == {1}


def test_rows_of_a_cluster_are_left_out_together(line):
    x, a, reward, p = line
    branch = np.repeat(np.arange(400), 10)
    Straight.seen = []
    cp.evaluate(
        lambda X: 1 + X[:, 0], x, action=a, reward=reward, propensity=p, cluster=branch, target_std=0.4, model=Straight(), rows="all"
    )
    left_out = np.array([[v not in seen for seen in Straight.seen] for v in x[:, 0]])
    assert all((left_out[branch == b] == left_out[branch == b][0]).all() for b in range(400))


def test_regressors_of_scikit_learn_take_the_action_as_a_column(line, moons, roles):
    ensemble = pytest.importorskip("sklearn.ensemble")
    pd = pytest.importorskip("pandas")
    model = ensemble.GradientBoostingRegressor(n_estimators=20, random_state=0)
    frame = pd.DataFrame(moons)
    own = cp.evaluate(frame["propensity"].to_numpy(), frame, **roles)
    assert own["snips"]["estimate"] == pytest.approx(own.logged["estimate"])
    for X in (frame, moons):
        found = cp.evaluate(lambda X: 1 + 0 * X["x0"], X, target_std=0.5, model=model, **roles)
        ridge = cp.evaluate(lambda X: 1 + 0 * X["x0"], X, target_std=0.5, **roles)
        error = np.hypot(found["doubly-robust"]["std_error"], ridge["snips"]["std_error"])
        assert abs(found["doubly-robust"]["estimate"] - ridge["snips"]["estimate"]) < 5 * error
    assert not hasattr(model, "estimators_"), "the user's own model is not fitted"


def test_policies_that_are_functions_have_every_estimator(line):
    x, a, reward, p = line
    roles = {"action": a, "reward": reward, "propensity": p}
    actions = cp.evaluate(lambda X: 1 + X[:, 0], x, target_std=0.4, **roles)
    function = cp.evaluate(lambda X, a: normal(a, 1 + X[:, 0], 0.4), x, **roles)
    for name in ("direct", "doubly-robust", "self-normalised-dr", "snips"):
        assert function[name]["estimate"] == pytest.approx(actions[name]["estimate"], abs=2e-3), name
    certificates = [
        cp.certify(lambda X: 1 + X[:, 0], x, target_std=0.4, **roles),
        cp.certify(lambda X, a: normal(a, 1 + X[:, 0], 0.4), x, **roles),
    ]
    assert certificates[0].test["outside"] == pytest.approx(certificates[1].test["outside"], abs=2e-3)
    # an array is known at the logged actions alone
    column = cp.evaluate(normal(a, 1 + x[:, 0], 0.4), x, **roles)
    with pytest.raises(cp.Error, match="cannot be drawn from"):
        _ = column["doubly-robust"]


def test_models_that_are_none_are_refused(asked, line):
    n = len(line[1])
    with pytest.raises(cp.Error, match="no model"):
        asked(3)
    with pytest.raises(cp.Error, match="by 3"):
        asked(([0.0, 1.0], np.zeros((n, 3))))
    with pytest.raises(cp.Error, match="larger than the last"):
        asked(([1.0, 0.0], np.zeros((n, 2))))
    with pytest.raises(cp.Error, match="is none"):
        asked(([0.0, 1.0], np.full((n, 2), np.nan)))
    with pytest.raises(cp.Error, match="1 predictions for"):
        asked(lambda X, a: np.zeros(1))


def test_the_tail_and_the_distribution_are_told(asked):
    found = asked(None, tail=0.2)
    assert found.distribution["share"] == 0.2
    assert found.distribution["tail"]["estimate"] < found.distribution["quantiles"][2]["policy"]["estimate"]
