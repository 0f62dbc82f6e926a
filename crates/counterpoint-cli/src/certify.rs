//! `counterpoint certify`: deploy, keep, or invalid; and how every command tells a certificate.

use crate::Done;
use crate::say;
use crate::target::{Asked, TargetArgs};
use crate::{flag, output};
use clap::{Args, ValueEnum};
use counterpoint::certify::{
    Abstained, Certificate, Finding, Gate, GuardedCertificate, Guardrail, Interval, Method, Ratio, Segments, Terms,
    Verdict, abstain, certify, guard, ratio, segments,
};
use counterpoint::data::{Outcome, Parts, SplitRule};
use counterpoint::explain::{Detail, Evidence, explain_policy};
use counterpoint::learn::Guarding;
use counterpoint::policy::{SavedPolicy, TargetPolicy};
use counterpoint::portfolio::logging_policy;
use counterpoint::source::Local;
use counterpoint::{Engine, Error, Log, Result, Source};
use counterpoint_report::policy_page;
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
    /// Smallest and largest outcome that can happen, LOW,HIGH: bounds what is not seen. Without it the range of the rows is assumed.
    #[arg(long, value_name = "LOW,HIGH", value_parser = flag::range, allow_hyphen_values = true)]
    outcome_range: Option<[f64; 2]>,
    /// Say DEPLOY where the densities were estimated too; otherwise a gain is then PROMISING and ends in exit 1.
    #[arg(long)]
    trust_estimated: bool,
    /// Use the paper's own rule (Algorithm 2) instead of the paired test behind all gates.
    #[arg(long)]
    paper: bool,
}

/// Outcomes that must not become worse.
#[derive(Args)]
#[command(next_help_heading = "Certificate")]
pub(crate) struct GuardArgs {
    /// An outcome that must not become worse, repeatable: COLUMN:max+2% (at most 2% more of it), COLUMN:min-1% (at most 1% less), or an
    /// amount without %. DEPLOY then also needs every guardrail's harm to be shown below its margin; `learn` and `select` look for a
    /// policy of which that can be shown.
    #[arg(long, value_name = "COLUMN:RULE", value_parser = guardrail)]
    guardrail: Vec<Guardrail>,
}

/// A guardrail and the parts of the log with its column as the outcome.
pub(crate) type Watched = (Guardrail, Parts);

impl GuardArgs {
    /// The guardrails, each read as the outcome of the same rows.
    pub(crate) fn read(&self, rule: SplitRule, read: impl Fn(&str, Outcome) -> Result<Log>) -> Result<Vec<Watched>> {
        let of = |g: &Guardrail| Ok((g.clone(), read(&g.column, g.direction)?.into_parts(rule)?));
        self.guardrail.iter().map(of).collect()
    }
}

/// The rows that a guarded policy is learned from: train and valid of every guardrail together.
pub(crate) struct Learnt<'a>(Vec<(&'a Guardrail, Box<dyn Source + 'a>)>);

impl<'a> Learnt<'a> {
    pub(crate) fn of(watched: &'a [Watched], engine: &'a Engine) -> Result<Self> {
        let joined = |p: &'a Parts| Log::join(&[&p.train, &p.valid]);
        let of = |(g, p): &'a Watched| -> Result<(&'a Guardrail, Box<dyn Source + 'a>)> {
            Ok((g, Box::new(Local::owned(joined(p)?, engine))))
        };
        watched.iter().map(of).collect::<Result<_>>().map(Learnt)
    }

    pub(crate) fn guards(&self) -> Vec<Guarding<'_>> {
        self.0.iter().map(|(guardrail, rows)| Guarding { guardrail, rows: &**rows }).collect()
    }
}

