//! Arrow's types to the three we read: f64, i64 and text. Every cast is exact or the nearest f64.
//!
//! Written out rather than taken from arrow-cast, which with what it needs is a third of the time of a cold build.

use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, StringArray};
use arrow_schema::DataType;
use std::sync::Arc;

/// Words of one batch that take more bytes are no words.
const MOST_TEXT: usize = 1 << 28;

/// The values of a dictionary, row by row.
pub(super) fn unpacked(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(packed) = array.as_any_dictionary_opt() else { return Ok(array.clone()) };
    // one long word, named by every row, would be written out as often
    let longest = text(packed.values()).map_or(0, |w| w.iter().flatten().map(str::len).max().unwrap_or_default());
    if longest.saturating_mul(array.len()) > MOST_TEXT {
        return Err(too_long(longest));
    }
    arrow_select::take::take(packed.values(), packed.keys(), None).map_err(|e| Error::data(e.to_string()))
}

/// The refusal of a column of long texts.
fn too_long(longest: usize) -> Error {
    Error::data(format!("it holds words of up to {longest} bytes")).hint("leave the column out")
}

/// Text of any width as it is read here; a few thousand rows that hold more than [`MOST_TEXT`] are refused.
pub(super) fn short_text(array: &ArrayRef) -> Result<ArrayRef> {
    let longest = || match array.as_string_view_opt() {
        Some(words) => words.iter().flatten().map(str::len).max(),
        None => array.as_string_opt::<i64>().and_then(|words| words.iter().flatten().map(str::len).max()),
    };
    text(array).map(|words| Arc::new(words) as ArrayRef).ok_or_else(|| too_long(longest().unwrap_or_default()))
}

/// Text of any width; `None` for other types, and for more of it than [`MOST_TEXT`].
pub(super) fn text(array: &ArrayRef) -> Option<StringArray> {
    match array.data_type() {
        DataType::Utf8 => Some(array.as_string::<i32>().clone()),
        DataType::LargeUtf8 => {
            let words = array.as_string::<i64>();
            fits(words.iter()).then(|| words.iter().collect())
        }
        DataType::Utf8View => {
            let words = array.as_string_view();
            fits(words.iter()).then(|| words.iter().collect())
        }
        _ => None,
    }
}

/// Whether words can be written out.
fn fits<'a>(words: impl Iterator<Item = Option<&'a str>>) -> bool {
    words.flatten().map(str::len).sum::<usize>() <= MOST_TEXT
}

/// Runs `$with` with `$values`, the array as one of primitive type, if it is a number or a truth value of these types.
macro_rules! primitive {
    ($array:expr, $values:ident => $with:expr, $($kind:ident : $ty:ty),+) => {
        match $array.data_type() {
            $( DataType::$kind => { let $values = $array.as_primitive::<$ty>(); Some($with) } )+
            _ => None,
        }
    };
}

/// Whole numbers as i64; `None` for other types, and for u64, which has more.
pub(super) fn integers(array: &ArrayRef) -> Option<Int64Array> {
    if let Some(same) = array.as_primitive_opt::<Int64Type>() {
        return Some(same.clone());
    }
    primitive!(array, v => v.unary(i64::from),
        Int8: Int8Type, Int16: Int16Type, Int32: Int32Type,
        UInt8: UInt8Type, UInt16: UInt16Type, UInt32: UInt32Type)
}

/// Numbers and truth values as f64 (true is 1); `None` for other types.
pub(super) fn floats(array: &ArrayRef) -> Option<Float64Array> {
    if let Some(whole) = integers(array) {
        return Some(whole.unary(|v| v as f64));
    }
    match array.data_type() {
        DataType::Boolean => Some(array.as_boolean().iter().map(|v| v.map(|v| f64::from(u8::from(v)))).collect()),
        DataType::Float64 => Some(array.as_primitive::<Float64Type>().clone()),
        DataType::Float32 => Some(array.as_primitive::<Float32Type>().unary(f64::from)),
        DataType::Float16 => Some(array.as_primitive::<Float16Type>().unary(f64::from)),
        DataType::UInt64 => Some(array.as_primitive::<UInt64Type>().unary(|v| v as f64)),
        _ => None,
    }
}

