//! The page and the Markdown of exhibits: what they show, and that what is kept can be read again.

use super::finished::{Finished, Surroundings};
use super::{markdown, page};
use counterpoint_lab::paper::{Axis, Cell, Claim, Effort, Exhibit, Experiment, Picture, Series, Table, Value};

fn picture(name: &str) -> Picture {
    let line = Series { name: "a".into(), points: vec![[1.0, 2.0], [2.0, 3.0], [3.0, f64::NAN]], ..Series::default() };
    let (x, y) = (Axis::log("rows"), Axis::linear("reward"));
    Picture { name: name.into(), title: "A picture".into(), x, y, series: vec![line], ..Picture::default() }
}

#[test]
fn pictures_tables_and_code_stand_on_the_page_and_in_markdown() {
    let exhibit = Exhibit {
        about: "With `code` and <b>.".into(),
        tables: vec![Table {
            caption: "t".into(),
            head: vec!["a".into(), "b".into()],
            rows: vec![vec!["x|y".into(), f64::NAN.into()]],
        }],
        pictures: vec![picture("p"), picture("q")],
        claims: ["It holds.", "Not in the paper: it holds."]
            .map(|says| Claim { says: says.into(), holds: Some(true), measured: String::new() })
            .into(),
        ..Exhibit::default()
    };
    let run = Surroundings::new(Effort::Quick, None).unwrap();
    let experiment = Experiment { name: "some", title: "Some", place: "Figure 0", run: |_| Ok(Exhibit::default()) };
    let kept = [Finished::new(&experiment, run.clone(), exhibit)];
    let html = page::html(&kept, &run);
    assert_eq!(
        (html.matches("<svg class=\"chart\"").count(), html.matches("</svg>").count(), html.matches("<figure").count()),
        (2, 2, 2)
    );
    assert!(html.contains("With <code>code</code> and &lt;b&gt;."));
    let text = markdown::text(&kept, &run);
    assert!(text.contains("Of what the paper claims: 1 claim holds. Of what we add: 1 claim holds."), "{text}");
    assert!(text.contains("| x\\|y | \u{2013} |") && text.contains("![A picture](some-q.svg)"), "{text}");
    // what is written can be read again, and is an exhibit of this run and of no other
    let dir = tempfile::tempdir().unwrap();
    kept[0].write(dir.path()).unwrap();
    assert_eq!(Finished::read(dir.path(), "some", &run).unwrap().exhibit, kept[0].exhibit);
    assert!(Finished::read(dir.path(), "some", &Surroundings::new(Effort::Full, None).unwrap()).is_none());
    for file in ["some-p.svg", "some-p.csv", "some-q.svg", "some-q.csv"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
}

#[test]
fn markdown_is_as_it_was_read_and_approved() {
    let value = |ours, error, paper| Cell::Value(Value { ours, error, paper, paper_error: None });
    let exhibit = Exhibit {
        about: "Two methods on one log.".into(),
        tables: vec![Table {
            caption: "Test reward".into(),
            head: vec!["method".into(), "moons".into()],
            rows: vec![
                vec!["CLP".into(), value(0.80412, Some(0.0031), Some(0.781))],
                vec!["linear | poly".into(), value(12.0, None, None)],
            ],
        }],
        pictures: vec![picture("p")],
        claims: vec![Claim { says: "CLP does better.".into(), holds: Some(true), measured: "by 0.1.".into() }],
        notes: vec!["One seed.".into()],
    };
    let run = Surroundings {
        version: "1.2.3".into(),
        effort: Effort::Quick,
        files: vec![("warfarin.parquet".into(), "0123456789abcdef".into())],
    };
    let experiment =
        Experiment { name: "some", title: "Some (of it)", place: "Table 9", run: |_| Ok(Exhibit::default()) };
    let text = markdown::text(&[Finished::new(&experiment, run.clone(), exhibit)], &run);
    let (head, rest) = text.split_once("\n| exhibit |").unwrap();
    assert!(head.starts_with("# The paper, again\n\n1 exhibit of Zenati et al., TMLR 2025, run anew."), "{head}");
    assert_eq!(
        rest,
        " in the paper | claims |
|---|---|---|
| [Some (of it)](#some-of-it) | Table 9 | 1 claim holds |

## Some (of it)

*Table 9.* Two methods on one log.

- **holds**: CLP does better. *Measured: by 0.1.*

Test reward

| method | moons |
|---|---:|
| CLP | 0.8041 \u{b1} 0.0031 (paper 0.781 \u{25b2}) |
| linear \\| poly | 12 |

![A picture](some-p.svg)

Notes:

- One seed.

## How it was run

- counterpoint: 1.2.3
- effort: quick
- seeds: fixed in every experiment
- data: warfarin.parquet (sha256 0123456789abcdef)
"
    );
}
