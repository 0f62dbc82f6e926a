//! The exhibits as Markdown: tables as pipes, pictures as links.

use super::finished::{Finished, Surroundings};
use super::wording;
use counterpoint_lab::paper::{Cell, Table};

/// The whole text.
pub(crate) fn text(kept: &[Finished], surroundings: &Surroundings) -> String {
    let mut out = format!("# {}\n\n{}\n\n{}\n", wording::TITLE, wording::lead(kept, surroundings), wording::READING);
    out += "\n| exhibit | in the paper | claims |\n|---|---|---|\n";
    for k in kept {
        out += &format!(
            "| [{}](#{}) | {} | {} |\n",
            k.title,
            anchor(&k.title),
            k.place,
            wording::counts(&k.exhibit.claims)
        );
    }
    for k in kept {
        out += &format!("\n## {}\n\n*{}.* {}\n", k.title, k.place, k.exhibit.about);
        if !k.exhibit.claims.is_empty() {
            out.push('\n');
        }
        for c in &k.exhibit.claims {
            out +=
                &format!("- **{}**: {}. *Measured: {}.*\n", wording::holds(c.holds), bare(&c.says), bare(&c.measured));
        }
        for t in &k.exhibit.tables {
            out += &format!("\n{}\n\n{}", t.caption, table(t));
        }
        for p in &k.exhibit.pictures {
            let alt = p.title.replace(['[', ']'], "");
            out += &format!("\n![{alt}]({}-{}.svg)\n", k.name, p.name);
        }
        if !k.exhibit.notes.is_empty() {
            out += "\nNotes:\n\n";
        }
        for n in &k.exhibit.notes {
            out += &format!("- {n}\n");
        }
    }
    out += "\n## How it was run\n\n";
    for (name, value) in wording::facts(surroundings) {
        out += &format!("- {name}: {value}\n");
    }
    out
}

/// The anchor that readers of Markdown give a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect::<String>().replace(' ', "-")
}

/// A sentence without its full stop.
fn bare(text: &str) -> &str {
    text.trim_end_matches('.')
}

fn table(t: &Table) -> String {
    let row = |cells: Vec<String>| {
        format!(
            "| {} |\n",
            cells.iter().map(|c| c.replace('|', "\\|").replace('\n', " ")).collect::<Vec<_>>().join(" | ")
        )
    };
    let number = |i: usize| t.rows.iter().any(|r| matches!(r.get(i), Some(Cell::Value(_))));
    let mut out = row(t.head.clone());
    out += &format!("|{}\n", (0..t.head.len()).map(|i| if number(i) { "---:|" } else { "---|" }).collect::<String>());
    for r in &t.rows {
        out += &row(r
            .iter()
            .map(|c| {
                let said = wording::cell(c);
                if said.printed.is_empty() { said.text } else { format!("{} ({})", said.text, said.printed) }
            })
            .collect());
    }
    out
}