/// The certificate with its guardrails, told; nothing without guardrails.
pub(crate) fn guarded(
    engine: &Engine,
    policy: &dyn TargetPolicy,
    certificate: &Certificate,
    watched: &[Watched],
    terms: &Terms,
) -> Result<Option<GuardedCertificate>> {
    if watched.is_empty() {
        return Ok(None);
    }
    let sources: Vec<_> = watched.iter().map(|(_, p)| (p.valid.on(engine), p.test.on(engine))).collect();
    let guards: Vec<(Guardrail, &dyn Source, &dyn Source)> = watched
        .iter()
        .zip(&sources)
        .map(|((g, _), (valid, test))| (g.clone(), valid as &dyn Source, test as &dyn Source))
        .collect();
    let guarded = guard(certificate.clone(), policy, &guards, terms)?;
    tell_guarded(&guarded);
    Ok(Some(guarded))
}

/// How a command with guardrails ends.
pub(crate) fn done(certificate: &Certificate, guarded: Option<&GuardedCertificate>) -> Done {
    match guarded {
        Some(g) if g.verdict == Verdict::Deploy => Done::Yes,
        Some(_) => Done::NotCertified,
        None => Done::certified(certificate),
    }
}

/// The methods a user may choose from.
#[derive(Clone, Copy, ValueEnum)]
enum IntervalName {
    Bootstrap,
    Normal,
}

impl TermArgs {
    pub(crate) fn gate(&self) -> Gate {
        Gate {
            min_effective_share: self.min_effective_share,
            min_effective_rows: self.min_effective_rows,
            ..Gate::default()
        }
    }

