//! Parquet files are believed only after what they say of themselves was held against their size: a decoder takes memory and time by it.
//!
//! The footer and the header of every page are walked (they are in Thrift's compact protocol) before the decoder sees them. No list may say
//! that it is longer than the bytes behind it, and the schema must be a tree of what it lists. Rows are counted in three places, which must
//! agree, and no two columns may lie in the same bytes: otherwise rows are there twice, or not those of their column. A page may be at most [`RATIO`] times as long unpacked as it lies in the file, or [`SMALL`]
//! where that is more; and the pages that are held at one time, one a column, together as much as [`RATIO`] times the file, or [`ALWAYS`].
//! Text is read as views of the pages, so that a long word that every row names is there once.

use super::open::{broken, guarded};
use crate::error::{Error, Result};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use std::io::Read;
use std::sync::Arc;

/// Pages of one value pack well; beyond this it is no log.
const RATIO: u64 = 1000;

/// So many bytes may be unpacked from any page, if that is no more than its share of what is held.
const SMALL: u64 = 1 << 24;

/// So many bytes of pages may be held of any file, and so many of any column.
const ALWAYS: u64 = 1 << 30;
const COLUMN: u64 = 1 << 20;

/// The header of a page is looked at in so many bytes, and then in so many.
const HEADER: [u64; 2] = [1 << 12, 1 << 24];

/// Structures within structures, as deep as the decoder goes.
const DEPTH: usize = 64;

/// What a file says of itself, with its text to be read as views.
pub(super) fn facts<R: ChunkReader>(from: &R) -> Result<ArrowReaderMetadata> {
    guarded(|| {
        check_footer(from)?;
        let facts = ArrowReaderMetadata::load(from, ArrowReaderOptions::default()).map_err(broken)?;
        check_groups(facts.metadata())?;
        let views: Vec<Field> = facts.schema().fields().iter().map(|f| as_view(f)).collect();
        let schema = Schema::new_with_metadata(views, facts.schema().metadata().clone());
        let options = ArrowReaderOptions::default().with_schema(Arc::new(schema));
        ArrowReaderMetadata::try_new(facts.metadata().clone(), options).map_err(broken)
    })
}

fn as_view(field: &Field) -> Field {
    let kind = match field.data_type() {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        other => other.clone(),
    };
    field.clone().with_data_type(kind)
}

/// Refuses a footer with a list that is longer than what is there. What is no footer at all is left to the decoder, which says so.
fn check_footer<R: ChunkReader>(from: &R) -> Result<()> {
    let length = from.len();
    let Some(end) = length.checked_sub(8) else { return Ok(()) };
    let tail = from.get_bytes(end, 8).map_err(broken)?;
    let size = tail[..4].iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte));
    if &tail[4..] != b"PAR1" || size > end {
        return Ok(());
    }
    let footer = from.get_bytes(end - size, size as usize).map_err(broken)?;
    let walk = |mut tree| Walk { rest: &footer }.footer(&mut tree);
    walk(Tree::default()).map_err(|_| broken("its footer says that lists are longer than it is"))
}

/// Refuses a file that contradicts itself about its rows, or says that columns lie where others do.
fn check_groups(facts: &ParquetMetaData) -> Result<()> {
    let mut places = Vec::new();
    let mut rows = Some(0i64);
    for group in facts.row_groups() {
        rows = rows.and_then(|n| n.checked_add(group.num_rows())).filter(|_| group.num_rows() >= 0);
        for column in group.columns() {
            let flat = column.column_descr().max_rep_level() == 0;
            if flat && column.num_values() != group.num_rows() {
                let [values, rows] = [column.num_values(), group.num_rows()];
                let said = format!("its footer says that {rows} rows have {values} values");
                return Err(broken(said).at(format!("column {:?}", column.column_path().string())));
            }
            let data = column.data_page_offset();
            let start = column.dictionary_page_offset().filter(|at| (1..data).contains(at)).unwrap_or(data);
            if column.compressed_size() > 0 && group.num_rows() > 0 {
                places.push((start, start.saturating_add(column.compressed_size())));
            }
        }
    }
    let said = facts.file_metadata().num_rows();
    if rows != Some(said) {
        return Err(broken(format!("its footer says that it has {said} rows, and other numbers for its parts")));
    }
    places.sort_unstable();
    match places.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        true => Err(broken("its footer says that two columns lie in the same place")),
        false => Ok(()),
    }
}

/// A schema, which lists its nodes from the root on, each with the number of its children.
#[derive(Default)]
struct Tree {
    /// Of the nodes above, how many children are to come.
    open: Vec<u64>,
    /// How many nodes were seen.
    seen: u64,
}

