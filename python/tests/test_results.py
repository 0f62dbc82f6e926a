"""Results print, give their data and draw themselves."""

import json

import pytest

import counterpoint as cp


def test_a_certificate_shows_itself(learner, tmp_path):
    c = learner.certificate_
    assert c.verdict.upper() in repr(c)
    assert c.verdict.upper() in c._repr_html_()
    assert c.to_dict() == json.loads(c.to_json())
    assert "difference" in dir(c)
    with pytest.raises(AttributeError, match="no 'nothing'"):
        _ = c.nothing
    page = c.report(tmp_path / "report.html").read_text()
    assert "http://" not in page.replace("http://www.w3.org", "")
    c.save(tmp_path / "c.json")
    assert (tmp_path / "c.json").read_text() == c.to_json()


def test_a_description_shows_itself(moons, roles, tmp_path):
    d = cp.describe(moons, **roles)
    assert d.rows == 3000
    assert "propensities integrate to" in repr(d)
    assert "<table>" in d._repr_html_()
    assert [r["role"] for r in d.records()] == ["context", "context", "action", "reward"]
    assert "html" in d.report(tmp_path / "log.html").read_text()[:200].lower()


def test_estimates_show_themselves(learner, moons, roles):
    e = cp.evaluate(learner, moons, seed=3, **roles)
    assert "snips" in repr(e)
    assert "<td>snips</td>" in e._repr_html_()
    with pytest.raises(KeyError, match="they are"):
        _ = e["snip"]
    with pytest.raises(cp.Error, match="no answer"):
        _ = e["switch"]


def test_frames(learner, moons, roles):
    e = cp.evaluate(learner, moons, seed=3, **roles)
    for package, method in [("pandas", "to_pandas"), ("polars", "to_polars")]:
        pytest.importorskip(package)
        assert list(getattr(learner.certificate_, method)()["name"]) == ["log", "policy", "difference"]
        assert len(getattr(e, method)()) == len(e.records())


def test_hostile_names_are_not_obeyed():
    from counterpoint import page

    told = page.table([{"<script>": "<img src=x onerror=alert(1)>"}])
    assert "<script>" not in told
    assert "<img" not in told


def test_pictures(learner, moons, roles):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = [
        learner.certificate_.plot(),
        cp.evaluate(learner, moons, seed=3, **roles).plot(),
        cp.describe(moons, **roles).plot(),
        cp.compare([learner, moons["propensity"]], moons, seed=3, **roles).plot(),
    ]
    assert all(len(ax.lines) > 0 for ax in axes)
