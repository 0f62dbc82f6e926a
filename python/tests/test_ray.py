"""Workers of Ray: the bits of one machine, also when workers die."""

import os
import signal
import threading
import time

import pytest

import counterpoint as cp

ray = pytest.importorskip("ray")
import counterpoint.ray as cluster  # noqa: E402

pytestmark = pytest.mark.ray
COLUMNS = {"context": ["x0", "x1"], "action": "action", "reward": "reward", "propensity": "propensity"}


@pytest.fixture(scope="module")
def started():
    try:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    except Exception as e:
        pytest.skip(f"Ray does not start here: {e}")
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Five blocks and a bit."""
    import numpy as np

    path = tmp_path_factory.mktemp("logs") / "log.csv"
    rows = cp.simulate("moons", rows=6000, seed=2)
    names = ["x0", "x1", "action", "reward", "propensity"]
    table = np.column_stack([rows[n] for n in names])
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    return str(path)


def recipe():
    return cp.Learner(policy="clp", anchors=4, starts=2, proximal_steps=2, max_iterations=25, seed=5)


@pytest.fixture(scope="module")
def alone(log):
    return recipe().fit(log, **COLUMNS)


@pytest.mark.parametrize("workers", [2, 4])
def test_workers_give_the_bytes_of_one_machine(started, log, alone, workers):
    with cluster.Cluster(log, workers=workers, cpus=0, **COLUMNS) as rows:
        assert rows.rows == 6000
        there = cluster.learn(rows, recipe())
        assert there.policy_.to_json() == alone.policy_.to_json()
        assert there.certificate_.to_json() == alone.certificate_.to_json()
        assert cluster.certify(alone.policy_, rows, seed=5).to_json() == alone.certificate_.to_json()
        here = cp.evaluate(alone.policy_, log, seed=5, **COLUMNS)
        assert cluster.evaluate(alone.policy_, rows, seed=5).to_dict() == here.to_dict()
        assert cluster.describe(rows)["rows"] == 6000


def test_a_greedy_policy_and_a_selection_are_those_of_one_machine(started, log):
    grid = {"recipe": {"policy": "constant", "starts": 1, "std": [0.5, 0.9]}}
    here = cp.Selector(grid=grid, seed=1).fit(log, **COLUMNS)
    greedy = cp.Learner(models="ridge", seed=1).fit(log, **COLUMNS)
    with cluster.Cluster(log, workers=2, cpus=0, **COLUMNS) as rows:
        there = cluster.select(rows, cp.Selector(grid=grid, seed=1))
        assert there.policy_.to_json() == here.policy_.to_json()
        assert there.certificate_.to_json() == here.certificate_.to_json()
        assert cluster.learn(rows, cp.Learner(models="ridge", seed=1)).policy_.to_json() == greedy.policy_.to_json()


def test_a_selection_goes_on_with_its_journal(started, log, tmp_path):
    grid = {"recipe": {"policy": ["constant", "linear"], "cap": [5, 15], "starts": 1, "proximal_steps": 0}}
    alone = cp.Selector(grid=grid, seed=1).fit(log, **COLUMNS)
    file = tmp_path / "fits.journal"

    def stop(done, of):
        if done >= 2:
            raise KeyboardInterrupt

    with cluster.Cluster(log, workers=2, cpus=0, **COLUMNS) as rows:
        for _ in range(20):  # on a fast machine it may be done before anybody looks
            try:
                cluster.select(rows, cp.Selector(grid=grid, seed=1, journal=file, progress=stop))
            except KeyboardInterrupt:
                break
        else:
            pytest.skip("it was never interrupted")
        assert file.stat().st_size > 0
        with pytest.raises(cp.Error, match="journal"):
            cluster.select(rows, cp.Selector(grid=grid, seed=1, journal=file))
        again = cluster.select(rows, cp.Selector(grid=grid, seed=1, journal=file, resume=True))
        assert again.policy_.to_json() == alone.policy_.to_json()
        assert again.certificate_.to_json() == alone.certificate_.to_json()
        assert not file.exists()
        with pytest.raises(cp.Error, match="none is named"):
            cluster.select(rows, cp.Selector(grid=grid, resume=True))


def test_workers_that_are_killed_change_nothing(started, log, alone):
    with cluster.Cluster(log, workers=2, cpus=0, **COLUMNS) as rows:
        stop = threading.Event()
        killed = []

        def kill():
            for k in range(3):
                if stop.wait(0.3):
                    return
                pid = ray.get(rows._actors[k % 2].facts.remote())["pid"]
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

        other = threading.Thread(target=kill)
        other.start()
        policies = []
        clock = time.monotonic()
        while not policies or (other.is_alive() and time.monotonic() - clock < 60):
            policies.append(cluster.learn(rows, recipe()).policy_.to_json())
        stop.set()
        other.join()
        assert killed
        assert set(policies) == {alone.policy_.to_json()}


def test_errors_of_workers_name_the_place(started, log):
    with pytest.raises(cp.Error, match="rewards"):
        cluster.Cluster(log, workers=1, cpus=0, **{**COLUMNS, "reward": "rewards"})
    with pytest.raises(cp.Error, match="at most 6 workers"):
        cluster.Cluster(log, workers=9, cpus=0, **COLUMNS)
    with pytest.raises(cp.Error, match="cannot estimate"):
        cluster.Cluster(log, workers=1, **{**COLUMNS, "propensity": "fit"})
