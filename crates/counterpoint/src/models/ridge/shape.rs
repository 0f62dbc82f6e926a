//! Which columns a ridge regression may have: the shapes that are tried.

use super::super::Rows;
use super::super::levels::levels;

/// Most columns of a shape, and at least so many rows per column.
const MOST_COLUMNS: usize = 330;
const ROWS_PER_COLUMN: usize = 6;

/// A shape that can be fitted: which columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) contexts: ContextShape,
    pub(crate) degree: usize,
    pub(crate) knots: usize,
}

/// The context columns of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContextShape {
    Constant,
    Linear,
    Quadratic,
    Cubic,
    /// With this many knots per context.
    Splines(usize),
    /// Gaussian kernels at this many centres.
    Kernels(usize),
    /// Contexts of few values as categories; so many columns.
    Levels(usize),
}

impl Shape {
    /// The shapes worth trying for these rows: those whose columns they can carry.
    pub(crate) fn all(rows: &Rows) -> Vec<Shape> {
        let (n, d) = (rows.len(), rows.d);
        let actions = [(2, 0), (4, 0), (1, 4), (1, 8)];
        let mut contexts = vec![ContextShape::Constant];
        if d > 0 {
            contexts.extend([ContextShape::Linear, ContextShape::Splines(3), ContextShape::Quadratic]);
            contexts.extend((2..=5).contains(&d).then_some(ContextShape::Cubic));
            contexts.extend((d > 12).then_some(ContextShape::Splines(1)));
            contexts.extend((d <= 8).then_some(ContextShape::Kernels(40)));
            let levels: Vec<usize> = (0..d).map(|j| levels(rows, j).len()).collect();
            if levels.iter().any(|l| *l > 0) {
                contexts.push(ContextShape::Levels(levels.iter().map(|l| l.saturating_sub(1).max(1)).sum()));
            }
        }
        let most = MOST_COLUMNS.min(n / ROWS_PER_COLUMN).max(3);
        let shapes = contexts
            .into_iter()
            .flat_map(|c| actions.into_iter().map(move |(degree, knots)| Shape { contexts: c, degree, knots }));
        shapes.filter(|s| s.columns(d) <= most || *s == Shape::CONSTANT).collect()
    }

    /// The smallest shape: a parabola in the action, whatever the context.
    const CONSTANT: Shape = Shape { contexts: ContextShape::Constant, degree: 2, knots: 0 };

    pub(crate) fn columns(self, d: usize) -> usize {
        let contexts = match self.contexts {
            ContextShape::Constant => 1,
            ContextShape::Linear => d + 1,
            ContextShape::Quadratic => d * (d + 1) / 2 + d + 1,
            ContextShape::Cubic => (d + 1) * (d + 2) * (d + 3) / 6,
            ContextShape::Splines(k) => d * (k + 1) + 1,
            ContextShape::Kernels(m) => m + d + 1,
            ContextShape::Levels(columns) => columns + 1,
        };
        contexts * (self.degree + self.knots + 1)
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.contexts {
            ContextShape::Constant => write!(f, "constant")?,
            ContextShape::Linear => write!(f, "linear")?,
            ContextShape::Quadratic => write!(f, "quadratic")?,
            ContextShape::Cubic => write!(f, "cubic")?,
            ContextShape::Splines(k) => write!(f, "splines with {k} knots")?,
            ContextShape::Kernels(m) => write!(f, "{m} kernels")?,
            ContextShape::Levels(_) => write!(f, "levels")?,
        }
        match (self.degree, self.knots) {
            (2, 0) => write!(f, " x parabola"),
            (degree, 0) => write!(f, " x degree {degree}"),
            (_, k) => write!(f, " x {k} knots"),
        }
    }
}
