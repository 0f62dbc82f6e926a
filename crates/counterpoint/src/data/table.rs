//! Tables in memory: what commands write, and small things read back.
//!
//! A table is written whole or not at all. For logs see [`read_log`](super::read_log), which never holds a whole column
//! twice.

use super::files::replace;
use super::input::list;
use super::log::{Log, Outcome};
use super::read::find::Kind;
use super::read::sums;
use super::read::{ReadOptions, Roles, not_written};
use super::split::Part;
use super::target::TargetColumns;
use crate::error::{Error, Result, nearest};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use parquet::file::metadata::KeyValue;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows a batch when a table is written: a reader then needs no more at a time.
const BATCH: usize = 65_536;

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers; a missing value is NaN.
    Numbers(Vec<f64>),
    /// Whole numbers, such as ids.
    Integers(Vec<i64>),
    /// Words; a missing value is empty.
    Words(Vec<String>),
}

impl Column {
    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::Numbers(v) => v.len(),
            Column::Integers(v) => v.len(),
            Column::Words(v) => v.len(),
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Named columns of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns in order.
    pub columns: Vec<(String, Column)>,
}

impl Table {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, c)| c.len())
    }

    /// A column of numbers; words that spell numbers are read as such.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>> {
        match self.column(name)? {
            Column::Numbers(v) => Ok(v.clone()),
            Column::Integers(v) => Ok(v.iter().map(|v| *v as f64).collect()),
            Column::Words(v) => v
                .iter()
                .enumerate()
                .map(|(i, w)| match w.trim() {
                    "" => Ok(f64::NAN),
                    w => super::read::spells(w).ok_or_else(|| {
                        Error::data(format!("{w:?} is not a number")).at(format!("row {}, column {name:?}", i + 1))
                    }),
                })
                .collect(),
        }
    }

    fn column(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|(n, _)| n == name).map(|(_, c)| c).ok_or_else(|| {
            let known: Vec<_> = self.columns.iter().map(|(n, _)| n.as_str()).collect();
            let near = nearest(name, &known).map_or(String::new(), |n| format!("did you mean {n:?}? "));
            Error::data(format!("there is no column {name:?}")).hint(format!("{near}the columns are: {}", list(&known)))
        })
    }

    /// The table as a log.
    pub fn into_log(self, roles: &Roles) -> Result<Log> {
        self.into_log_with(roles, &ReadOptions::default())
    }

    /// The table as a log, with a policy's encoding or other [`ReadOptions`].
    pub fn into_log_with(self, roles: &Roles, options: &ReadOptions) -> Result<Log> {
        let mut builder = Log::builder();
        let contexts: Vec<&str> = match &options.inputs {
            Some(inputs) => inputs.iter().map(super::Input::name).collect(),
            None => roles.contexts.iter().map(String::as_str).collect(),
        };
        for name in contexts {
            let by_policy = options.inputs.iter().flatten().find(|i| i.name() == name);
            let category = match (by_policy, self.column(name)?) {
                (Some(input), _) => input.is_category(),
                (None, column) => matches!(column, Column::Words(_)) || options.categorical.iter().any(|c| c == name),
            };
            builder = match category {
                true => builder.category(name, self.words(name)?),
                false => builder.context(name, self.numbers(name)?),
            };
        }
        if let Some(inputs) = &options.inputs {
            builder = builder.inputs(inputs);
        }
        for name in &roles.actions {
            builder = builder.action(name, self.numbers(name)?);
        }
        builder = match &roles.outcome {
            Some((name, Outcome::Reward)) => builder.reward(name, self.numbers(name)?),
            Some((name, Outcome::Cost)) => builder.cost(name, self.numbers(name)?),
            None => builder,
        };
        if let Some(name) = roles.propensity.column() {
            builder = builder.propensity(name, self.numbers(name)?);
        }
        if let Some(name) = &roles.cluster {
            builder = builder.cluster(name, self.words(name)?);
        }
        if let Some(name) = &roles.weight {
            builder = builder.weight(name, self.numbers(name)?);
        }
        if let Some(name) = &roles.count {
            builder = builder.count(name, self.numbers(name)?);
        }
        for name in roles.target.iter().flat_map(|t| t.names()) {
            builder = match &roles.target {
                Some(TargetColumns::Density(_)) => builder.target_density(name, self.numbers(name)?),
                _ => builder.target_action(name, self.numbers(name)?),
            };
        }
        if let Some(name) = &roles.split {
            let words = self.words(name)?;
            let parts: Result<Vec<Part>> = words
                .iter()
                .enumerate()
                .map(|(i, w)| w.parse().map_err(|e: Error| e.at(format!("row {}, column {name:?}", i + 1))))
                .collect();
            builder = builder.parts(parts?);
        }
        builder = builder.missing(options.missing);
        if options.drop_invalid { builder.drop_invalid().build() } else { builder.build() }
    }

    /// A column of words; numbers are written out, a missing one is empty.
    pub fn words(&self, name: &str) -> Result<Vec<String>> {
        Ok(match self.column(name)? {
            Column::Words(v) => v.clone(),
            Column::Integers(v) => v.iter().map(i64::to_string).collect(),
            Column::Numbers(v) => v.iter().map(|v| if v.is_nan() { String::new() } else { v.to_string() }).collect(),
        })
    }

    /// Writes Parquet, CSV (.csv or .csv.gz) or Arrow IPC, by the ending of the name; the file appears whole or not at
    /// all.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let fields = self.columns.iter().map(|(n, c)| {
            let kind = match c {
                Column::Numbers(_) => DataType::Float64,
                Column::Integers(_) => DataType::Int64,
                Column::Words(_) => DataType::Utf8,
            };
            Field::new(n, kind, true)
        });
        let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
        let failed = |e: &dyn std::fmt::Display| {
            let room = "is there room on the disk, and may files of this size be written there?";
            Error::io(path, std::io::Error::other(e.to_string())).hint(room)
        };
        let arrays = self.columns.iter().map(|(_, c)| array(c)).collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(|e| failed(&e))?;
        let batches = (0..batch.num_rows().max(1)).step_by(BATCH);
        let mut batches = batches.map(|from| batch.slice(from, BATCH.min(batch.num_rows() - from)));
        let kind = Kind::of(path)?;
        replace(path, |file| match kind {
            Kind::Parquet => {
                let properties = parquet::file::properties::WriterProperties::builder()
                    .set_compression(parquet::basic::Compression::SNAPPY)
                    .set_created_by(sums::WRITER.into())
                    .set_key_value_metadata(Some(vec![KeyValue::new(sums::KEY.into(), sums::of(&batch))]))
                    .build();
                let mut writer =
                    parquet::arrow::ArrowWriter::try_new(file, schema, Some(properties)).map_err(|e| failed(&e))?;
                batches.try_for_each(|b| writer.write(&b)).map_err(|e| failed(&e))?;
                writer.close().map(drop).map_err(|e| failed(&e))
            }
            Kind::Store | Kind::Json | Kind::JsonGz => Err(not_written(path)),
            Kind::Csv => self.write_csv(file).map_err(|e| failed(&e)),
            Kind::CsvGz => {
                let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
                self.write_csv(&mut packed).map_err(|e| failed(&e))?;
                packed.finish().map(drop).map_err(|e| Error::io(path, e))
            }
            Kind::Arrow => {
                let mut writer =
                    arrow_ipc::writer::FileWriter::try_new_buffered(file, &schema).map_err(|e| failed(&e))?;
                batches.try_for_each(|b| writer.write(&b)).map_err(|e| failed(&e))?;
                writer.write_metadata(sums::KEY, sums::of(&batch));
                writer.finish().map_err(|e| failed(&e))
            }
        })
    }
}

