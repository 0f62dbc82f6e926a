//! Columns that a model of others has filled: what it predicts of the outcome at a list of actions.
//!
//! They are the last contexts of a log. A policy that follows them needs them in every row it acts on, and so does whoever evaluates
//! it; the columns are read by name like any other context.

use super::input::Input;
use super::log::Log;
use crate::error::{Error, Result};

/// More actions than this are no list but a table.
const MOST: usize = 200;

/// Which columns hold predictions, and of which action: `COLUMN@ACTION`, or a pattern whose star stands for the action. Ascending.
///
/// ```
/// use counterpoint::data::predicted_columns;
/// let columns = ["x", "q_10", "q_2.5", "low"].map(String::from);
/// let found = predicted_columns(&["q_*".into(), "low@-1".into()], &columns)?;
/// assert_eq!(found, [("low".to_string(), -1.0), ("q_2.5".to_string(), 2.5), ("q_10".to_string(), 10.0)]);
/// assert!(predicted_columns(&["q_10".into()], &columns).is_err());
/// # Ok::<(), counterpoint::Error>(())
/// ```
pub fn predicted_columns(written: &[String], columns: &[String]) -> Result<Vec<(String, f64)>> {
    let hint =
        "write COLUMN@ACTION, such as q1@0.5, or a pattern whose star is the action, such as 'q_*' for q_0.5 and q_1";
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|v| v.is_finite());
    let mut found: Vec<(String, f64)> = Vec::new();
    for word in written.iter().map(|w| w.trim()) {
        let before = found.len();
        if let Some((head, tail)) = word.split_once('*') {
            let middle = |c: &String| c.strip_prefix(head)?.strip_suffix(tail).and_then(number).map(|a| (c.clone(), a));
            found.extend(columns.iter().filter_map(middle));
        } else if let Some((name, action)) = word.rsplit_once('@') {
            found.extend(number(action).map(|a| (name.to_string(), a)));
        }
        if found.len() == before {
            return Err(Error::data(format!("{word:?} names no column of predictions and its action")).hint(hint));
        }
    }
    found.sort_by(|a, b| a.1.total_cmp(&b.1));
    if let Some(twice) = found.windows(2).find(|w| w[0].1 == w[1].1) {
        return Err(Error::data(format!(
            "{:?} and {:?} are both predictions at {}",
            twice[0].0, twice[1].0, twice[0].1
        ))
        .hint("one column an action"));
    }
    if found.len() < 2 || found.len() > MOST {
        return Err(
            Error::data(format!("there are predictions at {} actions (must be 2 to {MOST})", found.len())).hint(hint)
        );
    }
    Ok(found)
}

impl Log {
    /// Says that the last contexts are predictions of the outcome at these actions, ascending, by a model that has not seen the row or its
    /// cluster: a greedy policy may then follow them.
    ///
    /// ```
    /// use counterpoint::Log;
    /// let log = Log::builder().context("x", vec![0.1, 0.2]).context("q_1", vec![3.0, 4.0]).context("q_2", vec![5.0, 6.0])
    ///     .action("a", vec![1.0, 2.0]).reward("y", vec![3.0, 5.5]).propensity("p", vec![0.5; 2]).build()?;
    /// assert_eq!(log.with_predictions(&[1.0, 2.0])?.schema().predictions, [1.0, 2.0]);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn with_predictions(mut self, actions: &[f64]) -> Result<Log> {
        let (d, k) = (self.schema.contexts.len(), actions.len());
        if self.schema.actions.len() != 1 {
            return Err(Error::data("predictions at a list of actions are for one action column"));
        }
        let ascending = actions.windows(2).all(|a| a[0] < a[1]) && actions.iter().all(|a| a.is_finite());
        if k < 2 || k > d || !ascending {
            return Err(Error::data(
                "the actions of predictions must be two or more, ascending, one for each of the last contexts",
            ));
        }
        let last = self.schema.contexts[d - k..].to_vec();
        let plain = |name: &String| {
            self.schema.inputs.is_empty() || self.schema.inputs.contains(&Input::Number { name: name.clone() })
        };
        if let Some(stray) = last.iter().find(|name| !plain(name)) {
            return Err(Error::data("a prediction must be a number in every row")
                .at(format!("column {stray:?}"))
                .hint("fill its gaps by asking the model, or leave the rows out"));
        }
        self.schema.predictions = actions.to_vec();
        Ok(self)
    }
}
