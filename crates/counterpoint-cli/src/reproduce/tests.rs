//! Laws of the pictures: what they show, what they leave out, and that everything stays inside.

use super::kept::{Kept, Surroundings};
use super::picture::{Stand, draw, label, scale, usable};
use super::{markdown, page};
use counterpoint_lab::paper::{Axis, Claim, Effort, Exhibit, Experiment, Mark, Picture, Series, Table};

fn series(name: &str, mark: Mark, points: Vec<[f64; 2]>) -> Series {
    Series { name: name.into(), mark, points, spread: Vec::new() }
}

fn picture(x: Axis, y: Axis, series: Vec<Series>) -> Picture {
    Picture { name: "p".into(), title: "A picture".into(), x, y, series }
}

/// Everything at once: each mark, more than eight classes, errors, a cloud.
pub(crate) fn busy(log: bool) -> Picture {
    let axis = |name: &str| if log { Axis::log(name) } else { Axis::linear(name) };
    let at = |i: usize, k: usize| [1.0 + i as f64, 2.0 + k as f64 + (i as f64 * 0.7 + k as f64).sin()];
    let mut all: Vec<Series> = (0..9)
        .map(|k| Series {
            spread: (0..12).map(|i| 0.1 + 0.02 * i as f64).collect(),
            ..series(
                &format!("class number {k}"),
                if k % 3 == 2 { Mark::Dots } else { Mark::Line },
                (0..12).map(|i| at(i, k)).collect(),
            )
        })
        .collect();
    let unit = |i: usize, a: f64| (i as f64 * a).fract();
    let cloud = (0..5000).map(|i| [1.0 + 11.0 * unit(i, 0.754_877_666), 1.0 + 10.0 * unit(i, 0.569_840_291)]).collect();
    all.insert(0, series("cloud", Mark::Dots, cloud));
    all.push(series("y = x", Mark::Guide, vec![[1.0, 1.0], [12.0, 12.0]]));
    all.push(series("bars", Mark::Bars, (0..12).map(|i| [1.0 + i as f64, 1.0 + 0.1 * i as f64]).collect()));
    picture(axis("number of rows"), axis("reward"), all)
}

/// All numbers in the coordinates of a drawing.
fn coordinates(svg: &str) -> Vec<f64> {
    let attributes = [" x=\"", " y=\"", " x1=\"", " x2=\"", " y1=\"", " y2=\"", " cx=\"", " cy=\""];
    attributes
        .iter()
        .flat_map(|a| svg.split(a).skip(1).map(|rest| rest.split('"').next().unwrap_or_default().parse().unwrap()))
        .collect()
}

#[test]
fn nothing_to_draw_is_no_picture() {
    let (x, y) = (|| Axis::linear("x"), || Axis::linear("y"));
    assert!(draw(&picture(x(), y(), vec![]), Stand::Page).is_none());
    assert!(draw(&picture(x(), y(), vec![series("a", Mark::Line, vec![])]), Stand::Page).is_none());
    assert!(draw(&picture(x(), y(), vec![series("a", Mark::Dots, vec![[f64::NAN, 1.0]])]), Stand::File).is_none());
    assert!(
        draw(&picture(Axis::log("x"), y(), vec![series("a", Mark::Line, vec![[-1.0, 1.0], [0.0, 2.0]])]), Stand::Page)
            .is_none()
    );
}

#[test]
fn what_has_no_place_is_dropped_with_its_spread() {
    let s = Series {
        spread: vec![0.1, 0.2, f64::NAN, 0.4],
        ..series("a", Mark::Dots, vec![[1.0, f64::NAN], [2.0, 5.0], [3.0, 6.0], [f64::INFINITY, 7.0]])
    };
    let p = picture(Axis::linear("x"), Axis::log("y"), vec![]);
    let kept = usable(&s, &p);
    assert_eq!((kept.points, kept.spread), (vec![[2.0, 5.0], [3.0, 6.0]], vec![0.2, 0.0]));
}

#[test]
fn everything_stays_inside_and_is_finite() {
    for log in [false, true] {
        for stand in [Stand::Page, Stand::File] {
            let svg = draw(&busy(log), stand).unwrap();
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
            let numbers = coordinates(&svg);
            assert!(numbers.len() > 100 && numbers.iter().all(|v| (-10.0..=700.0).contains(v)));
            assert_eq!(svg.matches("<title>A picture</title>").count(), 1);
            assert!(svg.contains("y = x") && svg.contains("class number 8"));
            // five thousand dots are one path
            assert!(svg.len() < 250_000, "{}", svg.len());
        }
    }
}

#[test]
fn same_picture_same_bytes() {
    assert!(draw(&busy(true), Stand::File) == draw(&busy(true), Stand::File));
}

