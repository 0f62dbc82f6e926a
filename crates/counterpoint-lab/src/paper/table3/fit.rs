//! One setting of one method on one set.

use super::{Record, SEED};
use crate::paper::dataset::cuts::{CutSet, ask_rows};
use crate::paper::{Ask, Truth};
use crate::rivals::{Figures, Rival, figures, judgeable};
use counterpoint::policy::SavedPolicy;
use counterpoint::{Engine, Error, Log, Policy, Recipe, Result, learn};

/// What to fit.
pub(super) enum Job {
    Rival(Rival),
    Clp(Box<Recipe>),
}

/// What came of it.
#[allow(clippy::large_enum_variant)] // one per fit
enum Fitted<'a> {
    /// A rival's policy as it is judged.
    Rival(&'a Rival, SavedPolicy),
    Clp(Policy),
}

impl Job {
    /// Judges the settings on every cut, learns from all rows it may see, and asks for the truth. Settings that do not suit a log
    /// lose the comparison, they do not end it.
    pub(super) fn record(&self, ask: &Ask, set: &CutSet) -> Result<Record> {
        let settings = match self {
            Job::Rival(rival) => serde_json::to_string(rival).unwrap_or_default(),
            Job::Clp(recipe) => recipe.to_toml().replace('\n', " "),
        };
        let key = format!("table3: {}, {}, {} rows: {settings}", set.kind.printed(), set.source, set.learn.rows());
        let mut record = ask.once(&key, || {
            Ok(self.tried(set).unwrap_or_else(|e| Record {
                settings: String::new(),
                seen: vec![],
                deployed: None,
                judged: None,
                failure: Some(e.to_string()),
            }))
        })?;
        record.settings = settings;
        Ok(record)
    }

    fn tried(&self, set: &CutSet) -> Result<Record> {
        let fitted = self.fit(&set.learn)?;
        let seen = match set.cuts.as_slice() {
            // learned from the train part in any case
            [(_, rest)] => fitted.ask(rest).into_iter().collect(),
            _ => set.judge(|train, rest| self.fit(train)?.ask(rest)),
        };
        let [deployed, judged] = fitted.values(&set.truth);
        Ok(Record { settings: String::new(), seen, deployed: Some(deployed), judged: Some(judged), failure: None })
    }

    fn fit(&self, rows: &Log) -> Result<Fitted<'_>> {
        let engine = Engine::single();
        Ok(match self {
            Job::Rival(rival) => Fitted::Rival(rival, judgeable(&engine, rival, rows, None, SEED)?),
            Job::Clp(recipe) => Fitted::Clp(learn(&rows.on(&engine), recipe)?.policy.into_parametric()?),
        })
    }
}

impl Fitted<'_> {
    fn ask(&self, rows: &Log) -> Result<Figures> {
        let f = match self {
            Fitted::Rival(_, policy) => figures(&Engine::single(), policy, rows)?,
            Fitted::Clp(policy) => ask_rows(policy, rows)?,
        };
        // without weights the ratios are 0/0, which no file could hold
        let there = [f.ips, f.snips, f.std_error, f.effective].iter().all(|v| v.is_finite());
        there.then_some(f).ok_or_else(|| Error::data("no row has a weight"))
    }

    /// True values with their standard errors over contexts: of what goes to work, and of what was judged.
    fn values(&self, truth: &Truth) -> [[f64; 2]; 2] {
        match self {
            Fitted::Rival(rival, policy) => {
                [&rival.deployed(policy), policy].map(|policy| truth.rival_value(policy, SEED).into())
            }
            Fitted::Clp(policy) => [truth.value(policy, SEED).into(); 2],
        }
    }
}
