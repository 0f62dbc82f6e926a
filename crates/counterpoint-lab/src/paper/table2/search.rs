//! A cell of Table 2: recipes to try, and what the log says of each.

use crate::paper::Ask;
use crate::paper::dataset::Kind;
use crate::paper::dataset::cuts::{CutSet, ask_rows, cheapest, passed};
use crate::rivals::PAPER_GATE;
use counterpoint::certify::{Gate, Terms, Verdict, certify};
use counterpoint::select::Grid;
use counterpoint::{Engine, Log, Policy, Recipe, Result, learn};
use serde::{Deserialize, Serialize};

/// As in the rows, and as in a recipe.
pub(super) const ESTIMATORS: [(&str, &str); 2] = [("scIPS", "soft-clipped"), ("SNIPS", "snips")];
/// As in the rows, and as in a recipe; CLP last.
pub(super) const CLASSES: [(&str, &str); 5] =
    [("constant", "constant"), ("linear", "linear"), ("poly", "poly"), ("stratified", "stratified"), ("CLP", "clp")];

/// Seed of the sample of recipes and of the starts.
const SEED: u64 = 1;

/// How many recipes are tried per cell: few where a fit reads half a million rows.
pub(super) fn recipes(ask: &Ask, kind: Kind) -> usize {
    ask.by_effort(2, if kind == Kind::Cocoa { 6 } else { 24 })
}

/// Whether a class of policies is tried on a log.
pub(super) fn takes(kind: Kind, class: &str) -> bool {
    kind != Kind::Warfarin || !matches!(class, "poly" | "stratified")
}

/// The recipes of a cell.
pub(super) struct Search<'a> {
    pub(super) set: &'a CutSet,
    name: String,
    pub(super) recipes: Vec<Recipe>,
}

/// What the log says of a recipe.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Judged {
    /// SNIPS on rows it was not trained on, as a cost, if it passes the paper's gate.
    pub(super) paper: Option<f64>,
    /// The same behind the library's gate.
    pub(super) ours: Option<f64>,
}

/// What a chosen recipe turned out to be worth.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Worth {
    /// As the table shows it, with its error: the true value, or on CoCoA, as in the paper, SNIPS on the test rows.
    pub(super) shown: [f64; 2],
    /// What else there is to say on CoCoA.
    pub(super) tested: Option<Tested>,
}

/// A policy before the test rows of CoCoA.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Tested {
    /// The true value, with its standard error over contexts.
    pub(super) truth: [f64; 2],
    /// n_eff / n on the test rows.
    pub(super) share: f64,
    /// Paired gain over the log on the test rows, with its standard error.
    pub(super) gain: [f64; 2],
    /// One-sided p-value of the paired test.
    pub(super) p_value: f64,
    /// The library's certificate.
    pub(super) verdict: Verdict,
    /// The paper's rule: a 100-fold percentile bootstrap of the estimate against the mean of the log.
    pub(super) by_the_paper: Verdict,
}

impl<'a> Search<'a> {
    pub(super) fn new(ask: &Ask, set: &'a CutSet, estimator: (&str, &str), class: (&str, &str)) -> Result<Self> {
        let name = format!("{}, {}, {}, {}", set.kind.printed(), set.source, estimator.0, class.0);
        let tried = if takes(set.kind, class.0) { recipes(ask, set.kind) } else { 0 };
        Ok(Search { set, name, recipes: sample(ask, set.kind, estimator.1, class.1, tried)? })
    }

    fn key(&self, what: &str, recipe: usize) -> String {
        format!("table2: {what} {} {}", self.name, self.recipes[recipe].to_toml().replace('\n', " "))
    }

    fn learn(&self, rows: &Log, recipe: usize) -> Result<Policy> {
        learn(&rows.on(&Engine::single()), &self.recipes[recipe])?.policy.into_parametric()
    }

    /// Trains a recipe and judges it on the rows it has not seen. A recipe that fails to train is judged like one that does
    /// not pass the gate.
    pub(super) fn judge(&self, ask: &Ask, recipe: usize) -> Result<Judged> {
        ask.once(&self.key("judge", recipe), || {
            let seen = self.set.judge(|train, rest| ask_rows(&self.learn(train, recipe)?, rest));
            let by = |gate| passed(&seen, self.set.cuts.len(), gate);
            Ok(Judged { paper: by(PAPER_GATE), ours: by(Gate::default()) })
        })
    }

    /// What a recipe is worth once it has learned from all rows it may see.
    pub(super) fn worth(&self, ask: &Ask, recipe: usize) -> Result<Worth> {
        ask.once(&self.key("worth", recipe), || {
            let policy = self.learn(&self.set.learn, recipe)?;
            match self.set.kind {
                Kind::Cocoa => self.tested(&policy),
                _ => Ok(Worth { shown: self.set.truth.value_on_these(&policy, 1).into(), tested: None }),
            }
        })
    }

