//! The report: one HTML file that a manager can read and a statistician can check.
//!
//! A [`Report`] is plain data; [`Report::html`] turns it into one file that loads nothing, runs only its own script, and is
//! the same bytes for the same data. The order of the page is the order of the questions: what to do, how much it brings,
//! whether that may be believed, what the policy does, what else was tried, and what it all rests on. [`LogReport`] is the
//! page about a log alone. Their sections are page.html and log.html, between head.html and foot.html; the colours style.css, its few lines of behaviour script.js; charts are SVG (`svg`); `view` puts figures into
//! words. Nothing is estimated here.

mod about;
mod data;
mod figures;
mod histogram;
pub(crate) mod seal;
pub(crate) mod svg;
mod tables;
mod view;
pub(crate) mod words;

#[cfg(test)]
mod example;

pub(crate) use about::*;
pub(crate) use data::*;
pub(crate) use histogram::Histogram;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value};
use serde::Serialize;

/// Everything the page can show; what is empty is left out.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    /// "Is there a better policy in log.parquet?"
    pub(crate) title: String,
    pub(crate) outcome: Outcome,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) lift: Option<Lift>,
    /// One entry a part of the log, the gated part first.
    pub(crate) weights: Vec<Weights>,
    /// One entry a context (and action), the most telling first.
    pub(crate) contexts: Vec<ContextView>,
    /// One entry an action column.
    pub(crate) actions: Vec<ActionView>,
    /// One entry an action column.
    pub(crate) cost_curves: Vec<CostCurves>,
    pub(crate) estimators: Vec<Estimated>,
    pub(crate) leaderboard: Option<Leaderboard>,
    /// The recipe as TOML.
    pub(crate) recipe: Option<String>,
    /// What must hold for the figures to mean what they say; see [`assumptions`].
    pub(crate) assumptions: Vec<String>,
    /// What this log in particular gives reason to doubt.
    pub(crate) caveats: Vec<String>,
    pub(crate) provenance: Provenance,
}

/// Where the propensities come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propensities {
    /// Written down when the action was chosen.
    Logged,
    /// Fitted to the log afterwards.
    Estimated,
}

/// The assumptions of every report, in plain words.
pub(crate) fn assumptions(propensities: Propensities) -> Vec<String> {
    let propensity = match propensities {
        Propensities::Logged => {
            "The logged propensities are the densities with which the actions were really drawn. If they are wrong, \
             every figure here is wrong; a mean weight far from 1 is the sign of it."
        }
        Propensities::Estimated => {
            "The propensities were not logged but estimated from the log. The figures hold only if that model is right \
             and if nothing outside the contexts moved both the actions and the outcome. Treat them as a lead, not as proof."
        }
    };
    [
        propensity,
        "Rows are independent of each other: what was done in one row changed neither the context nor the outcome of another.",
        "The logging policy could have taken every action that the new policy takes. Where it never went, the log is silent.",
        "The future looks like the log: the same kind of contexts, and the same outcome for the same action.",
        "The rows behind the verdict were used neither to learn the policy nor to choose it.",
        "The interval is about the policy as written, which draws its actions at random. Always playing its mean action is \
         another policy, with another value.",
    ]
    .map(String::from)
    .into()
}

impl Report {
    /// The page: one self-contained file.
    pub(crate) fn html(&self) -> String {
        page(include_str!("page.html"), "", &view::View::of(self), Some(self))
    }
}

/// A sealed page: head, sections, foot, more rules of style, and all that `data` holds inside it.
pub(crate) fn page(sections: &str, more_style: &str, view: &impl Serialize, data: Option<&impl Serialize>) -> String {
    // a checkout with other line ends must not change the bytes, nor the hashes of the seal
    let whole = [include_str!("head.html"), sections, include_str!("foot.html")].concat();
    let style = [include_str!("style.css"), more_style].concat();
    let [page, style, script] = [&whole, &style, include_str!("script.js")].map(|t| t.replace("\r\n", "\n"));
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    if let Ok(syntax) = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build() {
        environment.set_syntax(syntax);
    }
    let context = minijinja::context! {
        view => Serde(view),
        policy => seal::policy(&style, &script),
        style => Value::from_safe_string(style),
        script => Value::from_safe_string(script),
        data => data.map(|d| Value::from_safe_string(json(d))),
    };
    // the template is a constant and the context is ours: a failure is a bug, and the tests render every section
    environment
        .render_str(&page, context)
        .unwrap_or_else(|e| format!("<!doctype html><pre>{}</pre>", words::escape(&e.to_string())))
}

/// The figures as JSON that may stand inside a script element.
fn json(data: &impl Serialize) -> String {
    let text = serde_json::to_string(data).unwrap_or_default();
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
