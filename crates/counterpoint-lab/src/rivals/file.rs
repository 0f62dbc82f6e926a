//! A rival on disk: the settings, the policy, and how rows of new data become its contexts.

use super::{Rival, RivalPolicy, Rule, RulePolicy};
use counterpoint::data::Input;
use counterpoint::features::ContextMap;
use counterpoint::{Error, Result};
use serde::{Deserialize, Serialize};

/// What `counterpoint rival` writes and `counterpoint act` reads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RivalFile {
    /// The method and the settings that were chosen.
    pub settings: Rival,
    /// The name of the action.
    pub action: String,
    /// The columns a row of new data must have, and how they become contexts.
    pub inputs: Vec<Input>,
    /// The policy as it was certified, noise included.
    pub policy: RivalPolicy,
}

impl RivalFile {
    /// Whether a text is such a file rather than a policy of the library.
    pub fn is_one(text: &str) -> bool {
        serde_json::from_str::<serde_json::Value>(text)
            .is_ok_and(|v| v.get("settings").is_some_and(|s| s.get("rival").is_some()))
    }

    /// Reads and checks the text of a file.
    pub fn from_json(text: &str) -> Result<Self> {
        let file: RivalFile = serde_json::from_str(text).map_err(|e| {
            Error::policy(format!("it is not a rival's policy: {e}")).hint("write it anew with `rival`")
        })?;
        file.policy.check()?;
        Ok(file)
    }
}

impl RivalPolicy {
    /// Refuses parts that do not fit each other: files can say anything.
    pub fn check(&self) -> Result<()> {
        let d = self.contexts().len();
        let wrong = |what: &str| Err(Error::policy(format!("its {what} do not fit its {d} contexts and each other")));
        match self {
            RivalPolicy::Softmax { buckets, .. } if buckets.scaler.shift.len() != d => wrong("buckets"),
            RivalPolicy::Softmax { buckets, .. } => buckets.check(),
            RivalPolicy::Rule(RulePolicy { scaler, .. }) if scaler.shift.len() != d || scaler.unit.len() != d => {
                wrong("scales")
            }
            RivalPolicy::Rule(policy) => {
                if policy.noise.is_some_and(|n| !(n.width.is_finite() && n.width > 0.0)) {
                    return Err(Error::policy("the width of its noise is not a positive number"));
                }
                let (map, fits) = policy.rule.shape(d);
                map.check(d)?;
                if fits(map.dim(d)) { Ok(()) } else { wrong("coefficients") }
            }
        }
    }
}

impl Rule {
    /// The context map, and whether everything else fits that many features.
    fn shape(&self, d: usize) -> (&ContextMap, Box<dyn Fn(usize) -> bool + '_>) {
        match self {
            Rule::Linear { map, w, .. } => (map, Box::new(|f| w.len() == f)),
            Rule::Greedy { model, actions } => {
                let fits = move |f: usize| {
                    let scales = model.scaler.shift.len() == d && model.scaler.unit.len() == d;
                    let anchors = model.actions.check(1).is_ok() && model.coef.len() == f * model.actions.len();
                    scales && anchors && !actions.is_empty()
                };
                (&model.map, Box::new(fits))
            }
            Rule::Polynomial { map, theta, actions, .. } => {
                (map, Box::new(|f| f > 0 && !theta.is_empty() && theta.len().is_multiple_of(f) && !actions.is_empty()))
            }
            Rule::Tree { map, nodes, actions } => {
                (map, Box::new(|f| actions.len().is_power_of_two() && nodes.len() == (actions.len() - 1) * f))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::uniform_log;
    use super::super::{PAPER_GATE, choose};
    use super::*;
    use counterpoint::Engine;

    #[test]
    fn files_are_read_again_and_checked() {
        let log = uniform_log(600, |x, a| (a - 1.0 - x).abs());
        for name in Rival::NAMES {
            let grid = [name.parse().expect("a name")];
            let best =
                choose(&Engine::single(), &grid, [&log, &log], None, PAPER_GATE, 0, &|| ()).expect("chosen").best;
            let inputs = Input::numbers(&log.schema().contexts);
            let file = RivalFile { settings: best.rival, action: "a".into(), inputs, policy: best.policy };
            let text = serde_json::to_string(&file).expect("text");
            assert!(RivalFile::is_one(&text));
            assert_eq!(RivalFile::from_json(&text).expect("a file"), file);
            // a context more than the coefficients know of
            let more = text.replacen(r#""contexts":["x"]"#, r#""contexts":["x","z"]"#, 1);
            assert!(more != text && RivalFile::from_json(&more).is_err(), "{name}");
        }
        assert!(!RivalFile::is_one(r#"{"family": "normal"}"#) && !RivalFile::is_one("not even JSON"));
    }
}
