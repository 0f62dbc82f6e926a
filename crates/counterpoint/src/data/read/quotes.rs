//! A guard in front of the CSV reader: it looks at every byte before a cell is made of it.
//!
//! A quote that is never closed turns the rest of a file into one cell; a packed file of a few kilobytes can hold a cell of
//! gigabytes. Both are found here, on the way in, before memory is taken for them: an open quote at the end, text behind a closing
//! quote, a quoted cell or a row that is longer than any log has.

use std::io::{Error, Read, Result};

/// A quoted cell of more bytes was never closed.
const LONGEST_CELL: usize = 1 << 20;

/// No row is longer.
const LONGEST_ROW: usize = 1 << 24;

/// Where in a row the last byte was.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before the first byte of a cell.
    Start,
    /// In a cell without quotes.
    Bare,
    /// Between quotes.
    Quoted,
    /// Behind a quote that closes, or is the first half of a doubled one.
    Closing,
}

/// Text on its way to the CSV reader.
pub(super) struct Guarded<R> {
    from: R,
    delimiter: u8,
    state: State,
    /// The line of the next byte, and the one where the last quote opened.
    line: usize,
    opened: usize,
    /// Bytes of the cell between quotes, and of the row.
    cell: usize,
    row: usize,
    begun: bool,
}

impl<R: Read> Guarded<R> {
    pub(super) fn new(from: R, delimiter: u8) -> Self {
        Guarded { from, delimiter, state: State::Start, line: 1, opened: 0, cell: 0, row: 0, begun: false }
    }

    fn look(&mut self, mut bytes: &[u8]) -> Result<()> {
        if !std::mem::replace(&mut self.begun, true) {
            bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        }
        match matches!(self.state, State::Start | State::Bare) && !bytes.contains(&b'"') {
            true => self.pass(bytes),
            false => bytes.iter().try_for_each(|b| self.step(*b))?,
        }
        match self.row > LONGEST_ROW {
            true => Err(Error::other(format!("the row in line {} is longer than {LONGEST_ROW} bytes", self.line))),
            false => Ok(()),
        }
    }

    /// Bytes without any quote, outside quotes.
    fn pass(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        let ends = |b: &u8| *b == b'\n' || *b == b'\r';
        self.line += bytes.iter().filter(|b| **b == b'\n').count();
        self.row = bytes.iter().rposition(ends).map_or(self.row + bytes.len(), |at| bytes.len() - at - 1);
        self.state = if *last == self.delimiter || ends(last) { State::Start } else { State::Bare };
    }

    fn step(&mut self, byte: u8) -> Result<()> {
        self.row += 1;
        self.state = match (self.state, byte) {
            (State::Quoted, b'"') => State::Closing,
            (State::Closing, b'"') => State::Quoted,
            (State::Start, b'"') => {
                (self.opened, self.cell) = (self.line, 0);
                State::Quoted
            }
            (State::Quoted, _) => {
                self.cell += 1;
                self.line += usize::from(byte == b'\n');
                if self.cell > LONGEST_CELL {
                    return Err(self.open(&format!("holds more than {LONGEST_CELL} bytes")));
                }
                return Ok(());
            }
            (_, b'\n' | b'\r') => {
                self.line += usize::from(byte == b'\n');
                self.row = 0;
                State::Start
            }
            (_, b) if b == self.delimiter => State::Start,
            (State::Closing, _) => {
                let what = format!("line {}: text stands behind a closing quote", self.line);
                return Err(Error::other(format!("{what}; the quote opened in line {}", self.opened)));
            }
            _ => State::Bare,
        };
        Ok(())
    }

    fn open(&self, what: &str) -> Error {
        Error::other(format!("the quote that opens in line {} {what}", self.opened))
    }
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        let n = self.from.read(to)?;
        if n == 0 && !to.is_empty() && self.state == State::Quoted {
            return Err(self.open("is never closed"));
        }
        self.look(&to[..n])?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &[u8]) -> Option<String> {
        Guarded::new(text, b',').read_to_end(&mut Vec::new()).err().map(|e| e.to_string())
    }

    #[test]
    fn quotes_that_are_not_closed_are_found_and_others_pass() {
        let good: [&[u8]; 6] = [
            b"a,b\n1,2\n",
            b"a,b\n\"x\ny\",2\r\n\"\",\"say \"\"no\"\"\"\n",
            b"\xef\xbb\xbf\"a\",b\n1,2",
            b"a,b\n5\" pipe,2\n",
            b"a,b\r1,\"2\"\r",
            b"",
        ];
        good.iter().for_each(|text| assert_eq!(said(text), None, "{text:?}"));
        let open = said(b"a,b\n1,2\n3,\"4\n5,6\n7,8\n").unwrap();
        assert_eq!(open, "the quote that opens in line 3 is never closed");
        let behind = said(b"a,b\n1,\"2\n3,\"4\"\n").unwrap();
        assert_eq!(behind, "line 3: text stands behind a closing quote; the quote opened in line 2");
    }

    #[test]
    fn a_cell_or_a_row_without_end_is_refused_before_it_is_kept() {
        let endless = |first: &'static [u8]| Guarded::new(first.chain(std::io::repeat(b'x')), b',');
        for (first, words) in [(&b"a\n\""[..], "holds more than"), (b"a\n1,", "the row in line 2 is longer")] {
            let mut read = 0;
            let mut from = endless(first);
            let mut buffer = vec![0; 1 << 16];
            let e = loop {
                match from.read(&mut buffer) {
                    Ok(n) => read += n,
                    Err(e) => break e.to_string(),
                }
            };
            assert!(e.contains(words) && read <= LONGEST_ROW + (1 << 17), "{e} after {read}");
        }
    }
}
