//! Reports: plain data to one HTML file that a manager can read and a statistician can check, and charts to SVG.
//!
//! What is shown is computed by [`counterpoint::explain`]. [`policy_page`] turns a [`PolicyReport`] into one file that loads
//! nothing, runs only its own script, and is the same bytes for the same data. The order of the page is the order of the
//! questions: what to do, how much it brings, whether that may be believed, what the policy does, what else was tried, and what
//! it all rests on. [`log_page`] is the page about a log alone. [`page`] is the frame that both share, for other pages of the
//! same kind; [`chart`] draws.
//!
//! The sections are policy.html and log.html, between head.html and foot.html; the colours style.css, the few lines of
//! behaviour script.js; `view` and `figures` put numbers into words and charts. Nothing is estimated here.

pub mod chart;
mod content_security;
mod figures;
mod log_page;
mod tables;
mod view;
pub mod words;

pub use content_security::sha256_hex;
pub use log_page::log_page;

use counterpoint::explain::PolicyReport;
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{AutoEscape, Environment, Value};
use serde::Serialize;

/// The page about a policy: one self-contained file, the same bytes for the same data.
pub fn policy_page(report: &PolicyReport) -> String {
    page(include_str!("policy.html"), "", &view::View::of(report), Some(report))
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
