"""What scipy reaches on the problems of tests/optim.rs, with its default tolerances, and how often it evaluates.

    python make_optim_scipy.py      # writes optim_scipy.json beside itself; needs numpy and scipy

A problem is a function of theta that returns value and gradient together, as in the library, and an evaluation is a
call of it at a point other than the last one. The data of the three statistical problems are drawn here and stored,
so that both languages read the same digits.
"""

import json
import math
import pathlib
import warnings

import numpy as np
import scipy
from scipy.optimize import minimize

rng = np.random.default_rng(20240607)


def sphere(x):
    return x @ x, 2 * x


CURVATURES = 10.0 ** (6.0 * np.arange(20) / 19.0)


def quadratic(x):
    e = x - 1
    return 0.5 * np.sum(CURVATURES * e * e), CURVATURES * e


def rosenbrock(x):
    a, b = x[0::2], x[1::2]
    g = np.empty_like(x)
    g[0::2] = -400 * a * (b - a * a) - 2 * (1 - a)
    g[1::2] = 200 * (b - a * a)
    return np.sum(100 * (b - a * a) ** 2 + (1 - a) ** 2), g


def beale(x):
    a, b = x
    r = np.array([1.5 - a + a * b, 2.25 - a + a * b**2, 2.625 - a + a * b**3])
    j = np.array([[b - 1, a], [b**2 - 1, 2 * a * b], [b**3 - 1, 3 * a * b**2]])
    return r @ r, 2 * j.T @ r


def booth(x):
    a, b = x
    r, s = a + 2 * b - 7, 2 * a + b - 5
    return r * r + s * s, np.array([2 * r + 4 * s, 4 * r + 2 * s])


def himmelblau(x):
    a, b = x
    r, s = a * a + b - 11, a + b * b - 7
    return r * r + s * s, np.array([4 * a * r + 2 * s, 2 * r + 4 * b * s])


def log_wall(x):
    """sum x - log x, which is not a number unless every x is positive."""
    if np.any(x <= 0):
        return math.nan, np.full_like(x, math.nan)
    return np.sum(x - np.log(x)), 1 - 1 / x


def logistic(data):
    x, y = np.array(data["x"]), np.array(data["y"])

    def f(t):
        m = y * (x @ t)
        return np.mean(np.logaddexp(0, -m)) + 0.05 * t @ t, -(x.T @ (y / (1 + np.exp(m)))) / len(y) + 0.1 * t

    return f


def log_sum_exp(data):
    a, b = np.array(data["a"]), np.array(data["b"])

    def f(t):
        z = a @ t + b
        m = z.max()
        e = np.exp(z - m)
        return m + np.log(e.sum()) + 0.005 * t @ t, a.T @ (e / e.sum()) + 0.01 * t

    return f


def crm(data):
    """Soft-clipped IPS with a variance penalty; Normal policy, its mean a soft argmin over anchors (clp)."""
    x, a, p, y = (np.array(data[k]) for k in ("x", "action", "propensity", "cost"))
    anchors, gamma, cap, lam = np.array(data["anchors"]), data["gamma"], data["cap"], data["lambda"]
    x = np.column_stack([x, np.ones(len(a))])
    n, d, m = len(a), x.shape[1], len(anchors)
    alpha = 2.0
    for _ in range(60):
        alpha -= (alpha * math.log(alpha) - cap) / (math.log(alpha) + 1)

    def f(t):
        c, s = t[:-1].reshape(d, m), t[-1]
        z = -gamma * (x @ c)
        e = np.exp(z - z.max(axis=1, keepdims=True))
        q = e / e.sum(axis=1, keepdims=True)
        mu = q @ anchors
        u = (a - mu) / np.exp(s)
        w = np.exp(-0.5 * u * u - s - 0.5 * math.log(2 * math.pi) - np.log(p))
        far = w > cap
        zeta = np.where(far, alpha * np.log(np.where(far, w + alpha - cap, 1.0)), w)
        slope = np.where(far, alpha / (w + alpha - cap), 1.0)
        r = y * zeta
        mean, var = r.mean(), r.var(ddof=1)
        k = 1 / n + lam * (r - mean) / ((n - 1) * math.sqrt(var * n))
        k = k * y * slope * w
        dmu = k * u / np.exp(s)
        dz = dmu[:, None] * q * (anchors[None, :] - mu[:, None])
        return mean + lam * math.sqrt(var / n), np.append((-gamma * x.T @ dz).ravel(), np.sum(k * (u * u - 1)))

    return f