impl Tree {
    /// The next of so many nodes has so many children.
    fn node(&mut self, children: u64, nodes: u64) -> std::result::Result<(), Fault> {
        if self.seen > 0 {
            let above = self.open.last_mut().ok_or(Fault::Wrong)?;
            *above -= 1;
        }
        self.seen += 1;
        if children > nodes - self.seen {
            return Err(Fault::Wrong);
        }
        if children > 0 {
            self.open.push(children);
        }
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        if self.open.len() > DEPTH { Err(Fault::Wrong) } else { Ok(()) }
    }
}

/// A file whose pages are looked at before they are decoded.
pub(super) struct Checked<R> {
    from: R,
    /// The longest page.
    most: u64,
}

impl<R: ChunkReader> Checked<R> {
    /// Of so many columns one page each is held.
    pub(super) fn new(from: R, columns: usize) -> Self {
        let together = ALWAYS.max(from.len().saturating_mul(RATIO));
        Checked { most: COLUMN.max(together / columns.max(1) as u64), from }
    }

    /// Refuses the page that begins here if it says that it is too long.
    fn check(&self, start: u64) -> Result<()> {
        let mut page = Err(Fault::Short);
        for most in HEADER {
            let mut head = Vec::new();
            self.from.get_read(start).map_err(broken)?.take(most).read_to_end(&mut head).map_err(broken)?;
            page = Page::read(&head);
            if !matches!(page, Err(Fault::Short)) || (head.len() as u64) < most {
                break;
            }
        }
        let page = page.map_err(|_| broken("the header of a page cannot be read"))?;
        let most = self.most.min(SMALL.max(page.packed.saturating_mul(RATIO)));
        match page.unpacked > most {
            true => Err(broken(format!("a page says it is {} bytes long, packed in {}", page.unpacked, page.packed))),
            false => Ok(()),
        }
    }
}

impl<R: Length> Length for Checked<R> {
    fn len(&self) -> u64 {
        self.from.len()
    }
}

impl<R: ChunkReader> ChunkReader for Checked<R> {
    type T = R::T;

    /// The decoder asks for this where the header of a page begins. (In columns of lists also behind it; those are never read.)
    fn get_read(&self, start: u64) -> parquet::errors::Result<R::T> {
        self.check(start).map_err(|e: Error| ParquetError::General(e.what()))?;
        self.from.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        self.from.get_bytes(start, length)
    }
}

/// Why bytes cannot be walked.
#[derive(Debug, PartialEq)]
enum Fault {
    /// They end too early.
    Short,
    Wrong,
}

/// What the header of a page says of its length.
#[derive(Debug, Default, PartialEq)]
struct Page {
    unpacked: u64,
    packed: u64,
}

impl Page {
    fn read(bytes: &[u8]) -> std::result::Result<Page, Fault> {
        let mut page = Page { unpacked: 0, packed: u64::MAX };
        let look = |field: i64, value: u64| match field {
            2 => page.unpacked = page.unpacked.max(value),
            3 => page.packed = page.packed.min(value),
            _ => {}
        };
        Walk { rest: bytes }.record(look, DEPTH)?;
        Ok(page)
    }
}

/// Bytes in Thrift's compact protocol.
struct Walk<'a> {
    rest: &'a [u8],
}

