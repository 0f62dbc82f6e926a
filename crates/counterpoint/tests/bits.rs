//! The same bits on every machine: policies and certificates at every level of instructions that this one has, and pinned.
//!
//! What is pinned was computed on x86-64 with AVX-512 and is the same with AVX2, with SSE2, where fused multiply-adds are emulated, and with
//! NEON (`scripts/arm`).
//! A machine that disagrees has found a bug. A change of the learner may change these numbers; then they are renewed from the
//! message of the failing test, and the change is meant to be seen.

#![allow(clippy::unwrap_used, missing_docs)]
#![cfg(feature = "simulate")]

use counterpoint::certify::{Terms, certify};
use counterpoint::data::{Parts, SplitRule};
use counterpoint::engine::{Engine, Instructions};
use counterpoint::simulate::Potential;
use counterpoint::{Recipe, learn};

/// A name, the recipe as a file would hold it, and the checksums of the policy and of its certificate.
const RECIPES: [(&str, &str, u64, u64); 12] = [
    ("clp", "policy = \"clp\"", 0x9302_1a3d_5a60_7d0c, 0x4109_fe50_3dfc_5db3),
    ("clp, single precision", "policy = \"clp\"\nprecision = \"f32\"", 0x7be2_6fc1_f994_3427, 0x980f_bba3_f028_b86c),
    (
        "clp, self-normalised",
        "policy = \"clp\"\nestimator = \"snips\"\nvariance_penalty = 0.1",
        0x6270_245b_e98c_00da,
        0xb8dc_b393_1f15_6384,
    ),
    ("clp, power mean", "policy = \"clp\"\nestimator = \"power-mean\"", 0x61d5_35cb_f40b_0314, 0xd270_4122_011d_47e9),
    (
        "clp on a Nystrom map",
        "policy = \"clp\"\ncontext_map = \"nystrom\"\nfamily = \"lognormal\"",
        0x1c48_d4c4_ad2d_948b,
        0xc705_5bd8_2b84_eba3,
    ),
    (
        "linear, doubly robust",
        "policy = \"linear\"\nestimator = \"doubly-robust\"",
        0xbc6e_645c_9880_66f2,
        0xdec5_e35d_2b3d_73f0,
    ),
    (
        "linear, log-normal",
        "policy = \"linear\"\nfamily = \"lognormal\"\nestimator = \"clipped\"",
        0x37c4_5940_609a_34c7,
        0x4f33_75e4_10da_e979,
    ),
    (
        "linear, gamma",
        "policy = \"linear\"\nfamily = \"gamma\"\noptimiser = \"newton\"",
        0x83b2_99d4_1c0c_6f6f,
        0x921f_1810_427b_a582,
    ),
    ("network", "policy = \"network\"\nentropy = 0.01", 0xe0d6_73dc_e244_73b9, 0xfe99_9427_99a4_604f),
    ("poly", "policy = \"poly\"\noptimiser = \"cg\"\nridge = 0.001", 0x9508_8ba9_785b_31c3, 0xa12e_ebb4_f10e_6dc3),
    ("stratified", "policy = \"stratified\"\nestimator = \"ips\"", 0xa4af_dc3c_df62_7094, 0xcd2a_6122_4e3e_246d),
    ("the default", "", 0x5fb8_74f0_7cda_37d5, 0xdcd5_0c56_b6c3_d950),
];

fn parts() -> Parts {
    Potential::Moons.simulate(3000, 1).log().unwrap().split(SplitRule::Column).unwrap()
}

/// Checksums of the policy file and of the certificate.
fn results(parts: &Parts, text: &str) -> [u64; 2] {
    let mut recipe = Recipe::from_toml(text).unwrap();
    if !text.is_empty() {
        // few iterations: a last bit that differs is carried on by each of them
        (recipe.starts, recipe.max_iterations) = (2, 12);
    }
    let policy = learn(&parts.train, &recipe).unwrap().policy;
    let terms = Terms { bootstrap: 200, ..Terms::default() };
    let certificate = certify(&policy, &parts.valid, &parts.test, &terms).unwrap();
    let file = policy.to_json().replace(env!("CARGO_PKG_VERSION"), "");
    [file, serde_json::to_string(&certificate).unwrap()].map(|text| checksum(&text))
}

/// FNV-1a.
fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[test]
fn policies_and_certificates_are_the_same_at_every_level() {
    let all = Instructions::all();
    let of = |instructions: &Instructions| -> Vec<[u64; 2]> {
        let engine = Engine::new(2).unwrap().using(*instructions);
        engine.enter(|| {
            let parts = parts(); // simulated here, with the same instructions
            RECIPES.iter().map(|(_, recipe, ..)| results(&parts, recipe)).collect()
        })
    };
    let best = of(&Instructions::best());
    let pinned =
        RECIPES.iter().zip(&best).all(|((_, _, policy, certificate), found)| found == &[*policy, *certificate]);
    let table: Vec<String> =
        RECIPES.iter().zip(&best).map(|((name, ..), [p, c])| format!("{name}: {p:#x}, {c:#x}")).collect();
    for instructions in all.iter().filter(|i| **i != Instructions::best()) {
        for (((name, ..), found), best) in RECIPES.iter().zip(of(instructions)).zip(&best) {
            assert_eq!(&found, best, "{name}: {} differs from {}", instructions.name(), Instructions::best().name());
        }
    }
    assert!(pinned, "the same at every level here, but not what is pinned:\n{}", table.join("\n"));
}
