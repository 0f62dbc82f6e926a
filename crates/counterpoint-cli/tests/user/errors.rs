//! Typical mistakes, and the messages they end in: each names the file, the row, the column, and the remedy.

use crate::support::{COLUMNS, Place, SMALL, snapshot, words};

/// Every mistake and its message in one file, to be read as a page.
#[test]
fn messages_are_as_they_were_read_and_approved() {
    let place = Place::with_log();
    place.with_cell("negative.csv", 7, "propensity", "-0.5");
    place.with_cell("missing.csv", 12, "reward", "");
    place.with_cell("word.csv", 3, "x0", "abc");
    place.with_cell("infinite.csv", 4, "action", "inf");
    place.with_cell("part.csv", 5, "split", "dev");
    place.with_column("city.csv", "x0", |i, _| ["Rome", "Paris"][i % 2].into());
    place.done(&format!("learn city.csv {COLUMNS} {SMALL} --no-certify -o city.json"));
    place.with_column("new-city.csv", "x0", |i, _| if i == 40 { "Oslo" } else { ["Rome", "Paris"][i % 2] }.into());
    place.write("empty.csv", "");
    place.write("header.csv", "x0,x1,action,reward,propensity,split\n");
    place.write("spaces.csv", "x0 x1 action reward propensity split\n1 2 3 4 5 train\n");
    place.write("text.parquet", "this is no parquet");
    place.write("notes.txt", "x0,x1\n");
    place.write("misspelt.toml", "anchors = 5\nancors = 3\n");
    place.write("wrong.toml", "cap = \"high\"\n");
    place.write("bad-grid.toml", "keep = 0.5\n[recipe]\ncap = [5.0, -1.0]\n");
    place.write("odd-grid.toml", "kep = 0.5\n");
    place.write("older.json", place.text("policy.json").replace("\"version\": 3", "\"version\": 99"));
    place.write("logs/a.csv", place.text("log.csv"));
    place.write("logs/b.parquet", "PAR1");
    let wrong = COLUMNS.replace("--propensity propensity", "--propensity propensty");
    let none = "learn log.csv -o p.json";
    let mut page = String::new();
    for args in [
        format!("learn log.csv {wrong} -o p.json"),
        format!("learn log.csv {} -o p.json", COLUMNS.replace("x1", "age")),
        none.into(),
        format!("learn nowhere.csv {COLUMNS} -o p.json"),
        format!("learn negative.csv {COLUMNS} -o p.json"),
        format!("learn missing.csv {COLUMNS} -o p.json"),
        format!("learn word.csv {COLUMNS} -o p.json"),
        format!("learn infinite.csv {COLUMNS} -o p.json"),
        format!("learn part.csv {COLUMNS} -o p.json"),
        format!("learn empty.csv {COLUMNS} -o p.json"),
        format!("learn header.csv {COLUMNS} -o p.json"),
        format!("learn spaces.csv {COLUMNS} -o p.json"),
        format!("learn text.parquet {COLUMNS} -o p.json"),
        format!("learn notes.txt {COLUMNS} -o p.json"),
        format!("learn logs {COLUMNS} -o p.json"),
        format!("learn log.csv {COLUMNS} --set ancors=3 -o p.json"),
        format!("learn log.csv {COLUMNS} --set anchors=many -o p.json"),
        format!("learn log.csv {COLUMNS} --set anchors=1 -o p.json"),
        format!("learn log.csv {COLUMNS} --set estimator=dr -o p.json"),
        format!("learn log.csv {COLUMNS} --set cap -o p.json"),
        format!("learn log.csv {COLUMNS} --recipe misspelt.toml -o p.json"),
        format!("learn log.csv {COLUMNS} --recipe wrong.toml -o p.json"),
        format!("select log.csv {COLUMNS} --grid bad-grid.toml -o p.json"),
        format!("select log.csv {COLUMNS} --grid odd-grid.toml -o p.json"),
        format!("select log.csv {COLUMNS} --grid nowhere.toml -o p.json"),
        format!("learn log.csv {COLUMNS} --threads 100000 -o p.json"),
        format!("learn log.csv {COLUMNS} --seed -1 -o p.json"),
        format!("certify policy.json log.csv {COLUMNS} --confidence 95"),
        format!("certify policy.json log.csv {COLUMNS} --confidence 0.99999"),
        format!("certify log.csv log.csv {COLUMNS}"),
        format!("certify older.json log.csv {COLUMNS}"),
        format!("certify policy.json log.csv {}", COLUMNS.replace("x0,x1", "x0")),
        "certify city.json new-city.csv --reward reward --propensity propensity --split split".into(),
        "act city.json new-city.csv -o actions.csv".into(),
        "act policy.json log.csv -o actions.txt".into(),
        "simulate moons --rows 2 -o s.csv".into(),
        "simulate mooons -o s.csv".into(),
        "demo --rows 10".into(),
    ] {
        let before = place.listing();
        let out = place.run(&args);
        assert_eq!(out.status.code(), Some(2), "{args}: {}", words(&out));
        assert_eq!(place.listing(), before, "{args} left something");
        page += &format!("$ counterpoint {args}\n{}\n", words(&out));
    }
    snapshot("errors", &page);
}
