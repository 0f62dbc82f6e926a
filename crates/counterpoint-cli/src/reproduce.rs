//! `counterpoint reproduce`: where the command has gone. The paper's experiments are a program of their own, so that this one need
//! not carry them.

use crate::Done;
use clap::Args;
use counterpoint::{Error, Result};

/// The paper's tables and figures are run by another program, counterpoint-lab.
#[derive(Args)]
#[command(hide = true)]
pub(crate) struct Reproduce {
    /// What was asked.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

impl Reproduce {
    pub(crate) fn run(&self) -> Result<Done> {
        let asked: String = self.arguments.iter().map(|a| format!(" {a}")).collect();
        Err(Error::data("the paper's experiments are run by the program counterpoint-lab")
            .hint(format!("cargo run --release -p counterpoint-lab -- reproduce{asked}")))
    }
}
