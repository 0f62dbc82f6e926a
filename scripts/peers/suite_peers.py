"""What a user would write in an afternoon, judged on the worlds of the suite.

Every model is a direct method: it predicts the outcome from contexts and action, and the rule takes the best of 101 actions between the
1% and the 99% quantile of the logged ones (of all points where the log acts on points). Settings are chosen on the valid part, by squared error for
models and by a kernel-smoothed self-normalised value for rules; what was chosen is fitted again on train and valid together. The
test part is not read. Values come from the truth files. Costs are turned into rewards on the way in.

  python suite_peers.py DIR [--worlds a,b] [--seeds 1,2,3] [--methods lightgbm,network,ridge,linear-kernel,constant,vw-cats] [--out FILE]
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import sys
import time
import warnings
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pandas as pd

GRID = 101
CHUNK = 200_000
TUNE = 20_000  # settings of slow methods are tried on so many rows of the train part


class Data:
    """A log: contexts standardised by the rows to learn from, actions, gains (more is better), propensities, parts."""

    def __init__(self, folder, world, seed):
        self.facts = json.loads((folder / f"{world}.json").read_text())
        frame = pd.read_parquet(folder / f"{world}-{seed}.parquet")
        d = self.facts["contexts"]
        self.sign = 1.0 if self.facts["outcome"] == "reward" else -1.0
        names = [f"x{j}" for j in range(d)]
        part = frame["split"].to_numpy()
        learn = part != "test"
        frame, part = frame[learn], part[learn]
        x = frame[names].to_numpy()
        self.train, self.valid = part == "train", part == "valid"
        self.tune = self.train & (np.cumsum(self.train) <= TUNE)
        self.centre, self.scale = x.mean(0), np.where(x.std(0) > 0, x.std(0), 1.0)
        self.x = (x - self.centre) / self.scale
        self.a = frame["action"].to_numpy()
        self.y = self.sign * frame[self.facts["outcome"]].to_numpy()
        self.p = frame["propensity"].to_numpy()
        self.unit = self.a.std()
        self.middle = self.a.mean()
        if self.facts["points"]:
            self.actions = np.array(self.facts["actions"])
        else:
            low, high = np.quantile(self.a, [0.01, 0.99])
            self.actions = np.linspace(low, high, GRID)
        self.range = (self.actions[0], self.actions[-1])


class Truth:
    """Fresh contexts and the mean outcome of each on a grid of actions."""

    def __init__(self, folder, world):
        self.facts = json.loads((folder / f"{world}.json").read_text())
        frame = pd.read_parquet(folder / f"{world}.truth.parquet")
        self.x = frame[[f"x{j}" for j in range(self.facts["contexts"])]].to_numpy()
        self.actions = np.array(self.facts["actions"])
        self.means = frame[[f"m{k}" for k in range(len(self.actions))]].to_numpy()

    def value(self, a):
        """The mean outcome of these actions, one a context; linear between actions of the grid, the nearest of points."""
        rows = np.arange(len(a))
        if self.facts["points"]:
            k = np.abs(a[:, None] - self.actions[None, :]).argmin(1)
            return self.means[rows, k].mean()
        step = self.actions[1] - self.actions[0]
        at = np.clip((a - self.actions[0]) / step, 0, len(self.actions) - 1)
        k = np.minimum(at.astype(int), len(self.actions) - 2)
        part = at - k
        return ((1 - part) * self.means[rows, k] + part * self.means[rows, k + 1]).mean()


def greedy(predict, x, data):
    """The best action of each context by a model of the outcome."""
    out = np.empty(len(x))
    block = max(1, CHUNK // len(data.actions))
    for i in range(0, len(x), block):
        rows = x[i : i + block]
        both = np.repeat(rows, len(data.actions), axis=0), np.tile(data.actions, len(rows))
        out[i : i + block] = data.actions[predict(*both).reshape(len(rows), -1).argmax(1)]
    return out


def smoothed(rule, data, rows, share=0.2):
    """The self-normalised value of a rule on rows, with a normal kernel around it; minus infinity if too few rows count."""
    h = share * data.unit
    w = np.exp(-0.5 * ((data.a[rows] - rule) / h) ** 2) / (h * data.p[rows])
    total = w.sum()
    if total <= 0 or total**2 / (w**2).sum() < max(10, 0.002 * len(w)):
        return -np.inf
    return (w * data.y[rows]).sum() / total


def lightgbm(data):
    """Boosted trees; leaves and smallest leaf on the valid part, trees by early stopping."""
    import lightgbm as lgb

    both = np.column_stack([data.x, data.a])
    best = None
    for leaves, smallest in [(7, 20), (31, 20), (31, 100)]:
        settings = dict(objective="l2", learning_rate=0.05, num_leaves=leaves, min_data_in_leaf=smallest, verbosity=-1, num_threads=1, seed=1)
        train = lgb.Dataset(both[data.train], data.y[data.train])
        valid = lgb.Dataset(both[data.valid], data.y[data.valid], reference=train)
        model = lgb.train(settings, train, 1000, valid_sets=[valid], callbacks=[lgb.early_stopping(40, verbose=False)])
        error = model.best_score["valid_0"]["l2"]
        if best is None or error < best[0]:
            best = error, settings, max(1, model.best_iteration)
    _, settings, trees = best
    model = lgb.train(settings, lgb.Dataset(both, data.y), trees)
    rule = lambda x: greedy(lambda x, a: model.predict(np.column_stack([x, a]), num_threads=1), x, data)
    return rule, f"{settings['num_leaves']} leaves, {trees} trees"


def network(data):
    """Two hidden layers; width and penalty on the valid part."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neural_network import MLPRegressor

    warnings.simplefilter("ignore", ConvergenceWarning)
    scale_y = data.y.std() or 1.0
    both = np.column_stack([data.x, (data.a - data.middle) / data.unit])
    y = (data.y - data.y.mean()) / scale_y
    few = len(y) < 40_000
    best = None
    for width, alpha in [(32, 1e-3), (64, 1e-4), (64, 1e-1)]:
        settings = dict(hidden_layer_sizes=(width, width), alpha=alpha, early_stopping=True, n_iter_no_change=10 if few else 5, max_iter=200 if few else 30,
                        batch_size=128 if few else 256, learning_rate_init=2e-3, random_state=1)
        model = MLPRegressor(**settings).fit(both[data.tune], y[data.tune])
        error = ((model.predict(both[data.valid]) - y[data.valid]) ** 2).mean()
        if best is None or error < best[0]:
            best = error, settings, f"width {width}, penalty {alpha}"
    model = MLPRegressor(**best[1]).fit(both, y)
    rule = lambda x: greedy(lambda x, a: model.predict(np.column_stack([x, (a - data.middle) / data.unit])), x, data)
    return rule, best[2]


