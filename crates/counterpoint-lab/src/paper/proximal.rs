//! The proximal point method against plain L-BFGS: the same recipe and starting point.

use super::draw::{histogram, picture, scatter, series};
use super::pool::{DEPENDENCE, Fitted, Variant, about, pool};
use super::statistics::{Paired, bootstrap_mean, mean};
use super::{Ask, Axis, Cell, Claim, Exhibit, Mark, Table};
use crate::Potential;
use counterpoint::Result;

/// What ten proximal steps cost in the paper, as a multiple of none.
const PAPER_COST: f64 = 3.0;

/// Figure 6 and the left and middle columns of Figure 20: training objective, test reward and cost.
pub fn proximal(ask: &Ask) -> Result<Exhibit> {
    let pairs = pool(ask, &[Variant::Plain, Variant::Soft])?;
    let gains: Vec<f64> = pairs.iter().map(|p| objective(p)).collect();
    let reach = gains.iter().fold(1e-6f64, |m, g| m.max(g.abs())).min(0.2);
    let mut pictures = vec![picture(
        "objective",
        "Training objective: plain minus proximal",
        Axis::linear("plain minus proximal"),
        Axis::linear("share of fits"),
        vec![histogram("", &gains, [-reach, reach], 40)],
    )];
    pictures.extend(Potential::ALL.map(|kind| {
        let points = of(&pairs, kind).map(|p| [p[0].online, p[1].online]).collect();
        let dots = vec![series("", Mark::Dots, points)];
        scatter(kind.name(), &format!("Test reward on {kind}"), ["plain", "proximal"], dots)
    }));
    Ok(Exhibit {
        about: format!("Policies learned with and without the proximal point method, all else equal: {}", about(ask)),
        tables: vec![table(&pairs)],
        pictures,
        claims: claims(&pairs),
        notes: vec!["Objectives are costs (the smaller the better) and hold the penalties of their recipe, so they compare within a pair only.".into(), DEPENDENCE.into()],
    })
}

fn claims(pairs: &[Vec<Fitted>]) -> Vec<Claim> {
    let gains: Vec<f64> = pairs.iter().map(|p| objective(p)).collect();
    let ratios: Vec<f64> = pairs.iter().map(|p| ratio(p)).collect();
    let total = |k: usize| pairs.iter().map(|p| p[k].evaluations as f64).sum::<f64>();
    let (low, high) = bootstrap_mean(&ratios, 1);
    let mut claims = vec![
        claim("The proximal point method ends at a better training objective.", &gains),
        claim("It ends at a better test reward.", &pairs.iter().map(|p| reward(p)).collect::<Vec<_>>()),
        Claim {
            says: "It costs about three times as much.".into(),
            holds: Some((2.0..=4.5).contains(&(total(1) / total(0)))),
            measured: format!(
                "evaluations of the objective, proximal over plain: {:.2} in all, mean of the ratios {:.2} (95% {low:.2} to {high:.2}); counted as holding between 2 and 4.5",
                total(1) / total(0),
                mean(&ratios)
            ),
        },
    ];
    claims.extend(Potential::ALL.map(|kind| {
        claim(&format!("Better test reward on {kind}."), &of(pairs, kind).map(|p| reward(p)).collect::<Vec<_>>())
    }));
    claims
}

fn table(pairs: &[Vec<Fitted>]) -> Table {
    let row = |kind: Potential| -> Vec<Cell> {
        let average =
            |f: &dyn Fn(&[Fitted]) -> f64| Cell::from(mean(&of(pairs, kind).map(|p| f(p)).collect::<Vec<_>>()));
        vec![
            kind.name().into(),
            average(&|p| p[0].objective),
            average(&|p| p[1].objective),
            average(&|p| p[0].online),
            average(&|p| p[1].online),
            average(&ratio),
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
        rows: Potential::ALL.map(row).to_vec(),
    }
}

fn of(pairs: &[Vec<Fitted>], kind: Potential) -> impl Iterator<Item = &Vec<Fitted>> {
    pairs.iter().filter(move |p| p[0].set == kind)
}

/// Objectives are costs: plain minus proximal is the improvement.
fn objective(p: &[Fitted]) -> f64 {
    p[0].objective - p[1].objective
}

fn reward(p: &[Fitted]) -> f64 {
    p[1].online - p[0].online
}

fn ratio(p: &[Fitted]) -> f64 {
    p[1].evaluations as f64 / p[0].evaluations as f64
}

fn claim(says: &str, gains: &[f64]) -> Claim {
    let paired = Paired::new(gains);
    Claim { says: says.to_string(), holds: paired.larger(), measured: format!("improvement: {paired}") }
}