/// Decimal numbers as they are written out; `None` for other types.
pub(super) fn decimals(array: &ArrayRef) -> Option<StringArray> {
    macro_rules! written {
        ($ty:ty) => {{
            let v = array.as_primitive::<$ty>();
            Some((0..v.len()).map(|i| (!v.is_null(i)).then(|| v.value_as_string(i))).collect())
        }};
    }
    match array.data_type() {
        DataType::Decimal32(..) => written!(Decimal32Type),
        DataType::Decimal64(..) => written!(Decimal64Type),
        DataType::Decimal128(..) => written!(Decimal128Type),
        DataType::Decimal256(..) => written!(Decimal256Type),
        _ => None,
    }
}

/// Every type that has a meaning as a word, as text; whole numbers without a point.
pub(super) fn written(array: &ArrayRef) -> Option<StringArray> {
    if let Some(whole) = integers(array) {
        return Some(whole.iter().map(|v| v.map(|v| v.to_string())).collect());
    }
    match array.data_type() {
        DataType::Null => Some(StringArray::new_null(array.len())),
        DataType::Boolean => Some(array.as_boolean().iter().map(|v| v.map(|v| v.to_string())).collect()),
        DataType::UInt64 => Some(array.as_primitive::<UInt64Type>().iter().map(|v| v.map(|v| v.to_string())).collect()),
        DataType::Float16 | DataType::Float32 | DataType::Float64 => {
            // NaN is how some programs write a missing number
            Some(floats(array)?.iter().map(|v| v.filter(|v| !v.is_nan()).map(|v| v.to_string())).collect())
        }
        _ => text(array).or_else(|| decimals(array)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::*;

    /// A column with gaps, where it could be read at all.
    type Cells<T> = Option<Vec<Option<T>>>;

    fn read(array: impl Array + 'static) -> (Cells<f64>, Cells<String>) {
        let array: ArrayRef = Arc::new(array);
        let array = unpacked(&array).unwrap();
        let words = written(&array).map(|w| w.iter().map(|w| w.map(str::to_string)).collect());
        (floats(&array).map(|f| f.iter().collect()), words)
    }

    #[test]
    fn every_number_is_itself() {
        let both = |words: [&str; 2]| Some(vec![Some(words[0].to_string()), None, Some(words[1].to_string())]);
        let want = Some(vec![Some(3.0), None, Some(100.0)]);
        macro_rules! whole {
            ($($array:ident),+) => { $(
                let (numbers, words) = read($array::from(vec![Some(3), None, Some(100)]));
                assert_eq!((&numbers, words), (&want, both(["3", "100"])), stringify!($array));
            )+ };
        }
        whole!(Int8Array, Int16Array, Int32Array, Int64Array, UInt8Array, UInt16Array, UInt32Array, UInt64Array);
        let (numbers, words) = read(Float32Array::from(vec![Some(3.0), None, Some(100.0)]));
        assert_eq!((numbers, words), (want, both(["3", "100"])));
        let (numbers, words) = read(BooleanArray::from(vec![Some(true), None, Some(false)]));
        assert_eq!((numbers, words), (Some(vec![Some(1.0), None, Some(0.0)]), both(["true", "false"])));
        assert_eq!(read(UInt64Array::from(vec![u64::MAX])).1.unwrap()[0].as_deref(), Some("18446744073709551615"));
    }

    #[test]
    fn text_dictionaries_and_decimals_are_written_out() {
        let words = Some(vec![Some("a".to_string()), None, Some("b".to_string())]);
        let cells = vec![Some("a"), None, Some("b")];
        assert_eq!(read(LargeStringArray::from(cells.clone())).1, words);
        assert_eq!(read(StringViewArray::from(cells.clone())).1, words);
        assert_eq!(read(cells.into_iter().collect::<DictionaryArray<Int8Type>>()).1, words);
        let numbers = DictionaryArray::new(
            Int8Array::from(vec![Some(1), None, Some(0)]),
            Arc::new(Float64Array::from(vec![0.5, 2.5])),
        );
        assert_eq!(read(numbers).0, Some(vec![Some(2.5), None, Some(0.5)]));
        let decimal = Decimal64Array::from(vec![Some(-125), None]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(read(decimal), (None, Some(vec![Some("-1.25".to_string()), None])));
    }
}
