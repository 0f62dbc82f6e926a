"""The command line and Python give the same policy and certificate, byte for byte."""

import inspect
import json
import re

import numpy as np
import pytest

import counterpoint as cp

RECIPES = {
    "greedy": {"models": "ridge", "seed": 4},
    "clp": {"cap": 10.0, "anchors": 6, "starts": 2, "proximal_steps": 2, "seed": 4},
    "linear": {"policy": "linear", "starts": 1, "family": "lognormal", "seed": 4},
}


def flags(recipe):
    return [w for name, value in recipe.items() for w in ("--set", f"{name}={value}")]


@pytest.fixture
def log(command, tmp_path):
    done = command("simulate", "moons", "--rows", 3000, "--seed", 2, "-o", "log.parquet")
    assert done.returncode == 0, done.stderr
    return "log.parquet"


@pytest.mark.parametrize("name", RECIPES)
def test_learn_gives_the_files_of_the_command_line(name, command, log, tmp_path, monkeypatch):
    recipe = RECIPES[name]
    done = command("learn", log, "-o", "policy.json", "--report", "report.html", *flags(recipe))
    assert done.returncode in (0, 1), done.stderr
    monkeypatch.chdir(tmp_path)
    learner = cp.Learner(**recipe).fit(log)  # its columns stand in log.toml
    assert learner.policy_.to_json() == (tmp_path / "policy.json").read_text()
    certificate = (tmp_path / "policy.certificate.json").read_text()
    assert learner.certificate_.to_json() == certificate
    assert learner.certificate_.deploys == (done.returncode == 0)
    report = learner.certificate_.report(tmp_path / "mine.html").read_text()
    assert report == (tmp_path / "report.html").read_text()


def test_certify_evaluate_and_act_are_those_of_the_command_line(command, log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    learner = cp.Learner(**RECIPES["linear"], certify=False).fit(log)
    assert learner.certificate_ is None
    learner.policy_.save("policy.json")
    done = command("certify", "policy.json", log, "--seed", 4, "-o", "c.json", "--interval", "normal")
    assert done.returncode in (0, 1), done.stderr
    mine = cp.certify("policy.json", log, seed=4, interval="normal")
    assert mine.to_json() == (tmp_path / "c.json").read_text()
    told = json.loads(command("evaluate", "policy.json", log, "--seed", 4, "--json").stdout)
    estimates = cp.evaluate("policy.json", log, seed=4)
    for row in estimates.records()[:-1]:
        if row["failure"] is None:
            assert row["estimate"] == told[row["name"]]["estimate"]
    assert estimates.logged["estimate"] == told["logged"]["estimate"]
    command("act", "policy.json", log, "--seed", 7, "-o", "actions.parquet")
    pq = pytest.importorskip("pyarrow.parquet")
    acts = pq.read_table(tmp_path / "actions.parquet")
    rows = pq.read_table(tmp_path / log)
    actions, densities = learner.sample(rows, seed=7)
    assert np.array_equal(actions, acts["action"].to_numpy())
    assert np.array_equal(densities, acts["density"].to_numpy())


def test_select_gives_the_policy_of_the_command_line(command, log, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grid = {"keep": 0.5, "recipe": {"policy": ["constant", "linear"], "starts": 1, "proximal_steps": 0}}
    text = "keep = 0.5\n[recipe]\npolicy = ['constant', 'linear']\nstarts = 1\nproximal_steps = 0\n"
    (tmp_path / "grid.toml").write_text(text)
    done = command("select", log, "--grid", "grid.toml", "--seed", 3, "-o", "best.json")
    assert done.returncode in (0, 1), done.stderr
    selector = cp.Selector(grid=grid, seed=3).fit(log)
    assert selector.policy_.to_json() == (tmp_path / "best.json").read_text()
    assert selector.certificate_.to_json() == (tmp_path / "best.certificate.json").read_text()
    board = json.loads((tmp_path / "best.leaderboard.json").read_text())
    assert [e["estimate"] for e in board] == [e["estimate"] for e in selector.leaderboard_]


def test_threads_change_nothing(moons, roles):
    fit = [cp.Learner(**RECIPES["clp"], threads=t).fit(moons, **roles) for t in (1, 3)]
    assert fit[0].policy_ == fit[1].policy_
    assert fit[0].certificate_.to_json() == fit[1].certificate_.to_json()


def test_simulate_draws_the_log_of_the_command_line(command, log, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    file, mine = pq.read_table(tmp_path / log), cp.simulate("moons", rows=3000, seed=2)
    assert file.column_names == list(mine)
    assert all(file[name].to_pylist() == list(mine[name]) for name in mine)


def test_the_program_is_there(command):
    assert command("--version").stdout.startswith(f"counterpoint {cp.__version__}")
    wrong = command("lern")
    assert wrong.returncode == 2
    assert "learn" in wrong.stderr
    fields = [line.split(" = ")[0].lstrip("# ") for line in command("recipe").stdout.splitlines() if " = " in line]
    assert set(cp.learn.RECIPE) <= set(fields)


#: Flags that are said otherwise in Python: how a process writes and speaks, and what became a method.
OTHERWISE = {
    "help", "json", "quiet", "force", "color",  # manners of a process
    "output", "report", "with_rows",  # save(), report(path, with_rows)
    "no_certify", "set",  # certify=False; every field of the recipe is a keyword
    "merge",  # Watch.merge
    "weight",  # sample_weight, as everywhere in scikit-learn
    "guardrail",  # guardrails, a list
    "memory",  # scratch=, a directory: what else a Python process holds is not ours to bound
}  # fmt: skip


@pytest.mark.parametrize("name", ["describe", "learn", "select", "evaluate", "certify", "plan", "monitor"])
def test_what_the_command_line_can_ask_python_can_ask_in_the_same_words(command, name):
    words = command(name, "--help").stdout
    flags = {w.replace("-", "_") for w in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", words, re.M)}
    keywords = {*inspect.signature(cp.Log).parameters}
    if name in ("learn", "select"):
        kind = cp.Learner if name == "learn" else cp.Selector
        keywords |= {*kind._own, *kind._fields}
    else:
        keywords |= {*inspect.signature(getattr(cp, name)).parameters}
    assert flags - OTHERWISE <= keywords
