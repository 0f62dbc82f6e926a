"""Guardrails, segments, plans, monitors and time: what the command line says of them, Python says too."""

import json
import pickle

import numpy as np
import pytest

import counterpoint as cp


def truth_of(policy, x):
    """The reward of a policy in the world of `line`, drawn."""
    drawn = [policy.sample(x, seed=s)[0] for s in range(20)]
    return [np.mean(1 - abs(a - 1 - x[:, 0])) for a in drawn]


@pytest.fixture
def shop(command, tmp_path, monkeypatch):
    """A log in a file with a second outcome and a category, and a policy for it."""
    monkeypatch.chdir(tmp_path)
    moons = cp.simulate("moons", rows=3000, seed=2)
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    moons["refunds"] = 1 + 0.1 * moons["action"]
    moons["visits"] = 5 - 0.2 * moons["action"]
    moons["city"] = np.where(moons["x0"] > 0.5, "Rome", "Bern").tolist()
    moons["day"] = (np.arange(3000) % 97).astype(float)
    moons = {k: v for k, v in moons.items() if k not in ("split", "potential", "group")}
    pq.write_table(pa.table(moons), "log.parquet")
    roles = {"context": ["x0", "x1", "city"], "action": "action", "reward": "reward", "propensity": "propensity"}
    learner = cp.Learner(policy="linear", starts=1, proximal_steps=0, seed=4, certify=False).fit("log.parquet", **roles)
    learner.policy_.save("policy.json")
    flags = ["--action", "action", "--reward", "reward", "--propensity", "propensity"]
    return moons, {k: v for k, v in roles.items() if k != "context"}, flags


def test_guardrails_and_segments_are_those_of_the_command_line(shop, command, tmp_path):
    moons, roles, flags = shop
    rules = ["refunds:max+50%", "visits:min-0.001"]
    more = [w for r in rules for w in ("--guardrail", r)]
    done = command("certify", "policy.json", "log.parquet", *flags, *more, "--by", "city", "--seed", 4, "-o", "c.json", "--json")
    assert done.returncode in (0, 1), done.stderr
    mine = cp.certify("policy.json", "log.parquet", seed=4, guardrails=rules, by="city", **roles)
    assert mine.to_json() == (tmp_path / "c.json").read_text()
    told = json.loads(done.stdout)
    assert mine.segments == told["segments"]["segments"]
    assert mine.verdict == told["verdict"]
    assert {**mine.to_dict(), "schema_version": told["schema_version"]} == told
    assert [g["holds"] for g in mine.guardrails] == [g["holds"] for g in told["guardrails"]]
    assert {r["name"] for r in mine.records()} >= {"refunds", "visits", "difference"}
    assert "guardrail refunds" in repr(mine)
    assert "Rome" in repr(mine)
    assert "Rome" in mine._repr_html_()
    # a column of its own beside the table
    named = cp.certify("policy.json", moons, seed=4, guardrails={"refunds:max+50%": np.asarray(moons["refunds"])}, **roles)
    assert named.guardrails[0] == mine.guardrails[0]
    assert pickle.loads(pickle.dumps(mine)).verdict == mine.verdict


def test_a_guardrail_that_does_not_hold_keeps_the_log(line):
    x, a, reward, p = line
    roles = {"action": a, "reward": reward, "propensity": p, "target_std": 0.3}
    good = lambda X: 1 + X[:, 0]  # noqa: E731
    assert cp.certify(good, x, **roles).deploys
    harmed = cp.certify(good, x, guardrails={"complaints:max+1%": 1.0 + reward}, **roles)
    assert harmed.verdict == "keep"
    assert not harmed.guardrails[0]["holds"]
    assert harmed.difference["lower"] > 0
    with pytest.raises(cp.Error, match="not a guardrail"):
        cp.certify(good, x, guardrails=["complaints"], **roles)
    with pytest.raises(cp.Error, match="no column 'complaints'") as refused:
        cp.certify(good, x, guardrails=["complaints:max+1%"], **roles)
    assert "dictionary" in refused.value.remedy


