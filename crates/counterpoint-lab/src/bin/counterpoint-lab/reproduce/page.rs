//! The exhibits as one page: loads nothing, runs only its own script, the same bytes for the same figures.

use super::finished::{Finished, Surroundings};
use super::wording::{self, Said};
use counterpoint_lab::paper::{Cell, Claim, Table};
use counterpoint_report::chart::Sheet;
use counterpoint_report::{Markup, markup, words};
use serde::Serialize;

#[derive(Serialize)]
struct View {
    title: &'static str,
    lead: String,
    reading: &'static str,
    exhibits: Vec<Shown>,
    facts: Vec<(String, String)>,
    version: String,
}

#[derive(Serialize)]
struct Shown {
    name: String,
    title: String,
    place: String,
    counts: String,
    about: Markup,
    claims: Vec<ShownClaim>,
    tables: Vec<ShownTable>,
    pictures: Vec<ShownPicture>,
    notes: Vec<Markup>,
}

#[derive(Serialize)]
struct ShownClaim {
    class: &'static str,
    word: &'static str,
    says: String,
    measured: String,
}

#[derive(Serialize)]
struct ShownTable {
    caption: Markup,
    label: String,
    heads: Vec<Head>,
    rows: Vec<Vec<ShownCell>>,
}

#[derive(Serialize)]
struct Head {
    name: String,
    number: bool,
}

#[derive(Serialize)]
struct ShownCell {
    class: &'static str,
    text: String,
    printed: String,
}

#[derive(Serialize)]
struct ShownPicture {
    title: String,
    chart: Markup,
}

/// The page.
pub(crate) fn html(kept: &[Finished], surroundings: &Surroundings) -> String {
    let view = View {
        title: wording::TITLE,
        lead: wording::lead(kept, surroundings),
        reading: wording::READING,
        exhibits: kept.iter().map(shown).collect(),
        facts: wording::facts(surroundings),
        version: surroundings.version.clone(),
    };
    counterpoint_report::page(include_str!("page.html"), include_str!("style.css"), &view, None::<&()>)
}

fn shown(kept: &Finished) -> Shown {
    let e = &kept.exhibit;
    Shown {
        name: kept.name.clone(),
        title: kept.title.clone(),
        place: kept.place.clone(),
        counts: wording::counts(&e.claims),
        about: coded(&e.about),
        claims: e.claims.iter().map(claim).collect(),
        tables: e.tables.iter().map(table).collect(),
        pictures: e
            .pictures
            .iter()
            .filter_map(|p| Some(ShownPicture { title: p.title.clone(), chart: markup(p.svg(&Sheet::FIGURE)?) }))
            .collect(),
        notes: e.notes.iter().map(|n| coded(n)).collect(),
    }
}

fn claim(c: &Claim) -> ShownClaim {
    let class = match c.holds {
        Some(true) => "good",
        Some(false) => "bad",
        None => "note",
    };
    ShownClaim { class, word: wording::holds(c.holds), says: c.says.clone(), measured: c.measured.clone() }
}

fn table(t: &Table) -> ShownTable {
    let number = |i: usize| t.rows.iter().any(|r| matches!(r.get(i), Some(Cell::Value(_))));
    let heads = t.head.iter().enumerate().map(|(i, name)| Head { name: name.clone(), number: number(i) }).collect();
    let cell = |(i, c): (usize, &Cell)| {
        let Said { text, printed } = wording::cell(c);
        let class = match c {
            _ if number(i) => "number",
            Cell::Text(words) if words.chars().count() > 32 => "long",
            _ => "",
        };
        ShownCell { class, text, printed }
    };
    ShownTable {
        caption: coded(&t.caption),
        label: t.caption.replace('`', ""),
        heads,
        rows: t.rows.iter().map(|r| r.iter().enumerate().map(cell).collect()).collect(),
    }
}

/// The text as markup, with what stands between backticks as code.
fn coded(text: &str) -> Markup {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        let part = words::escape(part);
        out += &if i % 2 == 1 { format!("<code>{part}</code>") } else { part };
    }
    markup(out)
}
