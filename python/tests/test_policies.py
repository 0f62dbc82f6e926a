"""Policies that people bring, and values from an independent computation."""

import json
from pathlib import Path

import numpy as np
import pytest

import counterpoint as cp


def normal(a, mean, std):
    return np.exp(-0.5 * ((a - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))


class Mine:
    """A policy of the user's own: normal around 1 + x."""

    def log_density(self, X, a):
        return np.log(normal(a, 1 + np.asarray(X)[:, 0], 0.4))


class Regressor:
    """What scikit-learn's regressors look like."""

    def predict(self, X):
        return 1 + np.asarray(X)[:, 0]


def test_every_way_to_bring_a_policy_gives_the_same_answer(line):
    x, a, reward, p = line
    roles = {"action": a, "reward": reward, "propensity": p}
    density = normal(a, 1 + x[:, 0], 0.4)
    ways = {
        "array": (density, {}),
        "log_density": (Mine(), {}),
        "function": (lambda X, a: normal(a, 1 + X[:, 0], 0.4), {}),
        "regressor": (Regressor(), {"target_std": 0.4}),
        "rule": (lambda X: 1 + X[:, 0], {"target_std": 0.4}),
        "column": (None, {"target_density": density}),
        "action column": (None, {"target_action": 1 + x[:, 0], "target_std": 0.4}),
    }
    found = {name: cp.evaluate(policy, x, **roles, **more) for name, (policy, more) in ways.items()}
    first = found["array"]["snips"]
    for name, estimates in found.items():
        assert estimates["snips"]["estimate"] == pytest.approx(first["estimate"], rel=1e-9), name
        assert estimates["snips"]["std_error"] == pytest.approx(first["std_error"], rel=1e-9), name
    assert found["regressor"]["doubly-robust"]["estimate"] == found["action column"]["doubly-robust"]["estimate"]
    verdicts = {name: cp.certify(policy, x, **roles, **more).verdict for name, (policy, more) in ways.items()}
    assert set(verdicts.values()) == {"deploy"}, verdicts


def test_values_are_those_of_numpy(line):
    """The plain estimators, written out."""
    x, a, reward, p = line
    w = normal(a, 1.2, 0.5) / p
    n = len(w)
    found = cp.evaluate(w * p, x, action=a, reward=reward, propensity=p, rows="all", cap=2.0)
    snips = np.sum(w * reward) / np.sum(w)
    assert found["snips"]["estimate"] == pytest.approx(snips, rel=1e-12)
    error = np.sqrt(np.sum((w * (reward - snips)) ** 2)) / np.sum(w)
    assert found["snips"]["std_error"] == pytest.approx(error, rel=1e-3)
    assert found["ips"]["estimate"] == pytest.approx(np.mean(w * reward), rel=1e-12)
    assert found["ips"]["std_error"] == pytest.approx(np.std(w * reward, ddof=1) / np.sqrt(n), rel=1e-9)
    assert found["clipped"]["estimate"] == pytest.approx(np.mean(np.minimum(w, 2.0) * reward), rel=1e-12)
    assert found["snips"]["effective_share"] == pytest.approx(np.sum(w) ** 2 / np.sum(w**2) / n, rel=1e-9)
    assert found.logged["estimate"] == pytest.approx(np.mean(reward), rel=1e-12)


def test_golden_values_come_through():
    """Those of the library's own tests, computed by another program."""
    file = Path(__file__).parents[2] / "crates/counterpoint/tests/golden/golden_d2.json"
    golden = json.loads(file.read_text())
    x, a, y, p = (np.array(golden["data"][k]) for k in ("x", "a", "y", "pi0"))
    for name, policy in golden["policies"].items():
        density, truth = np.exp(policy["log_pi"]), policy["estimators"]
        found = cp.evaluate(density, x, action=a, cost=y, propensity=p, rows="all", cap=5.0)
        assert found["snips"]["estimate"] == pytest.approx(truth["snips"]["risk"], rel=1e-9), name
        assert found["ips"]["estimate"] == pytest.approx(truth["ips"]["risk"], rel=1e-9), name
        assert found["snips"]["effective_share"] == pytest.approx(policy["ess"] / len(a), rel=1e-9), name
        assert found["snips"]["mean_weight"] == pytest.approx(policy["mean_w"], rel=1e-9), name


def test_compare_accounts_for_the_number_of_policies(line):
    x, a, reward, p = line
    log = cp.Log(x, a, reward=reward, propensity=p)
    learned = cp.Learner(policy="linear", starts=1, certify=False).fit(x, a, reward=reward, propensity=p)
    policies = {"good": Regressor(), "bad": lambda X: 2.9 - X[:, 0], "array": p, "learned": learned.policy_}
    found = cp.compare(policies, log, target_std=0.4)
    assert found.names == list(policies)
    assert found["good"].deploys
    assert found["learned"].deploys
    assert not found["bad"].deploys
    assert not found["array"].deploys
    assert found["good"].adjusted["policies"] >= 3
    assert found["good"].adjusted["holm"] >= found["good"].p_value
    assert [r["policy"] for r in found.records()] == list(policies)


def test_policies_that_do_not_fit_are_refused(line):
    x, a, reward, p = line
    roles = {"action": a, "reward": reward, "propensity": p}
    with pytest.raises(cp.Error, match="3999 values"):
        cp.evaluate(p[1:], x, **roles)
    with pytest.raises(cp.Error, match="not a density") as refused:
        cp.evaluate(-p, x, **roles)
    assert refused.value.row == 1
    with pytest.raises(cp.Error, match="no density") as refused:
        cp.evaluate(Regressor(), x, **roles)
    assert "target_std" in refused.value.remedy
    with pytest.raises(cp.Error, match="no policy"):
        cp.evaluate(None, x, **roles)


def test_regressors_of_scikit_learn(line):
    linear = pytest.importorskip("sklearn.linear_model")
    x, a, reward, p = line
    good = reward > np.quantile(reward, 0.9)
    model = linear.LinearRegression().fit(x[good], a[good])
    found = cp.certify(model, x, action=a, reward=reward, propensity=p, target_std=0.3)
    assert found.deploys
    assert found.report_html().startswith("<!doctype html>") or "<html" in found.report_html()[:200].lower()


def test_a_pandas_policy_sees_the_contexts_by_name(moons, roles):
    pd = pytest.importorskip("pandas")
    frame, seen = pd.DataFrame(moons), []

    def mine(X, a):
        seen.append((list(X.columns), len(a)))
        return normal(np.asarray(a), 2.0, 0.5)

    cp.evaluate(mine, frame, **roles)
    assert seen  # at the logged actions, and along the action
    assert all(s == (["x0", "x1"], 3000) for s in seen)