def test_segments_are_asked_of_a_certificate(learner):
    found = learner.certificate_.by("x0")
    assert found.confidence == learner.certificate_.terms["confidence"]
    assert len(found.records()) == 4
    assert "x0" in repr(found)
    assert "<table>" in found._repr_html_()
    with pytest.raises(cp.Error, match="city"):
        learner.certificate_.by("city")
    with pytest.raises(cp.Error, match="pickled"):
        pickle.loads(pickle.dumps(learner.certificate_)).by("x0")


def test_plans_are_those_of_the_command_line(shop, command):
    _, roles, flags = shop
    done = command("plan", "log.parquet", *flags, "--context", "x0", "--gain", 0.02, "--power", 0.9, "--json")
    assert done.returncode == 0, done.stderr
    mine = cp.plan("log.parquet", context="x0", gain=0.02, power=0.9, **roles)
    assert {**mine.to_dict(), "schema_version": 2} == json.loads(done.stdout)
    done = command("plan", "log.parquet", "--policy", "policy.json", *flags, "--gain", 0.02, "--json")
    mine = cp.plan("log.parquet", "policy.json", gain=0.02, **roles)
    assert {**mine.to_dict(), "schema_version": 2} == json.loads(done.stdout)
    assert mine.policy["rows"] > 0
    assert len(mine.records()) == 5
    with pytest.raises(cp.Error, match="power"):
        cp.plan("log.parquet", context="x0", power=2.0, **roles)


def test_a_plan_for_a_policy_of_ones_own(line):
    x, a, reward, p = line
    found = cp.plan(x, lambda X: 1 + X[:, 0], target_std=0.4, gain=0.1, action=a, reward=reward, propensity=p)
    assert found.policy["test_rows"] > 1
    assert "this policy needs" in repr(found)


def test_monitors_are_those_of_the_command_line(shop, command, tmp_path):
    moons, roles, flags = shop
    low, high = float(np.min(moons["reward"])) - 1, float(np.max(moons["reward"])) + 1
    spoken = ["--outcome-range", f"{low},{high}"]
    done = command("monitor", "policy.json", "log.parquet", *flags, *spoken, "--state", "s.json", "--json")
    assert done.returncode in (0, 1, 3), done.stderr
    mine = cp.monitor("policy.json", "log.parquet", outcome_range=(low, high), **roles)
    assert mine.to_json() == (tmp_path / "s.json").read_text()
    assert mine.standing == json.loads(done.stdout)["look"]["standing"]
    assert cp.Watch.load("s.json").to_dict() == mine.to_dict()
    with pytest.raises(cp.Error, match="folded in before"):
        cp.monitor("policy.json", "log.parquet", state=mine, **roles)
    with pytest.raises(cp.Error, match="another confidence"):
        cp.monitor("policy.json", "log.parquet", state=mine, confidence=0.8, **roles)


def test_a_monitor_goes_on_from_its_file_and_states_add_up(line, tmp_path):
    x, a, reward, p = line
    policy = cp.Learner(policy="linear", starts=1, certify=False).fit(x[:2000], a[:2000], reward=reward[:2000], propensity=p[:2000])

    def follow(rows, **more):
        return cp.monitor(policy, x[rows], action=a[rows], reward=reward[rows], propensity=p[rows], **more)

    with pytest.raises(cp.Error, match="range of the outcome"):
        follow(slice(2000, 3000))
    file = tmp_path / "state.json"
    first = follow(slice(2000, 3000), state=file, outcome_range=(-2.0, 1.0))
    both = follow(slice(3000, 4000), state=file)
    assert (first.rows, both.rows) == (1000, 2000)
    assert len(both.records()) == 2
    assert cp.Watch.load(file).to_json() == both.to_json()
    other = follow(slice(3000, 4000), outcome_range=(-2.0, 1.0))
    merged = first.merge(other)
    assert merged.difference == pytest.approx(both.difference)
    assert both.standing in ("better", "undecided")
    assert both.standing.upper() in repr(both)
    assert both.value[0] <= np.mean(truth_of(policy, x)) <= both.value[1]
    assert pickle.loads(pickle.dumps(both)).to_json() == both.to_json()
    file.write_text(file.read_text().replace('"rows":1000', '"rows":1001', 1))
    with pytest.raises(cp.Error, match="damaged"):
        cp.Watch.load(file)