#[test]
fn logarithmic_ticks_are_powers_of_ten_or_round() {
    let labels = |low: f64, high: f64| -> Vec<String> {
        scale((low, high), true, 0.0, 400.0).ticks(7).into_iter().map(|(v, plain)| label(v, true, plain)).collect()
    };
    assert_eq!(labels(0.00001, 1.0), ["1e\u{2212}5", "1e\u{2212}4", "0.001", "0.01", "0.1", "1"]);
    assert_eq!(labels(100.0, 1e6), ["100", "1,000", "10,000", "1e5", "1e6"]);
    assert_eq!(labels(1.0, 20.0), ["1", "2", "5", "10", "20"]);
    // within a factor of two: equal steps
    assert!(labels(3.1, 4.4).len() >= 3, "{:?}", labels(3.1, 4.4));
}

#[test]
fn series_of_one_name_share_a_class_and_a_key() {
    let points = vec![[0.0, 1.0], [1.0, 2.0]];
    let p = picture(
        Axis::linear("x"),
        Axis::linear("y"),
        vec![
            series("a", Mark::Line, points.clone()),
            series("b", Mark::Line, points.clone()),
            series("a", Mark::Dots, points),
        ],
    );
    let svg = draw(&p, Stand::Page).unwrap();
    assert_eq!(svg.matches("class=\"legend\"").count(), 2);
    assert!(svg.contains("spot fill-0") && !svg.contains("fill-2"));
}

#[test]
fn names_are_text_and_never_markup() {
    let evil = "</title><script>alert(1)</script>";
    let mut p =
        picture(Axis::linear(evil), Axis::linear(evil), vec![series(evil, Mark::Dots, vec![[0.0, 1.0], [1.0, 3.0]])]);
    p.series.push(series(evil, Mark::Guide, vec![[0.0, 1.0], [1.0, 3.0]]));
    p.title = evil.into();
    assert!(!draw(&p, Stand::File).unwrap().contains("<script"));
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
        pictures: vec![busy(false), Picture { name: "q".into(), ..busy(true) }],
        claims: ["It holds.", "Not in the paper: it holds."]
            .map(|says| Claim { says: says.into(), holds: Some(true), measured: String::new() })
            .into(),
        ..Exhibit::default()
    };
    let run = Surroundings::new(Effort::Quick, None).unwrap();
    let experiment = Experiment { name: "some", title: "Some", place: "Figure 0", run: |_| Ok(Exhibit::default()) };
    let kept = [Kept::new(&experiment, run.clone(), exhibit)];
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
    assert_eq!(Kept::read(dir.path(), "some", &run).unwrap().exhibit, kept[0].exhibit);
    assert!(Kept::read(dir.path(), "some", &Surroundings::new(Effort::Full, None).unwrap()).is_none());
    for file in ["some-p.svg", "some-p.csv", "some-q.svg", "some-q.csv"] {
        assert!(dir.path().join(file).exists(), "{file}");
    }
}

/// Writes sample pictures where COUNTERPOINT_PICTURES says, for the eye.
#[test]
fn samples_for_the_eye() {
    let Some(dir) = std::env::var_os("COUNTERPOINT_PICTURES") else { return };
    for log in [false, true] {
        let svg = super::alone::file(&draw(&busy(log), Stand::File).unwrap());
        std::fs::write(std::path::Path::new(&dir).join(format!("busy-{log}.svg")), svg).unwrap();
    }
    let normal = |x: f64| (-0.5 * x * x).exp() / 2.5;
    let bars = |shift: f64| (0..30).map(|i| -3.0 + 0.2 * i as f64).map(|x| [x, normal(x - shift)]).collect();
    let p = picture(
        Axis::linear("difference of online and offline boundary"),
        Axis::linear("share of policies"),
        vec![
            series("IPS", Mark::Bars, bars(-0.5)),
            series("SNIPS", Mark::Bars, bars(0.3)),
            series("no difference", Mark::Guide, vec![[0.0, 0.0], [0.0, 0.42]]),
        ],
    );
    std::fs::write(std::path::Path::new(&dir).join("bars.svg"), super::alone::file(&draw(&p, Stand::File).unwrap()))
        .unwrap();
    let line = |a: f64| (0..7).map(|i| 10f64.powf(2.0 + 0.5 * i as f64)).map(|n| [n, a / n.sqrt()]).collect::<Vec<_>>();
    let p = picture(
        Axis::log("rows"),
        Axis::log("excess risk"),
        vec![
            Series {
                spread: line(3.0).iter().map(|p| 0.2 * p[1]).collect(),
                ..series("CLP, soft-clipped", Mark::Line, line(3.0))
            },
            series("linear", Mark::Line, line(5.0)),
            series("n^(-1/2)", Mark::Guide, line(2.0)),
        ],
    );
    std::fs::write(std::path::Path::new(&dir).join("rates.svg"), super::alone::file(&draw(&p, Stand::File).unwrap()))
        .unwrap();
}