def powers(x, degree):
    """1, the contexts, and their products up to a degree."""
    columns = [np.ones(len(x))]
    for k in range(1, degree + 1):
        columns += [np.prod(x[:, list(c)], axis=1) for c in combinations_with_replacement(range(x.shape[1]), k)]
    return np.column_stack(columns)


def ridge(data):
    """Ridge on (powers of contexts) x (powers of the action); degrees and penalty on the valid part."""
    d = data.x.shape[1]
    degrees = [k for k, most in [(1, 200), (2, 20), (3, 5)] if d <= most]
    action = lambda a, top: ((a - data.middle) / data.unit)[:, None] ** np.arange(top + 1)
    product = lambda x, a, k, top: (powers(x, k)[:, :, None] * action(a, top)[:, None, :]).reshape(len(x), -1)
    centre = data.y.mean()
    best = None
    for k in degrees:
        for top in (2, 3, 4):
            f = product(data.x, data.a, k, top)
            if f.shape[1] > 1500:
                continue
            gram, right = f[data.train].T @ f[data.train], f[data.train].T @ (data.y[data.train] - centre)
            for penalty in 10.0 ** np.arange(-1, 5):
                coef = np.linalg.solve(gram + penalty * np.eye(len(gram)), right)
                error = ((f[data.valid] @ coef + centre - data.y[data.valid]) ** 2).mean()
                if best is None or error < best[0]:
                    best = error, k, top, penalty
    _, k, top, penalty = best
    f = product(data.x, data.a, k, top)
    coef = np.linalg.solve(f.T @ f + penalty * np.eye(f.shape[1]), f.T @ (data.y - centre))
    rule = lambda x: greedy(lambda x, a: product(x, a, k, top) @ coef, x, data)
    return rule, f"degree {k} x {top}, penalty {penalty:g}"


