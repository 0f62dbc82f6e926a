//! `counterpoint completions`: what the shell needs to finish a command.

use crate::{Done, Program, say};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use counterpoint::Result;

/// Print a completion script for a shell.
#[derive(Args)]
#[command(
    after_help = "Example:\n  counterpoint completions bash > ~/.local/share/bash-completion/completions/counterpoint"
)]
pub(crate) struct Completions {
    /// bash, zsh, fish, elvish or powershell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<Done> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Program::command(), "counterpoint", &mut script);
        say::result(String::from_utf8_lossy(&script).trim_end());
        Ok(Done::Yes)
    }
}
