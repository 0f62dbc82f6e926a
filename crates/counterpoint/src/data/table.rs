//! Tables on disk: Parquet, CSV and Arrow IPC, one file or a directory of them.
//!
//! Only the columns asked for are decoded, numbers of every kind become f64, and a missing value becomes NaN, which the
//! log's own checks then refuse by row and column. A table is written whole or not at all.

use super::build::LogBuilder;
use super::files::replace;
use super::log::{Log, Outcome};
use super::split::Part;
use crate::error::{Error, Result};
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float64Type, Schema as ArrowSchema};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers; a missing value is NaN.
    Numbers(Vec<f64>),
    /// Words; a missing value is empty.
    Words(Vec<String>),
}

/// Named columns of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns in order.
    pub columns: Vec<(String, Column)>,
}

/// Which column of a table plays which part in a log.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roles {
    /// Contexts.
    pub contexts: Vec<String>,
    /// Actions.
    pub actions: Vec<String>,
    /// The outcome and its direction.
    pub outcome: Option<(String, Outcome)>,
    /// The logging density.
    pub propensity: String,
    /// Row weights.
    pub weight: Option<String>,
    /// train / valid / test.
    pub split: Option<String>,
}

impl Table {
    /// Reads the named columns of a file, or of all files of a directory in the order of their names.
    pub fn read(path: impl AsRef<Path>, names: &[String]) -> Result<Self> {
        let path = path.as_ref();
        let mut table = Table::default();
        for file in files(path)? {
            read_file(&file, names, &mut table).map_err(|e| e.at(file.display().to_string()))?;
        }
        Ok(table)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, c)| match c {
            Column::Numbers(v) => v.len(),
            Column::Words(v) => v.len(),
        })
    }

    /// A column of numbers; words that spell numbers are read as such.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        match self.column(name)? {
            Column::Numbers(v) => Ok(v.clone()),
            Column::Words(v) => v
                .iter()
                .enumerate()
                .map(|(i, w)| match w.trim() {
                    "" => Ok(f64::NAN),
                    w => w.parse().map_err(|_| {
                        Error::data(format!("{w:?} is not a number")).at(format!("row {}, column {name:?}", i + 1))
                    }),
                })
                .collect(),
        }
    }

    fn column(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c).ok_or_else(|| {
            let known: Vec<_> = self.columns.iter().map(|(n, _)| n.as_str()).collect();
            Error::data(format!("there is no column {name:?}")).hint(format!("the columns are: {}", known.join(", ")))
        })
    }

    /// The table as a log.
    pub fn into_log(self, roles: &Roles) -> Result<Log> {
        let mut builder: LogBuilder = Log::builder();
        for name in &roles.contexts {
            builder = builder.context(name, self.numbers(name)?);
        }
        for name in &roles.actions {
            builder = builder.action(name, self.numbers(name)?);
        }
        builder = match &roles.outcome {
            Some((name, Outcome::Reward)) => builder.reward(name, self.numbers(name)?),
            Some((name, Outcome::Cost)) => builder.cost(name, self.numbers(name)?),
            None => builder,
        };
        builder = builder.propensity(&roles.propensity, self.numbers(&roles.propensity)?);
        if let Some(name) = &roles.weight {
            builder = builder.weight(name, self.numbers(name)?);
        }
        if let Some(name) = &roles.split {
            let Column::Words(words) = self.column(name)? else {
                return Err(Error::data("a split column holds train, valid or test").at(format!("column {name:?}")));
            };
            let parts: Result<Vec<Part>> = words
                .iter()
                .enumerate()
                .map(|(i, w)| w.parse().map_err(|e: Error| e.at(format!("row {}, column {name:?}", i + 1))))
                .collect();
            builder = builder.parts(parts?);
        }
        builder.build()
    }

    /// Writes Parquet, CSV or Arrow IPC, by the ending of the name; the file appears whole or not at all.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let fields: Vec<Field> = self
            .columns
            .iter()
            .map(|(n, c)| match c {
                Column::Numbers(_) => Field::new(n, DataType::Float64, true),
                Column::Words(_) => Field::new(n, DataType::Utf8, true),
            })
            .collect();
        let arrays: Vec<ArrayRef> = self
            .columns
            .iter()
            .map(|(_, c)| match c {
                Column::Numbers(v) => Arc::new(Float64Array::from(v.clone())) as ArrayRef,
                Column::Words(v) => Arc::new(StringArray::from(v.clone())) as ArrayRef,
            })
            .collect();
        let batch = RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).map_err(broken)?;
        let kind = Kind::of(path)?;
        replace(path, |temporary| {
            let file = File::create(temporary).map_err(|e| Error::io(path, e))?;
            match kind {
                Kind::Parquet => {
                    let properties = parquet::file::properties::WriterProperties::builder()
                        .set_compression(parquet::basic::Compression::SNAPPY)
                        .build();
                    let mut writer =
                        parquet::arrow::ArrowWriter::try_new(file, batch.schema(), Some(properties)).map_err(broken)?;
                    writer.write(&batch).map_err(broken)?;
                    writer.close().map_err(broken)?;
                }
                Kind::Csv => arrow::csv::Writer::new(file).write(&batch).map_err(broken)?,
                Kind::Arrow => {
                    let mut writer = arrow::ipc::writer::FileWriter::try_new(file, &batch.schema()).map_err(broken)?;
                    writer.write(&batch).and_then(|()| writer.finish()).map_err(broken)?;
                }
            }
            Ok(())
        })
    }
}