impl Walk<'_> {
    /// The record of a footer, whose second field is the list of the nodes of the schema.
    fn footer(&mut self, tree: &mut Tree) -> std::result::Result<(), Fault> {
        let mut last = 0;
        while let Some((field, kind)) = self.field(last)? {
            match (field, kind) {
                (2, 9) => self.schema(tree)?,
                _ => self.pass(kind, DEPTH)?,
            }
            last = field;
        }
        Ok(())
    }

    /// The number and the kind of the field behind the field `last`; nothing at the end of a record.
    fn field(&mut self, last: i64) -> std::result::Result<Option<(i64, u8)>, Fault> {
        let head = self.byte()?;
        if head & 15 == 0 {
            return Ok(None);
        }
        let number = match head >> 4 {
            0 => zigzag(self.number()?),
            step => last.wrapping_add(i64::from(step)),
        };
        Ok(Some((number, head & 15)))
    }

    fn schema(&mut self, tree: &mut Tree) -> std::result::Result<(), Fault> {
        let head = self.byte()?;
        let nodes = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
        if head & 15 != 12 {
            return Err(Fault::Wrong);
        }
        for _ in 0..nodes {
            let mut children = 0;
            let look = |field: i64, value: u64| children = if field == 5 { children.max(value) } else { children };
            self.record(look, DEPTH)?;
            tree.node(children, nodes)?;
        }
        if tree.open.is_empty() { Ok(()) } else { Err(Fault::Wrong) }
    }

    /// A record: its fields up to the one that ends it. `look` is told those that are whole numbers.
    fn record(&mut self, mut look: impl FnMut(i64, u64), depth: usize) -> std::result::Result<(), Fault> {
        let mut last = 0;
        while let Some((field, kind)) = self.field(last)? {
            match kind {
                4..=6 => look(field, u64::try_from(zigzag(self.number()?)).unwrap_or(u64::MAX)), // below 0: no length
                _ => self.pass(kind, depth)?,
            }
            last = field;
        }
        Ok(())
    }

    /// A value of this kind.
    fn pass(&mut self, kind: u8, depth: usize) -> std::result::Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Wrong)?;
        match kind {
            1 | 2 => Ok(()), // true and false
            3 => self.byte().map(drop),
            4..=6 => self.number().map(drop),
            7 => self.skip(8),
            8 => self.number().and_then(|n| self.skip(n)),
            9 | 10 => {
                let head = self.byte()?;
                let n = if head >> 4 == 15 { self.number()? } else { u64::from(head >> 4) };
                self.many(n, &[head & 15], depth)
            }
            11 => match self.number()? {
                0 => Ok(()),
                n => {
                    let kinds = self.byte()?;
                    self.many(n, &[kinds >> 4, kinds & 15], depth)
                }
            },
            12 => self.record(|_, _| (), depth),
            13 => self.skip(16),
            _ => Err(Fault::Wrong),
        }
    }

    /// So many times values of these kinds; each takes a byte at least. (Truth values would take none, and no footer has lists of them.)
    fn many(&mut self, n: u64, kinds: &[u8], depth: usize) -> std::result::Result<(), Fault> {
        if n > 0 && kinds.iter().any(|kind| matches!(kind, 0..=2)) {
            return Err(Fault::Wrong);
        }
        if n > self.rest.len() as u64 {
            return Err(Fault::Short);
        }
        for _ in 0..n {
            kinds.iter().try_for_each(|kind| self.pass(*kind, depth))?;
        }
        Ok(())
    }

    fn byte(&mut self) -> std::result::Result<u8, Fault> {
        let (first, rest) = self.rest.split_first().ok_or(Fault::Short)?;
        self.rest = rest;
        Ok(*first)
    }

    fn skip(&mut self, n: u64) -> std::result::Result<(), Fault> {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        self.rest = self.rest.get(n..).ok_or(Fault::Short)?;
        Ok(())
    }

    /// Seven bits a byte, the lowest first.
    fn number(&mut self) -> std::result::Result<u64, Fault> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(Fault::Wrong)
    }
}

