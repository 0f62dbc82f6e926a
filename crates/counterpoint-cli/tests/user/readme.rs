//! The commands of README.md, run in order as they stand there, on fewer rows and with a smaller grid.

use crate::support::Place;

/// The fenced blocks of one language, in order.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let open = format!("```{language}\n");
    text.split(&open).skip(1).map(|b| b.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn every_command_of_the_readme_works_as_written() {
    let readme = include_str!("../../../../README.md");
    let place = Place::new();
    place.write("log.toml", blocks(readme, "toml")[0]);
    place.write("small.toml", "[recipe]\nanchors = [4, 5]\nstd_floor = 0.3\nstarts = 1\nproximal_steps = 1\n");
    let lines = blocks(readme, "sh").into_iter().flat_map(str::lines);
    // what builds or checks the project itself is not for a test to run
    let lines = lines.filter(|l| !l.starts_with("cargo ") && !l.starts_with("scripts/"));
    let mut commands = 0;
    for line in lines {
        let command = line.split(" #").next().unwrap_or_default().trim();
        let Some(args) = command.strip_prefix("counterpoint ") else { panic!("{line:?} is no command of ours") };
        assert!(!command.contains("..."), "{line:?} cannot be run as written");
        let smaller = if args.starts_with("select ") { " --grid small.toml" } else { "" };
        place.done(&format!("{}{smaller}", args.replace("--rows 30000", "--rows 1500")));
        commands += 1;
    }
    assert!(commands >= 8, "the README has lost its commands");
    for file in ["policy.json", "policy.certificate.json", "best.json", "report.html", "actions.parquet"] {
        assert!(place.path(file).exists(), "{file}");
    }
}
