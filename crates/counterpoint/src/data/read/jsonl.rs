//! JSON lines: one object a line, its names the columns. Values of wanted columns are kept as text, as in CSV, so that the same rules say
//! what is a number, a word or missing.
//!
//! The columns are the names in the first rows; a row that lacks one has no value there. A value that is a list or an object is refused
//! where its column is wanted, and so is a row that names it twice: nobody could tell which of the two was meant.

use super::open::{Batch, columns_hint, wanted};
use crate::error::{Error, Result};
use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::fmt;
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

pub(super) struct Lines {
    reader: BufReader<Text>,
    line: Vec<u8>,
    header: Vec<String>,
    /// The places of the wanted columns among them, by name.
    wanted: HashMap<String, usize>,
    /// Lines that were read, and rows among them.
    lines: usize,
    done: bool,
}

/// Opens a file and reads the names in its first rows.
pub(super) fn open(mut from: Text) -> Result<Lines> {
    let mut first = Vec::new();
    from.by_ref().take(HEADER).read_to_end(&mut first).map_err(|e| broken(e.to_string(), 1))?;
    let whole = first.len() < HEADER as usize;
    let mut names = Names::default();
    let mut lines = first.split(|b| *b == b'\n').enumerate().peekable();
    while let Some((i, line)) = lines.next() {
        // the last line may be cut by us
        if line.trim_ascii().is_empty() || lines.peek().is_none() && !whole && !names.header.is_empty() {
            continue;
        }
        object(&mut names, line, i + 1)?;
    }
    let header = names.header;
    if header.is_empty() {
        return Err(
            Error::data("the file is empty; there is no row in it").hint("each line is an object: {\"x\": 1.5}")
        );
    }
    let text: Text = Box::new(Cursor::new(first).chain(from));
    let reader = BufReader::with_capacity(1 << 17, text);
    Ok(Lines { reader, line: Vec::new(), header, wanted: HashMap::new(), lines: 0, done: false })
}

/// The object of a line; lines count from 1.
fn object<'de, V: Visitor<'de>>(row: V, line: &'de [u8], number: usize) -> Result<V::Value> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
    let mut from = serde_json::Deserializer::from_slice(line);
    let row = from.deserialize_map(row).and_then(|row| from.end().map(|()| row));
    row.map_err(|e| broken(format!("it is not an object of JSON with one value a name: {e}"), number))
}

/// The names of objects, each once, in the order of their first rows.
#[derive(Default)]
struct Names {
    header: Vec<String>,
    seen: HashSet<String>,
}

impl<'de> Visitor<'de> for &mut Names {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut row: A) -> std::result::Result<(), A::Error> {
        while let Some(name) = row.next_key::<String>()? {
            row.next_value::<IgnoredAny>()?;
            if self.seen.insert(name.clone()) {
                self.header.push(name);
            }
        }
        Ok(())
    }
}

/// The values of the wanted columns.
struct Row<'a>(&'a HashMap<String, usize>);

impl<'de> Visitor<'de> for Row<'_> {
    type Value = Vec<Option<Value>>;

    fn expecting(&self, to: &mut fmt::Formatter) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut row: A) -> std::result::Result<Self::Value, A::Error> {
        let mut values = vec![None; self.0.len()];
        while let Some(name) = row.next_key::<String>()? {
            match self.0.get(&name) {
                None => drop(row.next_value::<IgnoredAny>()?),
                Some(&place) => {
                    if values[place].replace(row.next_value::<Value>()?).is_some() {
                        return Err(serde::de::Error::custom(format!("{name:?} stands in it twice")));
                    }
                }
            }
        }
        Ok(values)
    }
}

impl Lines {
    pub(super) fn header(&self) -> &[String] {
        &self.header
    }

    pub(super) fn choose(mut self, names: &[&str]) -> Result<Self> {
        wanted(&self.header, names).map_err(|e| e.hint(columns_hint(&self.header, names)))?;
        self.wanted = names.iter().enumerate().map(|(place, name)| (name.to_string(), place)).collect();
        Ok(self)
    }

    /// The next line that is not blank.
    fn next_row(&mut self) -> Result<Option<Vec<Option<Value>>>> {
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
                _ => return object(Row(&self.wanted), &self.line, self.lines).map(Some),
            }
        }
    }

    /// The refusal of a list or an object where the wanted column at this place has its value.
    fn nested(&self, place: usize) -> Error {
        let name = self.wanted.iter().find(|(_, at)| **at == place).map(|(name, _)| name.as_str()).unwrap_or_default();
        Error::data("it holds a list or an object, which is neither a number nor a word")
            .at(format!("line {}, column {name:?}", self.lines))
            .hint("give each number a name of its own")
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
            for ((place, value), to) in row.into_iter().enumerate().zip(&mut columns) {
                match value {
                    None | Some(Value::Null) => to.append_null(),
                    Some(Value::String(text)) if text.is_empty() => to.append_null(),
                    Some(Value::String(text)) => to.append_value(text),
                    Some(Value::Number(n)) => to.append_value(n.to_string()),
                    Some(Value::Bool(b)) => to.append_value(if b { "true" } else { "false" }),
                    Some(Value::Array(_) | Value::Object(_)) => return Err(self.nested(place)),
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
