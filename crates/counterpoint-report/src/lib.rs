//! Reports: plain data to one HTML file that a manager can read and a statistician can check, and charts to SVG.
//!
//! A [`Report`] is plain data; [`Report::html`] turns it into one file that loads nothing, runs only its own script, and is
//! the same bytes for the same data. The order of the page is the order of the questions: what to do, how much it brings,
//! whether that may be believed, what the policy does, what else was tried, and what it all rests on. [`LogReport`] is the
//! page about a log alone. [`page`] is the frame that both share, for other pages of the same kind; [`chart`] draws.
//!
//! The sections are policy.html and log.html, between head.html and foot.html; the colours style.css, the few lines of
//! behaviour script.js; `view` and `figures` put numbers into words and charts. Nothing is estimated here.

pub mod chart;
mod content_security;
mod data;
mod figures;
mod histogram;
mod log_page;
mod tables;
mod view;
pub mod words;

pub use content_security::sha256_hex;
pub use data::*;
pub use histogram::Histogram;
pub use log_page::*;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value};
use serde::Serialize;

/// Everything the page can show; what is empty is left out.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// "Is there a better policy in log.parquet?"
    pub title: String,
    /// What came of the actions.
    pub outcome: Outcome,
    /// The decision and why.
    pub verdict: Option<Verdict>,
    /// What the policy brings.
    pub lift: Option<Lift>,
    /// One entry per part of the log, the gated part first.
    pub weights: Vec<Weights>,
    /// One entry per context (and action), the most telling first.
    pub contexts: Vec<ContextView>,
    /// One entry an action column.
    pub actions: Vec<ActionView>,
    /// One entry an action column.
    pub cost_curves: Vec<CostCurves>,
    /// Every estimator's answer.
    pub estimators: Vec<Estimated>,
    /// What else was tried.
    pub leaderboard: Option<Leaderboard>,
    /// The recipe as TOML.
    pub recipe: Option<String>,
    /// What must hold for the figures to mean what they say; see [`assumptions`].
    pub assumptions: Vec<String>,
    /// What this log in particular gives reason to doubt.
    pub caveats: Vec<String>,
    /// Where the figures come from.
    pub provenance: Provenance,
}

/// Where the propensities come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propensities {
    /// Written down when the action was chosen.
    Logged,
    /// Fitted to the log afterwards.
    Estimated,
}

/// The assumptions of every report, in plain words.
pub fn assumptions(propensities: Propensities) -> Vec<String> {
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
    pub fn html(&self) -> String {
        page(include_str!("policy.html"), "", &view::View::of(self), Some(self))
    }
}

/// Text that is markup already and is not escaped again when a page is rendered.
pub type Markup = Value;

/// Marks a text as [`Markup`]: whoever calls this has escaped what needs to be.
pub fn markup(text: String) -> Markup {
    Value::from_safe_string(text)
}

/// A self-contained page: head, sections (a template over `view`), foot, more rules of style, and all that `data` holds as JSON.
///
/// The Content-Security-Policy lets in its own style and script and nothing else. `view` needs `title`, `lead` and `version`.
pub fn page(sections: &str, more_style: &str, view: &impl Serialize, data: Option<&impl Serialize>) -> String {
    // a checkout with other line ends must not change the bytes, nor the hashes of the security policy
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
        policy => content_security::policy(&style, &script),
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
