//! `counterpoint certify`: deploy, keep, or invalid; and how every command tells a certificate.

use crate::Done;
use crate::say;
use crate::target::{Asked, TargetArgs};
use crate::{flag, output};
use clap::{Args, ValueEnum};
use counterpoint::certify::{Certificate, Interval, Method, Terms, Verdict, certify};
use counterpoint::data::Parts;
use counterpoint::explain::{Evidence, explain_policy};
use counterpoint::policy::TargetPolicy;
use counterpoint::{Engine, Gate, Result};
use counterpoint_report::policy_page;
use owo_colors::OwoColorize;
use std::path::{Path, PathBuf};

/// What a policy has to show.
#[derive(Args)]
#[command(next_help_heading = "Certificate")]
pub(crate) struct TermArgs {
    /// How often the intervals of the certificate hold the truth, between 0 and 1.
    #[arg(long, default_value_t = 0.95, value_name = "SHARE", value_parser = flag::between_0_and_1)]
    confidence: f64,
    /// Smallest share of the valid rows that must be effective, n_eff/n (the paper's nu).
    #[arg(long, default_value_t = Gate::default().min_effective_share, value_name = "SHARE", value_parser = flag::share)]
    min_effective_share: f64,
    /// Fewest effective rows of the valid part that a decision may rest on.
    #[arg(long, default_value_t = Gate::default().min_effective_rows, value_name = "ROWS", value_parser = flag::at_least_0)]
    min_effective_rows: f64,
    /// How intervals are made: a studentised bootstrap, or normal, which is fast and as good where tens of thousands of
    /// rows are effective.
    #[arg(long, default_value = "bootstrap", value_name = "METHOD", conflicts_with = "paper")]
    interval: IntervalName,
    /// Use the paper's own rule (Algorithm 2) instead of the paired test behind all gates.
    #[arg(long)]
    paper: bool,
}

/// The methods a user may choose from.
#[derive(Clone, Copy, ValueEnum)]
enum IntervalName {
    Bootstrap,
    Normal,
}

impl TermArgs {
    pub(crate) fn terms(&self, seed: u64) -> Terms {
        let base = match (self.paper, self.interval) {
            (true, _) => Terms::paper(),
            (false, IntervalName::Bootstrap) => Terms::default(),
            (false, IntervalName::Normal) => Terms { interval: Method::Normal, ..Terms::default() },
        };
        Terms {
            confidence: self.confidence,
            gate: Gate {
                min_effective_share: self.min_effective_share,
                min_effective_rows: self.min_effective_rows,
                ..base.gate
            },
            seed,
            ..base
        }
    }
}

/// Decide whether a policy may be deployed: deploy, keep (the logging policy), or invalid (no decision).
///
/// The valid part says whether the test part can tell at all; then the policy is compared with the log on the test part, row
/// by row. Do not certify a policy on rows it was trained on: give the split and the seed it was learned with.
#[derive(Args)]
#[command(
    after_help = "Exit 0: deploy; 1: keep or invalid; 2: error.\n\nExample:\n  counterpoint certify policy.json log.parquet --action action --reward reward --propensity propensity --split split"
)]
pub(crate) struct Certify {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    terms: TermArgs,
    /// Seed of the split, the one the policy was learned with, and of the bootstrap.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; 0 means one a core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
    /// Write a report to this file (HTML).
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write the certificate to this file (JSON).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Certify {
    pub(crate) fn run(&self) -> Result<Done> {
        let outputs: Vec<&Path> = self.output.iter().chain(&self.report).map(PathBuf::as_path).collect();
        let args = self.target.log();
        let mut inputs = args.files()?;
        inputs.extend(self.target.file().cloned());
        output::check(&outputs, &inputs)?;
        let engine = Engine::new(self.threads)?;
        let Asked { policy, log: whole, .. } = self.target.read(&engine)?;
        let log = whole.heading();
        let parts = whole.into_parts(args.rule(self.seed))?;
        let certificate = issue(&engine, policy.as_ref(), &parts, &self.terms.terms(self.seed))?;
        tell(&certificate, &log.schema().outcome);
        let mut files = Vec::new();
        files.extend(self.output.iter().map(|path| (path.clone(), text(&certificate))));
        if let Some(path) = &self.report {
            let evidence = Evidence {
                engine: &engine,
                log: &log,
                parts: &parts,
                policy: policy.as_ref(),
                certificate: &certificate,
                recipe: None,
                selected: None,
                name: args.name(),
                split: args.split_words(self.seed),
                seed: self.seed,
            };
            files.push((path.clone(), policy_page(&explain_policy(&evidence)?)));
        }
        output::write(&files)?;
        say::wrote(&files);
        say::json(serde_json::to_value(&certificate).unwrap_or_default());
        Ok(Done::certified(&certificate))
    }
}

/// Certifies a policy on the parts of a log.
pub(crate) fn issue(engine: &Engine, policy: &dyn TargetPolicy, parts: &Parts, terms: &Terms) -> Result<Certificate> {
    certify(policy, &parts.valid.on(engine), &parts.test.on(engine), terms)
}

/// The certificate as a file.
pub(crate) fn text(certificate: &Certificate) -> String {
    // numbers and words: it cannot fail to serialise
    serde_json::to_string_pretty(certificate).unwrap_or_default() + "\n"
}

/// `policy.json` -> `policy.certificate.json`
pub(crate) fn beside(policy: &Path) -> PathBuf {
    policy.with_extension("certificate.json")
}

/// The certificate in words.
pub(crate) fn tell(c: &Certificate, outcome: &str) {
    let verdict = match c.verdict {
        Verdict::Deploy => "DEPLOY".green().to_string(),
        Verdict::Keep => "KEEP the logging policy".yellow().to_string(),
        Verdict::Invalid => "INVALID: no decision".red().to_string(),
    };
    say::heading(format_args!("Certificate: {verdict}"));
    for reason in &c.reasons {
        say::line(format_args!("  {reason}"));
    }
    let row = |name: &str, i: &Interval| {
        say::line(format_args!("  {name:<26} {:>10.4}   [{:.4}, {:.4}]", i.estimate, i.lower, i.upper));
    };
    row(&format!("{outcome} of the log"), &c.logged);
    row(&format!("{outcome} of the policy"), &c.value);
    row("difference (paired)", &c.difference);
    say::line(format_args!(
        "  one-sided p-value {:.2e}; {:.0} test rows, {:.0} effective ({:.1}%), mean weight {:.3}",
        c.p_value,
        c.test.rows,
        c.test.effective,
        100.0 * c.test.effective_share,
        c.test.mean_weight.estimate
    ));
}
