//! Notes the commit the program is built from, for `--version`. Without git (a source archive) it is left out.

use std::process::Command;

fn main() {
    let said = Command::new("git").args(["rev-parse", "--short=10", "HEAD"]).output();
    let commit =
        said.ok().filter(|o| o.status.success()).map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string());
    println!("cargo::rustc-env=COUNTERPOINT_COMMIT={}", commit.unwrap_or_default());
    if let Ok(o) = Command::new("git").args(["rev-parse", "--git-path", "logs/HEAD"]).output() {
        let path = String::from_utf8_lossy(&o.stdout).trim().to_string();
        if o.status.success() && std::path::Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
}