    fn tested(&self, policy: &Policy) -> Result<Worth> {
        let (engine, test) = (Engine::single(), &self.set.test);
        let (valid, rows) = (self.set.cuts[0].1.on(&engine), test.on(&engine));
        let own = certify(policy, &valid, &rows, &Terms::default())?;
        let rule = certify(policy, &valid, &rows, &Terms::paper())?;
        let seen = ask_rows(policy, test)?;
        let tested = Tested {
            truth: self.set.truth.value(policy, 1).into(),
            share: seen.effective / seen.rows,
            gain: [-own.direction.to_user(own.difference.estimate), own.difference.std_error],
            p_value: own.p_value,
            verdict: own.verdict,
            by_the_paper: rule.verdict,
        };
        Ok(Worth { shown: [-seen.snips, seen.std_error], tested: Some(tested) })
    }
}

/// The cheapest that passes; the first of equals.
pub(super) fn best(judged: &[&Judged], cost: impl Fn(&Judged) -> Option<f64>) -> Option<usize> {
    cheapest(judged.iter().map(|j| cost(j)))
}

/// `count` recipes: the one known to do well first, then a seeded sample around it.
pub(super) fn sample(ask: &Ask, kind: Kind, estimator: &str, class: &str, count: usize) -> Result<Vec<Recipe>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let (good, around) = match kind {
        Kind::Potential(_) => synthetic(estimator, class),
        Kind::Warfarin => warfarin(estimator, class),
        Kind::Cocoa => cocoa(estimator, class),
    };
    let steps = match (ask.quick(), kind) {
        (true, _) => "starts = 1\nproximal_steps = 2\nmax_iterations = 60\n",
        (false, Kind::Warfarin) => "starts = 2\nproximal_steps = 5\nmax_iterations = 100\n",
        (false, Kind::Cocoa) => "starts = 1\nproximal_steps = 3\nmax_iterations = 50\n",
        (false, _) => "starts = 3\nproximal_steps = 10\nmax_iterations = 200\n",
    };
    // a constant policy has no coefficients to shrink, and its one action no scale of contexts
    let used = |text: &str| -> String {
        let idle = |l: &&str| class == "constant" && (l.starts_with("ridge") || l.starts_with("scale"));
        text.lines().filter(|l| !idle(l)).map(|l| format!("{l}\n")).collect()
    };
    let (good, around) = (used(&good), used(&around));
    let fixed = format!("policy = \"{class}\"\nestimator = \"{estimator}\"\nseed = {SEED}\n{steps}");
    let mut recipes = vec![Recipe::from_toml(&format!("{fixed}{good}"))?];
    let grid = Grid::from_toml(&format!("limit = {count}\n[recipe]\n{fixed}{around}"))?;
    recipes.extend(grid.candidates(SEED)?.into_iter().filter(|r| *r != recipes[0]).take(count - 1).collect::<Vec<_>>());
    Ok(recipes)
}

/// Good fields, and lists around them, on the potentials.
///
/// Where the log hardly acts (low bids on Anisotropic) the weights of a narrow policy are large, and a small cap holds its mean where
/// the log is dense: a cap of 60 and a floor of a twentieth of the logged std let it go there without following single rows.
fn synthetic(estimator: &str, class: &str) -> (String, String) {
    let (mut good, mut around) =
        (String::new(), String::from("kappa = [0.001, 0.01, 0.1]\nridge = [0.0, 0.00001, 0.0001, 0.001]\n"));
    if estimator == "snips" {
        good += "entropy = 0.1\n";
        around += "entropy = [0.03, 0.06, 0.1, 0.15]\nvariance_penalty = [0.0, 0.001, 0.01, 0.1]\n";
    } else {
        good += "cap = 59.9\nstd_floor = 0.05\nvariance_penalty = 1.0\n";
        around +=
            "cap = [12.9, 21.5, 35.9, 59.9]\nstd_floor = [0.05, 0.08]\nvariance_penalty = [0.0, 0.01, 0.1, 1.0]\n";
    }
    match class {
        "clp" => {
            around += "context_map = [\"quadratic\", \"cubic\"]\nanchors = [10, 12, 15]\ntemperature = [5.0, 10.0]\n"
        }
        "stratified" => around += "buckets = [4, 6, 8]\nfamily = [\"normal\", \"lognormal\"]\n",
        // products of contexts alone: between 0 and 1, as in the paper, they still say where a context lies; centred they do not
        "poly" => {
            good += "scale = \"min-max\"\n";
            around += "scale = [\"standard\", \"min-max\"]\nfamily = [\"normal\", \"lognormal\"]\n";
        }
        _ => around += "family = [\"normal\", \"lognormal\"]\n",
    }
    (good, around)
}

