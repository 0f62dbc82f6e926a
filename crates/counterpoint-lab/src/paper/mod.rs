//! The paper, again: every table and figure as an experiment that can be run.
//!
//! An experiment is a function from its surroundings ([`Ask`]) to what it shows ([`Exhibit`]). [`exhibits`] lists them all.

mod agreement;
mod anchors;
mod bias;
mod chess;
mod clipping;
mod curves;
mod dataset;
mod draw;
mod effort;
mod exhibit;
mod fits;
mod outlier;
mod pool;
mod protocol;
mod proximal;
mod published;
mod rates;
mod statistics;
mod table1;
mod table2;
mod table3;
mod table4;
mod table5;
mod table6;
mod table7;
mod whatif;

pub use agreement::ips_snips;
pub use anchors::anchors;
pub use chess::chess;
pub use clipping::clipping;
pub use curves::{contexts, reward_shape, soft_clipping};
pub use dataset::{
    Dataset, Kind, Truth, cocoa, drawn_cocoa, drawn_potential, potential, potentials, read_potential, warfarin,
};
pub use effort::{Ask, Effort};
pub use exhibit::{Axis, Cell, Claim, Exhibit, Mark, Picture, Series, Table, Value};
pub use outlier::outlier;
pub use protocol::{lower_bound, threshold};
pub use proximal::proximal;
pub use rates::rates;
pub use statistics::{
    Paired, bootstrap_mean, bootstrap_ratio, correlation, lies_within, line, mean, r_squared, sign_test, std_error,
    wilcoxon,
};
pub use table3::table3;
pub use table6::table6;
pub use table7::table7;
pub use whatif::what_if;

use counterpoint::Result;

/// An experiment with its names.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// On the command line: `table2`, `soft-clipping`.
    pub name: &'static str,
    /// As a heading.
    pub title: &'static str,
    /// Where the paper has it: `Figures 5, 20, Section 7.2`.
    pub place: &'static str,
    /// Runs it.
    pub run: fn(&Ask) -> Result<Exhibit>,
}

impl Experiment {
    /// The paper's figures that it runs again, as [`place`](Self::place) names them.
    pub fn figures(&self) -> impl Iterator<Item = usize> {
        let after = self.place.split_once("Figure").map_or("", |(_, rest)| rest.trim_start_matches('s'));
        after.split(',').map_while(|word| word.trim().parse().ok())
    }

    /// Whether a word on the command line means this experiment: its name, or `figureN`.
    ///
    /// ```
    /// use counterpoint_lab::paper::exhibits;
    /// let meant = |word| exhibits().iter().filter(|e| e.answers_to(word)).map(|e| e.name).collect::<Vec<_>>();
    /// assert_eq!(meant("table2"), ["table2"]);
    /// assert_eq!(meant("figure20"), ["clipping", "proximal"]);
    /// assert!(meant("figure1").is_empty() && meant("figure").is_empty() && meant("5").is_empty());
    /// ```
    pub fn answers_to(&self, word: &str) -> bool {
        let figure = word.strip_prefix("figure").and_then(|n| n.parse::<usize>().ok());
        word == self.name || figure.is_some_and(|n| self.figures().any(|f| f == n))
    }
}

type Run = fn(&Ask) -> Result<Exhibit>;

const fn experiment(name: &'static str, title: &'static str, place: &'static str, run: Run) -> Experiment {
    Experiment { name, title, place, run }
}

/// All experiments, in the order of the paper.
pub fn exhibits() -> &'static [Experiment] {
    const ALL: &[Experiment] = &[
        experiment("soft-clipping", "Soft clipping of weights", "Figure 2, Section 4.1", soft_clipping),
        experiment("table1", "What the log of bids looks like", "Table 1, Section 6.1", table1::run),
        experiment("anchors", "Continuous against discretised policies", "Figures 4, 19, Section 7.2", anchors),
        experiment("table2", "Which class of policies learns most", "Table 2, Section 7.2", table2::run),
        experiment("clipping", "Soft against hard clipping", "Figures 5, 20, Section 7.2", clipping),
        experiment("proximal", "Proximal point against plain descent", "Figures 6, 20, Section 7.2", proximal),
        experiment("table3", "Against other methods", "Table 3, Section 7.2", table3),
        experiment("outlier", "One outlier, with and without clipping", "Figure 7, Appendix B", outlier),
        experiment("chess", "A chess board of rewards", "Figures 8, 9, Appendix C", chess),
        experiment("what-if", "What importance sampling can and cannot tell", "Figure 16, Example D.1", what_if),
        experiment(
            "ips-snips",
            "Offline estimates against online values",
            "Figures 10, 11, 12, Appendix D.1",
            ips_snips,
        ),
        experiment("table4", "How often the offline protocol errs", "Table 4, Figure 13, Appendix D.2", table4::run),
        experiment("lower-bound", "Online value above the lower bound", "Figure 14, Appendix D.2", lower_bound),
        experiment("threshold", "How many effective rows to ask for", "Figure 15, Appendix D.2", threshold),
        experiment("contexts", "The three synthetic sets", "Figure 18, Appendix F.1", contexts),
        experiment("reward-shape", "The reward of an action", "Figure 17, Appendix F.1", reward_shape),
        experiment("table5", "The hyperparameters", "Table 5, Appendix F.2", table5::run),
        experiment("table6", "Transforms of the weights", "Table 6, Appendix G.2", table6),
        experiment("table7", "Doubly robust learning", "Table 7, Appendix G.4", table7),
        experiment("rates", "Excess risk against the number of rows", "Proposition 5.1", rates),
    ];
    ALL
}
