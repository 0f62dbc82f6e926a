"""Every kind of table gives the same log."""

import numpy as np
import pytest

import counterpoint as cp

FIT = {"policy": "linear", "starts": 1, "proximal_steps": 0, "certify": False}


def tables(moons):
    """The same rows as every kind of table that is installed here."""
    yield "dict", moons
    for name in ("pandas", "polars", "pyarrow", "duckdb"):
        try:
            package = __import__(name)
        except ImportError:
            continue
        if name == "pandas":
            yield name, package.DataFrame(moons)
        elif name == "polars":
            yield name, package.DataFrame(moons)
            yield "polars lazy", package.LazyFrame(moons)
        elif name == "pyarrow":
            yield name, package.table(moons)
            yield "pyarrow reader", package.table(moons).to_reader(max_chunksize=700)
        else:
            import pandas as pd

            frame = pd.DataFrame(moons)  # noqa: F841 - DuckDB finds it by name
            yield name, package.sql("select * from frame")


def test_every_table_gives_the_same_policy(moons, roles):
    found = {kind: cp.Learner(**FIT).fit(X, **roles).policy_ for kind, X in tables(moons)}
    assert len(found) >= 1
    assert len({p.to_json() for p in found.values()}) == 1, list(found)


def test_arrays_give_the_policy_of_columns(moons, roles):
    X = np.column_stack([moons["x0"], moons["x1"]])
    named = cp.Learner(**FIT).fit(moons, **roles)
    rest = {k: moons[k] for k in ("reward", "propensity")}
    for form in (X, np.asfortranarray(X), X.tolist(), X.repeat(2, axis=0)[::2]):
        given = cp.Learner(**FIT).fit(form, moons["action"], **rest)
        assert given.policy_ == named.policy_
        assert np.array_equal(given.predict(form), named.predict(moons))
    single = cp.Learner(**FIT).fit(X.astype(np.float32), moons["action"], **rest)
    assert np.allclose(single.predict(X), named.predict(X), atol=1e-2)


def test_costs_are_negative_rewards(moons, roles):
    rest = {**roles, "cost": -moons["reward"]}
    del rest["reward"]
    cost = cp.Learner(**FIT).fit(moons, **rest)
    reward = cp.Learner(**FIT).fit(moons, **roles)
    assert np.array_equal(cost.predict(moons), reward.predict(moons))
    assert cost.score(moons, **rest) == reward.score(moons, **roles)


def test_words_booleans_and_gaps_are_read_as_files_are(tmp_path):
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "city": rng.choice(["Bern", "Rome", "Oslo"], n),
            "kind": pd.Categorical(rng.choice(["new", "old"], n)),
            "member": rng.uniform(size=n) < 0.3,
            "visits": pd.array(rng.integers(0, 9, n), dtype="Int64"),
            "income": rng.normal(size=n),
            "price": rng.uniform(1, 2, n),
            "sales": rng.normal(size=n),
            "density": 1.0,
        }
    )
    frame.loc[::7, "income"] = np.nan
    frame.loc[::11, "city"] = None
    frame.loc[::13, "visits"] = pd.NA
    frame.to_csv(tmp_path / "log.csv", index=False)
    roles = {"context": "*", "action": "price", "reward": "sales", "propensity": "density", "missing": "indicator"}
    file, memory = cp.Log(tmp_path / "log.csv", **roles), cp.Log(frame, **roles)
    assert [i for i in memory.schema["inputs"] if "city" in str(i)] == [i for i in file.schema["inputs"] if "city" in str(i)]
    assert memory.schema["contexts"][:6] == file.schema["contexts"][:6]
    with pytest.raises(cp.Error, match="missing") as refused:
        cp.Log(frame, **{**roles, "missing": "refuse"})
    assert refused.value.row == 1
    assert "missing" in refused.value.remedy
    kept = cp.Log(frame, **{**roles, "missing": "refuse"}, drop_invalid=True)
    assert kept.rows == n - len({*range(0, n, 7), *range(0, n, 11), *range(0, n, 13)})


def test_clusters_weights_and_splits_are_taken(moons, roles):
    n = len(moons["x0"])
    cluster = np.arange(n) // 10
    log = cp.Log(moons, **roles, cluster=cluster, sample_weight=np.full(n, 2.0))
    assert log.schema["cluster"] == "cluster"
    assert log.schema["weight"] == "weight"
    by_column = cp.Learner(**{**FIT, "certify": True}).fit(moons, **roles, split="split")
    third = sum(s == "test" for s in moons["split"])
    assert by_column.certificate_.test["rows"] == third


def test_propensities_can_be_estimated(moons, roles):
    log = cp.Log(moons, **{**roles, "propensity": "fit"})
    assert any("stimated" in note for note in log.notes)
    certificate = cp.certify(cp.Learner(**FIT).fit(moons, **roles), moons, **{**roles, "propensity": "fit"})
    assert certificate.verdict != "deploy"


def test_several_actions(command, tmp_path):
    rows = cp.simulate("what-if", rows=3000, seed=1)
    actions = np.column_stack([rows[a] for a in ("a0", "a1", "a2")])
    fit = cp.Learner(policy="constant", family="lognormal", starts=1, certify=False)
    named = fit.fit(rows, ["a0", "a1", "a2"], reward="reward", propensity="propensity", context=[])
    assert named.predict({"x": [0.0, 1.0]}).shape == (2, 3)
    given = fit.fit(np.empty((3000, 0)), actions, reward=rows["reward"], propensity=rows["propensity"])
    assert given.policy_.actions == ["action0", "action1", "action2"]
    a, p = named.sample({"x": [0.0]}, seed=1)
    assert a.shape == (1, 3)
    assert np.allclose(np.log(p), named.log_density({"x": [0.0]}, a))


def test_paths_and_patterns(command, tmp_path, roles):
    for seed in (1, 2):
        command("simulate", "moons", "--rows", 900, "--seed", seed, "-o", f"part{seed}.parquet")
    both = cp.Log([tmp_path / "part1.parquet", tmp_path / "part2.parquet"], **roles)
    assert both.rows == cp.Log(str(tmp_path / "part*.parquet"), **roles).rows == 1800
