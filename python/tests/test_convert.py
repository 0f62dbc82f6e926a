"""Logs of other programs, there and back."""

import numpy as np
import pytest

import counterpoint as cp


@pytest.fixture
def log(moons, roles):
    return cp.Log(moons, **roles)


def fit(log):
    return cp.Learner(policy="linear", starts=1, proximal_steps=0, certify=False).fit(log).policy_


def test_open_bandit_pipeline_there_and_back(log, moons):
    feedback = cp.to_obp(log)
    assert np.array_equal(feedback["reward"], moons["reward"])
    assert np.array_equal(feedback["pscore"], moons["propensity"])
    assert fit(cp.from_obp(feedback)) == fit(log)
    with pytest.raises(cp.Error, match="pscore"):
        cp.from_obp({**feedback, "pscore": None})


def test_vowpal_wabbit_there_and_back(log, moons, tmp_path):
    lines = list(cp.to_vw(log))
    assert lines[0].startswith("ca ")
    (tmp_path / "log.vw").write_text("\n".join(lines) + "\n")
    back = cp.from_vw(tmp_path / "log.vw")
    assert back.schema["direction"] == "cost"
    mine, theirs = fit(log).mean(moons), fit(back).mean(moons)
    assert np.array_equal(mine, theirs)
    assert list(cp.to_vw(back)) == lines


def test_lines_that_are_none_are_refused_by_number():
    with pytest.raises(cp.Error, match="line 2") as refused:
        cp.from_vw(["ca 1:2:0.5 | x:1", "1 | x:1"])
    assert refused.value.row == 2
    spaces = cp.from_vw(["ca 1:2:0.5 |user age:30 |place city", "ca 2:1:0.5 |user age:20"])
    assert spaces.schema["contexts"] == ["user^age", "place^city"]


def test_words_are_not_made_numbers(moons, roles):
    words = cp.Log({**moons, "city": ["Bern", "Rome"] * 1500}, **{**roles, "context": ["x0", "city"]})
    with pytest.raises(cp.Error, match="words") as refused:
        cp.to_obp(words)
    assert refused.value.column == "city"


@pytest.mark.mlflow
def test_mlflow_takes_and_gives_back_a_policy(learner, moons, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a directory in place of a database, which needs more packages
    mlflow = pytest.importorskip("mlflow")
    pd = pytest.importorskip("pandas")
    from counterpoint.mlflow import log_policy

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    with mlflow.start_run() as run:
        model = log_policy(learner)
    again = mlflow.pyfunc.load_model(model.model_uri)
    rows = pd.DataFrame({k: moons[k] for k in ("x0", "x1")})
    assert np.array_equal(again.predict(rows)["action"], learner.predict(rows))
    logged = mlflow.get_run(run.info.run_id).data
    assert logged.tags["counterpoint.verdict"] == learner.certificate_.verdict
    assert logged.metrics["counterpoint.gain"] == learner.certificate_.difference["estimate"]
    files = {f.path for f in mlflow.MlflowClient().list_artifacts(run.info.run_id)}
    assert {"certificate.json", "report.html"} <= files
