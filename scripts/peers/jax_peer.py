#!/usr/bin/env python3
"""Peer benchmark: the CLP soft-clipped objective, value and gradient, in JAX (float64, one thread).

    jax_peer.py DIR --mode time [--seconds 3] [--formulation auto|rows|columns|blocked]
    jax_peer.py DIR --mode fit [--penalise-constant]

DIR holds problem.json and raw little-endian f64 files, as written by make_problem.py. With theta = [C (d x m,
row-major), log sigma]:

    mu_i    = sum_j z_j softmax_j(-gamma (X C)_ij)
    log w_i = log N(a_i; mu_i, sigma) - log p_i
    u_i     = y_i zeta(w_i),  zeta(w) = w if w <= M else alpha log(w + alpha - M),  alpha log alpha = M
    F       = mean(u) + lambda sqrt(var(u, ddof=1) / n) + ridge/2 |C|^2

|C|^2 leaves out the last row, which belongs to the constant feature; --penalise-constant takes it in.

Three ways to write it, all jitted, all giving the same numbers; `auto` times each on the problem and keeps the fastest:
    rows     X as (n, d), jax.nn.softmax, value_and_grad: the straightforward one;
    columns  X as (d, n), the softmax left unnormalised until after the reduction, value_and_grad;
    blocked  lax.scan over blocks that fit in the cache, the gradient by hand, in one pass over the data.
"""

import argparse
import json
import math
import os
import time
from pathlib import Path

# One thread, before anything loads a numerical library.
os.environ["OMP_NUM_THREADS"] = "1"
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from scipy.optimize import minimize  # noqa: E402
from scipy.special import lambertw  # noqa: E402

jax.config.update("jax_enable_x64", True)

HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
BLOCK = 5000


class Problem:
    def __init__(self, folder, penalise_constant=False):
        spec = json.loads((folder / "problem.json").read_text())
        self.n, self.d, self.m = spec["n"], spec["d"], spec["m"]
        self.gamma, self.cap = spec["gamma"], spec["cap"]
        self.penalty, self.ridge = spec["variance_penalty"], spec["ridge"]
        self.kappa, self.outer = spec["kappa"], spec.get("outer", 10)
        self.alpha = math.exp(lambertw(self.cap).real)
        self.penalised = self.m * (self.d if penalise_constant else self.d - 1)  # leading entries of theta

        def load(name, size):
            array = np.fromfile(folder / f"{name}.f64", dtype="<f8")
            if array.size != size:
                raise SystemExit(f"{name}.f64: {array.size} values, expected {size}")
            return array

        self.x = load("x", self.n * self.d).reshape(self.n, self.d)
        self.action = load("action", self.n)
        self.log_propensity = load("log_propensity", self.n)
        self.cost = load("cost", self.n)
        self.anchors = load("anchors", self.m)
        self.theta = load("theta", self.d * self.m + 1)


def soft_clip(p, log_w):
    # The inner `where` keeps the branch that is not taken finite, for the gradient's sake.
    w = jnp.exp(jnp.minimum(log_w, 700.0))
    over = w > p.cap
    return jnp.where(over, p.alpha * jnp.log(jnp.where(over, w, p.cap) + (p.alpha - p.cap)), w)


def objective_of_means(p, theta, mu, action, log_propensity, cost):
    log_sigma = theta[-1]
    q = (action - mu) * jnp.exp(-log_sigma)
    u = cost * soft_clip(p, -0.5 * q * q - log_sigma - HALF_LOG_2PI - log_propensity)
    spread = jnp.sqrt(jnp.var(u, ddof=1) / p.n)
    return jnp.mean(u) + p.penalty * spread + 0.5 * p.ridge * jnp.sum(theta[: p.penalised] ** 2)


def rows(p):
    z = jnp.asarray(p.anchors)

    def objective(theta, x, *rest):
        c = theta[:-1].reshape(p.d, p.m)
        mu = jax.nn.softmax(x @ (-p.gamma * c), axis=1) @ z
        return objective_of_means(p, theta, mu, *rest)

    return jax.jit(jax.value_and_grad(objective)), (p.x, p.action, p.log_propensity, p.cost)


def columns(p):
    z_and_one = jnp.stack([p.anchors, np.ones(p.m)])

    def objective(theta, x, *rest):
        c = theta[:-1].reshape(p.d, p.m)
        t = (-p.gamma * c).T @ x
        top = z_and_one @ jnp.exp(t - jax.lax.stop_gradient(t.max(axis=0)))
        return objective_of_means(p, theta, top[0] / top[1], *rest)

    return (
        jax.jit(jax.value_and_grad(objective)),
        (np.ascontiguousarray(p.x.T), p.action, p.log_propensity, p.cost),
    )


