//! Numbers with a decimal comma, as spreadsheets of half the world write them into files that are separated by semicolons or tabs.
//!
//! "0,5" is then a half. "1,234" could be either of two numbers; a column in which every comma looks like that is refused.

use crate::error::{Error, Result};
use arrow_array::StringArray;

/// A column with its commas as points, where all cells with a comma are numbers.
pub(super) fn pointed(cells: StringArray) -> Result<StringArray> {
    let mut with = cells.iter().flatten().filter(|c| c.contains(',')).peekable();
    if with.peek().is_none() || !with.clone().all(is_number) {
        return Ok(cells);
    }
    if with.clone().all(is_doubtful) {
        let one = with.next().unwrap_or_default();
        return Err(Error::data(format!("{one:?} could be {} or {}", one.replace(',', "."), one.replace(',', "")))
            .hint("write numbers with a point and without marks between thousands"));
    }
    Ok(cells.iter().map(|c| c.map(|c| c.replace(',', "."))).collect())
}

/// One comma, no point, and a number with a point in its place.
fn is_number(cell: &str) -> bool {
    let points = cell.replace(',', ".");
    cell.matches(',').count() == 1 && !cell.contains('.') && super::spells(&points).is_some()
}

/// Three digits behind the comma and one to three before it that do not begin with 0.
fn is_doubtful(cell: &str) -> bool {
    let Some((whole, part)) = cell.trim().trim_start_matches(['+', '-']).split_once(',') else { return false };
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    part.len() == 3 && digits(part) && (1..=3).contains(&whole.len()) && digits(whole) && !whole.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal_commas_are_read_doubts_are_refused_and_words_stay() {
        let of = |cells: &[&str]| {
            let done = pointed(StringArray::from(cells.to_vec()));
            done.map(|a| a.iter().flatten().map(String::from).collect::<Vec<_>>()).map_err(|e| e.to_string())
        };
        assert_eq!(of(&["0,5", "3", "-1,25e-3"]).unwrap(), ["0.5", "3", "-1.25e-3"]);
        assert_eq!(of(&["1,250", "0,375"]).unwrap(), ["1.250", "0.375"]);
        assert!(of(&["1,250", "7"]).unwrap_err().contains("\"1,250\" could be 1.250 or 1250"));
        assert_eq!(of(&["Rome, Italy", "0,5"]).unwrap(), ["Rome, Italy", "0,5"]);
        assert_eq!(of(&["1,234.5"]).unwrap(), ["1,234.5"]);
    }
}
