//! The exhibits keep the contract of their types: what draws them may rely on it.

#![allow(missing_docs, clippy::unwrap_used)]

use counterpoint::{Engine, Result};
use counterpoint_lab::paper::{self, Ask, Effort, Exhibit};
use std::collections::HashSet;

type Run = fn(&Ask) -> Result<Exhibit>;

/// Those that take a second or two without the files.
const QUICK: [(&str, Run); 9] = [
    ("soft-clipping", paper::soft_clipping),
    ("reward-shape", paper::reward_shape),
    ("contexts", paper::contexts),
    ("what-if", paper::what_if),
    ("clipping", paper::clipping),
    ("proximal", paper::proximal),
    ("ips-snips", paper::ips_snips),
    ("lower-bound", paper::lower_bound),
    ("threshold", paper::threshold),
];

#[test]
fn exhibits_are_well_formed() {
    let ask = Ask::new(Effort::Quick, None, Engine::single());
    for (name, run) in QUICK {
        let exhibit = run(&ask).unwrap();
        assert!(!exhibit.about.is_empty() && !exhibit.pictures.is_empty(), "{name}");
        let mut seen = HashSet::new();
        for p in &exhibit.pictures {
            assert!(p.title.len() <= 60, "too long for one line: {}", p.title);
            let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(p.name.chars().all(legal) && seen.insert(&p.name), "{name}: {}", p.name);
            for s in &p.series {
                assert!(s.points.iter().flatten().all(|v| v.is_finite()), "{name}: {} {}", p.name, s.name);
                assert!(s.spread.is_empty() || s.spread.len() == s.points.len(), "{name}: {} {}", p.name, s.name);
                let positive = |k: usize| s.points.iter().all(|p| p[k] > 0.0);
                assert!((!p.x.log || positive(0)) && (!p.y.log || positive(1)), "{name}: {}", p.name);
            }
        }
        for t in &exhibit.tables {
            assert!(t.rows.iter().all(|r| r.len() == t.head.len()), "{name}: {}", t.caption);
        }
        for c in &exhibit.claims {
            assert!(!c.says.is_empty() && !c.measured.contains("NaN"), "{name}: {}", c.measured);
        }
        let kept = serde_json::to_string(&exhibit).unwrap();
        assert_eq!(serde_json::from_str::<Exhibit>(&kept).unwrap(), exhibit, "{name}");
    }
    // fits are remembered: the same exhibit again is the same
    assert_eq!(paper::clipping(&ask).unwrap(), paper::clipping(&ask).unwrap());
}