    pub(crate) fn terms(&self, seed: u64) -> Terms {
        let base = match (self.paper, self.interval) {
            (true, _) => Terms::paper(),
            (false, IntervalName::Bootstrap) => Terms::default(),
            (false, IntervalName::Normal) => Terms { interval: Method::Normal, ..Terms::default() },
        };
        Terms {
            confidence: self.confidence,
            gate: self.gate(),
            outcome_range: self.outcome_range,
            trust_estimated: self.trust_estimated,
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
    after_help = "Exit 0: deploy; 1: promising, keep or invalid; 2: error.\n\nExample:\n  counterpoint certify policy.json log.parquet --action action --reward reward --propensity propensity --split split"
)]
pub(crate) struct Certify {
    #[command(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    terms: TermArgs,
    #[command(flatten)]
    guards: GuardArgs,
    /// A context to show the gain by: its categories, or four cuts of a number. Intervals hold for all of them together.
    #[arg(long, value_name = "COLUMN")]
    by: Option<String>,
    /// A column to divide the outcome by, such as spend: shows the ratio of their means under policy and log, with intervals. The verdict stays
    /// one on the outcome itself.
    #[arg(long, value_name = "COLUMN")]
    per: Option<String>,
    /// Certify another policy instead, and write it to this file: it does what the log did in contexts where the log does not support
    /// POLICY, and what POLICY does elsewhere.
    #[arg(long, value_name = "FILE")]
    abstain: Option<PathBuf>,
    /// The logging policy as a policy file, for --abstain; without it, it is fitted on the train part (one action column).
    #[arg(long, value_name = "FILE", requires = "abstain")]
    logging_policy: Option<PathBuf>,
    /// Seed of the split, the one the policy was learned with, and of the bootstrap.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Threads; 0 means one per core.
    #[arg(long, default_value_t = 0, value_name = "N", value_parser = flag::threads, allow_negative_numbers = true)]
    threads: usize,
    /// Write a report to this file (HTML).
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Let the report show some rows of the log as they are; without it, only means and counts of ten rows and more.
    #[arg(long, requires = "report")]
    with_rows: bool,
    /// Write the certificate to this file (JSON).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Certify {
    pub(crate) fn run(&self) -> Result<Done> {
        self.target.check()?;
        let outputs: Vec<&Path> =
            self.output.iter().chain(&self.report).chain(&self.abstain).map(PathBuf::as_path).collect();
        let args = self.target.log();
        let mut inputs = args.files()?;
        inputs.extend(self.target.file().cloned());
        inputs.extend(self.logging_policy.clone());
        output::check(&outputs, &inputs)?;
        let engine = Engine::new(self.threads)?;
        let Asked { policy, log: whole, .. } = self.target.read(&engine)?;
        let log = whole.heading();
        let parts = whole.into_parts(args.rule(self.seed))?;
        let abstained = self.abstained(&engine, policy.as_ref(), &parts)?;
        let policy: Box<dyn TargetPolicy> = match &abstained {
            Some(found) => Box::new(SavedPolicy::from(found.policy.clone())),
            None => policy,
        };
        let watched = self.guards.read(args.rule(self.seed), |column, direction| {
            self.target.read_other(&engine, &log, (column, direction))
        })?;
        let certificate = issue(&engine, policy.as_ref(), &parts, &self.terms.terms(self.seed), &args.name())?;
        let by = self.by.as_ref().map(|by| self.segments(&engine, policy.as_ref(), &parts, by)).transpose()?;
        let per = self.per.as_ref().map(|per| self.ratio(&engine, policy.as_ref(), (&log, &parts), per)).transpose()?;
        let per = per.map(|ratio| (ratio.finding(&certificate), ratio));
        // a verdict is said once nothing that was asked for can be refused any more
        tell(&certificate, &log.schema().outcome);
        if let (Some(name), Some(by)) = (&self.by, &by) {
            tell_segments(name, by);
        }
        if let Some((finding, ratio)) = &per {
            tell_ratio(ratio, Some(finding));
        }
        let guarded = guarded(&engine, policy.as_ref(), &certificate, &watched, &self.terms.terms(self.seed))?;
        let mut files = Vec::new();
        if let (Some(path), Some(policy)) = (&self.abstain, policy.saved()) {
            files.push((path.clone(), policy.to_json()));
        }
        let written = written(&certificate, guarded.as_ref());
        files.extend(self.output.iter().map(|path| (path.clone(), written.clone())));
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
                detail: detail(self.with_rows),
            };
            files.push((path.clone(), policy_page(&explain_policy(&evidence)?)));
        }
        output::write(&files)?;
        say::wrote(&files);
        let mut said = match &guarded {
            Some(g) => serde_json::to_value(g),
            None => serde_json::to_value(&certificate),
        };
        if let (Ok(said), Some(by)) = (&mut said, &by) {
            said["segments"] = serde_json::to_value(by).unwrap_or_default();
        }
        if let (Ok(said), Some((finding, ratio))) = (&mut said, &per) {
            said["ratio"] = serde_json::to_value(ratio).unwrap_or_default();
            said["ratio"]["finding"] = serde_json::to_value(finding).unwrap_or_default();
        }
        if let (Ok(said), Some(found)) = (&mut said, &abstained) {
            said["abstains"] = serde_json::json!({"share": found.share, "contexts": found.contexts});
        }
        say::json(said.unwrap_or_default());
        Ok(done(&certificate, guarded.as_ref()))
    }

    /// The policy that abstains, if it is asked for.
    fn abstained(&self, engine: &Engine, policy: &dyn TargetPolicy, parts: &Parts) -> Result<Option<Abstained>> {
        if self.abstain.is_none() {
            return Ok(None);
        }
        let Some(new) = policy.saved() else {
            return Err(Error::policy("a policy that stands in columns of the log is not known in other contexts")
                .hint("--abstain needs a policy file"));
        };
        let logging = match &self.logging_policy {
            Some(path) => SavedPolicy::load(path)?,
            None => logging_policy(&parts.train.on(engine), self.seed)?.into(),
        };
        let found = abstain(&new, &logging, &parts.valid.on(engine))?;
        say::heading("The policy that abstains");
        say::wrapped(&found.to_string());
        Ok(Some(found))
    }

    /// The gain by a context.
    fn segments(&self, engine: &Engine, policy: &dyn TargetPolicy, parts: &Parts, by: &str) -> Result<Segments> {
        let (valid, test) = (parts.valid.on(engine), parts.test.on(engine));
        segments(policy, &valid, &test, by, &self.terms.terms(self.seed))
    }

    /// The outcome per unit of another column, on the test part.
    fn ratio(
        &self,
        engine: &Engine,
        policy: &dyn TargetPolicy,
        (log, parts): (&Log, &Parts),
        per: &str,
    ) -> Result<Ratio> {
        let below =
            self.target.read_other(engine, log, (per, Outcome::Cost))?.into_parts(self.target.log().rule(self.seed))?;
        ratio(policy, &parts.test.on(engine), &below.test.on(engine), &self.terms.terms(self.seed))
    }
}