def ascend(data, rows, contexts, share, penalty):
    """A linear rule that maximises its smoothed self-normalised value on rows."""
    from scipy.optimize import minimize

    x = np.column_stack([np.ones(rows.sum()), contexts[rows]])
    a, y, p = data.a[rows], data.y[rows], data.p[rows]
    y = (y - y.mean()) / (y.std() or 1.0)
    h = share * data.unit

    def objective(theta):
        z = (a - x @ theta) / h
        w = np.exp(-0.5 * z**2) / p
        total = w.sum() + 1e-300
        value = (w * y).sum() / total
        slope = x.T @ (w * z / h * (y - value)) / total
        shrink = penalty / data.unit**2
        return -value + shrink * (theta[1:] ** 2).sum(), -slope + np.concatenate([[0], 2 * shrink * theta[1:]])

    starts = [np.quantile(a, q) for q in (0.3, 0.7)]
    found = [minimize(objective, np.concatenate([[s], np.zeros(x.shape[1] - 1)]), jac=True, method="L-BFGS-B", options={"maxiter": 60}) for s in starts]
    return min(found, key=lambda f: f.fun).x


def linear_kernel(data, contexts=None):
    """A linear rule by kernel smoothing; width of the kernel and penalty on the valid part."""
    contexts = data.x if contexts is None else contexts
    clip = lambda v: np.clip(v, *data.range)
    best = None
    for share in (0.1, 0.2, 0.4, 0.8):
        for penalty in (1e-3, 1e-1):
            theta = ascend(data, data.tune, contexts, share, penalty)
            value = smoothed(clip(theta[0] + contexts[data.valid] @ theta[1:]), data, data.valid)
            if best is None or value > best[0]:
                best = value, share, penalty
    theta = ascend(data, data.train | data.valid, contexts, *best[1:])
    d = contexts.shape[1]
    return lambda x: clip(theta[0] + x[:, :d] @ theta[1:]), f"width {best[1]}, penalty {best[2]}"


def constant(data):
    """One action for everybody, by kernel smoothing."""
    return linear_kernel(data, np.zeros((len(data.a), 0)))


def vw_cats(data):
    """Vowpal Wabbit's CATS: a tree over discretised actions, actions and costs scaled to [0, 1]; settings on the valid part."""
    from vowpalwabbit import Workspace

    low, high = np.quantile(data.a, [0.001, 0.999])
    p = data.p
    if data.facts["points"]:
        # probabilities of points become densities: each stands for its share of the range
        step = (data.actions[-1] - data.actions[0]) / (len(data.actions) - 1)
        low, high, p = data.actions[0] - step / 2, data.actions[-1] + step / 2, data.p / step
    unit = lambda a: (a - low) / (high - low)
    best_y, worst_y = np.quantile(data.y, [0.999, 0.001])
    cost = np.clip((best_y - data.y) / ((best_y - worst_y) or 1.0), 0, 1)
    names = [f"c{j}" for j in range(data.x.shape[1])]
    text = lambda row: "|x " + " ".join(f"{n}:{v:.5f}" for n, v in zip(names, row))
    inside = (data.a >= low) & (data.a <= high)
    features = [text(row) for row in data.x]
    density = p * (high - low)
    lines = [f"ca {a:.6f}:{c:.6f}:{q:.8f} {f}" for a, c, q, f in zip(unit(data.a), cost, density, features)]

    def learned(rows, bins, width, pairs, rate):
        pair = " -q xx" if pairs else ""
        vw = Workspace(f"--cats {bins} --bandwidth {width} --min_value 0 --max_value 1 --epsilon 0 -l {rate} --random_seed 1 --quiet{pair}")
        for i in np.random.default_rng(1).permutation(np.flatnonzero(rows & inside)):
            vw.learn(lines[i])
        return vw

    act = lambda vw, texts: low + (high - low) * np.array([vw.predict(t)[0] for t in texts])
    best = None
    for bins, width in [(8, 0.1), (32, 0.05), (32, 0.1)]:
        for pairs in [False, True][: 2 if data.x.shape[1] <= 6 else 1]:
            for rate in (0.05, 0.5):
                vw = learned(data.tune, bins, width, pairs, rate)
                value = smoothed(act(vw, [features[i] for i in np.flatnonzero(data.valid)]), data, data.valid)
                vw.finish()
                if best is None or value > best[0]:
                    best = value, bins, width, pairs, rate
    _, *settings = best
    vw = learned(data.train | data.valid, *settings)
    return lambda x: act(vw, [text(row) for row in x]), "{} bins, width {}, pairs {}, rate {}".format(*settings)


