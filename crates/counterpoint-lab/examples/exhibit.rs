//! Runs an experiment of the paper and prints its tables as Markdown.
//!
//! `cargo run --release -p counterpoint-lab --example exhibit -- table3 [--data DIR] [--memory FILE] [--quick]`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use counterpoint::{Engine, Error, Result};
use counterpoint_lab::paper::{Ask, Cell, Effort, Exhibit, exhibits, table3};
use std::path::PathBuf;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut name, mut data, mut memory, mut effort) = (String::new(), None, None, Effort::Full);
    while let Some(a) = arguments.next() {
        match a.as_str() {
            "--data" => data = arguments.next().map(PathBuf::from),
            "--memory" => memory = arguments.next().map(PathBuf::from),
            "--quick" => effort = Effort::Quick,
            _ => name = a,
        }
    }
    let listed = exhibits().iter().find(|e| e.name == name).map(|e| e.run);
    let run = match (listed, name.as_str()) {
        (Some(run), _) => run,
        (None, "table3") => table3,
        _ => return Err(Error::recipe("exhibit", format!("{name:?} names no experiment"))),
    };
    let mut ask = Ask::new(effort, data, Engine::new(0)?).watched(|words| eprintln!("{words}"));
    if let Some(path) = memory {
        ask = ask.remembering(&path)?;
    }
    print(&run(&ask)?);
    Ok(())
}

fn print(exhibit: &Exhibit) {
    println!("{}", exhibit.about);
    for table in &exhibit.tables {
        println!("\n{}\n\n| {} |", table.caption, table.head.join(" | "));
        println!("|{}", "---|".repeat(table.head.len()));
        for row in &table.rows {
            println!("| {} |", row.iter().map(cell).collect::<Vec<_>>().join(" | "));
        }
    }
    println!();
    for claim in &exhibit.claims {
        let holds = claim.holds.map_or("unclear", |h| if h { "holds" } else { "does not hold" });
        println!("- {}: {holds}. {}", claim.says, claim.measured);
    }
    exhibit.notes.iter().for_each(|note| println!("- {note}"));
}

fn cell(cell: &Cell) -> String {
    let with = |v: f64, e: Option<f64>| match e {
        Some(e) => format!("{v:.4} ± {e:.4}"),
        None => format!("{v:.4}"),
    };
    match cell {
        Cell::Text(words) => words.clone(),
        Cell::Value(v) => match v.paper {
            Some(p) => format!("{} ({})", with(v.ours, v.error), with(p, v.paper_error)),
            None => with(v.ours, v.error),
        },
    }
}