/// The signed number that a number stands for.
fn zigzag(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page header: kind, unpacked, packed, and a header of a data page with four numbers.
    const PLAIN: [u8; 17] = [0x15, 0, 0x15, 20, 0x15, 10, 0x2c, 0x15, 2, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0];

    #[test]
    fn headers_of_pages_are_read_whatever_their_order() {
        assert_eq!(Page::read(&PLAIN), Ok(Page { unpacked: 10, packed: 5 }));
        // the larger length is believed where it is said twice: field 2 again, by its number
        let twice = [&PLAIN[..16], &[0x05, 4, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0]].concat();
        assert_eq!(Page::read(&twice), Ok(Page { unpacked: i32::MAX as u64, packed: 5 }));
        (0..PLAIN.len()).for_each(|n| assert_eq!(Page::read(&PLAIN[..n]), Err(Fault::Short), "{n} bytes"));
    }

    #[test]
    fn lists_longer_than_what_is_there_are_not_walked() {
        let walk = |bytes: &[u8]| Walk { rest: bytes }.record(|_, _| (), DEPTH);
        // a list of 2^31 truth values in six bytes, which a decoder would count through one by one
        assert_eq!(walk(&[0x19, 0xf1, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), Err(Fault::Wrong));
        assert_eq!(walk(&[0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]), Err(Fault::Short));
        assert_eq!(walk(&[0x19, 0x2c, 0x15, 2, 0, 0, 0]), Ok(()));
        assert_eq!(walk(&[0x1c; 1000]), Err(Fault::Wrong), "records in records without end");
        assert_eq!(walk(&[0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0]), Err(Fault::Wrong));
    }

    #[test]
    fn a_page_that_says_it_is_long_is_refused_before_memory_is_taken() {
        // two gigabytes, packed in five bytes; and in so many that it may be
        let says = |packed: &[u8], columns| {
            let header = [&[0x15, 0, 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x15], packed, &PLAIN[6..]].concat();
            let file = [header, vec![0; 3 << 20]].concat();
            Checked::new(Bytes::from(file), columns).get_read(0).map(drop).map_err(|e| e.to_string())
        };
        let said = says(&[10], 1).unwrap_err();
        assert!(said.contains("a page says it is 2147483647 bytes long, packed in 5"), "{said}");
        assert_eq!(says(&[0x80, 0x80, 0x80, 3], 1), Ok(()));
        assert!(says(&[0x80, 0x80, 0x80, 3], 100).is_err(), "of a hundred columns each has its share");
    }

    /// A footer with a schema of these numbers of children.
    fn listed(children: &[u8]) -> Vec<u8> {
        let node = |n: &u8| [0x48, 1, b's', 0x15, 2 * n, 0];
        let head = [0x15, 4, 0x19, (children.len() as u8) << 4 | 12];
        [&head[..], &children.iter().flat_map(node).collect::<Vec<_>>(), &[0x16, 0, 0x19, 0x0c, 0]].concat()
    }

    #[test]
    fn a_schema_is_a_tree_of_what_it_lists() {
        let walk = |bytes: &[u8]| Walk { rest: bytes }.footer(&mut Tree::default());
        assert_eq!(walk(&listed(&[2, 0, 0])), Ok(()));
        assert_eq!(walk(&listed(&[2, 1, 0, 1, 0])), Ok(()));
        for wrong in [&[3, 0, 0][..], &[1, 0, 0], &[2, 1, 0], &[0, 0], &[63, 0]] {
            assert_eq!(walk(&listed(wrong)), Err(Fault::Wrong), "{wrong:?}");
        }
        // two thousand million children, of which the decoder would make room for 17 GB
        let many = [&[0x15, 4, 0x19, 0x1c, 0x48, 1, b's', 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0][..], &[0]].concat();
        assert_eq!(walk(&many), Err(Fault::Wrong));
        let size = (many.len() as u32).to_le_bytes();
        let file = Bytes::from([&b"PAR1"[..], &many, &size, b"PAR1"].concat());
        assert!(facts(&file).map(drop).unwrap_err().to_string().contains("longer than it is"));
        // as deep as the decoder goes, and no deeper
        let deep = |n: u8| {
            let nodes: Vec<u8> =
                (0..n).map(|i| u8::from(i + 1 < n)).flat_map(|c| [0x48, 1, b's', 0x15, 2 * c, 0]).collect();
            [&[0x15, 4, 0x19, 0xfc, n][..], &nodes, &[0]].concat()
        };
        assert_eq!((walk(&deep(60)), walk(&deep(100))), (Ok(()), Err(Fault::Wrong)));
    }

    #[test]
    fn a_footer_that_contradicts_itself_is_refused() {
        use arrow_array::{ArrayRef, Float64Array, RecordBatch};
        let numbers: ArrayRef = Arc::new(Float64Array::from_iter_values((0..50).map(f64::from)));
        let batch = RecordBatch::try_from_iter([("x", numbers.clone()), ("y", numbers)]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = parquet::arrow::ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let plain = facts(&Bytes::from(bytes)).unwrap().metadata().as_ref().clone();
        let group = plain.row_group(0).clone();
        let [x, y] = [0, 1].map(|i| group.column(i).clone());
        let with = |rows: i64, columns: Vec<_>, times: usize| {
            let made = group.clone().into_builder().set_num_rows(rows).set_column_metadata(columns).build().unwrap();
            let facts = plain.clone().into_builder().set_row_groups(vec![made; times]).build();
            check_groups(&facts).map_err(|e| e.to_string())
        };
        assert_eq!(with(50, vec![x.clone(), y.clone()], 1), Ok(()));
        let fewer = |c: &parquet::file::metadata::ColumnChunkMetaData| {
            c.clone().into_builder().set_num_values(49).build().unwrap()
        };
        assert!(with(49, vec![x.clone(), y.clone()], 1).unwrap_err().contains("49 rows have 50 values"));
        assert!(with(50, vec![x.clone(), fewer(&y)], 1).unwrap_err().contains("column \"y\""));
        assert!(with(49, vec![fewer(&x), fewer(&y)], 1).unwrap_err().contains("it has 50 rows"));
        assert!(with(50, vec![x.clone(), y.clone()], 2).unwrap_err().contains("it has 50 rows"));
        let there = y.into_builder().set_data_page_offset(x.data_page_offset());
        let there = there.set_dictionary_page_offset(x.dictionary_page_offset()).build().unwrap();
        assert!(with(50, vec![x, there], 1).unwrap_err().contains("two columns lie in the same place"));
    }
}
