//! `counterpoint describe`: what is in the log, and what it can support.

use crate::Done;
use crate::log_args::LogArgs;
use crate::{output, say};
use clap::Args;
use counterpoint::describe::ColumnFacts;
use counterpoint::explain::explain_log;
use counterpoint::{Engine, Result, describe};
use counterpoint_report::log_page;
use std::path::PathBuf;

/// Say what a log holds, whether its propensities can be densities, and what policies it can support.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint describe log.parquet --context x0,x1 --action action --reward reward --propensity propensity"
)]
pub(crate) struct Describe {
    #[command(flatten)]
    log: LogArgs,
    /// Write a page with pictures to this file (HTML).
    #[arg(long)]
    report: Option<PathBuf>,
}

impl Describe {
    pub(crate) fn run(&self) -> Result<Done> {
        output::check(&self.report.iter().map(PathBuf::as_path).collect::<Vec<_>>(), &self.log.files()?)?;
        let log = self.log.read(&Engine::new(0)?)?;
        let facts = describe(&log)?;
        say::heading(format_args!("{} rows", facts.rows));
        say::line(format_args!(
            "  {:<14} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8}",
            "column", "mean", "std", "min", "1%", "median", "99%", "max"
        ));
        let row = |c: &ColumnFacts| {
            let q = &c.quantiles;
            let cells = [c.mean, c.std, q[0], q[1], q[3], q[5], q[6]].map(|v| format!("{:>8}", say::number(v)));
            say::line(format_args!("  {:<14} {}", say::name(&c.name, 14), cells.join(" ")));
        };
        facts.contexts.iter().chain(&facts.actions).for_each(row);
        row(&facts.outcome);
        say::line(format_args!("  {:.1}% of outcomes are not zero", 100.0 * facts.nonzero));
        let source = if facts.propensities.estimated().is_some() { " (estimated, not logged)" } else { "" };
        say::heading(format_args!("Propensities{source}"));
        let p = &facts.propensity;
        say::line(format_args!("  between {:.4} and {:.4}", p.range.0, p.range.1));
        say::line(format_args!(
            "  integrate to {:.3} ± {:.3} over the central range of actions (1, less where the log keeps to a part of it): {}",
            p.ratio,
            p.std_error,
            if p.plausible { "plausible" } else { "NOT plausible" }
        ));
        say::heading("What the log can support: n_eff/n of normal policies around an action");
        let shares: Vec<String> = facts.support[0].effective_share.iter().map(|(s, _)| format!("{s:>7}")).collect();
        say::line(format_args!("  {:>22} {}  smallest", "std / logged std:", shares.join(" ")));
        for s in &facts.support {
            let cells: Vec<String> = s.effective_share.iter().map(|(_, e)| format!("{e:>7.3}")).collect();
            let smallest = s.smallest_std.map_or("none".into(), |v| v.to_string());
            say::line(format_args!(
                "  action {:>8} ({:>3.0}%) {} {smallest:>9}",
                say::number(s.action),
                100.0 * s.level,
                cells.join(" ")
            ));
        }
        say::line("  smallest: the narrowest of these stds that passes the gate on this log");
        for w in &facts.warnings {
            say::line(format_args!("\nwarning: {w}"));
        }
        if let Some(path) = &self.report {
            let page = log_page(&explain_log(&log, &self.log.name(), &facts));
            output::write(&[(path.clone(), page)])?;
            say::line(format_args!("\nwrote the report to {}", path.display()));
        }
        say::json(serde_json::to_value(&facts).unwrap_or_default());
        Ok(Done::Yes)
    }
}