def draw():
    x = rng.normal(size=(40, 4))
    y = np.where(x @ np.array([1.0, -2.0, 0.5, 0.0]) + rng.logistic(size=40) > 0, 1.0, -1.0)
    data = {"logistic": {"x": x.tolist(), "y": y.tolist()}}
    data["log_sum_exp"] = {"a": (2 * rng.normal(size=(25, 6))).tolist(), "b": rng.normal(size=25).tolist()}
    data["crm"] = draw_crm(np.random.default_rng(3), 300)
    return data


def draw_crm(rng, n):
    x = rng.normal(size=(n, 2))
    action = rng.normal(size=n) * 1.5 + 2.0
    p = np.exp(-0.5 * ((action - 2.0) / 1.5) ** 2) / (1.5 * math.sqrt(2 * math.pi))
    best = 2.0 + np.sin(x[:, 0]) + 0.5 * x[:, 1]
    cost = -np.exp(-0.5 * (action - best) ** 2) * rng.uniform(0.8, 1.0, size=n)
    anchors = np.quantile(action, [0.01, 0.255, 0.5, 0.745, 0.99])
    columns = {"x": x, "action": action, "propensity": p, "cost": cost, "anchors": anchors}
    return {k: v.tolist() for k, v in columns.items()} | {"gamma": 5.0, "cap": 5.0, "lambda": 0.1}


class Counting:
    def __init__(self, f):
        self.f, self.last, self.evaluations = f, None, 0

    def look(self, x):
        if self.last is None or not np.array_equal(self.last[0], x):
            self.evaluations += 1
            self.last = (x.copy(), *self.f(x))
        return self.last

    def value(self, x):
        return self.look(x)[1]

    def grad(self, x):
        return self.look(x)[2]


def figures(f, start):
    value, grad = f(start)
    for i in range(len(start)):
        h = np.zeros_like(start)
        h[i] = 1e-6 * max(1, abs(start[i]))
        slope = (f(start + h)[0] - f(start - h)[0]) / (2 * h[i])
        assert abs(slope - grad[i]) <= 1e-5 * max(1, np.abs(grad).max()), (i, slope, grad[i])
    out = {"start": start.tolist(), "start_value": float(value)}
    for method in ("L-BFGS-B", "CG", "Newton-CG"):
        c = Counting(f)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            r = minimize(c.value, start, jac=c.grad, method=method)
        v = float(r.fun)
        out[method] = {
            "value": v if math.isfinite(v) else None,
            "gradient": float(np.abs(f(r.x)[1]).max()) if math.isfinite(v) else None,
            "iterations": int(r.nit),
            "evaluations": c.evaluations,
        }
    return out


if __name__ == "__main__":
    data = draw()
    pairs = np.concatenate([np.array([-1.2, 1.0]) * (1 + k / 10) for k in range(5)])
    # The crm landscape is rough: from afar, two solvers end in two optima, and so does one from two starts that differ
    # by 1e-4. To compare ends, start within a basin: at one of its minima, rounded to one decimal.
    far = np.append(0.01 * np.cos(np.arange(15.0)), math.log(1.5))
    tight = {"maxiter": 5000, "maxfun": 50000, "ftol": 1e-15, "gtol": 1e-9}
    basin = minimize(crm(data["crm"]), far, jac=True, method="L-BFGS-B", options=tight).x
    problems = {
        "sphere": (sphere, np.array([1.0, -2, 3, -4, 5])),
        "quadratic": (quadratic, np.zeros(20)),
        "rosenbrock_2": (rosenbrock, np.array([-1.2, 1.0])),
        "rosenbrock_10": (rosenbrock, pairs),
        "beale": (beale, np.array([1.0, 1.0])),
        "booth": (booth, np.zeros(2)),
        "himmelblau": (himmelblau, np.zeros(2)),
        "logistic": (logistic(data["logistic"]), np.zeros(4)),
        "log_sum_exp": (log_sum_exp(data["log_sum_exp"]), np.ones(6)),
        "log_wall": (log_wall, np.array([0.05, 8.0, 3.0])),
        "crm": (crm(data["crm"]), np.round(basin, 1)),
        "crm_far": (crm(data["crm"]), far),
    }
    out = {"scipy": scipy.__version__, "problems": {k: figures(*v) for k, v in problems.items()}, "data": data}
    path = pathlib.Path(__file__).with_name("optim_scipy.json")
    path.write_text(json.dumps(out, indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    for k, v in out["problems"].items():
        for m in ("L-BFGS-B", "CG", "Newton-CG"):
            print(f"{k:15} {m:10}", v[m])
