#!/usr/bin/env python3
"""Eigenvalues, inverse square roots and solutions computed with numpy (LAPACK), for src/linalg/tests.rs.

Writes linalg_numpy.json beside itself. Matrices are given by formula, so that only results are stored:

    kernel(n, alpha):  exp(-alpha/2 (z_i - z_j)^2) with z_i = i / (n - 1)        (nearly singular for small alpha)
    spread(n):         min(i, j) + 1                                             (inverse is tridiagonal)
    wave(n):           sin(1 + 3 i + 3 j) / (1 + |i - j|)                        (indefinite)
"""
import json
import os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def kernel(n, alpha):
    z = np.arange(n) / (n - 1)
    return np.exp(-alpha / 2 * (z[:, None] - z[None, :]) ** 2)


def spread(n):
    i = np.arange(n)
    return np.minimum(i[:, None], i[None, :]) + 1.0


def wave(n):
    i = np.arange(n)
    return np.sin(1.0 + 3.0 * (i[:, None] + i[None, :])) / (1.0 + np.abs(i[:, None] - i[None, :]))


def root(k, cut):
    values, u = np.linalg.eigh(k)
    kept = values > cut * values[-1]
    return (u[:, kept] / np.sqrt(values[kept])) @ u[:, kept].T


out = {
    "eigenvalues": {
        "kernel 12 2.0": np.linalg.eigvalsh(kernel(12, 2.0)).tolist(),
        "spread 20 0": np.linalg.eigvalsh(spread(20)).tolist(),
        "wave 31 0": np.linalg.eigvalsh(wave(31)).tolist(),
    },
    "inverse_square_root": {
        "kernel 5 20.0": root(kernel(5, 20.0), 1e-10).ravel().tolist(),
        "kernel 6 300.0": root(kernel(6, 300.0), 1e-10).ravel().tolist(),
    },
    "solve": {
        # right-hand side: cos(i)
        "spread 25 0": np.linalg.solve(spread(25), np.cos(np.arange(25))).tolist(),
        "kernel 9 400.0": np.linalg.solve(kernel(9, 400.0), np.cos(np.arange(9))).tolist(),
    },
}
with open(os.path.join(HERE, "linalg_numpy.json"), "w") as f:
    json.dump(out, f, indent=1)
    f.write("\n")
