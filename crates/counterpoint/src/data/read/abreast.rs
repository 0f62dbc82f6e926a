//! The columns of a Parquet file side by side: every thread decodes some of them, and batches come out whole and in order.
//!
//! Columns rather than row groups, because it does not depend on how a file was cut, and because little is held: some batches ahead of whoever takes
//! them, not whole row groups.

use super::open::{BATCH, broken, guarded};
use super::pages::Checked;
use crate::error::Result;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;
use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// Batches that a thread is ahead.
const AHEAD: usize = 4;

/// Of a file with fewer rows threads cost more than they bring.
const LEAST: i64 = 8 * BATCH as i64;

/// The chosen columns of a file in the order of the file, decoded by several threads; nothing where one is as good or no other can be had.
pub(super) fn abreast(
    file: &File,
    facts: &ArrowReaderMetadata,
    chosen: &[usize],
) -> Result<Option<impl Iterator<Item = Result<RecordBatch>> + Send + use<>>> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    match facts.metadata().file_metadata().num_rows() < LEAST || !Placed::works() {
        true => Ok(None),
        false => on(cores.min(chosen.len()), file, facts, chosen),
    }
}

/// The same on so many threads, whatever the number of rows.
fn on(
    threads: usize,
    file: &File,
    facts: &ArrowReaderMetadata,
    chosen: &[usize],
) -> Result<Option<impl Iterator<Item = Result<RecordBatch>> + Send + use<>>> {
    if threads < 2 {
        return Ok(None);
    }
    let Ok(file) = file.try_clone().and_then(Placed::new) else { return Ok(None) };
    let mut lanes = Vec::new();
    let columns = divided(facts.metadata(), chosen, threads);
    for own in &columns {
        let from = Checked::new(file.clone(), chosen.len());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(from, facts.clone());
        let mask = ProjectionMask::roots(facts.parquet_schema(), own.iter().copied());
        let mut reader = guarded(|| builder.with_projection(mask).with_batch_size(BATCH).build().map_err(broken))?;
        let (give, take) = sync_channel(AHEAD);
        let work = move || {
            loop {
                let next = guarded(|| reader.next().transpose().map_err(broken)).transpose();
                let over = !matches!(next, Some(Ok(_)));
                // who takes them may have had enough
                if next.is_none_or(|batch| give.send(batch).is_err()) || over {
                    return;
                }
            }
        };
        if std::thread::Builder::new().name("columns".into()).spawn(work).is_err() {
            return Ok(None); // those that run already end when nobody takes what they give
        }
        lanes.push(take);
    }
    let mut sorted = chosen.to_vec();
    sorted.sort_unstable();
    // where each column comes from: which thread, and which of its columns
    let find = |i: &usize| columns.iter().zip(0..).find_map(|(own, t)| Some((t, own.iter().position(|j| j == i)?)));
    let places: Vec<(usize, usize)> = sorted.iter().filter_map(find).collect();
    let schema: SchemaRef = Arc::new(facts.schema().project(&sorted).map_err(broken)?);
    Ok(Some(std::iter::from_fn(move || together(&lanes, &places, &schema).transpose())))
}

/// The next batch of all threads as one.
fn together(
    lanes: &[Receiver<Result<RecordBatch>>],
    places: &[(usize, usize)],
    schema: &SchemaRef,
) -> Result<Option<RecordBatch>> {
    // a thread that has no more has hung up
    let parts: Vec<Option<RecordBatch>> =
        lanes.iter().map(|lane| lane.recv().ok().transpose()).collect::<Result<_>>()?;
    let Some(parts) = parts.iter().cloned().collect::<Option<Vec<_>>>() else {
        return match parts.iter().all(Option::is_none) {
            true => Ok(None),
            false => Err(broken("its columns are of different lengths")),
        };
    };
    let columns = places.iter().map(|(t, c)| parts[*t].column(*c).clone()).collect();
    RecordBatch::try_new(schema.clone(), columns).map(Some).map_err(broken)
}

/// The columns of each thread, in the order of the file, such that each has about as many bytes to decode.
fn divided(facts: &ParquetMetaData, chosen: &[usize], threads: usize) -> Vec<Vec<usize>> {
    let bytes = |column: &usize| -> i64 {
        let leaf = |i: &usize| facts.file_metadata().schema_descr().get_column_root_idx(*i) == *column;
        let groups = facts.row_groups().iter();
        groups
            .map(|g| (0..g.num_columns()).filter(leaf).map(|i| g.column(i).uncompressed_size().max(1)).sum::<i64>())
            .sum()
    };
    let mut by_size: Vec<(i64, usize)> = chosen.iter().map(|c| (bytes(c), *c)).collect();
    by_size.sort_unstable_by(|a, b| b.cmp(a));
    let mut parts = vec![(0, Vec::new()); threads];
    for (size, column) in by_size {
        if let Some(part) = parts.iter_mut().min_by_key(|p| p.0) {
            part.0 += size;
            part.1.push(column);
        }
    }
    let sorted = |(_, mut own): (i64, Vec<usize>)| {
        own.sort_unstable();
        own
    };
    parts.into_iter().map(sorted).filter(|own| !own.is_empty()).collect()
}

/// A file that is read at places and has no place of its own, so that threads can share it.
#[derive(Clone)]
struct Placed {
    file: Arc<File>,
    length: u64,
}