impl Table {
    /// A header and the rows; numbers with as many digits as it takes to read them back, whole ones with a point. Words that a
    /// spreadsheet would take for a formula are written with an apostrophe in front, which makes them words there too.
    fn write_csv(&self, to: impl Write) -> csv::Result<()> {
        let mut writer = csv::Writer::from_writer(to);
        writer.write_record(self.columns.iter().map(|(name, _)| harmless(name).into_owned()))?;
        let mut cell = String::new();
        for i in 0..self.rows() {
            for (_, column) in &self.columns {
                cell.clear();
                match column {
                    Column::Numbers(v) => write!(cell, "{:?}", v[i]),
                    Column::Integers(v) => write!(cell, "{}", v[i]),
                    Column::Words(v) => write!(cell, "{}", harmless(&v[i])),
                }
                .map_err(std::io::Error::other)?;
                writer.write_field(&cell)?;
            }
            writer.write_record(None::<&[u8]>)?;
        }
        Ok(writer.flush()?)
    }
}

/// A word that no spreadsheet computes: where it looks like a formula an apostrophe goes in front, which the reader takes away.
fn harmless(word: &str) -> std::borrow::Cow<'_, str> {
    match super::read::is_formula(word.trim_start_matches('\'')) && super::read::spells(word).is_none() {
        true => format!("'{word}").into(),
        false => word.into(),
    }
}

fn array(column: &Column) -> ArrayRef {
    match column {
        Column::Numbers(v) => Arc::new(Float64Array::from(v.clone())),
        Column::Integers(v) => Arc::new(Int64Array::from(v.clone())),
        Column::Words(v) => Arc::new(StringArray::from_iter_values(v)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_csv_are_no_formulas_and_numbers_stay() {
        for formula in ["=1+1", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "\t=1", "\r=1"] {
            assert_eq!(harmless(formula), format!("'{formula}"));
        }
        for word in ["Paris", "-5", "+2.5e3", "", "a=b", "'quoted"] {
            assert_eq!(harmless(word), word);
        }
        let table = Table { columns: vec![("=x".into(), Column::Words(vec!["=HYPERLINK(\"u\")".into()]))] };
        let mut bytes = Vec::new();
        table.write_csv(&mut bytes).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "'=x\n\"'=HYPERLINK(\"\"u\"\")\"\n");
    }
}
