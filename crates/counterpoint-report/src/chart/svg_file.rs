//! A chart as a file of its own: the page's style, resolved for programs that know neither variables nor `light-dark`.

use std::collections::BTreeMap;

/// A chart as the text of a file: names its language, its size and its style, light and dark.
pub fn svg_file(chart: &str) -> String {
    let size =
        chart.split_once("viewBox=\"0 0 ").and_then(|(_, rest)| rest.split_once('"')).map_or("520 320", |(s, _)| s);
    let (width, height) = size.split_once(' ').unwrap_or(("520", "320"));
    let open =
        format!("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" class=\"chart\"");
    let chart = chart.replacen("<svg class=\"chart\"", &open, 1);
    // the style follows the description, so that title and description stay the first children
    match chart.split_once("</desc>") {
        Some((head, body)) => format!("{head}</desc>\n<style>\n{}</style>{body}\n", style()),
        None => chart,
    }
}

/// The rules for charts, once in light colours and, where those differ, again in dark ones.
fn style() -> String {
    let text = include_str!("../style.css").replace("\r\n", "\n");
    let colours = colours(&text);
    let resolved = |line: &str, dark: bool| {
        let mut line = line.to_string();
        for (name, (light, night)) in &colours {
            line = line.replace(&format!("var(--{name})"), if dark { night } else { light });
        }
        line
    };
    let chart = |l: &&str| {
        [".chart ", ".grid line", ".fill-", ".line-"].iter().any(|start| l.starts_with(start)) && l.ends_with('}')
    };
    let rules: Vec<&str> = text.lines().filter(chart).collect();
    let font = "system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, sans-serif";
    let mut out = format!("svg {{ font-family: {font}; }}\n");
    for rule in &rules {
        out += &format!("{}\n", resolved(rule, false));
    }
    out += "@media (prefers-color-scheme: dark) {\n";
    for rule in rules.iter().filter(|r| r.contains("var(--")) {
        out += &format!("  {}\n", resolved(rule, true));
    }
    out + "}\n"
}

/// The colours of a style sheet: name, light, dark.
fn colours(text: &str) -> BTreeMap<&str, (&str, &str)> {
    text.lines()
        .filter_map(|l| {
            let (name, rest) = l.trim().strip_prefix("--")?.split_once(": light-dark(")?;
            let (light, dark) = rest.strip_suffix(");")?.split_once(", ")?;
            Some((name, (light, dark)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_colour_is_resolved() {
        let style = style();
        assert!(!style.contains("var(") && !style.contains("light-dark"), "{style}");
        assert!(style.contains("prefers-color-scheme: dark") && style.contains("#78aef7") && style.contains("#1f5fbf"));
        assert_eq!(style.matches('{').count(), style.matches('}').count());
    }

    #[test]
    fn a_file_names_its_language_and_size() {
        let svg = svg_file(
            "<svg class=\"chart\" viewBox=\"0 0 520 340.5\" role=\"img\"><title>t</title><desc>d</desc>\n<g/></svg>",
        );
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"520\" height=\"340.5\" class=\"chart\"")
        );
        assert!(svg.contains("<desc>d</desc>\n<style>") && svg.contains("</style>\n<g/></svg>"));
    }
}
