//! Python's tables as record batches of a few thousand rows: Arrow streams, a matrix of NumPy, and columns.
//!
//! Nothing but the batch at hand is copied: a stream is read as it comes, a matrix is gathered into columns piece by piece. Only
//! here is memory of others touched, by the two interfaces that were made for it (Arrow's in C, NumPy's).

use crate::errors::{Answer, Fault};
use arrow_array::ffi_stream::{ArrowArrayStreamReader, FFI_ArrowArrayStream};
use arrow_array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, RecordBatchOptions, RecordBatchReader, StringArray,
};
use arrow_schema::{ArrowError, Field, Schema};
use counterpoint::{Error, Result};
use numpy::ndarray::{ArrayView1, ArrayView2, s};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};
use std::collections::HashSet;
use std::sync::Arc;

/// Rows of a batch.
const BATCH: usize = 16_384;

/// A table as `python/counterpoint/tables.py` hands it over.
pub(crate) struct Table<'py> {
    main: Main<'py>,
    /// Further columns, of as many rows.
    columns: Vec<(String, Column<'py>)>,
}

enum Main<'py> {
    Stream(Box<ArrowArrayStreamReader>),
    Matrix(Vec<String>, PyReadonlyArray2<'py, f64>),
    Nothing,
}

/// A column of Python.
#[derive(FromPyObject)]
pub(crate) enum Column<'py> {
    Numbers(PyReadonlyArray1<'py, f64>),
    Whole(PyReadonlyArray1<'py, i64>),
    Words(Vec<Option<String>>),
}

impl Column<'_> {
    /// Its rows and how many different values they have.
    pub(crate) fn counted(&self) -> (usize, usize) {
        let different = match self.side() {
            Side::Numbers(v) => v.iter().map(|v| v.to_bits()).collect::<HashSet<_>>().len(),
            Side::Whole(v) => v.iter().collect::<HashSet<_>>().len(),
            Side::Words(v) => v.iter().collect::<HashSet<_>>().len(),
        };
        (self.side().len(), different)
    }

    /// The column where the interpreter's lock is not held.
    fn side(&self) -> Side<'_> {
        match self {
            Column::Numbers(v) => Side::Numbers(v.as_array()),
            Column::Whole(v) => Side::Whole(v.as_array()),
            Column::Words(v) => Side::Words(v),
        }
    }
}

/// A column as it lies in Python's memory.
enum Side<'a> {
    Numbers(ArrayView1<'a, f64>),
    Whole(ArrayView1<'a, i64>),
    Words(&'a [Option<String>]),
}

impl Side<'_> {
    fn len(&self) -> usize {
        match self {
            Side::Numbers(v) => v.len(),
            Side::Whole(v) => v.len(),
            Side::Words(v) => v.len(),
        }
    }

    /// Some rows of it, gathered.
    fn rows(&self, at: usize, rows: usize) -> ArrayRef {
        match self {
            Side::Numbers(v) => Arc::new(Float64Array::from_iter_values(v.slice(s![at..at + rows]).iter().copied())),
            Side::Whole(v) => Arc::new(Int64Array::from_iter_values(v.slice(s![at..at + rows]).iter().copied())),
            Side::Words(v) => Arc::new(StringArray::from_iter(&v[at..at + rows])),
        }
    }
}

/// The parts of a table in Python: something with an Arrow stream, or a matrix with its names, or nothing; and further columns.
#[derive(FromPyObject)]
pub(crate) struct Parts<'py> {
    stream: Option<Bound<'py, PyAny>>,
    matrix: Option<(Vec<String>, PyReadonlyArray2<'py, f64>)>,
    columns: Vec<(String, Column<'py>)>,
}

impl<'py> Table<'py> {
    pub(crate) fn new(parts: Parts<'py>) -> PyResult<Self> {
        let main = match (parts.stream, parts.matrix) {
            (Some(stream), _) => Main::Stream(Box::new(open(&stream)?)),
            (None, Some((names, matrix))) => Main::Matrix(names, matrix),
            (None, None) => Main::Nothing,
        };
        Ok(Table { main, columns: parts.columns })
    }

    /// The names of all columns.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = match &self.main {
            Main::Stream(stream) => stream.schema().fields().iter().map(|f| f.name().clone()).collect(),
            Main::Matrix(names, _) => names.clone(),
            Main::Nothing => Vec::new(),
        };
        names.extend(self.columns.iter().map(|(name, _)| name.clone()));
        names
    }

    /// Hands the batches to `work`, and returns the number of rows too. What goes wrong with the table itself comes first.
    pub(crate) fn read<T: Send>(
        self,
        py: Python<'_>,
        work: impl FnOnce(&mut Batches) -> Result<T> + Send,
    ) -> Answer<(T, usize)> {
        let Table { main, columns } = self;
        let (from, matrix) = match main {
            Main::Stream(stream) => (From::Stream(stream), None),
            Main::Matrix(names, matrix) => (From::Matrix(names), Some(matrix)),
            Main::Nothing => (From::Nothing, None),
        };
        let view = matrix.as_ref().map(|m| m.as_array());
        let columns = columns.iter().map(|(name, column)| (name.clone(), column.side())).collect();
        let mut batches = Batches { from, view, columns, at: 0, rest: None, fault: None };
        let done = py.detach(|| {
            let done = work(&mut batches);
            (done, batches.at, batches.fault.take())
        });
        match done {
            (_, _, Some(fault)) => Err(fault.into()),
            (done, rows, None) => Ok((done.map_err(Fault::from)?, rows)),
        }
    }
}

