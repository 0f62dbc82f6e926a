//! A policy that has a file: what it does with new rows.

use crate::errors::Fault;
use crate::table::{Parts, Table};
use counterpoint::data::{ContextDecoder, ReadOptions, write_together};
use counterpoint::policy::{DrawKeys, Ready, SavedPolicy, TargetPolicy};
use counterpoint::{Error, Result};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// A policy and the text of its file.
#[pyclass(frozen, module = "counterpoint._counterpoint")]
pub(crate) struct Policy {
    pub(crate) saved: Arc<SavedPolicy>,
    text: String,
}

impl Policy {
    /// The policy, its file opening with these sentences.
    pub(crate) fn noting(saved: SavedPolicy, sentences: &[String]) -> Self {
        Policy { text: saved.to_json_noting(sentences), saved: Arc::new(saved) }
    }

    /// Asks `about` each row of contexts; rows in the order of the table.
    fn each<T: Send>(
        &self,
        py: Python<'_>,
        rows: Parts<'_>,
        mut about: impl FnMut(&mut Ready, &[f64], usize) -> Result<T> + Send,
    ) -> PyResult<Vec<T>> {
        let policy = &*self.saved;
        let options = ReadOptions { inputs: Some(policy.encoding()), ..ReadOptions::default() };
        let mut decoder = ContextDecoder::new(&options, None).map_err(Fault::from)?;
        let (answers, _) = Table::new(rows)?.read(py, |batches| {
            let (mut ready, mut answers) = (Ready::new(policy), Vec::new());
            let mut x = vec![0.0; policy.columns().contexts.len()];
            for batch in batches {
                let batch = decoder.decode(&batch)?;
                for i in 0..batch.rows.len() {
                    batch.context(i, &mut x);
                    answers.push(about(&mut ready, &x, answers.len())?);
                }
            }
            Ok(answers)
        })?;
        Ok(answers)
    }
}

#[pymethods]
impl Policy {
    /// The policy that a text says.
    #[new]
    fn new(text: String) -> PyResult<Self> {
        let saved = SavedPolicy::from_json(&text).map_err(Fault::from)?;
        Ok(Policy { saved: Arc::new(saved), text })
    }

    /// The policy of a file.
    #[staticmethod]
    fn load(path: PathBuf) -> PyResult<Self> {
        SavedPolicy::load(&path).map_err(Fault::from)?; // with the words of the library where it cannot be read
        let text = std::fs::read_to_string(&path).map_err(|e| Fault::from(Error::io(&path, e)))?;
        Policy::new(text)
    }

    /// Writes the file, whole or not at all.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        Ok(write_together(&[(path, self.text.clone())]).map_err(Fault::from)?)
    }

    /// The text of its file.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Its kind, as the file names it.
    #[getter]
    fn kind(&self) -> &'static str {
        self.saved.kind()
    }

    /// The columns that a row of new data must have.
    #[getter]
    fn contexts(&self) -> Vec<String> {
        self.saved.encoding().iter().map(|i| i.name().to_string()).collect()
    }

    /// Its action columns.
    #[getter]
    fn actions(&self) -> Vec<String> {
        self.saved.columns().actions
    }

    /// The hash that certificates name it by.
    #[getter]
    fn sha256(&self) -> String {
        self.saved.sha256()
    }

    /// The mean action of every row, one column an action.
    fn mean<'py>(&self, py: Python<'py>, rows: Parts<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let unknown = || Error::policy("the mean action of this policy is not known");
        let means = self.each(py, rows, |ready, x, _| ready.mean(x).ok_or_else(unknown))?;
        matrix(py, &means, self.actions().len())
    }

    /// An action for every row and its density, as `act` draws them.
    #[allow(clippy::type_complexity)] // two arrays
    fn sample<'py>(
        &self,
        py: Python<'py>,
        rows: Parts<'py>,
        seed: u64,
    ) -> PyResult<(Bound<'py, PyArray2<f64>>, Bound<'py, PyArray1<f64>>)> {
        let mut keys = DrawKeys::default();
        let never = || Error::policy("this policy cannot be drawn from");
        let drawn = self.each(py, rows, |ready, x, row| {
            let (a, log_density) = ready.draw(x, seed, keys.key(None, x)).ok_or_else(never)?;
            match self.saved.usable(&a, log_density) {
                true => Ok((a, log_density.exp())),
                false => Err(Error::data("the policy has no finite action for this context")
                    .at(format!("row {}", row + 1))
                    .hint("correct the context")),
            }
        })?;
        let (actions, densities): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
        Ok((matrix(py, &actions, self.actions().len())?, PyArray1::from_vec(py, densities)))
    }

    /// ln pi(a|x) of every row.
    fn log_density<'py>(
        &self,
        py: Python<'py>,
        rows: Parts<'py>,
        actions: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (actions, policy, q) = (actions.as_array(), &*self.saved, self.actions().len());
        let wrong = |what: String| Error::data(what).hint("one row of actions a row of contexts");
        if actions.ncols() != q {
            let what = format!("there are {} action columns, the policy has {q}", actions.ncols());
            return Err(Fault::from(wrong(what)).into());
        }
        let mut a = vec![0.0; q];
        let answers = self.each(py, rows, |_, x, row| {
            if row >= actions.nrows() {
                return Err(wrong(format!("there are {} actions for more rows of contexts", actions.nrows())));
            }
            a.iter_mut().zip(actions.row(row)).for_each(|(to, v)| *to = *v);
            Ok(policy.log_density(x, &a))
        })?;
        if answers.len() != actions.nrows() {
            let what = format!("there are {} actions for {} rows of contexts", actions.nrows(), answers.len());
            return Err(Fault::from(wrong(what)).into());
        }
        Ok(PyArray1::from_vec(py, answers))
    }
}

/// Rows as a matrix of NumPy.
fn matrix<'py>(py: Python<'py>, rows: &[Vec<f64>], columns: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_vec(py, rows.concat()).reshape([rows.len(), columns])
}
