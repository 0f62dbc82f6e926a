//! Laws of the pictures: what they show, what they leave out, and that everything stays inside.

use super::scale::Scale;
use super::{Axis, Mark, Picture, Series, Sheet, Strip, Tone, svg_file};

fn series(name: &str, mark: Mark, points: Vec<[f64; 2]>) -> Series {
    Series { name: name.into(), mark, points, ..Series::default() }
}

fn picture(x: Axis, y: Axis, series: Vec<Series>) -> Picture {
    Picture { name: "p".into(), title: "A picture".into(), x, y, series, ..Picture::default() }
}

/// Everything at once: each mark, more than eight classes, errors, a cloud.
fn busy(log: bool) -> Picture {
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
    let area = (0..12).map(|i| [1.0 + i as f64, 3.0 + (i as f64).cos()]).collect::<Vec<_>>();
    all.push(Series { tone: Tone::Log, ..series("area", Mark::Area, area.clone()) });
    all.push(Series { tone: Tone::Policy, ..series("stretch", Mark::Stretch, area[2..5].to_vec()) });
    let band = area.iter().map(|p| [p[1] - 0.5, p[1] + 2.0]).collect();
    all.push(Series { band, tone: Tone::Bad, ..series("band", Mark::Line, area) });
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
    assert!(picture(x(), y(), vec![]).svg(&Sheet::FIGURE).is_none());
    assert!(picture(x(), y(), vec![series("a", Mark::Line, vec![])]).svg(&Sheet::FIGURE).is_none());
    assert!(picture(x(), y(), vec![series("a", Mark::Dots, vec![[f64::NAN, 1.0]])]).svg(&Sheet::FILE).is_none());
    assert!(
        picture(Axis::log("x"), y(), vec![series("a", Mark::Line, vec![[-1.0, 1.0], [0.0, 2.0]])])
            .svg(&Sheet::FIGURE)
            .is_none()
    );
}

#[test]
fn what_has_no_place_is_dropped_with_its_spread() {
    let s = Series {
        spread: vec![0.1, 0.2, f64::NAN, 0.4],
        ..series("a", Mark::Dots, vec![[1.0, f64::NAN], [2.0, 5.0], [3.0, 6.0], [f64::INFINITY, 7.0]])
    };
    let p = picture(Axis::linear("x"), Axis::log("y"), vec![s]).usable();
    let kept = &p.series[0];
    assert_eq!((&kept.points, &kept.spread), (&vec![[2.0, 5.0], [3.0, 6.0]], &vec![0.2, 0.0]));
}

#[test]
fn everything_stays_inside_and_is_finite() {
    for log in [false, true] {
        for sheet in [Sheet::FIGURE, Sheet::FILE, Sheet::card(160.0)] {
            let svg = busy(log).svg(&sheet).unwrap();
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
    assert!(busy(true).svg(&Sheet::FILE) == busy(true).svg(&Sheet::FILE));
}

#[test]
fn logarithmic_ticks_are_powers_of_ten_or_round() {
    let labels = |low: f64, high: f64| -> Vec<String> {
        Scale::log((low, high), 0.0, 400.0).ticks(7).into_iter().map(|t| t.1).collect()
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
    let svg = p.svg(&Sheet::FIGURE).unwrap();
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
    assert!(!p.svg(&Sheet::FILE).unwrap().contains("<script"));
}

#[test]
fn a_band_that_is_not_even_is_drawn_as_it_is() {
    let line = Series { band: vec![[0.0, 2.0], [1.0, 1.5]], ..series("a", Mark::Line, vec![[0.0, 1.0], [1.0, 1.0]]) };
    let p = picture(Axis::linear("x"), Axis::linear("y"), vec![line.clone()]);
    let band = |p: &Picture| {
        let svg = p.svg(&Sheet::FIGURE).unwrap();
        svg.split("class=\"band").nth(1).unwrap().split("/>").next().unwrap().matches(['M', 'L']).count()
    };
    assert_eq!(band(&p), 4);
    // an end that is not finite closes the band there, and the line goes on
    let open = Series { band: vec![[f64::NAN, 2.0], [1.0, 1.5]], ..line };
    let kept = picture(Axis::linear("x"), Axis::linear("y"), vec![open]).usable();
    assert_eq!((kept.series[0].points.len(), kept.series[0].band[0]), (2, [1.0, 1.0]));
}

#[test]
fn strips_that_are_given_take_the_place_of_those_of_lines() {
    let line = series("a", Mark::Line, vec![[0.0, 1.0], [1.0, 3.0]]);
    let mut p = picture(Axis::linear("x"), Axis::linear("y"), vec![line]);
    let hits = |p: &Picture| p.svg(&Sheet::FIGURE).unwrap().matches("class=\"hit\"").count();
    assert!(hits(&p) > 30);
    let strip = |from: f64, to: f64| Strip { from, to, tip: "here & there".into() };
    p.strips = vec![strip(0.0, 0.5), strip(0.5, 1.0), strip(f64::NAN, 1.0)];
    assert_eq!(hits(&p), 2);
    assert!(p.svg(&Sheet::FIGURE).unwrap().contains("<title>here &amp; there</title>"));
}

#[test]
#[ignore = "writes sample pictures into the directory COUNTERPOINT_PICTURES, for the eye"]
fn samples_for_the_eye() {
    let dir = std::env::var_os("COUNTERPOINT_PICTURES").expect("COUNTERPOINT_PICTURES names a directory");
    for log in [false, true] {
        let svg = svg_file(&busy(log).svg(&Sheet::FILE).unwrap());
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
    std::fs::write(std::path::Path::new(&dir).join("bars.svg"), svg_file(&p.svg(&Sheet::FILE).unwrap())).unwrap();
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
    std::fs::write(std::path::Path::new(&dir).join("rates.svg"), svg_file(&p.svg(&Sheet::FILE).unwrap())).unwrap();
}
