//! CSV, cell by cell: only the cells of wanted columns are kept, as text, so that whoever needs a number can say which
//! row did not hold one.
//!
//! Cells are separated by what separates the names in the header: a comma, a semicolon, a tab or a bar.

use super::comma::pointed;
use super::open::{Batch, columns_hint, wanted};
use super::quotes::Guarded;
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use std::io::{Cursor, Read};
use std::sync::Arc;

/// Rows decoded at a time, and bytes of text after which fewer are.
const BATCH: usize = 8192;
const BATCH_BYTES: usize = 1 << 26;

/// What may stand between cells.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// The header is looked for in so many bytes.
const HEADER: u64 = 1 << 20;

type Text = Box<dyn Read + Send>;

pub(super) struct Cells {
    reader: csv::Reader<Guarded<Text>>,
    record: csv::ByteRecord,
    header: Vec<String>,
    delimiter: u8,
    wanted: Vec<usize>,
    rows: usize,
    done: bool,
}

/// Opens a file and reads its header.
pub(super) fn open(mut from: Text) -> Result<Cells> {
    let mut first = Vec::new();
    from.by_ref().take(HEADER).read_to_end(&mut first).map_err(|e| broken(e.into(), 0))?;
    let delimiter = delimiter(&first);
    let whole: Text = Box::new(Cursor::new(first).chain(from));
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter)
        .buffer_capacity(1 << 17)
        .from_reader(Guarded::new(whole, delimiter));
    let mut record = csv::ByteRecord::new();
    if !reader.read_byte_record(&mut record).map_err(|e| broken(e, 0))? {
        return Err(
            Error::data("the file is empty; not even a header is there").hint("the first line names the columns")
        );
    }
    let text = |cell: &[u8]| std::str::from_utf8(cell).map(|c| bare(c).to_string()).map_err(|_| not_text("the header"));
    let header = record.iter().map(text).collect::<Result<Vec<_>>>()?;
    Ok(Cells { reader, record, header, delimiter, wanted: Vec::new(), rows: 0, done: false })
}

/// Whether a spreadsheet would compute a cell.
pub(in super::super) fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// A cell without the apostrophe that keeps spreadsheets from computing it.
fn bare(cell: &str) -> &str {
    match cell.strip_prefix('\'') {
        Some(rest) if is_formula(rest.trim_start_matches('\'')) => rest,
        _ => cell,
    }
}

/// What separates the names of a header, quoted names aside; a comma where nothing does.
fn delimiter(text: &[u8]) -> u8 {
    let mut counts = [0usize; DELIMITERS.len()];
    let mut quoted = false;
    for byte in text {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            b => DELIMITERS.iter().position(|d| d == b).into_iter().for_each(|i| counts[i] += 1),
        }
    }
    let most = (0..DELIMITERS.len()).rev().max_by_key(|&i| counts[i]).unwrap_or_default(); // the first of equals
    DELIMITERS[most]
}

impl Cells {
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    pub(super) fn choose(mut self, names: &[&str]) -> Result<Self> {
        self.wanted = wanted(&self.header, names).map_err(|e| e.hint(columns_hint(&self.header, names)))?;
        Ok(self)
    }

    fn batch(&mut self) -> Result<Option<Batch>> {
        let mut columns: Vec<StringBuilder> = self.wanted.iter().map(|_| StringBuilder::new()).collect();
        let (from, mut bytes) = (self.rows, 0);
        while self.rows - from < BATCH && bytes < BATCH_BYTES && !self.done {
            if !self.reader.read_byte_record(&mut self.record).map_err(|e| broken(e, self.rows))? {
                self.done = true;
                break;
            }
            self.rows += 1;
            self.check_row()?;
            for (&c, to) in self.wanted.iter().zip(&mut columns) {
                let place = || format!("row {}, column {:?}", self.rows, self.header[c]);
                match std::str::from_utf8(&self.record[c]).map_err(|_| not_text(&place()))? {
                    "" => to.append_null(),
                    text => to.append_value(bare(text)),
                }
                bytes += self.record[c].len();
            }
        }
        let rows = self.rows - from;
        let mut arrays: Vec<ArrayRef> = Vec::new();
        for (&c, mut column) in self.wanted.iter().zip(columns) {
            let cells = column.finish();
            let place = |e: Error| e.at(format!("after row {from}, column {:?}", self.header[c]));
            arrays.push(Arc::new(if self.delimiter == b',' { cells } else { pointed(cells).map_err(place)? }));
        }
        Ok((rows > 0).then_some(Batch { rows, columns: arrays }))
    }

    /// As many cells as the header has, and none that holds rows of the file.
    fn check_row(&self) -> Result<()> {
        let (cells, expected) = (self.record.len(), self.header.len());
        let place = || format!("row {}", self.rows);
        if cells != expected {
            let what = format!("it has {cells} cells, the header has {expected}");
            let hint = "a cell that holds a comma or a line end is written in quotes; is the file complete?";
            return Err(Error::data(what).at(place()).hint(hint));
        }
        if expected < 2 || !self.record.as_slice().contains(&b'\n') {
            return Ok(());
        }
        // a quote that is closed by mistake, many rows later
        let row = |line: &[u8]| line.iter().filter(|b| **b == self.delimiter).count() + 1 == expected;
        let swallowed = |cell: &[u8]| {
            let lines: Vec<&[u8]> = cell.split(|b| *b == b'\n').collect();
            lines.len() > 2 && lines[1..lines.len() - 1].iter().any(|l| row(l))
        };
        match (0..cells).find(|&c| swallowed(&self.record[c])) {
            Some(c) => Err(Error::data("the cell holds whole rows of the file")
                .at(format!("{}, column {:?}", place(), self.header[c]))
                .hint("is a quote not closed? A quote inside a cell is written twice")),
            None => Ok(()),
        }
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
    let hint = match what.contains("quote") {
        true => "a cell that begins with a quote ends with one; a quote inside it is written twice",
        false => "is the file complete, and of the format its name says?",
    };
    Error::data(what).at(format!("after row {rows}")).hint(hint)
}
