//! Building a log from columns in memory.

use super::check::{Chunk, Context, Values};
use super::input::{Input, Missing, list};
use super::log::{Log, Outcome};
use super::propensities::BareLog;
use super::rows::{Layout, Rows};
use super::split::Part;
use super::target::TargetColumns;
use super::weighting::Weighting;
use crate::error::{Error, Result};
use std::borrow::Cow;

/// Rows checked at a time.
const CHUNK: usize = 65_536;

/// Collects columns for a [`Log`]; see [`Log::builder`].
#[derive(Clone, Debug, Default)]
pub struct LogBuilder<'a> {
    contexts: Vec<(String, Cells<'a>)>,
    inputs: Option<Vec<Input>>,
    actions: Vec<(String, Numbers<'a>)>,
    outcome: Option<(String, Numbers<'a>, Outcome)>,
    propensity: Option<(String, Numbers<'a>)>,
    weight: Option<(String, Numbers<'a>)>,
    weighting: Weighting,
    target: Option<(TargetColumns, Vec<Numbers<'a>>)>,
    cluster: Option<(String, Vec<String>)>,
    parts: Option<Vec<Part>>,
    drop_invalid: bool,
    missing: Missing,
}

/// A column of the caller's, or one that was handed over.
type Numbers<'a> = Cow<'a, [f64]>;

#[derive(Clone, Debug)]
enum Cells<'a> {
    Numbers(Numbers<'a>),
    Words(Vec<String>),
}

/// What a column of numbers is for, with its name; see [`LogBuilder::slice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Role<'a> {
    /// A context.
    Context(&'a str),
    /// An action; one for each component.
    Action(&'a str),
    /// The outcome, larger is better.
    Reward(&'a str),
    /// The outcome, smaller is better.
    Cost(&'a str),
    /// The logging density of the action.
    Propensity(&'a str),
    /// Sampling weights of the rows, in any unit; see [`Weighting`].
    Weight(&'a str),
    /// How many equal rows each row stands for.
    Count(&'a str),
    /// The density of a policy to be evaluated at the logged action.
    TargetDensity(&'a str),
    /// The action of a policy to be evaluated; one for each component.
    TargetAction(&'a str),
}

impl Cells<'_> {
    fn len(&self) -> usize {
        match self {
            Cells::Numbers(v) => v.len(),
            Cells::Words(v) => v.len(),
        }
    }
}

impl<'a> LogBuilder<'a> {
    /// Adds a column that stays the caller's: it is read once, into the log's own blocks, and copied nowhere else.
    ///
    /// ```
    /// use counterpoint::Log;
    /// use counterpoint::data::Role;
    /// let (hour, bid, sales) = ([9.0, 14.0, 20.0], [1.0, 1.5, 0.7], vec![0.0, 2.0, 0.0]);
    /// let log = Log::builder()
    ///     .slice(Role::Context("hour"), &hour)
    ///     .slice(Role::Action("bid"), &bid)
    ///     .slice(Role::Reward("sales"), &sales)
    ///     .slice(Role::Propensity("density"), &[0.4, 0.3, 0.5])
    ///     .build()?;
    /// assert_eq!(log.rows(), 3);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    #[must_use]
    pub fn slice(self, role: Role, values: &'a [f64]) -> Self {
        self.column(role, Cow::Borrowed(values))
    }

    fn column(mut self, role: Role, values: Numbers<'a>) -> Self {
        match role {
            Role::Context(name) => self.contexts.push((name.into(), Cells::Numbers(values))),
            Role::Action(name) => self.actions.push((name.into(), values)),
            Role::Reward(name) => self.outcome = Some((name.into(), values, Outcome::Reward)),
            Role::Cost(name) => self.outcome = Some((name.into(), values, Outcome::Cost)),
            Role::Propensity(name) => self.propensity = Some((name.into(), values)),
            Role::Weight(name) => (self.weight, self.weighting) = (Some((name.into(), values)), Weighting::Sampling),
            Role::Count(name) => (self.weight, self.weighting) = (Some((name.into(), values)), Weighting::Counts),
            Role::TargetDensity(name) => self.target = Some((TargetColumns::Density(name.into()), vec![values])),
            Role::TargetAction(name) => match &mut self.target {
                Some((TargetColumns::Actions(names), columns)) => {
                    names.push(name.into());
                    columns.push(values);
                }
                target => *target = Some((TargetColumns::Actions(vec![name.into()]), vec![values])),
            },
        }
        self
    }

    /// Adds a context column.
    #[must_use]
    pub fn context(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::Context(name), values.into())
    }

    /// Adds a context column of words: each word becomes a 0/1 column. An empty word is a missing value.
    ///
    /// ```
    /// use counterpoint::Log;
    /// let log = Log::builder()
    ///     .category("city", ["Rome", "Paris", "Rome"].map(String::from).to_vec())
    ///     .action("bid", vec![1.0, 1.5, 0.7])
    ///     .propensity("density", vec![0.4, 0.3, 0.5])
    ///     .reward("sales", vec![0.0, 2.0, 0.0])
    ///     .build()?;
    /// assert_eq!(log.schema().contexts, ["city=Paris", "city=Rome"]);
    /// assert_eq!(log.blocks()[0].x, [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0]]);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    #[must_use]
    pub fn category(mut self, name: &str, words: Vec<String>) -> Self {
        self.contexts.push((name.into(), Cells::Words(words)));
        self
    }

    /// Takes order and categories of the contexts from an existing encoding, such as a policy's; a word it does not
    /// know is refused.
    #[must_use]
    pub fn inputs(mut self, inputs: &[Input]) -> Self {
        self.inputs = Some(inputs.to_vec());
        self
    }

    /// Adds an action column; call it again for vector actions.
    #[must_use]
    pub fn action(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::Action(name), values.into())
    }

    /// Sets the outcome, larger is better.
    #[must_use]
    pub fn reward(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::Reward(name), values.into())
    }

    /// Sets the outcome, smaller is better.
    #[must_use]
    pub fn cost(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::Cost(name), values.into())
    }

    /// Sets the logging density of the action (of all its components together).
    #[must_use]
    pub fn propensity(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::Propensity(name), values.into())
    }

    /// Sets sampling weights, in any unit: rows that were kept with probability 1/10 have 10 times the weight of those that were all
    /// kept. Errors are those of the rows there are; see [`Weighting`].
    #[must_use]
    pub fn weight(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::Weight(name), values.into())
    }

    /// Sets frequencies: a row of count 2 is two equal rows. Takes the place of [`weight`](Self::weight).
    #[must_use]
    pub fn count(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::Count(name), values.into())
    }

    /// Sets the density with which a policy to be evaluated would take the logged action, at least 0; see
    /// [`TargetDensity`](crate::policy::TargetDensity).
    #[must_use]
    pub fn target_density(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::TargetDensity(name), values.into())
    }

    /// Adds the action that a policy to be evaluated would take, one column for each action column; see
    /// [`TargetAction`](crate::policy::TargetAction).
    #[must_use]
    pub fn target_action(self, name: &str, values: Vec<f64>) -> Self {
        self.column(Role::TargetAction(name), values.into())
    }

    /// Says which rows belong together (those of one user, one branch): they are never divided between parts or folds, and a certificate
    /// takes clusters, not rows, for independent draws.
    ///
    /// ```
    /// use counterpoint::{Log, data::SplitRule};
    /// let n = 60;
    /// let users = (0..n).map(|i| format!("user {}", i / 3)).collect();
    /// let log = Log::builder().action("a", (0..n).map(f64::from).collect()).cost("y", vec![1.0; n as usize])
    ///     .propensity("p", vec![0.5; n as usize]).cluster("user", users).build()?;
    /// let parts = log.split(SplitRule::default())?;
    /// assert!([&parts.train, &parts.valid, &parts.test].iter().all(|p| p.rows() % 3 == 0));
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    #[must_use]
    pub fn cluster(mut self, name: &str, keys: Vec<String>) -> Self {
        self.cluster = Some((name.into(), keys));
        self
    }

    /// Says which part each row belongs to; see [`SplitRule::Column`](super::SplitRule::Column).
    #[must_use]
    pub fn parts(mut self, parts: Vec<Part>) -> Self {
        self.parts = Some(parts);
        self
    }

    /// Says what becomes of contexts that are missing: NaN among numbers, an empty word among categories.
    ///
    /// ```
    /// use counterpoint::Log;
    /// use counterpoint::data::{Input, Missing};
    /// let log = Log::builder()
    ///     .context("age", vec![30.0, f64::NAN, 50.0])
    ///     .missing(Missing::Indicator)
    ///     .action("dose", vec![1.0, 1.5, 0.7])
    ///     .reward("effect", vec![0.0, 2.0, 0.0])
    ///     .propensity("density", vec![0.4, 0.3, 0.5])
    ///     .build()?;
    /// assert_eq!(log.schema().contexts, ["age", "age=(missing)"]);
    /// assert_eq!(log.schema().inputs, [Input::Filled { name: "age".into(), value: 40.0 }]);
    /// assert_eq!(log.blocks()[0].x[1], [0.0, 1.0, 0.0]);
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    #[must_use]
    pub fn missing(mut self, missing: Missing) -> Self {
        self.missing = missing;
        self
    }

    /// Leaves out rows with an unusable value instead of refusing the log; [`Log::dropped`] tells how many.
    #[must_use]
    pub fn drop_invalid(mut self) -> Self {
        self.drop_invalid = true;
        self
    }

    /// Like [`build`](Self::build), with the number of rows that were left out.
    pub fn build_counting(self) -> Result<(Log, usize)> {
        self.build().map(|log| {
            let dropped = log.dropped().rows;
            (log, dropped)
        })
    }

    /// Checks everything and builds the log.
    pub fn build(mut self) -> Result<Log> {
        self.propensity.get_or_insert_default();
        self.collect()
    }

    /// Like [`build`](Self::build) for rows without propensities; see [`BareLog`].
    pub fn build_bare(self) -> Result<BareLog> {
        if let Some((name, _)) = &self.propensity {
            return Err(Error::data("it is a column of propensities: there is nothing to estimate")
                .at(format!("column {name:?}"))
                .hint("use build"));
        }
        self.collect().map(BareLog)
    }

    fn collect(mut self) -> Result<Log> {
        let contexts = self.layout_of_contexts()?;
        let (outcome, y, direction) = self.outcome.unwrap_or((String::new(), Cow::Borrowed(&[]), Outcome::Cost));
        let (propensity, p) = self.propensity.unzip();
        let layout = Layout {
            contexts,
            actions: self.actions.iter().map(|(n, _)| n.clone()).collect(),
            outcome: outcome.clone(),
            direction,
            propensity: propensity.clone(),
            weight: self.weight.as_ref().map(|(n, _)| n.clone()),
            weighting: self.weighting,
            target: self.target.as_ref().map(|(t, _)| t.clone()),
            cluster: self.cluster.as_ref().map(|(n, _)| n.clone()),
            split: self.parts.is_some().then(|| "split".into()),
        };
        let mut to = Rows::new(layout, self.drop_invalid, None)?;
        let rows = y.len();
        let numbers = self.actions.iter().chain(&self.weight).map(|(n, v)| (n.as_str(), v.len()));
        let lengths = self.contexts.iter().map(|(n, v)| (n.as_str(), v.len())).chain(numbers);
        let lengths = lengths.chain(propensity.iter().zip(&p).map(|(n, p)| (n.as_str(), p.len())));
        let target = self.target.iter().flat_map(|(t, v)| t.names().iter().zip(v).map(|(n, v)| (n.as_str(), v.len())));
        let cluster = self.cluster.iter().map(|(n, k)| (n.as_str(), k.len()));
        for (name, len) in lengths.chain(target).chain(cluster).chain(self.parts.iter().map(|p| ("split", p.len()))) {
            if len != rows {
                return Err(Error::data(format!("it has {len} rows, column {outcome:?} has {rows}"))
                    .at(format!("column {name:?}")));
            }
        }
        for from in (0..rows).step_by(CHUNK) {
            let part = from..rows.min(from + CHUNK);
            let mut columns: Vec<Values> = Vec::new();
            for (_, cells) in &self.contexts {
                columns.push(match cells {
                    Cells::Numbers(v) => Values::Numbers(&v[part.clone()]),
                    Cells::Words(v) => Values::Words(
                        v[part.clone()].iter().map(|w| Some(w.as_str()).filter(|w| !w.is_empty())).collect(),
                    ),
                });
            }
            let rest =
                self.actions.iter().map(|(_, v)| v).chain([&y]).chain(&p).chain(self.weight.as_ref().map(|(_, v)| v));
            let target = self.target.iter().flat_map(|(_, v)| v);
            columns.extend(rest.chain(target).map(|v| Values::Numbers(&v[part.clone()])));
            let named = |k: &'_ Vec<String>| -> Vec<Option<String>> {
                k[part.clone()].iter().map(|w| Some(w.clone()).filter(|w| !w.is_empty())).collect()
            };
            let keys = self.cluster.as_ref().map(|(_, k)| named(k));
            columns.extend(keys.iter().map(|k| Values::Words(k.iter().map(Option::as_deref).collect())));
            columns.extend(self.parts.as_ref().map(|p| Values::Parts(&p[part.clone()])));
            to.add(&Chunk { rows: part.len(), columns, file: None, before: from, why: &|_, _| None })?;
        }
        to.finish()
    }

    /// The contexts in the order of the encoding, if there is one; in the order they were given, otherwise.
    fn layout_of_contexts(&mut self) -> Result<Vec<Context>> {
        let Some(inputs) = &self.inputs else {
            let context = |(name, cells): &(String, Cells)| match cells {
                Cells::Numbers(_) => Context::number(name),
                Cells::Words(_) => Context::category(name),
            };
            return Ok(self.contexts.iter().map(|c| context(c).with(self.missing)).collect());
        };
        let mut ordered = Vec::new();
        for input in inputs {
            let at = self.contexts.iter().position(|(n, _)| n == input.name()).ok_or_else(|| {
                let known: Vec<&str> = self.contexts.iter().map(|(n, _)| n.as_str()).collect();
                Error::data(format!("there is no column {:?}, which the policy needs", input.name()))
                    .hint(format!("the contexts are: {}", list(&known)))
            })?;
            let (name, cells) = self.contexts.swap_remove(at);
            if matches!(cells, Cells::Words(_)) != input.is_category() {
                let what = match input.is_category() {
                    false => "it holds words, the policy learned from numbers",
                    true => "it holds numbers, the policy learned from words",
                };
                return Err(Error::data(what).at(format!("column {name:?}")));
            }
            ordered.push((name, cells));
        }
        self.contexts = ordered;
        Ok(inputs.iter().map(Context::of).collect())
    }
}
