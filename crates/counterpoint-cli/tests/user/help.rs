//! The help of the program and of every command, as a user sees it.

use crate::support::{Place, snapshot};

#[test]
fn help_is_as_it_was_read_and_approved() {
    let place = Place::new();
    let words = "demo simulate describe pack learn select evaluate certify plan act monitor rival recipe completions";
    let commands: Vec<&str> = words.split(' ').collect();
    let program = place.run("--help");
    let whole = String::from_utf8(program.stdout).unwrap();
    for command in commands {
        assert!(whole.contains(&format!("\n  {command} ")), "{command} is not in the help");
        let out = place.run(&format!("{command} --help"));
        assert!(out.status.success());
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(command == "recipe" || text.contains("Example"), "{command} --help shows no example");
        snapshot(&format!("help-{command}"), &text);
    }
    snapshot("help", &whole);
}

#[test]
fn the_papers_experiments_are_pointed_to() {
    let out = Place::new().run("reproduce table2 --quick --out again");
    assert_eq!(out.status.code(), Some(2));
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("-p counterpoint-lab -- reproduce table2 --quick --out again"), "{said}");
}

#[test]
fn the_recipe_is_as_it_was_read_and_approved() {
    snapshot("recipe", &String::from_utf8(Place::new().run("recipe").stdout).unwrap());
}
