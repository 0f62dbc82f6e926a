//! Ranges, files old and new, and every field with every choice.

use super::*;

#[test]
fn defaults_are_in_range_and_survive_toml() {
    let recipe = Recipe::default();
    recipe.check().unwrap();
    assert_eq!(Recipe::from_toml(&recipe.to_toml()).unwrap(), recipe);
    assert_eq!(Recipe::from_toml("").unwrap(), recipe);
    assert_eq!(Flat::defaults().choices().unwrap(), recipe, "the two tables of defaults agree");
}

#[test]
fn every_refusal_names_its_field() {
    for (text, field) in [
        ("anchors = 1", "anchors"),
        ("temperature = 0.0", "temperature"),
        ("std = -0.5", "std"),
        ("std_floor = 1.0", "std_floor"),
        ("kappa = -1.0", "kappa"),
        ("context_map = \"poly\"", "context_map"),
        ("policy = \"linear\"\nstart = \"direct\"", "start"),
        ("cap = nan", "cap"),
    ] {
        let message = Recipe::from_toml(text).unwrap_err().to_string();
        assert!(message.contains(&format!("`{field}`")), "{message}");
    }
    assert!(Recipe::from_toml("ancors = 3").unwrap_err().to_string().contains("ancors"));
}

/// Another legal value than the default, for every field.
fn other(field: &str) -> String {
    match field {
        "policy" => "\"linear\"",
        "family" => "\"lognormal\"",
        "scale" => "\"min-max\"",
        "context_map" => "\"cubic\"",
        "anchor_placement" => "\"grid\"",
        "std" => "0.5",
        "estimator" => "\"ips\"",
        "baseline" => "\"max\"",
        "optimiser" => "\"cg\"",
        "start" => "\"direct\"",
        "precision" => "\"f32\"",
        "models" => "\"trees\"",
        "objective" => "\"cvar\"",
        "action_grid" => "0.5",
        "action_scale" => "\"log\"",
        "power" => "-2.0",
        "history" => "50",
        "finalists" => "2",
        "carry" => "true",
        "first_rows" => "200000",
        "power_mix" | "std_floor" => "0.25",
        _ => return another_number(field),
    }
    .into()
}

/// One more than a whole default, so that settings of new mean models are tried too; three quarters of one else.
fn another_number(field: &str) -> String {
    let all = serde_json::to_value(Flat::defaults()).unwrap();
    all[field].as_u64().map_or("0.75".into(), |whole| (whole + 1).to_string())
}

/// Every combination of choices that makes sense, as TOML.
fn combinations() -> Vec<String> {
    let mut all = Vec::new();
    for policy in super::flat::PolicyName::MEANS {
        for map in ["", "context_map = \"nystrom\"\n"] {
            for std in ["\"learned\"", "\"logging\"", "0.3"] {
                for estimator in [
                    "ips",
                    "clipped",
                    "soft-clipped",
                    "power-mean",
                    "snips",
                    "direct",
                    "doubly-robust",
                    "doubly-robust-cdf",
                    "switch",
                    "cab",
                    "cab-dr",
                ] {
                    for steps in ["0", "3"] {
                        for start in ["logging", "direct"] {
                            let text = format!(
                                "policy = \"{policy}\"\n{map}std = {std}\nestimator = \"{estimator}\"\n\
                                 proximal_steps = {steps}\nstart = \"{start}\"\n"
                            );
                            all.extend(Recipe::from_toml(&text).is_ok().then_some(text));
                        }
                    }
                }
            }
        }
    }
    all.push("policy = \"greedy\"\n".into());
    all
}

