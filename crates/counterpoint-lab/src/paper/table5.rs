//! Table 5: the hyperparameters, as the built-in grids have them.

use super::{Ask, Cell, Claim, Exhibit, Table};
use counterpoint::Result;
use counterpoint::select::Grid;

/// A row of the printed table: its name there, the recipe's field, and the printed values for a log.
type Row = (&'static str, &'static str, &'static [f64]);

const RIDGE: &[f64] = &[0.00001, 0.0001, 0.001, 0.01, 0.1];

/// The printed table, log by log.
const PAPER: [(&str, &str, [Row; 6]); 3] = [
    (
        "Synthetic",
        "paper-synthetic",
        [
            ("Variance reg. \u{3bb}", "variance_penalty", &[0.0, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0]),
            ("Clipping M", "cap", &[1.0, 1.7, 2.8, 4.6, 7.7, 12.9, 21.5, 35.9, 59.9, 100.0]),
            ("Prox. \u{3ba}", "kappa", &[0.001, 0.01, 0.1, 1.0]),
            ("Reg. param. C", "ridge", RIDGE),
            ("Number of anchor points", "anchors", &[2.0, 3.0, 5.0, 7.0, 10.0]),
            ("Softmax \u{3b3}", "temperature", &[1.0, 10.0, 100.0]),
        ],
    ),
    (
        "Warfarin",
        "paper-warfarin",
        [
            ("Variance reg. \u{3bb}", "variance_penalty", &[0.0001, 0.001, 0.01, 0.1]),
            ("Clipping M", "cap", &[1.0, 2.1, 4.5, 9.5, 20.0]),
            ("Prox. \u{3ba}", "kappa", &[0.001, 0.01, 0.1]),
            ("Reg. param. C", "ridge", RIDGE),
            ("Number of anchor points", "anchors", &[5.0, 7.0, 10.0, 12.0, 15.0, 20.0]),
            ("Softmax \u{3b3}", "temperature", &[1.0, 5.0, 10.0]),
        ],
    ),
    (
        "CoCoA",
        "paper-cocoa",
        [
            ("Variance reg. \u{3bb}", "variance_penalty", &[0.0, 0.001, 0.1]),
            ("Clipping M", "cap", &[1.0, 2.1, 4.5, 9.5, 10.0, 20.0, 100.0]),
            ("Prox. \u{3ba}", "kappa", &[0.001, 0.01, 0.1]),
            ("Reg. param. C", "ridge", RIDGE),
            ("Number of anchor points", "anchors", &[2.0, 3.0, 5.0]),
            ("Softmax \u{3b3}", "temperature", &[0.1, 0.5, 1.0, 5.0]),
        ],
    ),
];

/// Runs it.
pub(crate) fn run(_: &Ask) -> Result<Exhibit> {
    let mut tables = Vec::new();
    let mut differing = Vec::new();
    for (log, name, printed) in PAPER {
        let grid = Grid::named_or_file(name)?;
        let mut rows: Vec<Vec<Cell>> = Vec::new();
        for (title, field, paper) in printed {
            let ours = numbers(&grid, field);
            if ours != paper {
                differing.push(format!("{log}: {title}"));
            }
            rows.push(vec![title.into(), field.into(), set(&ours).into(), set(paper).into()]);
        }
        // what the text of the paper says, not its table
        for field in ["context_map", "family"] {
            let words = words(&grid, field);
            if !words.is_empty() {
                rows.push(vec![
                    "(not in the table)".into(),
                    field.into(),
                    format!("{{{}}}", words.join(", ")).into(),
                    "".into(),
                ]);
            }
        }
        tables.push(Table {
            caption: format!("{log}: the grid `{name}`"),
            head: ["hyperparameter", "field of a recipe", "built in", "paper"].map(String::from).into(),
            rows,
        });
    }
    let measured = if differing.is_empty() {
        "all 18 lists are equal".into()
    } else {
        format!("differing: {}", differing.join("; "))
    };
    Ok(Exhibit {
        about: "The paper's grids are built in: `counterpoint select --grid paper-synthetic` searches the grid of the \
                synthetic sets, and so on."
            .into(),
        tables,
        claims: vec![Claim {
            says: "The built-in grids are those of the paper".into(),
            holds: Some(differing.is_empty()),
            measured,
        }],
        notes: vec![
            "All combinations of a grid are tens of thousands of recipes; the built-in grids try a seeded sample of 200.".into(),
            "The kernel's bandwidth, which the paper also validated, is left out: it does not change what a CLP policy can be, \
             because the loss is only evaluated at the anchors."
                .into(),
        ],
        ..Exhibit::default()
    })
}

/// A field's values as numbers.
fn numbers(grid: &Grid, field: &str) -> Vec<f64> {
    let Some(value) = grid.recipe.get(field) else { return Vec::new() };
    let one = std::slice::from_ref(value);
    let values = value.as_array().map_or(one, Vec::as_slice);
    values.iter().filter_map(|v| v.as_float().or(v.as_integer().map(|i| i as f64))).collect()
}

/// A field's values as words.
fn words(grid: &Grid, field: &str) -> Vec<String> {
    let Some(value) = grid.recipe.get(field) else { return Vec::new() };
    let one = std::slice::from_ref(value);
    let values = value.as_array().map_or(one, Vec::as_slice);
    values.iter().filter_map(|v| v.as_str().map(String::from)).collect()
}

fn set(values: &[f64]) -> String {
    format!("{{{}}}", values.iter().map(f64::to_string).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Effort;
    use counterpoint::Engine;

    #[test]
    fn the_built_in_grids_are_the_printed_ones() {
        let e = run(&Ask::new(Effort::Quick, None, Engine::single())).expect("runs");
        assert_eq!(e.claims[0].holds, Some(true), "{}", e.claims[0].measured);
        assert!(e.tables.iter().all(|t| t.rows.iter().all(|r| r.len() == t.head.len())));
    }
}
