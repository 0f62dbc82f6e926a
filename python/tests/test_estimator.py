"""scikit-learn's habits."""

import pickle

import numpy as np
import pytest

import counterpoint as cp


def test_parameters_come_and_go():
    learner = cp.Learner(cap=5.0, seed=2)
    assert learner.get_params()["cap"] == 5.0
    assert "anchors" not in learner.get_params()
    assert learner.set_params(anchors=7).get_params()["anchors"] == 7
    assert learner.anchors == 7
    with pytest.raises(ValueError, match="no parameter 'anchor'"):
        learner.set_params(anchor=7)
    assert repr(learner) == "Learner(cap=5.0, seed=2, anchors=7)"
    assert "cap = 5.0" in learner.recipe_toml()
    assert repr(cp.Selector(grid="clp")) == "Selector(grid='clp')"


def test_a_fitted_learner_is_pickled_whole(learner, moons):
    again = pickle.loads(pickle.dumps(learner))
    assert np.array_equal(again.predict(moons), learner.predict(moons))
    assert again.certificate_.to_json() == learner.certificate_.to_json()
    assert repr(again.certificate_) == repr(learner.certificate_)
    with pytest.raises(cp.Error, match="pickled"):
        again.certificate_.report_html()


def test_nothing_is_there_before_fit(moons):
    with pytest.raises(Exception, match="not fitted"):
        cp.Learner().predict(moons)


def test_draws_have_the_density_that_is_said(learner, moons):
    actions, densities = learner.sample(moons, seed=1)
    assert np.allclose(learner.log_density(moons, actions), np.log(densities))
    assert np.array_equal(learner.sample(moons, seed=1)[0], actions)
    assert not np.array_equal(learner.sample(moons)[0], learner.sample(moons)[0])
    std = learner.facts_["std"][0]
    z = (actions - learner.predict(moons)) / std
    assert abs(z.mean()) < 5 / np.sqrt(len(z))
    assert abs(z.std() - 1) < 5 / np.sqrt(2 * len(z))


def test_clone_pipeline_and_search(line):
    base = pytest.importorskip("sklearn.base")
    import sklearn
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    x, a, reward, p = line
    learner = cp.Learner(policy="linear", starts=1, proximal_steps=0, certify=False)
    copy = base.clone(learner)
    assert copy.get_params() == learner.get_params()
    assert copy is not learner
    pipe = Pipeline([("scale", StandardScaler()), ("learn", learner)])
    pipe.fit(x, a, learn__reward=reward, learn__propensity=p)
    assert np.allclose(pipe.predict(x[:5]), 1 + x[:5, 0], atol=0.3)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(learner, {"policy": ["constant", "linear"]}, cv=2)
        search.fit(x, a, reward=reward, propensity=p)
    assert search.best_params_ == {"policy": "linear"}


#: scikit-learn's own checks that make sense here. Most others fit with (X, y) alone, and a log also needs an outcome and densities;
#: check_no_attributes_set_in_init wants every parameter in the signature, where the fields of the recipe are keywords.
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_parameters_default_constructible",
]


@pytest.mark.parametrize("check", CHECKS)
def test_checks_of_scikit_learn(check):
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, check):
        pytest.skip(f"this scikit-learn has no {check}")
    for estimator in (cp.Learner(), cp.Selector()):
        getattr(checks, check)(type(estimator).__name__, estimator)
