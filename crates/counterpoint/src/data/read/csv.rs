//! CSV, cell by cell: only the cells of wanted columns are kept, as text, so that whoever needs a number can say which
//! row did not hold one.

use super::open::{Batch, columns_hint, wanted};
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use std::io::Read;
use std::sync::Arc;

/// Rows decoded at a time.
const BATCH: usize = 8192;

pub(super) struct Cells {
    reader: csv::Reader<Box<dyn Read + Send>>,
    record: csv::ByteRecord,
    header: Vec<String>,
    wanted: Vec<usize>,
    rows: usize,
    done: bool,
}

/// Opens a file and reads its header.
pub(super) fn open(from: Box<dyn Read + Send>) -> Result<Cells> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).buffer_capacity(1 << 17).from_reader(from);
    let mut record = csv::ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(|e| broken(e, 0))? {
        return Err(
            Error::data("the file is empty; not even a header is there").hint("the first line names the columns")
        );
    }
    let text = |cell: &[u8]| std::str::from_utf8(cell).map(str::to_string).map_err(|_| not_text("the header"));
    let header = record.iter().map(text).collect::<Result<Vec<_>>>()?;
    Ok(Cells { reader, record, header, wanted: Vec::new(), rows: 0, done: false })
}

impl Cells {
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    pub(super) fn choose(mut self, names: &[&str]) -> Result<Self> {
        self.wanted = wanted(&self.header, names).map_err(|e| match &self.header[..] {
            [one] if one.contains([';', '\t', '|']) => {
                e.hint(format!("the header is one cell, {one:?}: the cells must be separated by commas"))
            }
            _ => e.hint(columns_hint(&self.header, names)),
        })?;
        Ok(self)
    }

    fn batch(&mut self) -> Result<Option<Batch>> {
        let mut columns: Vec<StringBuilder> = self.wanted.iter().map(|_| StringBuilder::new()).collect();
        let from = self.rows;
        while self.rows - from < BATCH && !self.done {
            if !self.reader.read_byte_record(&mut self.record).map_err(|e| broken(e, self.rows))? {
                self.done = true;
                break;
            }
            self.rows += 1;
            let (cells, expected) = (self.record.len(), self.header.len());
            if cells != expected {
                let what = format!("it has {cells} cells, the header has {expected}");
                let hint = "a cell that holds a comma or a line end is written in quotes; is the file complete?";
                return Err(Error::data(what).at(format!("row {}", self.rows)).hint(hint));
            }
            for (&c, to) in self.wanted.iter().zip(&mut columns) {
                let place = || format!("row {}, column {:?}", self.rows, self.header[c]);
                match std::str::from_utf8(&self.record[c]).map_err(|_| not_text(&place()))? {
                    "" => to.append_null(),
                    text => to.append_value(text),
                }
            }
        }
        let rows = self.rows - from;
        let columns = columns.iter_mut().map(|c| Arc::new(c.finish()) as ArrayRef).collect();
        Ok((rows > 0).then_some(Batch { rows, columns }))
    }
}

impl Iterator for Cells {
    type Item = Result<Batch>;
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let batch = self.batch();
        self.done |= batch.is_err();
        batch.transpose()
    }
}

fn not_text(place: &str) -> Error {
    Error::data("it is not UTF-8 text")
        .at(place.to_string())
        .hint("save the file as CSV in UTF-8; is it of the format its name says?")
}

fn broken(e: csv::Error, rows: usize) -> Error {
    let what = match e.into_kind() {
        csv::ErrorKind::Io(e) => e.to_string(),
        other => format!("{other:?}"),
    };
    Error::data(what).at(format!("after row {rows}")).hint("is the file complete, and of the format its name says?")
}