/// The formats, told by the ending.
enum Kind {
    Parquet,
    Csv,
    Arrow,
}

impl Kind {
    fn of(path: &Path) -> Result<Self> {
        match path.extension().and_then(|e| e.to_str()).unwrap_or_default() {
            "parquet" | "pq" => Ok(Kind::Parquet),
            "csv" => Ok(Kind::Csv),
            "arrow" | "feather" | "ipc" => Ok(Kind::Arrow),
            other => Err(Error::data(format!("files ending in {other:?} are not read or written"))
                .at(path.display().to_string())
                .hint("use .parquet, .csv or .arrow")),
        }
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| Error::io(path, e))?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(|e| e.ok().map(|e| e.path())).filter(|p| p.is_file() && Kind::of(p).is_ok()).collect();
    found.sort();
    if found.is_empty() {
        return Err(Error::data("the directory holds no .parquet, .csv or .arrow file").at(path.display().to_string()));
    }
    Ok(found)
}

fn read_file(path: &Path, names: &[String], table: &mut Table) -> Result<()> {
    let open = || File::open(path).map_err(|e| Error::io(path, e));
    match Kind::of(path)? {
        Kind::Parquet => {
            use parquet::arrow::ProjectionMask;
            use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
            let builder = ParquetRecordBatchReaderBuilder::try_new(open()?).map_err(broken)?;
            let wanted = indices(builder.schema(), names)?;
            let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
            for batch in builder.with_projection(mask).with_batch_size(65_536).build().map_err(broken)? {
                append(&batch.map_err(broken)?, names, table)?;
            }
        }
        Kind::Csv => {
            let format = arrow::csv::reader::Format::default().with_header(true);
            let (schema, _) = format.infer_schema(open()?, None).map_err(broken)?;
            let wanted = indices(&schema, names)?;
            let reader = arrow::csv::ReaderBuilder::new(Arc::new(schema)).with_header(true).with_projection(wanted);
            for batch in reader.build(open()?).map_err(broken)? {
                append(&batch.map_err(broken)?, names, table)?;
            }
        }
        Kind::Arrow => {
            let probe = arrow::ipc::reader::FileReader::try_new(open()?, None).map_err(broken)?;
            let wanted = indices(&probe.schema(), names)?;
            for batch in arrow::ipc::reader::FileReader::try_new(open()?, Some(wanted)).map_err(broken)? {
                append(&batch.map_err(broken)?, names, table)?;
            }
        }
    }
    Ok(())
}

fn indices(schema: &ArrowSchema, names: &[String]) -> Result<Vec<usize>> {
    names
        .iter()
        .map(|n| {
            schema.index_of(n).map_err(|_| {
                let known: Vec<_> = schema.fields().iter().map(|f| f.name().as_str()).collect();
                Error::data(format!("there is no column {n:?}")).hint(format!("the columns are: {}", known.join(", ")))
            })
        })
        .collect()
}

fn append(batch: &RecordBatch, names: &[String], table: &mut Table) -> Result<()> {
    for name in names {
        let array = batch.column_by_name(name).ok_or_else(|| Error::data(format!("there is no column {name:?}")))?;
        let at = match table.columns.iter().position(|(n, _)| n == name) {
            Some(i) => i,
            None => {
                let words = matches!(
                    array.data_type(),
                    DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Dictionary(..)
                );
                table
                    .columns
                    .push((name.clone(), if words { Column::Words(Vec::new()) } else { Column::Numbers(Vec::new()) }));
                table.columns.len() - 1
            }
        };
        let column = |e: Error| e.at(format!("column {name:?}"));
        match &mut table.columns[at].1 {
            Column::Numbers(to) => {
                let numbers = cast(array, &DataType::Float64).map_err(|e| column(broken(e)))?;
                to.extend(numbers.as_primitive::<Float64Type>().iter().map(|v| v.unwrap_or(f64::NAN)));
            }
            Column::Words(to) => {
                let words = cast(array, &DataType::Utf8).map_err(|e| column(broken(e)))?;
                to.extend(words.as_string::<i32>().iter().map(|v| v.unwrap_or_default().to_string()));
            }
        }
    }
    Ok(())
}

fn broken(e: impl std::fmt::Display) -> Error {
    Error::data(e.to_string()).hint("is the file complete, and of the format its name says?")
}
