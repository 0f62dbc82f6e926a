//! Building a log from columns, with every check in one place.

use super::log::{BLOCK_ROWS, Block, Log, Outcome, Schema};
use super::split::Part;
use crate::error::{Error, Result};

/// Collects columns for a [`Log`]; see [`Log::builder`].
#[derive(Clone, Debug, Default)]
pub struct LogBuilder {
    contexts: Vec<(String, Vec<f64>)>,
    actions: Vec<(String, Vec<f64>)>,
    outcome: Option<(String, Vec<f64>, Option<Outcome>)>,
    propensity: Option<(String, Vec<f64>)>,
    weight: Option<(String, Vec<f64>)>,
    parts: Option<Vec<Part>>,
    drop_invalid: Option<()>,
}

impl LogBuilder {
    /// Adds a context column.
    #[must_use]
    pub fn context(mut self, name: &str, values: Vec<f64>) -> Self {
        self.contexts.push((name.into(), values));
        self
    }

    /// Adds an action column; call it again for vector actions.
    #[must_use]
    pub fn action(mut self, name: &str, values: Vec<f64>) -> Self {
        self.actions.push((name.into(), values));
        self
    }

    /// Sets the outcome, larger is better.
    #[must_use]
    pub fn reward(mut self, name: &str, values: Vec<f64>) -> Self {
        self.outcome = Some((name.into(), values, Some(Outcome::Reward)));
        self
    }

    /// Sets the outcome, smaller is better.
    #[must_use]
    pub fn cost(mut self, name: &str, values: Vec<f64>) -> Self {
        self.outcome = Some((name.into(), values, Some(Outcome::Cost)));
        self
    }

    /// Sets the logging density of the action (of all its components together).
    #[must_use]
    pub fn propensity(mut self, name: &str, values: Vec<f64>) -> Self {
        self.propensity = Some((name.into(), values));
        self
    }

    /// Sets row weights: a row of weight 2 counts as two equal rows.
    #[must_use]
    pub fn weight(mut self, name: &str, values: Vec<f64>) -> Self {
        self.weight = Some((name.into(), values));
        self
    }

    /// Says which part each row belongs to; see [`SplitRule::Column`](super::SplitRule::Column).
    #[must_use]
    pub fn parts(mut self, parts: Vec<Part>) -> Self {
        self.parts = Some(parts);
        self
    }

    /// Leaves out rows with an unusable value instead of refusing the log; [`build_counting`](Self::build_counting)
    /// tells how many.
    #[must_use]
    pub fn drop_invalid(mut self) -> Self {
        self.drop_invalid = Some(());
        self
    }

    /// Checks everything and builds the log.
    pub fn build(self) -> Result<Log> {
        self.build_counting().map(|(log, _)| log)
    }

    /// Like [`build`](Self::build), with the number of rows that were left out.
    pub fn build_counting(self) -> Result<(Log, usize)> {
        let missing = |what: &str| Error::data(format!("the log has no {what} column"));
        let (outcome, y, direction) = self.outcome.ok_or_else(|| missing("reward or cost"))?;
        let direction = direction.unwrap_or(Outcome::Cost);
        let (propensity, p) = self.propensity.ok_or_else(|| {
            missing("propensity").hint("a propensity is the density with which the logging policy chose the action")
        })?;
        if self.actions.is_empty() {
            return Err(missing("action"));
        }
        let rows = y.len();
        if rows == 0 {
            return Err(Error::data("the log has no rows"));
        }
        let columns = self.contexts.iter().chain(&self.actions).map(|(n, v)| (n.as_str(), v.len()));
        let others =
            [(propensity.as_str(), p.len())].into_iter().chain(self.weight.iter().map(|(n, v)| (n.as_str(), v.len())));
        for (name, len) in columns.chain(others).chain(self.parts.iter().map(|p| ("split", p.len()))) {
            if len != rows {
                return Err(Error::data(format!("it has {len} rows, column {outcome:?} has {rows}"))
                    .at(format!("column {name:?}")));
            }
        }
        let schema = Schema {
            contexts: self.contexts.iter().map(|(n, _)| n.clone()).collect(),
            actions: self.actions.iter().map(|(n, _)| n.clone()).collect(),
            outcome,
            direction,
            propensity,
            weight: self.weight.as_ref().map(|(n, _)| n.clone()),
        };
        let names = schema.contexts.iter().chain(&schema.actions).chain([&schema.outcome, &schema.propensity]);
        let mut seen = std::collections::BTreeSet::new();
        if let Some(twice) = names.chain(&schema.weight).find(|n| !seen.insert((*n).clone())) {
            return Err(Error::data("it is used twice; each column has one role").at(format!("column {twice:?}")));
        }
        let omega = self.weight.as_ref().map(|(_, v)| v);
        let check = |i: usize| -> std::result::Result<(), (String, String)> {
            for (name, v) in self.contexts.iter().chain(&self.actions) {
                finite(name, v[i])?;
            }
            finite(&schema.outcome, y[i])?;
            finite(&schema.propensity, p[i])?;
            if p[i] <= 0.0 {
                return Err((schema.propensity.clone(), format!("{} is not a density (must be > 0)", p[i])));
            }
            if let (Some(w), Some(name)) = (omega, &schema.weight) {
                finite(name, w[i])?;
                if w[i] < 0.0 {
                    return Err((name.clone(), format!("{} is not a row weight (must be >= 0)", w[i])));
                }
            }
            Ok(())
        };
        let sign = direction.to_user(1.0);
        let (d, q) = (self.contexts.len(), self.actions.len());
        let mut log = Log { schema: schema.clone(), blocks: Vec::new(), parts: None };
        let mut parts = Vec::new();
        let mut dropped = 0;
        let mut block = Block::empty(d, q);
        for i in 0..rows {
            if let Err((column, what)) = check(i) {
                if self.drop_invalid.is_none() {
                    return Err(Error::data(what)
                        .at(format!("row {}, column {column:?}", i + 1))
                        .hint("--drop-invalid (LogBuilder::drop_invalid) skips and counts such rows"));
                }
                dropped += 1;
                continue;
            }
            block.ids.push(i as u64);
            for (to, (_, from)) in block.x.iter_mut().zip(&self.contexts).chain(block.a.iter_mut().zip(&self.actions)) {
                to.push(from[i]);
            }
            block.log_p.push(p[i].ln());
            block.y.push(sign * y[i]);
            block.omega.push(omega.map_or(1.0, |w| w[i]));
            parts.extend(self.parts.as_ref().map(|p| p[i]));
            if block.rows() == BLOCK_ROWS {
                log.blocks.push(std::mem::replace(&mut block, Block::empty(d, q)));
            }
        }
        if block.rows() > 0 {
            log.blocks.push(block);
        }
        if log.blocks.is_empty() {
            return Err(Error::data(format!("all {rows} rows have an unusable value")));
        }
        if let (Some(name), true) = (&log.schema.weight, log.blocks.iter().flat_map(|b| &b.omega).all(|w| *w == 0.0)) {
            return Err(Error::data("all row weights are 0, so the log says nothing").at(format!("column {name:?}")));
        }
        log.parts = self.parts.is_some().then_some(parts);
        Ok((log, dropped))
    }
}

fn finite(name: &str, v: f64) -> std::result::Result<(), (String, String)> {
    if v.is_finite() {
        Ok(())
    } else {
        Err((name.to_string(), format!("{v} is not a number to compute with (must be finite)")))
    }
}
