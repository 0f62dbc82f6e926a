//! The columns a policy is for, and the rows it was learned from.

use super::Origin;
use crate::data::{Input, Log, Schema, check_word};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Which columns become contexts and actions, and which rows the policy was learned from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Columns {
    /// The context columns of the user's file and how they become numbers; empty where they are numbers already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Input>,
    /// Names of the contexts as numbers, in order.
    pub contexts: Vec<String>,
    /// Names of the action columns, in order.
    pub actions: Vec<String>,
    /// The rows the policy was learned from, if it was learned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

impl Columns {
    /// The columns of a policy learned from this log.
    pub fn of(log: &Log) -> Self {
        let schema = log.schema();
        Columns {
            inputs: schema.inputs.clone(),
            contexts: schema.contexts.clone(),
            actions: schema.actions.clone(),
            origin: Some(Origin::of(log)),
        }
    }

    /// Columns of numbers under these names, of a policy that was not learned.
    pub fn named(contexts: &[&str], actions: &[&str]) -> Self {
        let words = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
        Columns { contexts: words(contexts), actions: words(actions), ..Columns::default() }
    }

    /// The columns a row of new data must have, and how they become contexts.
    pub fn encoding(&self) -> Vec<Input> {
        if self.inputs.is_empty() { Input::numbers(&self.contexts) } else { self.inputs.clone() }
    }

    /// Refuses columns that no reader could have made: no action, inputs that are not the contexts, a false origin.
    pub fn check(&self) -> Result<()> {
        if self.actions.is_empty() {
            return Err(Error::policy("it has no action column"));
        }
        self.contexts.iter().chain(&self.actions).try_for_each(|name| check_word(name))?;
        Input::check(&self.inputs)?;
        if !self.inputs.is_empty() && Input::expand(&self.inputs) != self.contexts {
            return Err(Error::policy("its inputs and its contexts do not name the same columns"));
        }
        self.origin.as_ref().map_or(Ok(()), Origin::check)
    }

    /// Refuses a log with other columns, by name and in order.
    pub fn check_against(&self, schema: &Schema) -> Result<()> {
        if (&schema.contexts, &schema.actions) == (&self.contexts, &self.actions) {
            return Ok(());
        }
        Err(Error::policy(format!(
            "it is for contexts {:?} and actions {:?}, the log has {:?} and {:?}",
            self.contexts, self.actions, schema.contexts, schema.actions
        ))
        .hint("name the columns in the order the policy was learned with"))
    }
}

/// Refuses a number that is not finite, by the name of what it is part of.
pub(crate) fn all_finite(what: &str, numbers: &[f64]) -> Result<()> {
    match numbers.iter().position(|v| !v.is_finite()) {
        Some(i) => Err(Error::policy(format!("{what}[{i}] is {}", numbers[i]))),
        None => Ok(()),
    }
}