METHODS = {"lightgbm": lightgbm, "network": network, "ridge": ridge, "linear-kernel": linear_kernel, "constant": constant, "vw-cats": vw_cats}


def judge(folder, world, seed, method):
    """One run as a record; an error of the method is a result, as in the suite."""
    data, truth = Data(folder, world, seed), Truth(folder, world)
    facts = truth.facts
    clock, cpu = time.perf_counter(), time.process_time()
    verdict, value, detail = "none", facts["logging"], ""
    try:
        rule, detail = METHODS[method](data)
        x = (truth.x - data.centre) / data.scale
        seconds, spent = time.perf_counter() - clock, time.process_time() - cpu
        value = truth.value(rule(x))
    except Exception as e:  # noqa: BLE001 a method that fails leaves the log in place, and says why
        verdict, detail = "refused", f"{type(e).__name__}: {e}"
        seconds, spent = time.perf_counter() - clock, time.process_time() - cpu
    regret = (facts["oracle"] - value) / (facts["oracle"] - facts["logging"])
    return dict(world=world, seed=seed, method=method, rows=facts["rows"], oracle=facts["oracle"], constant=facts["constant"], logging=facts["logging"],
                value=value, regret=regret, mean_regret=regret, verdict=verdict, seconds=seconds, cpu_seconds=spent, detail=detail)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--worlds", type=lambda s: s.split(","))
    parser.add_argument("--seeds", type=lambda s: [int(v) for v in s.split(",")])
    parser.add_argument("--methods", type=lambda s: s.split(","), default=list(METHODS))
    parser.add_argument("--out", type=Path)
    ask = parser.parse_args()
    unknown = [m for m in ask.methods if m not in METHODS]
    if unknown:
        parser.error(f"no method {unknown[0]!r}; choose among {', '.join(METHODS)}")
    facts = {f.name.removesuffix(".json"): json.loads(f.read_text()) for f in sorted(ask.folder.glob("*.json"))}
    worlds = ask.worlds or list(facts)
    unknown = [w for w in worlds if w not in facts]
    if unknown or not worlds:
        parser.error(f"no world {unknown[:1]} in {ask.folder}: counterpoint-lab suite --write {ask.folder} puts them there")
    out = ask.out or ask.folder / "peers.jsonl"
    done = set()
    if out.exists():
        lines = [json.loads(line) for line in out.read_text().splitlines() if line.strip()]
        done = {(r["world"], r["seed"], r["method"], r["rows"]) for r in lines}
    for world in worlds:
        for seed in ask.seeds or facts[world]["seeds"]:
            for method in ask.methods:
                if (world, seed, method, facts[world]["rows"]) in done:
                    continue
                record = judge(ask.folder, world, seed, method)
                with out.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(f"{world:>13} seed {seed} {method:<14} regret {record['regret']:.3f}  {record['cpu_seconds']:.1f} s  {record['detail']}", file=sys.stderr)


if __name__ == "__main__":
    main()
