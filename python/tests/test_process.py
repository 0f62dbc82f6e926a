"""Interruption, other processes, other threads."""

import multiprocessing
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import counterpoint as cp

SLOW = """
import signal, sys, threading, time
import numpy as np
import counterpoint as cp
signal.signal(signal.SIGINT, signal.default_int_handler)
moons = cp.simulate("moons", rows=60000, seed=1)
learner = cp.Learner(**{fields})
def interrupt():
    import os
    time.sleep({after})
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, daemon=True).start()
roles = dict(context=["x0", "x1"], action="action", reward="reward", propensity="propensity")
try:
    learner.fit(moons, **roles)
except KeyboardInterrupt:
    print("interrupted", hasattr(learner, "policy_"))
else:
    print("through")
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of another kind")
@pytest.mark.parametrize("kind", ["greedy", "clp"])
def test_an_interrupted_fit_ends_soon(kind):
    fields = {"greedy": {}, "clp": {"policy": "clp", "starts": 400}}[kind]
    script = SLOW.format(fields=fields, after=3.0 if kind == "clp" else 1.5)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    # what a parametric fit has learned is kept
    assert done.stdout.strip() == f"interrupted {kind == 'clp'}", done.stdout + done.stderr


def _score(learner, rows, queue):
    queue.put(float(learner.predict(rows).sum()))


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_other_processes_go_on_with_what_was_learned(method, learner, moons):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"there is no {method} here")
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_score, args=(learner, moons, queue))
    child.start()
    assert queue.get(timeout=120) == float(learner.predict(moons).sum())
    child.join()


def _fit_again(rows, queue):
    learner = cp.Learner(policy="linear", starts=1, threads=2)
    roles = {"context": ["x0", "x1"], "action": "action", "reward": "reward", "propensity": "propensity"}
    queue.put(learner.fit(rows, **roles).policy_.sha256)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
def test_a_forked_process_can_learn(moons, roles):
    mine = cp.Learner(policy="linear", starts=1, threads=2).fit(moons, **roles)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_fit_again, args=(moons, queue))
    child.start()
    assert queue.get(timeout=120) == mine.policy_.sha256
    child.join()


def test_the_lock_is_released_during_work(moons, roles):
    """Another thread counts while a fit runs; with the lock held it could not."""
    counts = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counts.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    begun = time.perf_counter()
    cp.Learner(policy="clp", starts=5, certify=False).fit(moons, **roles)
    ended = time.perf_counter()
    stop.set()
    other.join()
    during = [t for t in counts if begun < t < ended]
    assert len(during) > 5
    assert np.diff([begun, *during, ended]).max() < 0.5 * (ended - begun)


def test_progress_is_told(moons, roles):
    told = []
    cp.Learner(policy="clp", starts=20, certify=False, progress=lambda d, n: told.append((d, n))).fit(moons, **roles)
    assert told
    assert told == sorted(told)
    assert {n for _, n in told} == {20 * 11}


def test_import_is_quick():
    # of the processor, so that what else runs here does not matter
    code = "import time, numpy; t = time.process_time(); import counterpoint; print(time.process_time() - t)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(5)]
    assert min(times) < 0.15
