//! Whether times sort as they happened. What does not would put early rows into the test part in silence.

use crate::error::{Error, Hint, Result};
use std::cmp::Ordering;
use std::collections::BTreeSet;

const REMEDY: &str =
    "write times as 2024-03-31T09:05:00: the year first, every number in its full width, one time zone; or as numbers";

/// Months and days of the week in English, of which three letters and more are one, and halves of a day.
const NAMES: [&str; 21] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "am",
    "pm",
];

/// Seconds, milliseconds, microseconds and nanoseconds since 1970, from 1985 to 2128.
const CLOCKS: [(f64, &str); 4] = [(1.0, "seconds"), (1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds")];
const SPAN: [f64; 2] = [5e8, 5e9];

/// Refuses numbers that count from 1970 in two units, and days in front of their year.
pub(super) fn of_numbers(times: &[f64]) -> Result<()> {
    let unit = |t: f64| CLOCKS.iter().position(|(per, _)| (SPAN[0] * per..SPAN[1] * per).contains(&t));
    let units: Vec<Option<usize>> = times.iter().map(|t| unit(*t)).collect();
    let known: BTreeSet<usize> = units.iter().flatten().copied().collect();
    if let (Some(a), Some(b), true) = (known.first(), known.last(), units.iter().all(Option::is_some))
        && a < b
    {
        return Err(Error::data(format!("times in {} and in {}", CLOCKS[*a].1, CLOCKS[*b].1))
            .hint("write all of them in one unit"));
    }
    // 31012024: in an order by size the day comes first
    let compact = |t: f64| {
        let [day, month, year] = [(t / 1e6).floor(), (t / 1e4).floor() % 100.0, t % 1e4];
        let date = (1.0..32.0).contains(&day) && (1.0..13.0).contains(&month) && (1900.0..2100.0).contains(&year);
        t.fract() == 0.0 && date
    };
    match times.iter().all(|t| compact(*t)) && times.iter().any(|t| *t != times[0]) {
        true => Err(Error::data(format!("{} has its year behind the day", times[0])).hint(REMEDY)),
        false => Ok(()),
    }
}

/// Refuses words whose order is not that of the times they seem to be.
pub(super) fn of_words(times: &[&str]) -> Result<()> {
    let different: Vec<&str> = times.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
    let refuse = |what: String| Err(Error::data(what).hint(Hint::from(REMEDY)));
    for pair in different.windows(2) {
        if !pair.iter().any(|t| is_key(t)) && by_numbers(pair[0], pair[1]) == Ordering::Greater {
            return refuse(format!("as words {:?} stands before {:?}: these times do not sort", pair[0], pair[1]));
        }
    }
    let Some(first) = different.first() else { return Ok(()) };
    let two = |of: &dyn Fn(&str) -> String| {
        let one = of(first);
        different.iter().find(|t| of(t) != one).copied()
    };
    if different.iter().all(|t| year_last(t)) && (day_first(first) || two(&|t| last_number(t).into()).is_some()) {
        return refuse(format!("{first:?} has its year behind: such times do not sort"));
    }
    if let Some(other) = different.iter().all(|t| !named(t).is_empty()).then(|| two(&|t| named(t).join(" "))).flatten()
    {
        return refuse(format!(
            "{first:?} and {other:?} have names of months, days or halves of a day, which do not sort"
        ));
    }
    let number = |t: &&&str| t.len() != 4 && t.bytes().all(|b| b.is_ascii_digit());
    if let Some(one) = different.iter().find(number)
        && let Some(other) = different.iter().find(|t| !number(t))
    {
        return refuse(format!("{one:?} is a number, and {other:?} is none"));
    }
    if different.iter().all(|t| begins_with_year(t)) {
        if let Some(other) = two(&|t| zone(t).into()) {
            return refuse(format!("{first:?} and {other:?} are times of different zones"));
        }
        // one of two ways may be shorter, but not another
        let longest = different.iter().map(|t| marks(t)).max_by_key(String::len).unwrap_or_default();
        if let Some(other) = different.iter().find(|t| !longest.starts_with(&marks(t))) {
            return refuse(format!("{other:?} is written in another way than others of these times"));
        }
    }
    Ok(())
}

/// Digits as one number, unless they are what stands behind the point of a second; all else as it is.
fn by_numbers(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (pieces(a), pieces(b));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, _) => return Ordering::Less,
            (_, None) => return Ordering::Greater,
            (Some((x, true)), Some((y, true))) => {
                let plain = |d: &str| d.trim_start_matches('0').to_string();
                let (x, y) = (plain(x), plain(y));
                x.len().cmp(&y.len()).then(x.cmp(&y))
            }
            (Some((x, _)), Some((y, _))) => x.cmp(y),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

/// Runs of digits that are numbers, and what stands between.
fn pieces(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = text;
    let (mut colon, mut fraction) = (false, false);
    std::iter::from_fn(move || {
        let digit = rest.chars().next()?.is_ascii_digit();
        let end = rest.find(|c: char| c.is_ascii_digit() != digit).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        if digit {
            return Some((piece, !fraction));
        }
        fraction = colon && (piece == "." || piece == ",");
        colon = piece.ends_with(':');
        Some((piece, false))
    })
}

/// Letters and digits mixed, as in keys that begin with a time (ULID): they sort as they are.
fn is_key(text: &str) -> bool {
    let all: Vec<(&str, bool)> = pieces(text).collect();
    let letter = |c: Option<char>| c.is_some_and(char::is_alphabetic);
    let between = |w: &&[(&str, bool)]| w[1].1 && letter(w[0].0.chars().last()) && letter(w[2].0.chars().next());
    all.windows(3).filter(between).count() > 1
}

fn begins_with_year(text: &str) -> bool {
    pieces(text).next().is_some_and(|(p, number)| number && p.len() == 4)
}

fn last_number(text: &str) -> &str {
    pieces(text).filter(|p| p.1).last().map_or("", |p| p.0)
}

/// Whether something stands before a year, and the year is the last number or is followed by a time of day.
fn year_last(text: &str) -> bool {
    let date = text.split_once(':').map_or(text, |(before, _)| before.trim_end_matches(|c: char| c.is_ascii_digit()));
    let date = if last_number(date).len() == 4 { date } else { text };
    let numbers: Vec<&str> = pieces(date).filter(|p| p.1).map(|p| p.0).collect();
    let year = |y: &&str| y.len() == 4 && ("1900".."2100").contains(y);
    numbers.len() > 1 && numbers.last().is_some_and(year) && numbers[0].len() < 4 || day_first(text)
}

/// 31.03.2024, 3/31/24 and the like, with or without a time of day.
fn day_first(text: &str) -> bool {
    let date: Vec<(&str, bool)> = pieces(text).take(5).collect();
    let [(day, true), (a, false), (month, true), (b, false), (year, true)] = date[..] else { return false };
    day.len() <= 2 && month.len() <= 2 && matches!(year.len(), 2 | 4) && a == b && matches!(a, "." | "/" | "-")
}

/// The names in a time.
fn named(text: &str) -> Vec<&'static str> {
    let words = text.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase);
    let name = |w: String| NAMES.iter().find(|n| w.len() >= n.len().min(3) && n.starts_with(&w)).copied();
    words.filter_map(name).collect()
}