fn guardrail(text: &str) -> Result<Guardrail, String> {
    text.parse().map_err(|e: Error| e.to_string().replace('\n', "; "))
}

/// The gain by a context.
fn tell_segments(by: &str, found: &Segments) {
    let level = 100.0 * found.confidence;
    say::heading(format_args!("By {by} (all intervals together at {level:.0}%)"));
    say::line(format_args!("  {:<28} {:>7} {:>9} {:>9}  {:<21}", "segment", "rows", "log", "change", "interval"));
    for s in &found.segments {
        match (&s.logged, &s.difference, &s.finding) {
            (_, _, Finding::Silent(why)) => {
                say::line(format_args!("  {:<28} cannot tell: {why}", say::short(&s.name, 28)));
            }
            (Some(l), Some(d), finding) => say::line(format_args!(
                "  {:<28} {:>7.0} {:>9} {:>9}  {:<21} {finding}",
                say::short(&s.name, 28),
                s.rows,
                say::fixed(l.estimate),
                say::fixed(d.estimate),
                format!("[{}, {}]", say::fixed(d.lower), say::fixed(d.upper)),
            )),
            _ => {}
        }
    }
}

/// A ratio of outcomes, with what follows where that is known.
pub(crate) fn tell_ratio(r: &Ratio, finding: Option<&Finding>) {
    say::heading(format_args!("{} per {}", r.outcome, r.per));
    for (name, i) in [("the log", &r.logged), ("the policy", &r.policy), ("difference (paired)", &r.difference)] {
        tell_interval(name, i);
    }
    match finding {
        Some(Finding::Silent(why)) => say::wrapped(&format!("cannot tell: {why}")),
        Some(finding) => say::line(format_args!("  {finding}; the verdict above is on {} itself", r.outcome)),
        None => {}
    }
}

/// The guardrails and the verdict on all outcomes together.
fn tell_guarded(guarded: &GuardedCertificate) {
    let kept = guarded.guardrails.iter().all(|g| g.holds);
    let (what, news) = match (kept, guarded.verdict) {
        (false, Verdict::Keep) => ("NOT all hold: KEEP", say::News::Bad),
        (false, _) => ("NOT all hold", say::News::Bad),
        (true, Verdict::Deploy) => ("all hold: DEPLOY", say::News::Good),
        (true, _) => ("all hold", say::News::Mixed),
    };
    say::news("Guardrails:", what, news);
    say::line(format_args!(
        "  {:<18} {:>9} {:>9} {:>9}  {:<21} {:>9}",
        "outcome", "log", "policy", "change", "interval", "margin"
    ));
    for g in &guarded.guardrails {
        let d = &g.difference;
        let interval = format!("[{}, {}]", say::fixed(d.lower), say::fixed(d.upper));
        let sign = g.guardrail.direction.to_user(1.0);
        say::line(format_args!(
            "  {:<18} {:>9} {:>9} {:>9}  {:<21} {:>9}  {}",
            say::short(&g.guardrail.column, 18),
            say::fixed(g.logged.estimate),
            say::fixed(g.value.estimate),
            say::fixed(d.estimate),
            interval,
            signed(sign * g.margin),
            if g.holds { "holds" } else { "not shown" }
        ));
    }
}

