//! The solvers against scipy, and the laws they share.
//!
//! One table runs every solver over every problem; the figures scipy reaches, and the data of the statistical
//! problems, are in `figures/optim_scipy.json` with their generator beside them. Adding a solver means adding it to
//! `solvers`; adding a problem means adding it to `figures/optim_problems.rs` and to the generator.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use counterpoint::optim::*;

#[path = "figures/optim_problems.rs"]
mod problems;
use problems::{PROBLEMS, Problem, figures, problem};

/// Every solver, with the scipy method it answers to. The limits on iterations are out of the way.
fn solvers() -> Vec<(String, &'static str, Box<dyn Optimiser>)> {
    let max_iterations = 20_000;
    let lbfgs = Method::Lbfgs(Lbfgs { max_iterations, ..Lbfgs::default() });
    let cg = Method::Cg(Cg { max_iterations, ..Cg::default() });
    let newton = Method::Newton(Newton { max_iterations, ..Newton::default() });
    let mut all: Vec<(String, &str, Box<dyn Optimiser>)> = Vec::new();
    for (name, peer, method) in [("lbfgs", "L-BFGS-B", lbfgs), ("cg", "CG", cg), ("newton", "Newton-CG", newton)] {
        all.push((format!("proximal {name}"), peer, Box::new(Proximal::new(method.clone()))));
        all.push((name.to_string(), peer, Box::new(method)));
    }
    all
}