#[test]
fn every_field_with_every_choice_has_an_effect_or_is_refused() {
    let all = combinations();
    assert!(all.len() > 500, "{}", all.len());
    let choices = ["policy", "context_map", "std", "estimator", "proximal_steps", "start"];
    let mut refused = std::collections::BTreeMap::new();
    for text in &all {
        let recipe = Recipe::from_toml(text).unwrap();
        assert_eq!(Recipe::from_toml(&recipe.to_toml()).unwrap(), recipe, "{text}");
        let written: toml::Table = recipe.to_toml().parse().unwrap();
        for field in Flat::FIELDS.iter().filter(|f| !choices.contains(f)) {
            match Recipe::from_toml(&format!("{text}{field} = {}\n", other(field))) {
                Ok(changed) => {
                    assert_ne!(changed, recipe, "{field} changes nothing in\n{text}");
                    assert!(changed.to_toml().contains(&format!("{field} = ")), "{field} is lost from\n{text}");
                }
                Err(e) => {
                    let said = e.to_string();
                    assert!(said.contains(&format!("{field} belongs to ")), "{said}\n{text}");
                    assert!(!written.contains_key(*field), "{field} is written and refused in\n{text}");
                    // a greedy policy has no field of the others
                    let own = !text.contains("greedy") && !Flat::GREEDY.contains(field);
                    own.then(|| *refused.entry(*field).or_insert(0) += 1);
                }
            }
        }
    }
    let idle = [
        "anchor_placement",
        "anchors",
        "bandwidth",
        "baseline",
        "buckets",
        "cap",
        "carry",
        "centres",
        "context_bandwidth",
        "finalists",
        "kappa",
        "model_ridge",
        "power",
        "power_mix",
        "ridge",
        "scale",
        "std_floor",
        "temperature",
        "units",
    ];
    assert_eq!(refused.keys().copied().collect::<Vec<_>>(), idle, "no other field depends on a choice");
}

#[test]
fn files_that_list_every_field_still_load() {
    // as the program wrote them when every recipe had every field
    let mut full = toml::Table::try_from(Flat::defaults()).unwrap();
    assert_eq!(Recipe::from_toml(&full.to_string()).unwrap(), Recipe::default());
    full.insert("policy".into(), "linear".into());
    let linear = Recipe::from_toml(&full.to_string()).unwrap();
    assert_eq!(linear, Recipe::from_toml("policy = \"linear\"").unwrap());
    full.insert("anchors".into(), 6.into());
    let said = Recipe::from_toml(&full.to_string()).unwrap_err().to_string();
    assert!(said.contains("anchors belongs to policy = clp"), "{said}");
    // a file that does not list them all means what it says
    assert!(Recipe::from_toml("policy = \"linear\"\nanchors = 12").is_err());
}

#[test]
fn a_changed_choice_takes_its_settings_with_it() {
    let recipe = Recipe::from_toml("anchors = 6\ntemperature = 2.0").unwrap();
    let linear = recipe.with("policy", "linear").unwrap();
    assert_eq!(linear, Recipe::from_toml("policy = \"linear\"").unwrap());
    assert!(linear.with("anchors", 6).is_err() && recipe.with("anchors", 7).is_ok() && recipe.with("typo", 7).is_err());
    assert_eq!(recipe.with("anchors", 8).unwrap(), recipe.clone().with_anchors(8));
}

#[test]
fn settings_made_in_rust_are_checked_too() {
    let idle = Recipe { policy: MeanChoice::Constant, ridge: 0.5, ..Recipe::default() };
    assert!(idle.check().unwrap_err().to_string().contains("ridge belongs to"));
    let idle = Recipe { model: ModelChoice { ridge: 0.5, ..ModelChoice::default() }, ..Recipe::default() };
    assert!(idle.check().unwrap_err().to_string().contains("model_ridge belongs to"));
    let mut own = Recipe::from_toml("estimator = \"direct\"").unwrap();
    own.model.basis.anchors = 5;
    assert!(own.check().unwrap_err().to_string().contains("model.basis"));
    assert!(Recipe { std: StdChoice::Fixed(-1.0), ..Recipe::default() }.check().is_err());
}

#[test]
fn json_is_as_flat_and_as_strict_as_toml() {
    let recipe = Recipe::from_toml("estimator = \"power-mean\"\npower = -2.0").unwrap();
    let json = serde_json::to_string(&recipe).unwrap();
    assert!(json.contains("\"power\":-2.0") && !json.contains("\"cap\""), "{json}");
    assert_eq!(serde_json::from_str::<Recipe>(&json).unwrap(), recipe);
    assert!(serde_json::from_str::<Recipe>("{\"policy\":\"linear\",\"temperature\":3.0}").is_err());
}
