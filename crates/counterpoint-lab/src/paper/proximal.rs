//! The proximal point method against plain L-BFGS: the same recipe and starting point.

use super::draw::{histogram, picture, scatter, series};
use super::pool::{self, DEPENDENCE, EVERYWHERE, Fitted, Pool, SYNTHETIC, Variant, about, pool};
use super::statistics::{Paired, bootstrap_ratio, lies_within, mean};
use super::{Ask, Axis, Cell, Claim, Exhibit, Mark, Picture, Table};
use counterpoint::Result;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What ten proximal steps cost in the paper, as a multiple of none.
const PAPER_COST: f64 = 3.0;

/// What counts as about three times.
const ABOUT: RangeInclusive<f64> = 2.0..=4.0;

/// Figure 6 and the left and middle columns of Figure 20: training objective, test reward and cost.
pub fn proximal(ask: &Ask) -> Result<Exhibit> {
    let pools = pool(ask, &EVERYWHERE, &[Variant::Plain, Variant::Soft])?;
    let (synthetic, rest): (Vec<&Pool>, Vec<&Pool>) = pools.iter().partition(|p| SYNTHETIC.contains(&p.place));
    let mut pictures = vec![objectives("objective", "the synthetic sets", &synthetic)];
    for pool in &rest {
        pictures.push(objectives(&format!("objective-{}", pool.place.name()), pool.place.title(), &[*pool]));
    }
    pictures.extend(pools.iter().map(|pool| {
        let points = pool.fits.iter().map(|p| [p[0].online, p[1].online]).collect();
        let dots = vec![series("", Mark::Dots, points)];
        scatter(pool.place.name(), &format!("Test reward on {}", pool.place.title()), ["plain", "proximal"], dots)
    }));
    let mut notes = vec![
        "Objectives are costs (the smaller the better) and hold the penalties of their recipe, so they compare within a pair only.".into(),
        DEPENDENCE.into(),
    ];
    notes.extend(pool::notes(&pools));
    Ok(Exhibit {
        about: format!(
            "Policies learned with and without the proximal point method, all else equal: {}",
            about(ask, &EVERYWHERE)
        ),
        tables: vec![table(&pools)],
        pictures,
        claims: claims(&pools, &synthetic, &rest),
        notes,
    })
}