fn silent(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

fn run(optimiser: &dyn Optimiser, f: &mut Problem) -> Optimum {
    let start = f.start.clone();
    optimiser.minimise(f, &start, &mut silent).unwrap()
}

#[test]
fn every_solver_reaches_what_scipy_reaches() {
    let figures = figures();
    for name in PROBLEMS.into_iter().filter(|name| *name != "crm_far") {
        let scipy = &figures["problems"][name];
        for (solver, peer, optimiser) in solvers() {
            let mut f = problem(name, &figures);
            let start = f.start.clone();
            let known = scipy["start_value"].as_f64().unwrap();
            assert!((f.value(&start) - known).abs() <= 1e-12 * known.abs().max(1.0), "{name}: another function");

            let found = run(&*optimiser, &mut f);
            // scipy's L-BFGS-B does not survive the wall; the minimum there is 3. The ill-conditioned quadratic falls
            // from 1e6, and every method runs out of decrease a little above zero.
            let reached = scipy["L-BFGS-B"]["value"].as_f64().unwrap_or(3.0);
            let slack = if name == "quadratic" { 1e-4 } else { 1e-6 * reached.abs().max(1.0) };
            assert!(found.value <= reached + slack, "{name}, {solver}: {found:?}, scipy {reached}");
            assert!(found.stop.converged(), "{name}, {solver}: {}", found.stop);

            let theirs = scipy[peer]["evaluations"].as_f64().unwrap();
            let wrapped = solver.starts_with("proximal");
            assert!(
                wrapped || found.evaluations as f64 <= 1.5 * theirs + 20.0,
                "{name}, {solver}: {} evaluations, scipy {theirs}",
                found.evaluations
            );
        }
    }
}

#[test]
fn an_iteration_of_lbfgs_costs_little_more_than_one_evaluation() {
    let figures = figures();
    for name in ["quadratic", "rosenbrock_10", "logistic", "log_sum_exp", "crm", "crm_far"] {
        let mut f = problem(name, &figures);
        let found = run(&Lbfgs::default(), &mut f);
        assert!(found.evaluations as f64 <= 1.3 * found.iterations as f64 + 3.0, "{name}: {found:?}");
    }
}

/// Values never rise under a plain solver, are reported as they were evaluated, and no point is evaluated twice (the
/// problem checks that); the count is the problem's own.
#[test]
fn what_is_reported_was_evaluated_there() {
    let figures = figures();
    for name in PROBLEMS {
        for (solver, _, optimiser) in solvers() {
            let (mut f, mut again) = (problem(name, &figures), problem(name, &figures));
            let start = f.start.clone();
            let (mut lowest, mut evaluations) = (again.value(&start), 0);
            let found = optimiser
                .minimise(&mut f, &start, &mut |p| {
                    assert_eq!(p.value.to_bits(), again.value(p.theta).to_bits(), "{name}, {solver}");
                    assert!(
                        p.evaluations >= evaluations && (p.outer > 0 || p.iteration > 0),
                        "{name}, {solver}: {p:?}"
                    );
                    assert!(p.value <= lowest || solver.starts_with("proximal"), "{name}, {solver}: {p:?}");
                    (lowest, evaluations) = (lowest.min(p.value), p.evaluations);
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert_eq!(found.evaluations, f.evaluations, "{name}, {solver}");
            assert_eq!(found.value.to_bits(), again.value(&found.theta).to_bits(), "{name}, {solver}");
            assert_eq!(found.value, lowest, "{name}, {solver}: the best iterate is the one returned");
        }
    }
}

#[test]
fn same_bits_twice() {
    let figures = figures();
    for name in PROBLEMS {
        for (solver, _, optimiser) in solvers() {
            let [a, b] = [0, 1].map(|_| run(&*optimiser, &mut problem(name, &figures)));
            let bits = |o: &Optimum| o.theta.iter().map(|t| t.to_bits()).collect::<Vec<_>>();
            assert_eq!((bits(&a), a), (bits(&b), b), "{name}, {solver}");
        }
    }
}

#[test]
fn a_start_that_is_not_finite_is_an_error() {
    for (value, slope) in [(f64::NAN, 1.0), (f64::INFINITY, 1.0), (1.0, f64::NAN)] {
        for (solver, _, optimiser) in solvers() {
            let mut f = Problem::new(&[1.0, 2.0], move |_, g| {
                g.fill(slope);
                value
            });
            let e = optimiser.minimise(&mut f, &[1.0, 2.0], &mut silent).unwrap_err();
            let text = e.to_string();
            assert!(text.starts_with("objective at the start: the ") && text.contains("hint: "), "{solver}: {text}");
        }
    }
}

#[test]
fn a_start_of_the_wrong_length_is_an_error() {
    for (solver, _, optimiser) in solvers() {
        for (dim, start) in [(2, vec![0.0; 3]), (0, vec![])] {
            let mut f = Problem::new(&vec![0.0; dim], |_, _| 0.0);
            assert!(optimiser.minimise(&mut f, &start, &mut silent).is_err(), "{solver}");
            assert_eq!(f.evaluations, 0, "{solver}");
        }
    }
}

#[test]
fn an_interrupted_run_keeps_the_best_iterate_so_far() {
    let figures = figures();
    for (solver, _, optimiser) in solvers() {
        let mut f = problem("rosenbrock_10", &figures);
        let start = f.start.clone();
        let (mut calls, mut best) = (0, (f64::INFINITY, vec![]));
        let found = optimiser.minimise(&mut f, &start, &mut |p| {
            calls += 1;
            if p.value < best.0 {
                best = (p.value, p.theta.to_vec());
            }
            if calls == 7 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let found = found.unwrap();
        assert_eq!((found.stop, calls), (Stop::Interrupted, 7), "{solver}");
        assert_eq!((found.value, found.theta), best, "{solver}");
    }
}

/// The minimum lies close to a wall, and the way there is long and steep, so that steps run into it.
#[test]
fn a_wall_of_values_that_are_not_finite_is_backed_away_from() {
    let mut met = 0;
    for beyond in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for (solver, _, optimiser) in solvers() {
            let mut f = Problem::new(&[-50.0, 3.0], |_, _| 0.0);
            let counter = std::rc::Rc::new(std::cell::Cell::new(0));
            let seen = counter.clone();
            f.f = Box::new(move |x, g| {
                (g[0], g[1]) = (20.0 * (x[0] - 0.9), 0.2 * x[1]);
                if x[0] >= 1.0 {
                    seen.set(seen.get() + 1);
                    return beyond;
                }
                10.0 * (x[0] - 0.9).powi(2) + 0.1 * x[1] * x[1]
            });
            for start in [[-50.0, 3.0], [0.99999, 3.0], [-1e-3, 1e4]] {
                f.seen.clear();
                let found = optimiser.minimise(&mut f, &start, &mut silent).unwrap();
                assert!(found.value < 1e-6 && found.stop.converged(), "{solver} from {start:?}: {found:?}");
            }
            met += counter.get();
        }
    }
    assert!(met > 0, "the wall was never met, so nothing was tested");
}

#[test]
fn a_gradient_that_lies_ends_the_run_at_the_start() {
    for (solver, _, optimiser) in solvers() {
        let mut f = Problem::new(&[1.0], |x, g| {
            g[0] = -2.0 * x[0];
            x[0] * x[0]
        });
        let found = optimiser.minimise(&mut f, &[1.0], &mut silent).unwrap();
        assert_eq!((found.theta, found.value, found.stop), (vec![1.0], 1.0, Stop::LineSearch), "{solver}");
    }
}

#[test]
fn an_objective_that_fails_fails_the_run() {
    struct Gone(usize);
    impl Objective for Gone {
        fn dim(&self) -> usize {
            1
        }
        fn eval(&mut self, x: &[f64], g: &mut [f64]) -> counterpoint::Result<f64> {
            self.0 += 1;
            g[0] = 4.0 * x[0].powi(3);
            if self.0 > 3 { Err(counterpoint::Error::data("the file has gone")) } else { Ok(x[0].powi(4)) }
        }
    }
    for (solver, _, optimiser) in solvers() {
        let e = optimiser.minimise(&mut Gone(0), &[3.0], &mut silent).unwrap_err();
        assert_eq!(e.to_string(), "the file has gone", "{solver}");
    }
}

#[test]
fn a_limit_on_iterations_is_kept_and_named() {
    let figures = figures();
    let mut f = problem("rosenbrock_2", &figures);
    let found = Lbfgs { max_iterations: 5, ..Lbfgs::default() }.minimise(&mut f, &[-1.2, 1.0], &mut silent).unwrap();
    assert_eq!((found.iterations, found.stop, found.stop.converged()), (5, Stop::Iterations, false));
}

#[test]
fn proximal_without_steps_or_pull_is_the_inner_solver() {
    let figures = figures();
    for name in PROBLEMS {
        let inner = Lbfgs::default();
        let run = |optimiser: &dyn Optimiser| run(optimiser, &mut problem(name, &figures));
        let plain = run(&inner);
        assert_eq!(run(&Proximal { kappa: 0.0, outer: 0, ..Proximal::new(inner.clone()) }), plain, "{name}");
        assert_eq!(run(&Proximal { outer: 0, ..Proximal::new(inner.clone()) }), plain, "{name}");
        assert_eq!(run(&Proximal { kappa: 0.0, ..Proximal::new(inner.clone()) }), plain, "{name}");
    }
    let mut f = problem("booth", &figures);
    assert!(
        Proximal { kappa: -1.0, ..Proximal::new(Lbfgs::default()) }.minimise(&mut f, &[0.0; 2], &mut silent).is_err()
    );
}

#[test]
fn proximal_steps_end_early_where_nothing_moves() {
    let mut f = Problem::new(&[1.0, 1.0], |x, g| {
        (g[0], g[1]) = (2.0 * (x[0] - 1.0), 2.0 * (x[1] - 1.0));
        (x[0] - 1.0).powi(2) + (x[1] - 1.0).powi(2)
    });
    let mut told = vec![];
    let found = Proximal::new(Lbfgs::default()).minimise(&mut f, &[1.0, 1.0], &mut |p| {
        told.push((p.outer, p.iteration, p.evaluations));
        ControlFlow::Continue(())
    });
    assert_eq!((found.unwrap().stop, told), (Stop::Gradient, vec![(1, 0, 1)]));
}

#[test]
fn a_proximal_run_ends_at_a_stationary_point_of_the_objective_itself() {
    let figures = figures();
    for name in ["logistic", "log_sum_exp", "himmelblau", "crm", "crm_far"] {
        let mut f = problem(name, &figures);
        let start = f.start.clone();
        let inner =
            Lbfgs { gradient_tolerance: 1e-6, decrease_tolerance: 0.0, max_iterations: 5000, ..Lbfgs::default() };
        let mut outers = vec![];
        let found = Proximal { kappa: 1.0, ..Proximal::new(inner) }.minimise(&mut f, &start, &mut |p| {
            outers.push(p.outer);
            ControlFlow::Continue(())
        });
        let found = found.unwrap();
        let mut g = vec![0.0; start.len()];
        (f.f)(&found.theta, &mut g);
        let norm = g.iter().fold(0.0f64, |m, g| m.max(g.abs()));
        assert!(norm <= 1e-6 && found.gradient == norm && found.stop == Stop::Gradient, "{name}: {found:?}");
        assert!(outers.is_sorted() && outers.last() > Some(&0), "{name}: {outers:?}");
    }
}
