"""What goes wrong says where, and what to do."""

import pickle

import numpy as np
import pytest

import counterpoint as cp


def test_bad_values_name_their_row_and_column(line):
    x, a, reward, p = line
    for name, bad in [("reward", np.nan), ("propensity", 0.0), ("propensity", -1.0), ("action", np.inf)]:
        columns = {"action": a.copy(), "reward": reward.copy(), "propensity": p.copy()}
        columns[name][1203] = bad
        with pytest.raises(cp.Error) as refused:
            cp.Log(x, **columns)
        e = refused.value
        assert isinstance(e, ValueError)
        assert (e.row, e.column) == (1204, name), str(e)
        assert "drop_invalid=True" in e.remedy
        assert cp.Log(x, **columns, drop_invalid=True).rows == len(a) - 1
        again = pickle.loads(pickle.dumps(e))
        assert (str(again), again.row, again.column) == (str(e), e.row, e.column)


def test_lengths_and_shapes_are_checked(line):
    x, a, reward, p = line
    with pytest.raises(cp.Error, match="3999 values") as refused:
        cp.Log(x, a, reward=reward[1:], propensity=p)
    assert refused.value.column == "reward"
    with pytest.raises(cp.Error, match="more rows"):
        cp.Log(x, a[:-1], reward=reward, propensity=p)
    with pytest.raises(cp.Error, match="dimensions"):
        cp.Log(np.zeros((4, 2, 2)), a[:4], reward=reward[:4], propensity=p[:4])
    fitted = cp.Learner(policy="linear", starts=1, certify=False).fit(x, a, reward=reward, propensity=p)
    with pytest.raises(cp.Error, match="2 features, but Policy is expecting 1"):
        fitted.predict(np.zeros((3, 2)))
    with pytest.raises(cp.Error, match="3 actions for 2 rows"):
        fitted.log_density(x[:2], a[:3])


def test_names_that_are_not_there_are_met_with_those_that_are(moons, roles):
    with pytest.raises(cp.Error, match=r"did you mean .reward") as refused:
        cp.Log(moons, **{**roles, "reward": "rewrd"})
    assert "rewrd" in refused.value.what
    with pytest.raises(cp.Error, match="not said which column is the context"):
        cp.Log(moons, action="action", reward="reward", propensity="propensity")
    with pytest.raises(cp.Error, match="propensity"):
        cp.Log(moons, action="action", reward="reward", context="*")
    with pytest.raises(cp.Error, match="one outcome"):
        cp.Log(moons, **roles, cost="reward")
    with pytest.raises(cp.Error, match="the policy needs it"):
        cp.Learner(policy="linear", starts=1, certify=False).fit(moons, **roles).predict({"x0": [0.0]})


def test_files_that_are_not_there(tmp_path, roles):
    with pytest.raises(cp.FileError) as refused:
        cp.Log(tmp_path / "nothing.parquet", **roles)
    assert isinstance(refused.value, OSError)
    assert isinstance(refused.value, cp.Error)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + bytes(60) + b"PAR1")
    with pytest.raises(cp.Error, match=r"bad\.parquet"):
        cp.Log(tmp_path / "bad.parquet", **roles)
    with pytest.raises(cp.Error):
        cp.Policy.from_json("{}")


def test_fields_of_the_recipe_are_checked(moons, roles):
    with pytest.raises(TypeError, match="did you mean 'anchors'"):
        cp.Learner(anchor=3)
    with pytest.raises(cp.Error, match="anchors") as refused:
        cp.Learner(anchors=1).fit(moons, **roles)
    assert refused.value.kind == "recipe"
    with pytest.raises(cp.Error, match="no effect"):
        cp.Learner(policy="linear", anchors=5).fit(moons, **roles)
    with pytest.raises(cp.Error, match="confidence"):
        cp.Learner(policy="linear", confidence=2.0).fit(moons, **roles)


def test_dates_are_refused_and_not_guessed_at():
    pd = pytest.importorskip("pandas")
    day = pd.date_range("2026-01-01", periods=50)
    rows = {"a": np.linspace(0, 1, 50), "r": np.ones(50), "p": np.ones(50)}
    for days in (day, day.strftime("%Y-%m-%d")):
        with pytest.raises(cp.Error, match="day"):
            cp.Log(pd.DataFrame({"day": days, **rows}), "a", reward="r", propensity="p", context="day")


def test_densities_that_are_none_are_warned_of(line):
    x, a, reward, p = line
    with pytest.warns(cp.PropensityWarning, match="densit"):
        cp.Log(x, a, reward=reward, propensity=p / 3)


def test_the_same_rows_are_not_judged_by_what_they_taught(moons, roles):
    taught = cp.Learner(policy="linear", starts=1, certify=False, seed=1).fit(moons, **roles)
    with pytest.raises(cp.Error, match="learned"):
        cp.certify(taught, moons, seed=2, **roles)


def test_misspelt_arguments_are_refused_with_the_right_one(moons, roles):
    with pytest.raises(TypeError, match="no argument 'rewards'; did you mean 'reward'"):
        cp.Learner().fit(moons, "action", rewards="reward", propensity="propensity", context="x0")
    with pytest.raises(TypeError, match="no argument 'contexts'; did you mean 'context'"):
        cp.describe(moons, contexts="x0", action="action", reward="reward", propensity="propensity")
    with pytest.raises(cp.Error, match="no column") as refused:
        cp.Log(moons, **{**roles, "action": "actoin"})
    assert refused.value.column == "actoin"
    assert "action" in refused.value.remedy
    with pytest.raises(cp.Error, match="propensity") as refused:
        cp.Log(moons, **{k: v for k, v in roles.items() if k != "propensity"})
    assert '"fit" estimates it' in refused.value.remedy


def test_what_was_read_otherwise_is_noted(moons, roles, command, tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({k: moons[k] for k in ("x0", "x1", "action", "reward", "propensity")})
    table["city"] = np.where(np.arange(len(table)) % 3 == 0, "Rome", "Bern")
    table["customer"] = np.arange(len(table)) // 3
    table.loc[4, "x1"] = np.nan
    table.to_csv(tmp_path / "log.csv", index=False)
    columns = {**roles, "context": ["x0", "x1", "city"], "missing": "indicator"}
    flags = [w for k, v in columns.items() for w in (f"--{k}", ",".join(v) if isinstance(v, list) else v)]
    said = command("describe", tmp_path / "log.csv", *flags).stderr
    for X in (table, str(tmp_path / "log.csv")):
        log = cp.Log(X, **columns)
        assert len(log.notes) == 3
        assert all(note.replace("cluster=", "--cluster ") in said for note in log.notes), (log.notes, said)
        assert "note: read as categories: city (2 levels)" in repr(cp.describe(log))
    assert not any("customer" in note for note in cp.Log(table, **columns, cluster="customer").notes)


def test_what_is_no_table_is_refused():
    sparse = pytest.importorskip("scipy.sparse")
    a = np.ones(5)
    for X, words in [(sparse.csr_matrix(np.eye(5)), "sparse"), (3, "int is not read"), (np.eye(5) * 1j, "Complex")]:
        with pytest.raises(cp.Error, match=words):
            cp.Log(X, a, reward=a, propensity=a)
