//! Numbers as words: every figure in the report is written by one of these, so that equal things look equal.

/// What stands where there is no number.
const NONE: &str = "n/a";

/// A number with `decimals` places, thousands separated, and a true minus sign. Zero has no sign.
pub(crate) fn fixed(x: f64, decimals: usize) -> String {
    if !x.is_finite() {
        return NONE.into();
    }
    let text = format!("{:.decimals$}", x.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let mut out = String::new();
    if x < 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b)) {
        out.push('\u{2212}');
    }
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

/// As [`fixed`], with a plus sign before what is positive: for differences.
pub(crate) fn signed(x: f64, decimals: usize) -> String {
    let text = fixed(x, decimals);
    let positive = x > 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if positive { format!("+{text}") } else { text }
}

/// How many decimals a figure deserves whose uncertainty is `half_width`: two digits of it, no more.
pub(crate) fn decimals(half_width: f64) -> usize {
    if !half_width.is_finite() || half_width <= 0.0 {
        return 4;
    }
    (1.0 - half_width.log10().floor()).clamp(0.0, 8.0) as usize
}

/// Four significant digits; very large and very small numbers in powers of ten.
pub(crate) fn number(x: f64) -> String {
    let size = x.abs();
    if !x.is_finite() {
        NONE.into()
    } else if size == 0.0 {
        "0".into()
    } else if !(1e-4..1e7).contains(&size) {
        format!("{x:.2e}").replace('-', "\u{2212}")
    } else {
        fixed(x, (3.0 - size.log10().floor()).clamp(0.0, 8.0) as usize)
    }
}

/// As [`number`], without the zeros at the end: for ticks and tooltips.
pub(crate) fn short(x: f64) -> String {
    let text = number(x);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        text
    }
}

/// A count of rows.
pub(crate) fn count(x: f64) -> String {
    fixed(x, 0)
}

/// A share as a percentage; small shares keep two digits.
pub(crate) fn percent(share: f64) -> String {
    let x = 100.0 * share;
    let places = if x != 0.0 && x.abs() < 0.1 { decimals(x.abs()).min(4) } else { 1 };
    if x.is_finite() { format!("{}%", fixed(x, places)) } else { NONE.into() }
}

/// A level of confidence: 95%, 97.5%.
pub(crate) fn level(confidence: f64) -> String {
    format!("{}%", short(100.0 * confidence))
}

/// A p-value as statisticians write it.
pub(crate) fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".into() } else { format!("p = {}", fixed(p, 3)) }
}

/// The text, cut to `most` characters with an ellipsis.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect()
}

/// The text with the five characters that mean something to HTML written as entities, and control characters, which XML
/// forbids, as the replacement character.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