/// A histogram of improvements, as far out as nineteen in twenty of them.
fn objectives(name: &str, place: &str, pools: &[&Pool]) -> Picture {
    let gains = all(pools, objective);
    let mut sizes: Vec<f64> = gains.iter().map(|g| g.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let reach = sizes.get(sizes.len() * 19 / 20).copied().unwrap_or(0.0).max(1e-6);
    picture(
        name,
        &format!("Objective on {place}: plain minus proximal"),
        Axis::linear("plain minus proximal"),
        Axis::linear("share of fits"),
        vec![histogram("", &gains, [-reach, reach], 40)],
    )
}

fn claims(pools: &[Pool], synthetic: &[&Pool], rest: &[&Pool]) -> Vec<Claim> {
    let mut claims = vec![
        claim(
            "The proximal point method ends at a better training objective, on the synthetic sets together.",
            &all(synthetic, objective),
        ),
        claim("It ends at a better test reward, on the synthetic sets together.", &all(synthetic, reward)),
        cost(pools),
    ];
    for pool in rest {
        let says = format!("Better training objective on {}.", pool.place.title());
        claims.push(claim(&says, &all(&[*pool], objective)));
    }
    claims.extend(
        pools
            .iter()
            .map(|pool| claim(&format!("Better test reward on {}.", pool.place.title()), &all(&[pool], reward))),
    );
    claims
}

/// Evaluations in all, proximal over plain. Fits of one recipe go together into a resample: other starts, other sets.
fn cost(pools: &[Pool]) -> Claim {
    let mut recipes: BTreeMap<(&str, usize), (f64, f64)> = BTreeMap::new();
    for pool in pools {
        for (i, p) in pool.fits.iter().enumerate() {
            let sums = recipes.entry((pool.place.grid(), i / pool.starts)).or_default();
            *sums = (sums.0 + p[1].evaluations as f64, sums.1 + p[0].evaluations as f64);
        }
    }
    let sums: Vec<(f64, f64)> = recipes.into_values().collect();
    let (above, below) = sums.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    let (low, high) = bootstrap_ratio(&sums, 1);
    Claim {
        says: "It costs about three times as much.".into(),
        holds: lies_within((low, high), ABOUT),
        measured: format!(
            "evaluations of the objective, proximal over plain, all fits together: {:.2} (95% {low:.2} to {high:.2}, over {} recipes; {}); \
             holds where the interval lies within {} to {}, does not where it lies outside",
            above / below,
            sums.len(),
            pools.iter().map(|p| format!("{} {:.2}", p.place.title(), evaluations(p))).collect::<Vec<_>>().join(", "),
            ABOUT.start(),
            ABOUT.end()
        ),
    }
}

/// Evaluations of a set in all, proximal over plain.
fn evaluations(pool: &Pool) -> f64 {
    let total = |k: usize| pool.fits.iter().map(|p| p[k].evaluations as f64).sum::<f64>();
    total(1) / total(0)
}

fn table(pools: &[Pool]) -> Table {
    let row = |pool: &Pool| -> Vec<Cell> {
        let average = |f: fn(&[Fitted]) -> f64| Cell::from(mean(&all(&[pool], f)));
        vec![
            pool.place.title().into(),
            average(|p| p[0].objective),
            average(|p| p[1].objective),
            average(|p| p[0].online),
            average(|p| p[1].online),
            average(|p| p[1].evaluations as f64 / p[0].evaluations as f64),
        ]
    };
    Table {
        caption: format!("Means over the fits of a set; the paper's cost ratio is about {PAPER_COST}"),
        head: [
            "set",
            "objective, plain",
            "objective, proximal",
            "test reward, plain",
            "test reward, proximal",
            "cost ratio",
        ]
        .map(String::from)
        .to_vec(),
        rows: pools.iter().map(row).collect(),
    }
}

/// A figure of every pair of fits.
fn all(pools: &[&Pool], figure: fn(&[Fitted]) -> f64) -> Vec<f64> {
    pools.iter().flat_map(|pool| &pool.fits).map(|p| figure(p)).collect()
}

/// Objectives are costs: plain minus proximal is the improvement.
fn objective(p: &[Fitted]) -> f64 {
    p[0].objective - p[1].objective
}

fn reward(p: &[Fitted]) -> f64 {
    p[1].online - p[0].online
}

fn claim(says: &str, gains: &[f64]) -> Claim {
    let paired = Paired::new(gains);
    Claim { says: says.to_string(), holds: paired.larger(), measured: format!("improvement: {paired}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::pool::Offline;

    fn fitted(evaluations: usize) -> Fitted {
        let none = Offline { value: 0.0, std_error: 0.0 };
        Fitted { linear: true, online: 0.0, objective: 0.0, evaluations, share: 1.0, ips: none, snips: none }
    }

    fn pool(ratios: &[usize]) -> Pool {
        let fits = ratios.iter().map(|r| vec![fitted(100), fitted(100 * r)]).collect();
        Pool { place: SYNTHETIC[0], starts: 1, fits }
    }

    #[test]
    fn about_three_times_is_judged_by_the_interval() {
        assert_eq!(cost(&[pool(&[3; 9])]).holds, Some(true));
        assert_eq!(cost(&[pool(&[5; 9])]).holds, Some(false));
        assert_eq!(cost(&[pool(&[1, 1, 1, 9, 1, 1, 9, 1, 1])]).holds, None);
        // the same recipe on two sets is one recipe
        assert!(cost(&[pool(&[3; 9]), pool(&[3; 9])]).measured.contains("over 9 recipes"));
    }
}
