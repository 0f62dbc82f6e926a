//! The points of a picture for other programs.

use counterpoint_lab::paper::Picture;

/// One line per point: series, x, y, spread.
pub(crate) fn series(picture: &Picture) -> String {
    let mut out = String::from("series,x,y,spread\n");
    for s in &picture.series {
        let name = quoted(&s.name);
        for (i, [x, y]) in s.points.iter().enumerate() {
            let spread = s.spread.get(i).map(f64::to_string).unwrap_or_default();
            out += &format!("{name},{x},{y},{spread}\n");
        }
    }
    out
}

fn quoted(name: &str) -> String {
    let plain = !name.contains([',', '"', '\n', '\r']);
    if plain { name.into() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use counterpoint_lab::paper::Series;

    #[test]
    fn names_with_commas_are_quoted() {
        let s = Series {
            name: "a, \"b\"".into(),
            points: vec![[1.0, 0.5], [2.0, 1e-9]],
            spread: vec![0.1],
            ..Series::default()
        };
        let p = Picture { series: vec![s], ..Picture::default() };
        assert_eq!(series(&p), "series,x,y,spread\n\"a, \"\"b\"\"\",1,0.5,0.1\n\"a, \"\"b\"\"\",2,0.000000001,\n");
    }
}