def test_a_log_divided_by_time_is_that_of_the_command_line(shop, command, tmp_path):
    pd = pytest.importorskip("pandas")
    moons, roles, flags = shop
    sets = ["--set", "policy=linear", "--set", "starts=1", "--set", "proximal_steps=0"]
    done = command("learn", "log.parquet", "--context", "x0,x1", *flags, "--time", "day", *sets, "-o", "t.json")
    assert done.returncode in (0, 1), done.stderr
    learner = cp.Learner(policy="linear", starts=1, proximal_steps=0)
    dates = pd.DataFrame(moons)
    dates["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(dates["day"], unit="D")
    tables = {"file": "log.parquet", "columns": moons, "dates": dates}
    for kind, X in tables.items():
        found = learner.fit(X, context=["x0", "x1"], time="day", **roles)
        assert found.policy_.to_json() == (tmp_path / "t.json").read_text(), kind
    certificate = json.loads((tmp_path / "t.certificate.json").read_text())
    assert found.certificate_.difference == certificate["difference"]
    with pytest.raises(cp.Error, match="no column 'when'"):
        learner.fit(moons, context=["x0", "x1"], time="when", **roles)


def test_pictures_of_plans_monitors_and_segments(learner, moons, roles):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    span = (float(np.min(moons["reward"])) - 1, float(np.max(moons["reward"])) + 1)
    watch = cp.monitor(learner, moons, outcome_range=span, **roles)
    for ax in (cp.plan(moons, gain=0.05, **roles).plot(), watch.plot(), learner.certificate_.by("x0").plot()):
        assert len(ax.lines) > 0


def told(done):
    """What a command said with --json, without the version of the form."""
    assert done.returncode in (0, 1), done.stderr
    said = json.loads(done.stdout)
    said.pop("schema_version")
    return said


def test_ratios_are_those_of_the_command_line(shop, command):
    moons, roles, flags = shop
    said = told(command("certify", "policy.json", "log.parquet", *flags, "--per", "refunds", "--seed", 4, "--json"))
    mine = cp.certify("policy.json", "log.parquet", seed=4, per="refunds", **roles)
    assert mine.to_dict() == said
    assert mine.ratio["per"] == "refunds"
    assert "reward per refunds" in repr(mine)
    assert pickle.loads(pickle.dumps(mine)).ratio == mine.ratio
    column = cp.certify("policy.json", moons, seed=4, per=np.asarray(moons["visits"]), **roles)
    named = cp.certify("policy.json", moons, seed=4, per="visits", **roles)
    assert {**column.ratio, "per": ""} == {**named.ratio, "per": ""}
    said = told(command("evaluate", "policy.json", "log.parquet", *flags, "--per", "refunds", "--seed", 4, "--rows", "test", "--json"))
    found = cp.evaluate("policy.json", "log.parquet", rows="test", seed=4, per="refunds", **roles)
    assert found.ratio == said["ratio"]
    assert "reward per refunds: policy" in repr(found)
    assert any("test rows" in note for note in found.notes)
    with pytest.raises(cp.Error, match="no column 'spend'"):
        cp.evaluate("policy.json", moons, per="spend", **roles)


def test_a_policy_that_abstains_is_that_of_the_command_line(shop, command, tmp_path):
    _, roles, flags = shop
    said = told(command("certify", "policy.json", "log.parquet", *flags, "--abstain", "a.json", "--seed", 4, "--json"))
    mine = cp.certify("policy.json", "log.parquet", seed=4, abstain=tmp_path / "mine.json", **roles)
    assert mine.to_dict() == said
    assert (tmp_path / "mine.json").read_text() == (tmp_path / "a.json").read_text()
    assert mine.policy.to_json() == (tmp_path / "a.json").read_text()
    assert 0 <= mine.abstains["share"] <= 1
    again = cp.certify(mine.policy, "log.parquet", seed=4, **roles)
    assert again.to_json() == mine.to_json()
    own = cp.certify("policy.json", "log.parquet", seed=4, **roles)
    assert own.abstains is None
    assert own.policy == cp.Policy.load("policy.json")
    with pytest.raises(cp.Error, match="cannot abstain") as refused:
        cp.certify(None, "log.parquet", seed=4, abstain=True, target_density="visits", context="x0", **roles)
    assert "abstain= needs" in refused.value.remedy
    with pytest.raises(cp.Error, match="is for abstain"):
        cp.certify("policy.json", "log.parquet", seed=4, logging_policy="policy.json", **roles)


def test_the_papers_bounds_are_those_of_the_command_line(shop, command):
    _, roles, flags = shop
    clp = cp.Learner(policy="clp", family="normal", starts=1, proximal_steps=0, seed=4, certify=False)
    clp.fit("log.parquet", context=["x0", "x1"], **roles).policy_.save("clp.json")
    said = told(command("evaluate", "clp.json", "log.parquet", *flags, "--bounds", "--seed", 4, "--json"))
    mine = cp.evaluate("clp.json", "log.parquet", seed=4, bounds=True, **roles)
    assert mine.bounds == said["bounds"]
    assert "Proposition" in repr(mine) or "bound" in repr(mine)
    with pytest.raises(cp.Error, match="paper's bounds"):
        cp.evaluate(None, "log.parquet", bounds=True, target_density="visits", context="x0", **roles)


def test_a_file_names_the_columns_of_files_and_tables(shop, command, tmp_path):
    moons, roles, _ = shop
    (tmp_path / "elsewhere").mkdir()
    config = tmp_path / "elsewhere" / "shop.toml"
    lines = [f"{k} = {json.dumps(v)}" for k, v in {**roles, "context": ["x0", "x1"], "time": "day", "path": "../log.parquet"}.items()]
    config.write_text("\n".join(lines))
    said = told(command("describe", "--log-config", config, "--json"))
    assert cp.describe(None, log_config=config).to_dict() == said
    assert cp.describe(moons, log_config=config).to_dict() == said
    for log in (cp.Log(moons, log_config=config), cp.Log("log.parquet", log_config=config)):
        assert any(note.startswith("divided by day; from train to test") for note in log.notes)
    other = cp.Log(moons, cost="refunds", log_config=config)
    assert (other.schema["outcome"], other.schema["direction"]) == ("refunds", "cost")
    own = cp.evaluate(lambda X, a: np.exp(-((a - X["x0"]) ** 2)), moons, log_config=config)
    assert own.outcome == "reward"
    with pytest.raises(cp.FileError):
        cp.Log(moons, log_config=tmp_path / "none.toml")


def test_reports_show_rows_only_when_told_to(shop, command, tmp_path):
    _, roles, flags = shop
    command("certify", "policy.json", "log.parquet", *flags, "--seed", 4, "--report", "r.html", "--with-rows")
    made = cp.certify("policy.json", "log.parquet", seed=4, **roles)
    assert made.report(tmp_path / "mine.html", with_rows=True).read_text() == (tmp_path / "r.html").read_text()
    assert made.report_html() != made.report_html(with_rows=True)


def test_a_selection_goes_on_with_its_journal(shop, tmp_path):
    moons, roles, _ = shop
    grid = {"recipe": {"policy": ["constant", "linear"], "cap": [5, 15], "starts": 1, "proximal_steps": 0}}
    asked = {"context": ["x0", "x1"], **roles}
    whole = cp.Selector(grid=grid, seed=1).fit(moons, **asked)
    file = tmp_path / "fits.journal"

    def stop(done, of):
        if done >= 2:
            raise KeyboardInterrupt

    for _ in range(20):  # on a fast machine it may be done before anybody looks
        try:
            cp.Selector(grid=grid, seed=1, journal=file, progress=stop).fit(moons, **asked)
        except KeyboardInterrupt:
            break
    else:
        pytest.skip("it was never interrupted")
    assert file.stat().st_size > 0
    with pytest.raises(cp.Error, match="journal") as refused:
        cp.Selector(grid=grid, seed=1, journal=file).fit(moons, **asked)
    assert "resume=True" in refused.value.remedy
    again = cp.Selector(grid=grid, seed=1, journal=file, resume=True).fit(moons, **asked)
    assert again.policy_ == whole.policy_
    assert again.certificate_.to_json() == whole.certificate_.to_json()
    assert not file.exists()
    with pytest.raises(cp.Error, match="none is named"):
        cp.Selector(grid=grid, resume=True).fit(moons, **asked)