/// Good fields, and lists around them, on Warfarin, where costs are milligrams a week.
///
/// With 81 contexts the usual noise of a start adds up to a random policy; a tenth of it stays close to the logging policy. Without a
/// floor soft-clipped IPS makes the policy so narrow that few rows of a fold have weight.
fn warfarin(estimator: &str, class: &str) -> (String, String) {
    let mut good = String::from("kappa = 0.1\nvariance_penalty = 0.1\nstart_noise = 0.01\n");
    let mut around = String::from("kappa = [0.01, 0.1]\nvariance_penalty = [0.01, 0.1, 1.0]\nstart_noise = 0.01\n");
    match (estimator, class) {
        ("snips", _) => {
            good += "entropy = 0.1\n";
            around += "entropy = [0.03, 0.1, 0.3, 0.6]\n";
        }
        (_, "clp") => {
            good += "cap = 20.0\nstd_floor = 0.05\n";
            around += "cap = [9.5, 20.0]\nstd_floor = [0.03, 0.05]\n";
        }
        _ => {
            good += "cap = 9.5\n";
            around += "cap = [2.1, 4.5, 9.5]\n";
        }
    }
    match (estimator, class) {
        ("snips", "clp") => {
            good += "ridge = 3.0\ncontext_map = \"linear\"\nanchors = 10\ntemperature = 1.0\n";
            around +=
                "ridge = [1.0, 3.0]\ncontext_map = \"linear\"\nanchors = [5, 7, 10, 15]\ntemperature = [0.5, 1.0]\n";
        }
        (_, "clp") => {
            good += "ridge = 3.0\ncontext_map = \"linear\"\nanchors = 15\ntemperature = 1.0\n";
            around += "ridge = [2.0, 3.0, 5.0]\ncontext_map = \"linear\"\nanchors = [10, 15, 20]\ntemperature = 1.0\n";
        }
        _ => {
            good += "ridge = 0.01\n";
            around += "ridge = [0.001, 0.01, 0.1, 1.0]\nfamily = [\"normal\", \"lognormal\"]\n";
        }
    }
    (good, around)
}

/// Good fields, and lists around them, on the twin of CoCoA: from the grid `paper-cocoa`.
fn cocoa(estimator: &str, class: &str) -> (String, String) {
    let mut good = String::from("kappa = 0.01\nridge = 0.001\n");
    let mut around = String::from(
        "family = [\"normal\", \"lognormal\"]\nvariance_penalty = [0.0, 0.001, 0.1]\nkappa = [0.001, 0.01, 0.1]\n\
         ridge = [0.0001, 0.001, 0.01, 0.1]\n",
    );
    if estimator == "snips" {
        good += "entropy = 1.0\n";
        around += "entropy = [0.3, 1.0, 2.0, 3.0]\n";
    } else {
        good += "cap = 10.0\n";
        around += "cap = [2.1, 4.5, 9.5, 20.0, 100.0]\n";
    }
    match class {
        "clp" => {
            good += "context_map = \"linear\"\nanchors = 5\ntemperature = 1.0\n";
            around +=
                "context_map = [\"linear\", \"quadratic\"]\nanchors = [3, 5]\ntemperature = [0.1, 0.5, 1.0, 5.0]\n";
        }
        "stratified" => {
            good += "buckets = 3\n";
            around += "buckets = [2, 3, 4]\n";
        }
        _ => (),
    }
    (good, around)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Potential;
    use crate::paper::Effort;

    #[test]
    fn every_cell_has_its_recipes() {
        let ask = Ask::new(Effort::Full, None, Engine::single());
        for kind in [Kind::Potential(Potential::Moons), Kind::Warfarin, Kind::Cocoa] {
            for (_, estimator) in ESTIMATORS {
                for (_, class) in CLASSES {
                    let some = sample(&ask, kind, estimator, class, 24).expect("legal recipes");
                    assert_eq!(some.len(), 24, "{kind:?} {estimator} {class}");
                }
            }
        }
    }

    #[test]
    fn the_cheapest_that_passes_wins() {
        let j = |paper| Judged { paper, ours: None };
        let all = [j(None), j(Some(-0.5)), j(Some(-0.7)), j(Some(-0.7))];
        assert_eq!(best(&all.iter().collect::<Vec<_>>(), |j| j.paper), Some(2));
        assert_eq!(best(&all.iter().collect::<Vec<_>>(), |j| j.ours), None);
    }
}
