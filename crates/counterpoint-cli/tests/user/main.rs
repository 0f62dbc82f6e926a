//! What a new user does, and what the program must make of it: help, errors, bad files, full disks, ctrl-C.

#![cfg(unix)] // messages of the operating system, signals and ulimit
#![allow(clippy::unwrap_used, missing_docs)]

mod edges;
mod errors;
mod follow;
mod fuzz;
mod help;
mod hostile;
mod interrupt;
mod invariance;
mod manners;
mod outputs;
mod readme;
mod roles;
mod store;
mod support;
mod tables;
mod wishes;
