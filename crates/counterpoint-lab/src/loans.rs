//! A real log: loan offers whose interest rate was drawn by lottery (Karlan and Zinman 2008), `data/loan_offers.parquet`.
//!
//! No propensity was logged, but the lottery is known: rates were drawn given risk class and mailing wave and nothing else. So the probability of
//! a rate is its share within its cell of risk x wave. Two columns are added to the log:
//!
//! ```text
//! probability   share of the offers of the cell with exactly this rate: 70 price points
//! density       share of the offers of the cell within the rate's quarter of a point, divided by 0.25
//! ```

use counterpoint::Result;
use counterpoint::data::{Column, Table};
use std::collections::BTreeMap;
use std::path::Path;

/// Columns that are kept: those the lottery used, contexts without missing values, the action, and outcomes.
pub const LOAN_COLUMNS: [&str; 18] = [
    "wave",
    "risk",
    "branch",
    "province",
    "rural",
    "itcscore",
    "appscore",
    "lastamount",
    "lastterm",
    "dormancy",
    "age",
    "female",
    "edhi",
    "offered_rate",
    "applied",
    "took_up",
    "loansize",
    "gross_interest",
];

/// Most rates are multiples of this; a density is counted in cells of this width.
const WIDTH: f64 = 0.25;

/// How often a value occurs among the values of its cell.
///
/// ```
/// use counterpoint_lab::shares;
/// assert_eq!(shares(&["a", "a", "b", "a"], &[7.0, 7.0, 7.0, 8.0]), [2.0 / 3.0, 2.0 / 3.0, 1.0, 1.0 / 3.0]);
/// ```
pub fn shares<C: Ord>(cells: &[C], values: &[f64]) -> Vec<f64> {
    let (mut of_cell, mut of_value) = (BTreeMap::new(), BTreeMap::new());
    for (cell, value) in cells.iter().zip(values) {
        *of_cell.entry(cell).or_insert(0.0) += 1.0;
        *of_value.entry((cell, value.to_bits())).or_insert(0.0) += 1.0;
    }
    let share = |(cell, value): (&C, &f64)| of_value[&(cell, value.to_bits())] / of_cell[cell];
    cells.iter().zip(values).map(share).collect()
}

/// Reads the offers and adds the probability and the density of each rate under the lottery.
pub fn read_loans(path: &Path) -> Result<Table> {
    let mut table = Table::read(path, &LOAN_COLUMNS.map(String::from))?;
    let cells: Vec<(String, String)> = table.words("risk")?.into_iter().zip(table.words("wave")?).collect();
    let rates = table.numbers("offered_rate")?;
    let quarters: Vec<f64> = rates.iter().map(|r| (r / WIDTH).round()).collect();
    let density = shares(&cells, &quarters).into_iter().map(|p| p / WIDTH).collect();
    table.columns.push(("probability".into(), Column::Numbers(shares(&cells, &rates))));
    table.columns.push(("density".into(), Column::Numbers(density)));
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn probabilities_of_every_cell_of_the_lottery_add_up_to_one() {
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/loan_offers.parquet");
        let table = read_loans(&file).expect("the offers");
        assert_eq!(table.rows(), 53_810);
        let cells: Vec<_> = table.words("risk").unwrap().into_iter().zip(table.words("wave").unwrap()).collect();
        let (rates, p) = (table.numbers("offered_rate").unwrap(), table.numbers("probability").unwrap());
        let mut points: BTreeMap<_, f64> = BTreeMap::new();
        for i in 0..table.rows() {
            points.insert((&cells[i], rates[i].to_bits()), p[i]);
        }
        let mut totals: BTreeMap<_, f64> = BTreeMap::new();
        points.iter().for_each(|((cell, _), p)| *totals.entry(cell).or_default() += p);
        assert_eq!(totals.len(), 9);
        assert!(totals.values().all(|t| (t - 1.0).abs() < 1e-9), "{totals:?}");
        // a quarter may hold several rates, so its share is no smaller than that of each
        let density = table.numbers("density").unwrap();
        assert!(density.iter().zip(&p).all(|(d, p)| 0.25 * d >= p - 1e-12));
    }
}