def blocked(p):
    n, d, m = p.n, p.d, p.m
    z = jnp.asarray(p.anchors)
    z_and_one = jnp.stack([p.anchors, np.ones(m)])
    block = min(BLOCK, n)
    count = -(-n // block)
    pad = count * block - n  # padded rows cost 0 and so add nothing to any sum

    def value_and_grad(theta, *data):
        c, log_sigma = theta[:-1].reshape(d, m), theta[-1]
        scaled = (-p.gamma * c).T
        inv_sigma = jnp.exp(-log_sigma)

        # The variance term needs sum u, sum u^2 and the gradients of both: all of them from one pass.
        def step(carry, rows):
            x, action, log_propensity, cost = rows
            t = scaled @ x
            e = jnp.exp(t - t.max(axis=0))
            top = z_and_one @ e
            inv = 1 / top[1]
            mu = top[0] * inv
            q = (action - mu) * inv_sigma
            log_w = -0.5 * q * q - log_sigma - HALF_LOG_2PI - log_propensity
            zeta, slope = jax.jvp(lambda v: soft_clip(p, v), (log_w,), (jnp.ones_like(log_w),))
            u, du = cost * zeta, cost * slope
            k, r = du * q * inv, q * q - 1
            sums = jnp.stack([u.sum(), u @ u, du @ r, (du * u) @ r])
            grads = jnp.concatenate([x * k, x * (k * u)]) @ (e * (z[:, None] - mu)).T
            return (carry[0] + sums, carry[1] + grads), None

        (s, g), _ = jax.lax.scan(step, (jnp.zeros(4), jnp.zeros((2 * d, m))), data)
        mean = s[0] / n
        spread = jnp.sqrt((s[1] - n * mean**2) / (n - 1) / n)
        second = p.penalty / ((n - 1) * n * spread)
        first = 1 / n - second * mean
        kept = c * (jnp.arange(d * m) < p.penalised).reshape(d, m)
        grad_c = -p.gamma * inv_sigma * (first * g[:d] + second * g[d:]) + p.ridge * kept
        value = mean + p.penalty * spread + 0.5 * p.ridge * jnp.sum(kept * kept)
        return value, jnp.append(grad_c.ravel(), first * s[2] + second * s[3])

    def split(v):
        return np.pad(v, (0, pad)).reshape(count, block)

    x = np.pad(p.x, ((0, pad), (0, 0))).reshape(count, block, d).transpose(0, 2, 1)
    data = (np.ascontiguousarray(x), split(p.action), split(p.log_propensity), split(p.cost))
    return jax.jit(value_and_grad), data


FORMULATIONS = {"rows": rows, "columns": columns, "blocked": blocked}


def compiled(p, name):
    """theta -> (value, gradient) on device arrays, compiled and warm."""
    function, data = FORMULATIONS[name](p)
    data = [jax.device_put(v) for v in data]

    def evaluate(theta):
        return function(theta, *data)

    theta = jax.device_put(p.theta)
    for _ in range(3):
        jax.block_until_ready(evaluate(theta))
    return evaluate


def durations(evaluate, theta, seconds):
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        jax.block_until_ready(evaluate(theta))
        times.append(time.perf_counter() - start)
    return times


def choose(p, name):
    if name != "auto":
        return name, compiled(p, name)
    theta = jax.device_put(p.theta)
    candidates = {key: compiled(p, key) for key in FORMULATIONS}
    times = {key: [] for key in candidates}
    for _ in range(3):  # interleaved, so that a busy moment hurts all of them alike
        for key, evaluate in candidates.items():
            times[key] += durations(evaluate, theta, 0.2)
    best = min(times, key=lambda key: np.median(times[key]))
    return best, candidates[best]


def run_time(p, name, evaluate, seconds):
    theta = jax.device_put(p.theta)
    value, grad = evaluate(theta)
    median = float(np.median(durations(evaluate, theta, seconds)))
    return {
        "rows_per_second": p.n / median,
        "value": float(value),
        "grad_norm": float(jnp.linalg.norm(grad)),
        "median_ms": 1e3 * median,
        "formulation": name,
    }


def run_fit(p, name, evaluate):
    evaluations = 0

    def regularised(theta, centre, kappa):
        nonlocal evaluations
        evaluations += 1
        value, grad = evaluate(theta)
        step = theta - centre
        return float(value) + 0.5 * kappa * (step @ step), np.asarray(grad) + kappa * step

    options = {"maxcor": 10, "ftol": 2.2e-9, "gtol": 1e-5, "maxiter": 200}
    theta, trace = p.theta.copy(), []
    regularised(theta, theta, p.kappa)  # warm with a NumPy argument too
    evaluations = 0
    start = time.perf_counter()
    for kappa in [p.kappa] * p.outer + [0.0]:
        centre = theta
        result = minimize(regularised, centre, args=(centre, kappa), jac=True, method="L-BFGS-B", options=options)
        theta = result.x
        step = theta - centre
        trace.append([time.perf_counter() - start, float(result.fun - 0.5 * kappa * (step @ step))])
    return {
        "seconds": time.perf_counter() - start,
        "evaluations": evaluations,
        "value": trace[-1][1],
        "theta": theta.tolist(),
        "trace": trace,
        "formulation": name,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--mode", choices=["time", "fit"], required=True)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--formulation", choices=["auto", *FORMULATIONS], default="auto")
    parser.add_argument("--penalise-constant", action="store_true")
    args = parser.parse_args()

    problem = Problem(args.dir, args.penalise_constant)
    name, evaluate = choose(problem, args.formulation)
    if args.mode == "time":
        report = run_time(problem, name, evaluate, args.seconds)
    else:
        report = run_fit(problem, name, evaluate)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
