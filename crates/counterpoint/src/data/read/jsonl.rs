//! JSON lines: one object a line, its names the columns. Values of wanted columns are kept as text, as in CSV, so that the same rules say
//! what is a number, a word or missing.
//!
//! The columns are the names in the first rows; a row that lacks one has no value there. A value that is a list or an object is refused
//! where its column is wanted.

use super::open::{Batch, columns_hint, wanted};
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

/// Rows decoded at a time, and bytes of text after which fewer are.
const BATCH: usize = 8192;
const BATCH_BYTES: usize = 1 << 26;

/// A line longer than this is not a row.
const LONGEST: u64 = 1 << 26;

/// Names are looked for in so many bytes.
const HEADER: u64 = 1 << 20;

type Text = Box<dyn Read + Send>;
type Object = serde_json::Map<String, Value>;

pub(super) struct Lines {
    reader: BufReader<Text>,
    line: Vec<u8>,
    header: Vec<String>,
    wanted: Vec<usize>,
    /// Lines that were read, and rows among them.
    lines: usize,
    done: bool,
}

/// Opens a file and reads the names in its first rows.
pub(super) fn open(mut from: Text) -> Result<Lines> {
    let mut first = Vec::new();
    from.by_ref().take(HEADER).read_to_end(&mut first).map_err(|e| broken(e.to_string(), 1))?;
    let whole = first.len() < HEADER as usize;
    let mut header: Vec<String> = Vec::new();
    let mut lines = first.split(|b| *b == b'\n').enumerate().peekable();
    while let Some((i, line)) = lines.next() {
        // the last line may be cut by us
        if line.trim_ascii().is_empty() || lines.peek().is_none() && !whole && !header.is_empty() {
            continue;
        }
        for name in row(line, i + 1)?.keys() {
            if !header.contains(name) {
                header.push(name.clone());
            }
        }
    }
    if header.is_empty() {
        return Err(
            Error::data("the file is empty; there is no row in it").hint("each line is an object: {\"x\": 1.5}")
        );
    }
    let text: Text = Box::new(Cursor::new(first).chain(from));
    let reader = BufReader::with_capacity(1 << 17, text);
    Ok(Lines { reader, line: Vec::new(), header, wanted: Vec::new(), lines: 0, done: false })
}

/// The object of a line; lines count from 1.
fn row(line: &[u8], number: usize) -> Result<Object> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    serde_json::from_slice(line).map_err(|e| broken(format!("it is not an object of JSON: {e}"), number))
}

impl Lines {
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    pub(super) fn choose(mut self, names: &[&str]) -> Result<Self> {
        self.wanted = wanted(&self.header, names).map_err(|e| e.hint(columns_hint(&self.header, names)))?;
        Ok(self)
    }

    /// The next line that is not blank.
    fn next_row(&mut self) -> Result<Option<Object>> {
        loop {
            self.line.clear();
            let read = self.reader.by_ref().take(LONGEST).read_until(b'\n', &mut self.line);
            self.lines += 1;
            match read.map_err(|e| broken(e.to_string(), self.lines))? {
                0 => return Ok(None),
                n if n as u64 == LONGEST => {
                    return Err(broken(format!("it is longer than {LONGEST} bytes"), self.lines));
                }
                _ if self.line.trim_ascii().is_empty() => {}
                _ => return row(&self.line, self.lines).map(Some),
            }
        }
    }

    fn batch(&mut self) -> Result<Option<Batch>> {
        let mut columns: Vec<StringBuilder> = self.wanted.iter().map(|_| StringBuilder::new()).collect();
        let (mut rows, mut bytes) = (0, 0);
        while rows < BATCH && bytes < BATCH_BYTES {
            let Some(row) = self.next_row()? else {
                self.done = true;
                break;
            };
            rows += 1;
            bytes += self.line.len();
            for (&c, to) in self.wanted.iter().zip(&mut columns) {
                match row.get(&self.header[c]) {
                    None | Some(Value::Null) => to.append_null(),
                    Some(Value::String(text)) if text.is_empty() => to.append_null(),
                    Some(Value::String(text)) => to.append_value(text),
                    Some(Value::Number(n)) => to.append_value(n.to_string()),
                    Some(Value::Bool(b)) => to.append_value(if *b { "true" } else { "false" }),
                    Some(Value::Array(_) | Value::Object(_)) => {
                        return Err(Error::data("it holds a list or an object, which is neither a number nor a word")
                            .at(format!("line {}, column {:?}", self.lines, self.header[c]))
                            .hint("give each number a name of its own"));
                    }
                }
            }
        }
        let columns = columns.into_iter().map(|mut c| Arc::new(c.finish()) as ArrayRef).collect();
        Ok((rows > 0).then_some(Batch { rows, columns }))
    }
}

impl Iterator for Lines {
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

fn broken(what: String, line: usize) -> Error {
    Error::data(what).at(format!("line {line}")).hint("each line is an object: {\"x\": 1.5}; is the file complete?")
}
