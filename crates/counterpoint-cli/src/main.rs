//! The program `counterpoint`; all of it stands in the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(counterpoint_cli::run(std::env::args_os()))
}
