//! Checksums of columns, in the Parquet and Arrow files that we write: what a disk or a wire has changed since is found.
//!
//! They stand beside the columns under [`KEY`] and hold for files of ours alone: another program that rewrites a table may keep the
//! key and change the numbers. So they are believed only where the file says that we wrote it (Parquet), or stand where other
//! programs do not carry them along (the footer of an Arrow file).

use super::super::checksum::Checksum;
use crate::error::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{ArrayRef, RecordBatch};
use std::collections::BTreeMap;

/// Where they stand in a file. The sums that stood under `counterpoint.checksums` missed changes that came in pairs; such files are read
/// without a check.
pub(in super::super) const KEY: &str = "counterpoint.checksums.2";

/// What a Parquet file of ours says of its writer.
pub(in super::super) const WRITER: &str = concat!("counterpoint version ", env!("CARGO_PKG_VERSION"));

/// The checksums of a table, as text.
pub(in super::super) fn of(batch: &RecordBatch) -> String {
    let one = |(i, column): (usize, &ArrayRef)| {
        let mut sum = Checksum::default();
        add(&mut sum, column);
        (batch.schema().field(i).name().clone(), sum.to_string())
    };
    let all: BTreeMap<String, String> = batch.columns().iter().enumerate().map(one).collect();
    serde_json::to_string(&all).unwrap_or_default() // names and digits: it cannot fail
}

/// Adds the values of a column; types that we do not write add nothing.
fn add(sum: &mut Checksum, column: &ArrayRef) {
    if let Some(v) = column.as_primitive_opt::<Float64Type>() {
        v.iter().for_each(|v| sum.add_word(v.unwrap_or(f64::NAN).to_bits()));
    } else if let Some(v) = column.as_primitive_opt::<Int64Type>() {
        v.iter().for_each(|v| sum.add_word(v.unwrap_or_default() as u64));
    } else if let Some(v) = column.as_string_opt::<i32>() {
        v.iter().for_each(|word| add_text(sum, word));
    } else if let Some(v) = column.as_string_view_opt() {
        v.iter().for_each(|word| add_text(sum, word)); // the same text, as it is read from Parquet
    }
}

fn add_text(sum: &mut Checksum, word: Option<&str>) {
    let word = word.unwrap_or_default();
    sum.add_word(word.len() as u64);
    sum.add(word.as_bytes());
}

/// Checksums on their way through a file.
pub(super) struct Sums {
    /// The columns that are read: name, what the file says, what was found so far.
    columns: Vec<(String, String, Checksum)>,
}

impl Sums {
    /// Of these columns, where the file has checksums of all of them.
    pub(super) fn new(text: Option<&str>, names: &[&str]) -> Option<Self> {
        let mut said: BTreeMap<String, String> = serde_json::from_str(text?).ok()?;
        let column = |n: &&str| Some((n.to_string(), said.remove(*n)?, Checksum::default()));
        Some(Sums { columns: names.iter().map(column).collect::<Option<_>>()? })
    }

    /// More rows, in the order of the names.
    pub(super) fn add(&mut self, columns: &[ArrayRef]) {
        self.columns.iter_mut().zip(columns).for_each(|((_, _, sum), column)| add(sum, column));
    }

    /// After the last row.
    pub(super) fn check(&self) -> Result<()> {
        match self.columns.iter().find(|(_, said, sum)| *said != sum.to_string()) {
            Some((name, ..)) => Err(Error::data("its values are not those that were written: the file is damaged")
                .at(format!("column {name:?}"))
                .hint("copy the file again, or write it again")),
            None => Ok(()),
        }
    }
}
