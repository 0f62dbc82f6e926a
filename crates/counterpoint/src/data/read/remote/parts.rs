//! Parquet in parts: the end of the file, then the wanted columns of one row group after the other.
//!
//! While one row group is decoded the next is fetched, so two are held, packed as they lie in the file. A request for each column chunk;
//! neighbours are fetched as one.

use super::super::open::{BATCH, Batch, batches, broken, guarded, readable, sums_of};
use super::super::pages::{self, Checked};
use super::object::{Coming, Object};
use crate::error::{Error, Result};
use arrow_array::RecordBatch;
use bytes::Bytes;
use bytes::buf::{Buf, Reader};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::ops::Range;

/// How much of the end of a file is fetched at first; it holds most footers.
const END: u64 = 1 << 16;

/// A gap between parts that is not worth a request.
const GAP: u64 = 1 << 16;

/// Parts of a file that are here.
struct Here {
    object: Object,
    parts: Vec<(u64, Bytes)>,
}

impl Length for Here {
    fn len(&self) -> u64 {
        self.object.size()
    }
}

impl Here {
    /// What is here from a place on.
    fn from(&self, start: u64) -> Option<Bytes> {
        let (at, bytes) = self.parts.iter().find(|(at, b)| (*at..at + b.len() as u64).contains(&start))?;
        Some(bytes.slice((start - at) as usize..))
    }
}

impl ChunkReader for Here {
    type T = Reader<Bytes>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        let absent = || ParquetError::General("a page lies outside its column".into());
        self.from(start).map(Buf::reader).ok_or_else(absent)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        match self.from(start).filter(|b| b.len() >= length) {
            Some(bytes) => Ok(bytes.slice(..length)),
            None => {
                let end = start.checked_add(length as u64).filter(|e| *e <= self.len());
                let end = end.ok_or_else(|| ParquetError::General("the file ends too early".into()))?;
                self.object.part(start..end).map_err(|e| ParquetError::External(Box::new(e)))
            }
        }
    }
}

/// A Parquet file whose columns are known and not yet chosen.
pub(in super::super) struct Parquet {
    object: Object,
    facts: ArrowReaderMetadata,
}

impl Parquet {
    /// Reads the end of the file.
    pub(in super::super) fn open(object: Object) -> Result<Self> {
        let start = object.size().saturating_sub(END);
        let parts = vec![(start, object.part(start..object.size())?)];
        let here = Here { object: object.clone(), parts };
        let facts = pages::facts(&here)?;
        Ok(Parquet { object, facts })
    }

    pub(in super::super) fn header(&self) -> Vec<String> {
        self.facts.schema().fields().iter().map(|f| f.name().clone()).collect()
    }

    pub(in super::super) fn choose(
        self,
        chosen: Vec<usize>,
        names: &[&str],
    ) -> Result<Box<dyn Iterator<Item = Result<Batch>> + Send>> {
        readable(self.facts.schema(), &chosen)?;
        let sums = sums_of(self.facts.metadata().file_metadata(), names);
        let mask = ProjectionMask::roots(self.facts.parquet_schema(), chosen.clone());
        let columns = chosen.len();
        let groups =
            Groups { object: self.object, facts: self.facts, mask, columns, next: 0, coming: None, reader: None };
        Ok(Box::new(batches(groups, chosen, sums)))
    }
}

/// The row groups, one after the other.
struct Groups {
    object: Object,
    facts: ArrowReaderMetadata,
    mask: ProjectionMask,
    columns: usize,
    /// The row group that is fetched next.
    next: usize,
    coming: Option<(usize, Vec<Range<u64>>, Coming)>,
    reader: Option<ParquetRecordBatchReader>,
}

impl Groups {
    /// Begins to fetch the next row group, if there is one.
    fn fetch(&mut self) -> Result<()> {
        let group = self.next;
        if group < self.facts.metadata().num_row_groups() {
            let parts = guarded(|| self.parts(group))?;
            self.coming = Some((group, parts.clone(), self.object.begin(parts)?));
            self.next += 1;
        }
        Ok(())
    }

    /// Where the wanted columns of a row group lie, neighbours together.
    fn parts(&self, group: usize) -> Result<Vec<Range<u64>>> {
        let columns = self.facts.metadata().row_group(group).columns().iter().enumerate();
        let wanted = columns.filter(|(i, _)| self.mask.leaf_included(*i));
        let mut parts: Vec<Range<u64>> = Vec::new();
        for (_, column) in wanted {
            let (start, length) = column.byte_range();
            let end = start.checked_add(length).filter(|end| *end <= self.object.size());
            let end = end.ok_or_else(|| broken("a column ends behind the end of the file"))?;
            match parts.last_mut().filter(|last| last.end <= start && start - last.end <= GAP) {
                Some(last) => last.end = end,
                None => parts.push(start..end),
            }
        }
        Ok(parts.into_iter().filter(|p| !p.is_empty()).collect())
    }

    fn step(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.reader.as_mut().and_then(Iterator::next) {
                return batch.map(Some).map_err(broken);
            }
            if self.coming.is_none() {
                self.fetch()?;
            }
            let Some((group, ranges, coming)) = self.coming.take() else { return Ok(None) };
            let parts = ranges.iter().map(|r| r.start).zip(coming.wait()?).collect();
            self.fetch()?;
            let here = Checked::new(Here { object: self.object.clone(), parts }, self.columns);
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(here, self.facts.clone());
            let builder = builder.with_projection(self.mask.clone()).with_row_groups(vec![group]);
            self.reader = Some(builder.with_batch_size(BATCH).build().map_err(broken)?);
        }
    }
}

impl Iterator for Groups {
    type Item = Result<RecordBatch, Error>;
    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}