/// A margin, with its sign.
fn signed(v: f64) -> String {
    if v < 0.0 { say::fixed(v) } else { format!("+{}", say::fixed(v)) }
}

/// How much of the log a report shows.
pub(crate) fn detail(with_rows: bool) -> Detail {
    if with_rows { Detail::Rows } else { Detail::Aggregates }
}

/// Certifies a policy on the parts of the log of that name.
pub(crate) fn issue(
    engine: &Engine,
    policy: &dyn TargetPolicy,
    parts: &Parts,
    terms: &Terms,
    log: &str,
) -> Result<Certificate> {
    let certificate = certify(policy, &parts.valid.on(engine), &parts.test.on(engine), terms)?;
    Ok(certificate.naming(log, crate::program()))
}

/// The certificate as a file.
pub(crate) fn text(certificate: &Certificate) -> String {
    pretty(certificate)
}

/// The same, with guardrails where there are any.
pub(crate) fn written(certificate: &Certificate, guarded: Option<&GuardedCertificate>) -> String {
    guarded.map_or_else(|| text(certificate), pretty)
}

fn pretty<T: serde::Serialize>(what: &T) -> String {
    // numbers and words: it cannot fail to serialise
    serde_json::to_string_pretty(what).unwrap_or_default() + "\n"
}

/// `policy.json` -> `policy.certificate.json`
pub(crate) fn beside(policy: &Path) -> PathBuf {
    output::beside(policy, "certificate.json")
}

/// That no policy of those tried is supported by the log, told as a certificate that makes no decision.
pub(crate) fn tell_unsupported(e: &Error) {
    let hint = e.remedy().map(|h| h.words(crate::remedy::flag));
    say::news("Certificate:", "INVALID: no decision", say::News::Bad);
    say::line(format_args!("  {}", e.what()));
    hint.iter().for_each(|h| say::line(format_args!("  {h}")));
    say::json(serde_json::json!({"verdict": Verdict::Invalid, "reasons": [e.what()], "hint": hint}));
}

/// An estimate with its interval.
fn tell_interval(name: &str, i: &Interval) {
    let [estimate, lower, upper] = [i.estimate, i.lower, i.upper].map(say::fixed);
    say::line(format_args!("  {name:<26} {estimate:>10}   [{lower}, {upper}]"));
}

/// The certificate in words.
pub(crate) fn tell(c: &Certificate, outcome: &str) {
    let (verdict, news) = match c.verdict {
        Verdict::Deploy => ("DEPLOY", say::News::Good),
        Verdict::Promising => ("PROMISING, not proven: the densities are estimated", say::News::Hopeful),
        Verdict::Keep => ("KEEP the logging policy", say::News::Mixed),
        Verdict::Invalid => ("INVALID: no decision", say::News::Bad),
    };
    say::news("Certificate:", verdict, news);
    for reason in &c.reasons {
        say::line(format_args!("  {reason}"));
    }
    let row = tell_interval;
    row(&format!("{outcome} of the log"), &c.logged);
    row(&format!("{outcome} of the policy"), &c.value);
    match &c.beside {
        Some(b) => {
            row("difference (paired, DR)", &c.difference);
            row("difference (SNIPS)", &b.difference);
        }
        None => row("difference (paired)", &c.difference),
    }
    let effective = match c.test.clusters {
        None => format!(", {:.0} effective ({:.1}%)", c.test.effective, 100.0 * c.test.effective_share),
        Some(all) => format!(" in {all:.0} clusters, {:.0} effective ones", c.test.effective),
    };
    say::line(format_args!(
        "  one-sided p-value {:.2e}; {:.0} test rows{effective}, mean weight {:.3}",
        c.p_value, c.test.rows, c.test.mean_weight.estimate
    ));
    if let Some(overturn) = &c.overturn {
        say::line("\n  What would overturn this?");
        overturn.to_string().lines().for_each(say::wrapped);
    }
    say::line(format_args!("  {}", c.subject));
}
