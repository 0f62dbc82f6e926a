//! Arrays to numbers and words, with care: what has no one meaning as a number is refused by name of its type.
//!
//! A cell that cannot be read becomes NaN (a number) or `None` (a word); [`why`] says later, for the one row that is
//! reported, what stood there. So that a bad row costs nothing while the others are read.

use super::super::check::Reason;
use super::cast;
use crate::error::{Error, Hint, Remedy, Result};
use crate::math;
use arrow_array::cast::AsArray;
use arrow_array::types::Decimal128Type;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_buffer::ScalarBuffer;
use arrow_schema::DataType;

/// The numbers of a column; what is missing or does not spell a number is NaN.
pub(super) fn numbers(array: &ArrayRef) -> Result<ScalarBuffer<f64>> {
    let array = plain(array)?;
    match array.data_type() {
        DataType::Utf8 => Ok(array
            .as_string::<i32>()
            .iter()
            .map(|w| w.and_then(spells).unwrap_or(f64::NAN))
            .collect::<Vec<_>>()
            .into()),
        DataType::Null => Ok(vec![f64::NAN; array.len()].into()),
        DataType::Decimal128(_, scale) => {
            let values = array.as_primitive::<Decimal128Type>();
            let exact = |v: i128| v.unsigned_abs() < 1 << 53 && (0..=22).contains(scale);
            let number = |i: usize| match values.value(i) {
                _ if values.is_null(i) => f64::NAN,
                v if exact(v) => v as f64 / math::powi(10f64, i32::from(*scale)), // both exact: one rounding, as in reading text
                _ => spells(&values.value_as_string(i)).unwrap_or(f64::NAN),
            };
            Ok((0..values.len()).map(number).collect::<Vec<_>>().into())
        }
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal256(..) => {
            let written = cast::decimals(&array).ok_or_else(|| no_number(&array))?;
            Ok(written.iter().map(|w| w.and_then(spells).unwrap_or(f64::NAN)).collect::<Vec<_>>().into())
        }
        _ => {
            let floats = cast::floats(&array).ok_or_else(|| no_number(&array))?;
            match floats.null_count() {
                0 => Ok(floats.values().clone()),
                _ => Ok(floats.iter().map(|v| v.unwrap_or(f64::NAN)).collect::<Vec<_>>().into()),
            }
        }
    }
}

fn no_number(array: &ArrayRef) -> Error {
    Error::data(format!("it holds {}, which are not numbers", array.data_type()))
}

/// The words of a column; whole numbers are written without a point, whatever their type.
pub(super) fn words(array: &ArrayRef) -> Result<StringArray> {
    let array = plain(array)?;
    cast::written(&array).ok_or_else(|| no_number(&array))
}

/// Whether a column of this type holds words rather than numbers.
pub(super) fn is_words(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_words(values),
        _ => false,
    }
}

/// Whether a column of a file without types holds words: some cell is filled, and none spells a number.
pub(super) fn looks_like_words(array: &ArrayRef) -> bool {
    let Some(cells) = array.as_string_opt::<i32>() else { return false };
    let mut filled = cells.iter().flatten().filter(|w| !absent(w)).peekable();
    filled.peek().is_some() && filled.all(|w| spells(w).is_none())
}

/// Whether all cells that are filled spell numbers, and there are some.
pub(super) fn all_numbers(cells: &StringArray) -> bool {
    let mut filled = cells.iter().flatten().filter(|w| !absent(w)).peekable();
    filled.peek().is_some() && filled.all(|w| spells(w).is_some())
}

/// Whether a cell says that there is no value.
pub(super) fn absent(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || ["na", "n/a", "nan", "null", "none"].iter().any(|w| text.eq_ignore_ascii_case(w))
}

/// A number as people and programs write it: surrounding space is no matter, true is 1 and false is 0.
pub(in super::super) fn spells(text: &str) -> Option<f64> {
    let text = text.trim();
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(1.0),
        _ if text.eq_ignore_ascii_case("false") => Some(0.0),
        _ => text.parse().ok(),
    }
}

/// What stood in a cell that is NaN; `None` where it was the number NaN itself.
pub(super) fn why(array: &ArrayRef, row: usize) -> Option<Reason> {
    let array = plain(&array.slice(row, 1)).ok()?;
    if array.is_null(0) || array.data_type() == &DataType::Null {
        return Some(Reason::new("the value is missing"));
    }
    let word = array.as_string_opt::<i32>()?.value(0);
    match word.trim() {
        "" => Some(Reason::new("the value is missing")),
        w if spells(w).is_some() => None,
        w if absent(w) => Some(Reason::new(format!("the value is missing ({w:?})"))),
        w => Some(Reason {
            what: format!("{w:?} is not a number"),
            hint: Some(
                Hint::from(super::disguise::remedy(w).unwrap_or("numbers are written like 1.5 or 2e-3"))
                    + "; "
                    + Remedy::Categorical
                    + " reads a context as words, "
                    + Remedy::DropInvalid
                    + " skips and counts such rows",
            ),
        }),
    }
}

/// The first cell that is there and does not spell a number.
pub(super) fn misspelt(array: &ArrayRef, numbers: &[f64]) -> Option<(usize, Reason)> {
    let strange = (0..numbers.len()).filter(|&i| numbers[i].is_nan());
    strange.filter_map(|i| why(array, i).map(|r| (i, r))).find(|(_, r)| r.hint.is_some())
}

/// Refuses types that are neither numbers nor words.
pub(super) fn readable(kind: &DataType) -> Result<()> {
    let refuse =
        |what: &str, hint: &str| Err(Error::data(format!("it holds {what}, which are not numbers")).hint(hint));
    match kind {
        DataType::Timestamp(..) | DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => {
            let hint = "write a number in its place, such as the hour of the day or days since a start";
            refuse("dates or times", hint)
        }
        DataType::Duration(_) | DataType::Interval(_) => refuse("durations", "write them as a number, such as seconds"),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            refuse("bytes", "write the column as numbers or as text")
        }
        DataType::Dictionary(_, values) => readable(values),
        kind if kind.is_nested() => refuse("lists or records", "write each of their entries as a column of its own"),
        _ => Ok(()),
    }
}

/// Unpacks dictionaries and the kinds of text; refuses what is neither number nor word.
fn plain(array: &ArrayRef) -> Result<ArrayRef> {
    readable(array.data_type())?;
    match array.data_type() {
        DataType::Dictionary(..) => plain(&cast::unpacked(array)?),
        DataType::LargeUtf8 | DataType::Utf8View => cast::short_text(array),
        _ => Ok(array.clone()),
    }
}