/// Opens the stream of an object that has `__arrow_c_stream__`.
#[allow(unsafe_code)] // Arrow's C interface is a pointer with a contract
fn open(object: &Bound<'_, PyAny>) -> PyResult<ArrowArrayStreamReader> {
    let capsule = object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?;
    let stream = capsule.pointer_checked(Some(c"arrow_array_stream"))?.cast::<FFI_ArrowArrayStream>();
    // SAFETY: a capsule of this name holds a valid stream; `from_raw` moves it out and leaves a released one behind, as the
    // contract of the interface asks of who takes it over
    let reader = unsafe { ArrowArrayStreamReader::from_raw(stream.as_ptr()) };
    reader.map_err(|e| Fault::from(unread(&e)).into())
}

enum From {
    Stream(Box<ArrowArrayStreamReader>),
    Matrix(Vec<String>),
    Nothing,
}

/// Batches of a table, one after the other.
pub(crate) struct Batches<'a> {
    from: From,
    view: Option<ArrayView2<'a, f64>>,
    columns: Vec<(String, Side<'a>)>,
    at: usize,
    /// What is left of a large batch of the stream.
    rest: Option<RecordBatch>,
    fault: Option<Error>,
}

impl Iterator for Batches<'_> {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        match self.step() {
            Ok(batch) => batch,
            Err(e) => {
                self.fault = Some(e);
                None
            }
        }
    }
}

impl Batches<'_> {
    fn step(&mut self) -> Result<Option<RecordBatch>> {
        let Some((mut names, mut arrays, rows)) = self.main()? else { return self.end().map(|()| None) };
        for (name, column) in &self.columns {
            if self.at + rows > column.len() {
                return Err(uneven(name, column.len(), "more rows"));
            }
            names.push(name.clone());
            arrays.push(column.rows(self.at, rows));
        }
        self.at += rows;
        let field = |(n, a): (&String, &ArrayRef)| Field::new(n, a.data_type().clone(), true);
        let schema = Schema::new(names.iter().zip(&arrays).map(field).collect::<Vec<_>>());
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::new(schema), arrays, &options);
        batch.map(Some).map_err(|e| Error::data(e.to_string()))
    }

    /// Names, columns and rows of the next piece of the main table.
    #[allow(clippy::type_complexity)] // a name for it would say less
    fn main(&mut self) -> Result<Option<(Vec<String>, Vec<ArrayRef>, usize)>> {
        match (&mut self.from, &self.view) {
            (From::Stream(stream), _) => {
                let next = match self.rest.take() {
                    Some(batch) => batch,
                    None => match stream.find(|b| b.as_ref().map_or(true, |b| b.num_rows() > 0)) {
                        Some(batch) => batch.map_err(|e| unread(&e))?,
                        None => return Ok(None),
                    },
                };
                let rows = next.num_rows().min(BATCH);
                self.rest = (next.num_rows() > rows).then(|| next.slice(rows, next.num_rows() - rows));
                let names = next.schema().fields().iter().map(|f| f.name().clone()).collect();
                Ok(Some((names, next.slice(0, rows).columns().to_vec(), rows)))
            }
            (From::Matrix(names), Some(view)) => {
                let rows = (view.nrows() - self.at).min(BATCH);
                let piece = view.slice(s![self.at..self.at + rows, ..]);
                let column = |c| Arc::new(Float64Array::from_iter_values(piece.column(c).iter().copied())) as ArrayRef;
                Ok((rows > 0).then(|| (names.clone(), (0..piece.ncols()).map(column).collect(), rows)))
            }
            _ => {
                let all = self.columns.first().map_or(0, |(_, c)| c.len());
                let rows = (all - self.at).min(BATCH);
                Ok((rows > 0).then(|| (Vec::new(), Vec::new(), rows)))
            }
        }
    }

    /// At the end every column must be at its end.
    fn end(&self) -> Result<()> {
        let longer = self.columns.iter().find(|(_, c)| c.len() != self.at);
        longer.map_or(Ok(()), |(name, c)| Err(uneven(name, c.len(), &format!("{} rows", self.at))))
    }
}

fn unread(e: &ArrowError) -> Error {
    Error::data(format!("the table cannot be read: {e}"))
        .hint("give it in another form, such as X.to_pandas(), or without the column that is meant")
}

fn uneven(name: &str, length: usize, rows: &str) -> Error {
    Error::data(format!("it has {length} values, the table has {rows}"))
        .at(format!("column {name:?}"))
        .hint("every column needs one value a row")
}
