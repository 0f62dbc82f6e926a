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


#: scikit-learn's own checks, which fit with (X, y): they are asked of a learner in which y is the action.
CHECKS = [
    "check_dict_unchanged",
    "check_complex_data",
    "check_dont_overwrite_parameters",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimator_sparse_tag",
    "check_estimator_tags_renamed",
    "check_estimators_dtypes",
    "check_estimators_fit_returns_self",
    "check_estimators_nan_inf",
    "check_estimators_overwrite_params",
    "check_estimators_pickle",
    "check_estimators_unfitted",
    "check_f_contiguous_array_estimator",
    "check_fit2d_1feature",
    "check_fit2d_predict1d",
    "check_fit_check_is_fitted",
    "check_fit_idempotent",
    "check_fit_score_takes_y",
    "check_get_params_invariance",
    "check_methods_sample_order_invariance",
    "check_methods_subset_invariance",
    "check_mixin_order",
    "check_n_features_in",
    "check_n_features_in_after_fitting",
    "check_parameters_default_constructible",
    "check_pipeline_consistency",
    "check_positive_only_tag_during_fit",
    "check_readonly_memmap_input",
    "check_sample_weights_list",
    "check_sample_weights_not_an_array",
    "check_sample_weights_not_overwritten",
    "check_sample_weights_pandas_series",
    "check_sample_weights_shape",
    "check_set_params",
    "check_valid_tag_types",
]

#: The rest, and why not.
OTHERS = {
    "check_no_attributes_set_in_init": "every parameter in the signature: the fields of the recipe are keywords, listed by the library",
    "check_do_not_raise_errors_in_init_or_set_params": "the same: it takes **params for a parameter",
    "check_all_zero_sample_weights_error": "the error is there, in other words",
    "check_sample_weight_equivalence_on_dense_data": "weights are sampling weights; equal rows are `count`",
    "check_dtype_object": "more contexts than its few rows can teach",
    "check_estimators_empty_data_messages": "a log without contexts is a log",
    "check_fit1d": "one context may be a vector",
    "check_fit2d_1sample": "refused, in other words",
    "check_requires_y_none": "no action is an error that names the argument",
    "check_array_api_input": "needs SCIPY_ARRAY_API",
}


class ActsAsY(cp.Learner):
    """A learner for (X, y): y is the action, and the best one is 0."""

    def fit(self, X, y, sample_weight=None):
        a = np.asarray(y, dtype=np.float64)
        return super().fit(X, y, reward=-np.square(a), propensity=np.full(len(a), 0.2), sample_weight=sample_weight)

    def score(self, X, y):
        return super().score(X, y, reward=-np.square(np.asarray(y, dtype=np.float64)), propensity=np.full(len(y), 0.2))


@pytest.mark.filterwarnings("ignore")
def test_checks_of_scikit_learn():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    if not hasattr(checks, "estimator_checks_generator"):
        pytest.skip("this scikit-learn does not list its checks")
    learner = ActsAsY(policy="linear", starts=1, proximal_steps=0, certify=False)
    asked = [(getattr(check, "func", check).__name__, check, e) for e, check in checks.estimator_checks_generator(learner)]
    failed = {}
    for name, check, estimator in asked:
        if name in CHECKS:
            try:
                check(estimator)
            except Exception as e:
                failed[name] = str(e)
    assert not failed
    assert not [name for name, _, _ in asked if name not in CHECKS and name not in OTHERS]
    for estimator in (cp.Learner(), cp.Selector()):
        for name in ("check_estimator_cloneable", "check_estimator_repr", "check_get_params_invariance", "check_set_params"):
            getattr(checks, name)(type(estimator).__name__, estimator)
