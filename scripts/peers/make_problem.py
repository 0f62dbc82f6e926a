#!/usr/bin/env python3
"""Write a synthetic CLP problem (problem.json and raw little-endian f64 files) for the peer benchmarks.

    make_problem.py DIR --n 10000 --d 6 --m 12 [--seed 0]

The log: contexts are standard normal, with a column of ones last. Actions are lognormal with mean 2 and standard
deviation 1, whatever the context, and the log propensity is their exact log density. Each row has a potential
p = |N(mu(x), 0.5)|, mu = 3 where the first context is positive and 1 elsewhere, and earns the reward
max(-0.1, a/p if a < p else 1 + p/2 - a/2); the cost is minus the reward.
"""

import argparse
import json
import math
from pathlib import Path

import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--n", type=int, default=10_000, help="rows")
    parser.add_argument("--d", type=int, default=6, help="columns of the design matrix, the ones included")
    parser.add_argument("--m", type=int, default=12, help="anchors")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    n, d, m = args.n, args.d, args.m
    if n < 2 or d < 2 or m < 1:
        parser.error("need n >= 2, d >= 2 and m >= 1")

    rng = np.random.default_rng(args.seed)
    x = np.ones((n, d))
    x[:, :-1] = rng.standard_normal((n, d - 1))

    # A lognormal of mean 2 and standard deviation 1.
    mean, std = 2.0, 1.0
    s2 = math.log1p(std**2 / mean**2)
    s, location = math.sqrt(s2), math.log(mean) - s2 / 2
    log_action = location + s * rng.standard_normal(n)
    action = np.exp(log_action)
    log_propensity = (
        -0.5 * ((log_action - location) / s) ** 2 - math.log(s) - 0.5 * math.log(2 * math.pi) - log_action
    )

    centre = np.where(x[:, 0] > 0, 3.0, 1.0)
    potential = np.abs(centre + 0.5 * rng.standard_normal(n))
    reward = np.where(action < potential, action / potential, 1 + potential / 2 - action / 2)
    cost = -np.maximum(-0.1, reward)

    anchors = np.quantile(action, np.linspace(0.01, 0.99, m))
    theta = np.append(0.05 * rng.standard_normal(d * m), math.log(action.std(ddof=1)))

    args.dir.mkdir(parents=True, exist_ok=True)
    arrays = {
        "x": x,
        "action": action,
        "log_propensity": log_propensity,
        "cost": cost,
        "anchors": anchors,
        "theta": theta,
    }
    for name, array in arrays.items():
        np.ascontiguousarray(array, dtype="<f8").tofile(args.dir / f"{name}.f64")
    problem = {
        "n": n,
        "d": d,
        "m": m,
        "gamma": 10.0,
        "cap": 15.0,
        "variance_penalty": 1.0,
        "ridge": 1e-3,
        "kappa": 0.01,
        "outer": 10,
    }
    (args.dir / "problem.json").write_text(json.dumps(problem) + "\n")


if __name__ == "__main__":
    main()
