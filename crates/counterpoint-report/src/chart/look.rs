//! How the classes of a picture look: colour, dash, shape.

use super::picture::{Mark, Series, Tone};

/// A line with at most this many points shows them.
const BEADS: usize = 24;
/// Colours, dashes and shapes there are; a ninth class takes the first colour with the next shape.
pub(super) const COLOURS: usize = 8;

/// How a class looks: the ends of its class names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    colour: Colour,
    /// Of `dash-`, and the shape of dots.
    pub(super) shape: usize,
    /// Whether its line shows its points.
    pub(super) beads: bool,
}

/// The end of `fill-` and `line-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colour {
    Number(usize),
    Named(&'static str),
}

impl Look {
    fn class(index: usize) -> Self {
        let shape = (index + index / COLOURS) % COLOURS;
        Look { colour: Colour::Number(index % COLOURS), shape, beads: false }
    }

    fn named(name: &'static str) -> Self {
        Look { colour: Colour::Named(name), shape: 0, beads: false }
    }

    fn guide(index: usize) -> Self {
        Look { shape: index % 4, ..Look::named("log") }
    }

    /// The look for a series: a line of few points shows them.
    fn of(self, s: &Series) -> Self {
        Look { beads: s.mark == Mark::Line && s.points.len() <= BEADS && s.tone == Tone::Own, ..self }
    }

    /// The end of its class names of colour.
    pub(super) fn colour(&self) -> String {
        match self.colour {
            Colour::Number(n) => n.to_string(),
            Colour::Named(name) => name.into(),
        }
    }
}

/// One class per name; what has no name is grey beside what has one.
pub(super) fn looks(series: &[Series]) -> Vec<Look> {
    let mut names: Vec<&str> = Vec::new();
    let named = series.iter().any(|s| s.mark != Mark::Guide && !s.name.is_empty());
    let mut guides = 0;
    series
        .iter()
        .map(|s| match (s.mark, s.tone) {
            (Mark::Guide, _) => {
                guides += 1;
                Look::guide(guides - 1)
            }
            (_, Tone::Log) => Look::named("log").of(s),
            (_, Tone::Policy) => Look::named("policy").of(s),
            (_, Tone::Bad) => Look::named("bad").of(s),
            (_, Tone::Own) if s.name.is_empty() && named => Look::named("log").of(s),
            (_, Tone::Own) => {
                let known = names.iter().position(|n| *n == s.name).unwrap_or(names.len());
                if known == names.len() {
                    names.push(&s.name);
                }
                Look::class(known).of(s)
            }
        })
        .collect()
}
