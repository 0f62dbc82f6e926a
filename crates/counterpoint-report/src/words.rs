//! Numbers as words: every figure in the report is written by one of these, so that equal things look equal.

use counterpoint::certify::Interval;

/// What stands where there is no number.
const NONE: &str = "n/a";

/// A number with `decimals` places, thousands separated, and a true minus sign. Zero has no sign.
pub fn fixed(x: f64, decimals: usize) -> String {
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
pub fn signed(x: f64, decimals: usize) -> String {
    let text = fixed(x, decimals);
    let positive = x > 0.0 && text.bytes().any(|b| (b'1'..=b'9').contains(&b));
    if positive { format!("+{text}") } else { text }
}

/// How many decimals a figure deserves whose uncertainty is `half_width`: two digits of it, no more.
pub fn decimals(half_width: f64) -> usize {
    if !half_width.is_finite() || half_width <= 0.0 {
        return 4;
    }
    (1.0 - half_width.log10().floor()).clamp(0.0, 8.0) as usize
}

/// Half the width of an interval.
pub(crate) fn half(i: &Interval) -> f64 {
    (i.upper - i.lower) / 2.0
}

/// Four significant digits; very large and very small numbers in powers of ten.
pub fn number(x: f64) -> String {
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
pub fn short(x: f64) -> String {
    let text = number(x);
    if text.contains('.') && !text.contains('e') {
        text.trim_end_matches('0').trim_end_matches('.').into()
    } else {
        text
    }
}

/// A count of rows.
pub fn count(x: f64) -> String {
    fixed(x, 0)
}

/// A share as a percentage; small shares keep two digits.
pub fn percent(share: f64) -> String {
    let x = 100.0 * share;
    let places = if x != 0.0 && x.abs() < 0.1 { decimals(x.abs()).min(4) } else { 1 };
    if x.is_finite() { format!("{}%", fixed(x, places)) } else { NONE.into() }
}

/// A level of confidence: 95%, 97.5%.
pub fn level(confidence: f64) -> String {
    format!("{}%", short(100.0 * confidence))
}

/// A p-value as statisticians write it.
pub fn p_value(p: f64) -> String {
    if p < 0.001 { "p < 0.001".into() } else { format!("p = {}", fixed(p, 3)) }
}

/// The text, cut to `most` characters with an ellipsis.
pub fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most.saturating_sub(1)).chain(['\u{2026}']).collect()
}

/// The text with the five characters that mean something to HTML written as entities, and control characters, which XML
/// forbids, as the replacement character.
pub fn escape(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_one_way() {
        assert_eq!(fixed(-1234567.891, 1), "\u{2212}1,234,567.9");
        assert_eq!([fixed(-0.0001, 2), signed(0.0001, 2), signed(-0.2, 1)], ["0.00", "0.00", "\u{2212}0.2"]);
        assert_eq!(
            [number(0.81), number(417.26), number(0.0), number(1e-9)],
            ["0.8100", "417.3", "0", "1.00e\u{2212}9"]
        );
        assert_eq!([short(0.81), short(1000.0), short(f64::NAN)], ["0.81", "1,000", "n/a"]);
        assert_eq!([decimals(0.012), decimals(0.0031), decimals(25.0), decimals(0.0)], [3, 4, 0, 4]);
        assert_eq!([percent(0.0417), percent(0.0001), count(10_000.4)], ["4.2%", "0.010%", "10,000"]);
        assert_eq!([p_value(0.0004), p_value(0.0312)], ["p < 0.001", "p = 0.031"]);
    }
}
