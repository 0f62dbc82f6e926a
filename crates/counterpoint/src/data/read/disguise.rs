//! Words that are numbers or dates in disguise.
//!
//! A column of words becomes a category. That is right for cities and wrong for "0,5", "50%" or "2024-03-01": such a column would
//! become hundreds of levels, in silence. So a column of words of which more than half look like one of these is refused, with the
//! remedy; who really wants categories names the column as categorical.

use arrow_array::StringArray;

/// What the words really are, and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Disguise {
    pub(super) what: &'static str,
    pub(super) remedy: &'static str,
}

/// Whether a cell looks like something.
type Looks = fn(&str) -> bool;

/// How many cells are looked at.
const LOOKED_AT: usize = 100;

/// Each kind: how to tell it, what it is, what to do.
const KINDS: [(Looks, Disguise); 4] = [
    (
        is_date,
        Disguise {
            what: "dates or times",
            remedy: "write a number in its place, such as the hour of the day or days since a start",
        },
    ),
    (is_percent, Disguise { what: "percentages", remedy: "write 50% as 0.5" }),
    (is_decimal_comma, Disguise { what: "numbers with a decimal comma", remedy: "write 0,5 as 0.5" }),
    (is_money, Disguise { what: "amounts with a currency sign", remedy: "write $5 as 5, without the sign" }),
];

/// The disguise that most cells wear, if they wear one.
pub(super) fn disguise(words: &StringArray) -> Option<Disguise> {
    let filled = words.iter().flatten().filter(|w| !super::cells::absent(w)).map(str::trim);
    let cells: Vec<&str> = filled.take(LOOKED_AT).collect();
    let most = |is: Looks| 2 * cells.iter().filter(|c| is(c)).count() > cells.len();
    KINDS.iter().find(|(is, _)| most(*is)).map(|(_, d)| *d)
}

/// What to do about a cell that wears a disguise.
pub(super) fn remedy(word: &str) -> Option<&'static str> {
    KINDS.iter().find(|(is, _)| is(word)).map(|(_, d)| d.remedy)
}

/// Digits, in groups of the given lengths, between separators; whatever follows a space or a T is a time.
fn is_date(word: &str) -> bool {
    let (day, time) = word.split_once(['T', ' ']).unwrap_or((word, ""));
    let groups = |text: &str, by: char| -> Vec<usize> {
        let parts: Vec<&str> = text.split(by).collect();
        match parts.iter().all(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit())) {
            true => parts.iter().map(|p| p.len()).collect(),
            false => Vec::new(),
        }
    };
    let day_like = |text: &str| {
        ['-', '/', '.'].iter().any(|by| matches!(groups(text, *by)[..], [4, 1 | 2, 1 | 2] | [1 | 2, 1 | 2, 2 | 4]))
    };
    let clock = |text: &str| {
        let text = text.trim_end_matches('Z').split(['+', '.']).next().unwrap_or_default();
        matches!(groups(text, ':')[..], [1 | 2, 2] | [1 | 2, 2, 2])
    };
    (day_like(day) && (time.is_empty() || clock(time))) || (time.is_empty() && clock(day))
}

fn is_percent(word: &str) -> bool {
    word.strip_suffix('%').is_some_and(|w| w.trim().replace(',', ".").parse::<f64>().is_ok())
}

fn is_decimal_comma(word: &str) -> bool {
    word.contains(',') && word.replace('.', "").replacen(',', ".", 1).parse::<f64>().is_ok()
}

fn is_money(word: &str) -> bool {
    let bare = word.trim_start_matches(['$', '€', '£', '¥']).trim_end_matches(['$', '€', '£', '¥']);
    bare != word && bare.trim().replace(',', "").parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_dates_are_recognised_and_words_are_not() {
        let of = |words: &[&str]| disguise(&StringArray::from(words.to_vec())).map(|d| d.what);
        for dates in [
            &["2024-03-01", "2024-3-2"][..],
            &["01.02.2024"],
            &["3/4/24"],
            &["2024-03-01T10:00:00Z", "2024-03-01 10:00"],
            &["10:30", "9:05:01"],
        ] {
            assert_eq!(of(dates), Some("dates or times"), "{dates:?}");
        }
        assert_eq!(of(&["50%", "7.5 %"]), Some("percentages"));
        assert_eq!(of(&["0,5", "1.234,5", "-2,25"]), Some("numbers with a decimal comma"));
        assert_eq!(of(&["$5", "€1,000.50"]), Some("amounts with a currency sign"));
        // a few words among them, or gaps, are no disguise of a disguise
        assert_eq!(of(&["0,5", "NA", "0,7", "unknown"]), Some("numbers with a decimal comma"));
        for words in [&["Berlin", "0,5"][..], &["a-b-c"], &["1-2-3-4"], &["", ""], &["v1.2.3"], &["12:345"]] {
            assert_eq!(of(words), None, "{words:?}");
        }
    }
}