/// What stands behind a time of day: `Z`, `+02:00`, or nothing.
fn zone(text: &str) -> &str {
    let Some(at) = text.find(':') else { return "" };
    let behind = &text[at..];
    behind.find(['Z', 'z', '+', '-', '\u{2212}']).map_or("", |i| &behind[i..])
}

/// What is no digit, without the zone.
fn marks(text: &str) -> String {
    let end = text.len() - zone(text).len();
    text[..end].chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_sort_are_let_pass() {
        let sorting: [&[&str]; 16] = [
            &["2024-03-31", "2024-04-01"],
            &["2024-03", "2024-03-05", "2024-03-05T10:00", "2024-03-05T10:00:30"],
            &["2024-03-05T10:00:00.5", "2024-03-05T10:00:00.123456", "2024-03-05T10:00:00"],
            &["2024-03-05 10:00:00+02:00", "2024-03-05 11:30:00+02:00"],
            &["2024-03-05T10:00:00Z", "2024-03-05T10:00:00.5Z"],
            &["2024-W05", "2024-W12"],
            &["2024Q1", "2024Q2"],
            &["Q1 2024", "Q2 2024"],
            &["a", "b", "c"],
            &["batch 001", "batch 002", "batch 010"],
            &["early", "late"],
            &["v1", "v2", "v2-final"],
            &["09:05", "10:00", "11:30"],
            &["march-1", "march-2"],
            &["marketing", "decoys"],
            &["01ARZ3NDEK9SV4RR", "01ARZ3NDEK10SV4RR", "01ARZ3NDEKTSV4RR"],
        ];
        for times in sorting {
            assert!(of_words(times).is_ok(), "{times:?}: {:?}", of_words(times));
        }
        assert!(of_numbers(&[1.7e9, 1.8e9]).is_ok() && of_numbers(&[1.0, 1.7e9, 1.7e12]).is_ok());
        assert!(of_numbers(&[20_240_131.0, 20_240_201.0]).is_ok() && of_numbers(&[]).is_ok());
    }

    #[test]
    fn times_that_do_not_sort_are_refused() {
        let wrong: [&[&str]; 18] = [
            &["2024-9-1", "2024-10-1"],
            &["9:00", "10:00"],
            &["2024-W9", "2024-W10"],
            &["t9", "t10"],
            &["v1.9", "v1.10"],
            &["03/31/2024", "04/01/2024"],
            &["31.03.2024", "01.04.2024"],
            &["31.03.24", "01.04.24"],
            &["3/31/2024 10:00", "4/1/2024 09:00"],
            &["05 Jan 2024", "05 Feb 2024"],
            &["2024 Jan", "2024 Feb"],
            &["mon", "tue"],
            &["2024-01-01 01:00 PM", "2024-01-01 02:00 AM"],
            &["Q1 2025", "Q2 2024"],
            &["2024-03-05T10:00:00+01:00", "2024-03-05T10:00:00+02:00"],
            &["2024-03-05T10:00:00Z", "2024-03-05T10:00:00"],
            &["2024-03-05", "2024/03/04"],
            &["2024-03-05", "20240306"],
        ];
        for times in wrong {
            assert!(of_words(times).is_err(), "{times:?}");
        }
        assert!(
            of_numbers(&[1.7e9, 1.7e12]).is_err() && of_numbers(&[31_012_024.0, 1_022_024.0, 20_012_024.0]).is_err()
        );
    }
}
