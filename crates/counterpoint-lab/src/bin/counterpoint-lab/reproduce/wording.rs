//! Figures in words, the same on the page and in Markdown.

use super::finished::{Finished, Surroundings};

use counterpoint_lab::paper::{Cell, Claim, Effort, Value};
use counterpoint_report::words::{decimals, fixed, number};

/// The heading of everything.
pub(crate) const TITLE: &str = "The paper, again";

/// How to read a cell.
pub(crate) const READING: &str = "Numbers are ours, with their standard error; below them what the paper prints. \
    \u{25b2}: ours is larger, \u{25bc}: ours is smaller, \u{2248}: they agree within two standard errors, or as far as the \
    paper\u{2019}s digits go.";

/// A cell in words: ours, and the paper's.
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) printed: String,
}

/// A cell in words.
pub(crate) fn cell(c: &Cell) -> Said {
    match c {
        Cell::Text(text) => Said { text: text.clone(), printed: String::new() },
        Cell::Value(v) => Said { text: ours(v), printed: printed(v) },
    }
}

/// `0.804 \u{b1} 0.003`: two digits of the error and no more of the number, or one digit where the paper prints fewer; never more
/// than five decimals, which no reader compares.
fn ours(v: &Value) -> String {
    match v.error.filter(|e| *e > 0.0) {
        Some(e) if e < 1e-8 => number(v.ours),
        Some(e) => {
            let most = decimals(e).min(5);
            let d = v.paper.map_or(most, |p| (digits(p) + 1).clamp(most.saturating_sub(1), most));
            format!("{} \u{b1} {}", fixed(v.ours, d), fixed(e, d))
        }
        None if v.ours.fract() == 0.0 => fixed(v.ours, 0),
        None => number(v.ours),
    }
}

/// `paper 0.781 \u{b1} 0.004 \u{25b2}`: as many digits as are printed there.
fn printed(v: &Value) -> String {
    let Some(paper) = v.paper else { return String::new() };
    let d = digits(paper).max(v.paper_error.map_or(0, digits));
    let error = v.paper_error.map(|e| format!(" \u{b1} {}", fixed(e, d))).unwrap_or_default();
    format!("paper {}{error} {}", fixed(paper, d), against(v, paper, d))
}

/// Decimals of a number as it would be written in full.
fn digits(x: f64) -> usize {
    let text = x.to_string();
    text.find('.').map_or(0, |dot| text.len() - dot - 1).min(6)
}

/// Larger, smaller, or the same within two standard errors and the rounding of what is printed.
fn against(v: &Value, paper: f64, d: usize) -> char {
    let error = v.error.unwrap_or(0.0).hypot(v.paper_error.unwrap_or(0.0));
    let rounding = 0.5 * 10f64.powi(-(d as i32)) * (1.0 + 1e-9);
    let gap = v.ours - paper;
    match gap {
        g if g.abs() <= (2.0 * error).max(rounding) => '\u{2248}',
        g if g > 0.0 => '\u{25b2}',
        _ => '\u{25bc}',
    }
}

/// A verdict on a claim.
pub(crate) fn holds(holds: Option<bool>) -> &'static str {
    match holds {
        Some(true) => "holds",
        Some(false) => "does not hold",
        None => "cannot tell",
    }
}

/// "2 claims hold, 1 does not, 1 open"; nothing without claims.
pub(crate) fn counts(claims: &[Claim]) -> String {
    let count = |holds: Option<bool>| claims.iter().filter(|c| c.holds == holds).count();
    let (yes, no, open) = (count(Some(true)), count(Some(false)), count(None));
    let mut parts = Vec::new();
    if yes > 0 {
        parts.push(format!("{yes} {}", if yes == 1 { "claim holds" } else { "claims hold" }));
    }
    if no > 0 {
        parts.push(format!("{no} {}", if no == 1 { "does not hold" } else { "do not hold" }));
    }
    if open > 0 {
        parts.push(format!("{open} cannot be told"));
    }
    parts.join(", ")
}

/// What is there, in a sentence.
pub(crate) fn lead(kept: &[Finished], surroundings: &Surroundings) -> String {
    let claims = kept.iter().flat_map(|k| k.exhibit.claims.iter().cloned());
    let (theirs, ours): (Vec<Claim>, Vec<Claim>) = claims.partition(Claim::is_the_papers);
    let effort = match surroundings.effort {
        Effort::Quick => " A quick run: it shows that everything works, and is not for quoting.",
        Effort::Full => "",
    };
    let told = |whose: &str, claims: &[Claim]| match counts(claims) {
        none if none.is_empty() => String::new(),
        some => format!(" Of what {whose}: {some}."),
    };
    let counts = told("the paper claims", &theirs) + &told("we add", &ours);
    let plural = if kept.len() == 1 { "exhibit" } else { "exhibits" };
    format!("{} {plural} of Zenati et al., TMLR 2025, run anew.{counts}{effort}", kept.len())
}

/// Everything that decides the figures.
pub(crate) fn facts(surroundings: &Surroundings) -> Vec<(String, String)> {
    let effort = match surroundings.effort {
        Effort::Quick => "quick",
        Effort::Full => "full",
    };
    let mut facts = vec![
        ("counterpoint".to_string(), surroundings.version.clone()),
        ("effort".into(), effort.into()),
        ("seeds".into(), "fixed in every experiment".into()),
    ];
    if surroundings.files.is_empty() {
        facts.push(("data".into(), "none given: the potentials are drawn anew, Warfarin is left out".into()));
    }
    facts.extend(
        surroundings.files.iter().map(|(name, print)| ("data".to_string(), format!("{name} (sha256 {print})"))),
    );
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_they_deserve() {
        let v = Value { ours: 0.80412, error: Some(0.0031), paper: Some(0.781), paper_error: Some(0.004) };
        assert_eq!(
            (ours(&v), printed(&v)),
            ("0.8041 \u{b1} 0.0031".into(), "paper 0.781 \u{b1} 0.004 \u{25b2}".into())
        );
        let v = Value { ours: 0.611587, error: Some(0.000015), paper: Some(0.6115), paper_error: Some(0.0) };
        assert_eq!(ours(&v), "0.61159 \u{b1} 0.00002");
        let v = Value { ours: 0.7807429, error: Some(0.0000071), ..Value::default() };
        assert_eq!(ours(&v), "0.78074 \u{b1} 0.00001");
        let v = Value { ours: -8.7249, error: None, paper: Some(-8.72), paper_error: Some(0.001) };
        assert_eq!(printed(&v), "paper \u{2212}8.720 \u{b1} 0.001 \u{25bc}");
        let v = Value { ours: 0.0702, error: None, paper: Some(0.07), paper_error: None };
        assert_eq!(printed(&v), "paper 0.07 \u{2248}");
        let v = Value { ours: 100_000.0, ..Value::default() };
        assert_eq!((ours(&v), printed(&v)), ("100,000".into(), String::new()));
    }

    #[test]
    fn claims_are_counted() {
        let c = |holds| Claim { holds, ..Claim::default() };
        assert_eq!(
            counts(&[c(Some(true)), c(None), c(Some(true)), c(Some(false))]),
            "2 claims hold, 1 does not hold, 1 cannot be told"
        );
        assert_eq!(counts(&[]), "");
    }
}
