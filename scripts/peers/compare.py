#!/usr/bin/env python3
"""Run both sides of the peer benchmark in alternation and print tables of ratios.

    compare.py WORK PEER --rounds 5

WORK holds the problems `small` and `large`; PEER is our example program. Each round runs every side once, so that a busy
moment hurts all of them; figures are medians over rounds of each run's own median.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

JAX = Path(__file__).with_name("jax_peer.py")
SHAPES = {"small": "n = 10,000, d_X = 6, m = 12", "large": "n = 1,000,000, d_X = 3, m = 7"}


def run(*command):
    return json.loads(subprocess.run([str(c) for c in command], check=True, capture_output=True, text=True).stdout)


def sides(peer, folder, seconds):
    ours = [peer, folder, "--mode", "time", "--seconds", seconds]
    jax = [sys.executable, JAX, folder, "--mode", "time", "--seconds", seconds, "--formulation"]
    return {
        "ours": ours,
        "ours, 2 threads": [*ours, "--threads", 2],
        "ours, f32": [*ours, "--precision", "f32"],
        "jax rows": [*jax, "rows"],
        "jax columns": [*jax, "columns"],
        "jax blocked": [*jax, "blocked"],
    }


def same(a, b, tolerance, what):
    if abs(a - b) > tolerance * max(abs(a), abs(b)):
        raise SystemExit(f"{what}: {a!r} and {b!r} are not the same number")


def compare_times(args, name):
    commands = sides(args.peer, args.work / name, args.seconds)
    speeds = {side: [] for side in commands}
    for _ in range(args.rounds):
        reports = {side: run(*command) for side, command in commands.items()}
        for side, report in reports.items():
            speeds[side].append(report["rows_per_second"] / 1e6)
            tolerance = 1e-4 if side.endswith("f32") else 1e-9
            for field in ["value", "grad_norm"]:
                same(reports["ours"][field], report[field], tolerance, f"{name}, {side}, {field}")
    ours = median(speeds["ours"])
    print(f"\n{SHAPES[name]}: value and gradient, M rows a second")
    print(f"{'side':18} {'median':>8} {'lowest':>8} {'highest':>8} {'ours / it':>10}")
    for side, all_ in speeds.items():
        print(f"{side:18} {median(all_):8.2f} {min(all_):8.2f} {max(all_):8.2f} {ours / median(all_):10.2f}")


def reached(trace, value):
    """(seconds, entry) at which a trace first is at or below a value."""
    return next((entry for entry in trace if entry[1] <= value), None)


def compare_fits(args, name):
    ours = [args.peer, args.work / name, "--mode", "fit"]
    jax = [sys.executable, JAX, args.work / name, "--mode", "fit"]
    sides = {"ours": ours, "ours, curvature carried": [*ours, "--carry", 200], "jax": jax}
    rows = []
    for _ in range(args.rounds):
        rows.append([run(*command) for command in sides.values()])
    print(f"\n{SHAPES[name]}: ten proximal steps of L-BFGS, one thread (jax: scipy's L-BFGS-B on the fastest formulation)")
    print(f"{'side':24} {'value':>14} {'seconds':>9} {'evaluations':>12} {'us each':>9}")
    for i, side in enumerate(sides):
        seconds, last = median(pair[i]["seconds"] for pair in rows), rows[-1][i]
        each = 1e6 * seconds / last["evaluations"]
        print(f"{side:24} {last['value']:14.9f} {seconds:9.3f} {last['evaluations']:12} {each:9.1f}")
    # both to the same value: the worst of all ends, with a margin
    goal = max(report["value"] for pair in rows for report in pair)
    goal += 1e-4 * abs(goal)
    times = [[reached(pair[i]["trace"], goal) for pair in rows] for i in range(len(sides))]
    if all(entry for side in times for entry in side):
        *own, jax_s = (median(entry[0] for entry in side) for side in times)
        print(f"to reach {goal:.6f}: jax {jax_s:.3f} s (known after whole proximal steps only)")
        for side, seconds, entries in zip(sides, own, times):
            print(f"{side}: {seconds:.3f} s ({entries[-1][2]} evaluations), ratio {jax_s / seconds:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("peer", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    args = parser.parse_args()
    for name in SHAPES:
        compare_times(args, name)
    compare_fits(args, "small")


if __name__ == "__main__":
    main()