impl Placed {
    /// Whether this system can read so.
    const fn works() -> bool {
        cfg!(any(unix, windows))
    }

    fn new(file: File) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Placed { file: Arc::new(file), length })
    }

    fn read(&self, at: u64, into: &mut [u8]) -> std::io::Result<usize> {
        #[cfg(unix)]
        {
            std::os::unix::fs::FileExt::read_at(&*self.file, into, at)
        }
        #[cfg(windows)]
        {
            std::os::windows::fs::FileExt::seek_read(&*self.file, into, at)
        }
        #[cfg(not(any(unix, windows)))]
        {
            Err(std::io::Error::from(std::io::ErrorKind::Unsupported))
        }
    }
}

/// From some place on.
struct From {
    file: Placed,
    at: u64,
}

impl Read for From {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(self.at, into)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Length for Placed {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Placed {
    type T = BufReader<From>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(BufReader::new(From { file: self.clone(), at: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // no room on the word of a file: never more than it has
        let mut bytes = Vec::new();
        From { file: self.clone(), at: start }.take(length as u64).read_to_end(&mut bytes)?;
        match bytes.len() == length {
            true => Ok(bytes.into()),
            false => Err(parquet::errors::ParquetError::EOF(format!("{length} bytes at {start}, of {}", bytes.len()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Float64Array, Int32Array, StringArray};
    use parquet::arrow::ArrowWriter;
    use parquet::arrow::arrow_reader::ArrowReaderOptions;
    use parquet::file::properties::WriterProperties;
    use std::io::{Seek, SeekFrom, Write};

    /// 50,000 rows of numbers, words and gaps in groups of so many rows.
    fn written(group: usize) -> File {
        let n = 50_000;
        let wave = |k: usize| (0..n).map(|i| ((i * k) as f64).sin()).collect::<Vec<f64>>();
        let gaps = (0..n).map(|i| (i % 7 > 0).then_some(i as f64)).collect::<Vec<Option<f64>>>();
        let words = (0..n).map(|i| ["north", "south", "west"][i * i % 3]).collect::<Vec<&str>>();
        let columns: [(&str, ArrayRef); 5] = [
            ("a", Arc::new(Float64Array::from(wave(3)))),
            ("words", Arc::new(StringArray::from(words))),
            ("gaps", Arc::new(Float64Array::from(gaps))),
            ("whole", Arc::new(Int32Array::from_iter_values((0..n).map(|i| i as i32)))),
            ("b", Arc::new(Float64Array::from(wave(5)))),
        ];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        let file = tempfile::tempfile().unwrap();
        let groups = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
        let mut writer = ArrowWriter::try_new(file.try_clone().unwrap(), batch.schema(), Some(groups)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        file
    }

    fn facts(file: &File) -> ArrowReaderMetadata {
        ArrowReaderMetadata::load(file, ArrowReaderOptions::default()).unwrap()
    }

    #[test]
    fn any_number_of_threads_reads_what_one_reads() {
        for group in [50_000, 20_011] {
            let file = written(group);
            let facts = facts(&file);
            for chosen in [vec![0, 1, 2, 3, 4], vec![4, 0], vec![3, 2, 1]] {
                let mask = ProjectionMask::roots(facts.parquet_schema(), chosen.clone());
                let alone =
                    ParquetRecordBatchReaderBuilder::new_with_metadata(file.try_clone().unwrap(), facts.clone());
                let alone = alone.with_projection(mask).with_batch_size(BATCH).build().unwrap();
                let alone: Vec<RecordBatch> = alone.map(|b| b.unwrap()).collect();
                for threads in [2, 3, 9] {
                    let read = on(threads.min(chosen.len()), &file, &facts, &chosen).unwrap().unwrap();
                    assert!(read.map(|b| b.unwrap()).eq(alone.iter().cloned()), "{group} {chosen:?} {threads}");
                }
            }
            assert!(on(1, &file, &facts, &[0]).unwrap().is_none());
        }
    }

    /// Damage to one column is an error of the whole, and who stops early waits for nobody.
    #[test]
    fn damage_to_one_column_is_found() {
        let mut file = written(20_011);
        let facts = facts(&file);
        let group = facts.metadata().row_group(1);
        let (start, length) = group.column(2).byte_range();
        file.seek(SeekFrom::Start(start)).unwrap();
        file.write_all(&vec![0xff; length as usize]).unwrap();
        let read: Vec<_> = on(3, &file, &facts, &[0, 1, 2]).unwrap().unwrap().take_while(|b| b.is_ok()).collect();
        assert!(!read.is_empty() && read.len() < 4, "{}", read.len());
        let mut again = on(3, &file, &facts, &[0, 1, 2]).unwrap().unwrap();
        assert!(again.next().unwrap().is_ok()); // and dropped here, with threads that still have batches to give
    }

    #[test]
    fn columns_are_divided_by_their_size() {
        let file = written(50_000);
        let parts = divided(facts(&file).metadata(), &[0, 2, 3, 4], 2);
        assert_eq!(parts.iter().map(Vec::len).sum::<usize>(), 4);
        assert!(parts.iter().all(|own| own.len() == 2 && own.is_sorted()), "{parts:?}");
    }
}
