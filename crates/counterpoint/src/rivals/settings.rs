//! Settings by name: what `--set phi=0.4` does to a method.
//!
//! The words are the fields of the method's settings, as its file shows them. Two are sugar: a number for the bandwidth of
//! kernel smoothing is a share of the std of the logged actions, and `cap` sets the cap of a softmax policy's estimator.

use super::{Rival, softmax};
use crate::{Error, Result};
use serde_json::{Value, json};

/// Numbers a field may take: from, to, and whether the lower end itself is allowed.
const RANGES: [(&str, f64, f64, bool); 18] = [
    ("anchors", 2.0, 200.0, true),
    ("bandwidth", 0.0, 1e6, false),
    ("buckets", 2.0, 1000.0, true),
    ("cap", 0.0, 1e12, false),
    ("degree", 1.0, 4.0, true),
    ("depth", 1.0, 10.0, true),
    ("entropy", 0.0, 1e12, true),
    ("floor", 0.0, 0.99, true),
    ("kappa", 0.0, 1e12, true),
    ("lambda", 0.0, 1e12, true),
    ("max_iterations", 1.0, 100_000.0, true),
    ("model_ridge", 0.0, 1e12, false),
    ("phi", 0.0, 1e6, false),
    ("proximal_steps", 0.0, 1000.0, true),
    ("ridge", 0.0, 1e12, true),
    ("start_noise", 0.0, 1e6, true),
    ("starts", 1.0, 1000.0, true),
    ("std", 0.0, 1e6, false),
];

impl Rival {
    /// The same method with one setting changed.
    ///
    /// ```
    /// use counterpoint::rivals::Rival;
    /// let ks: Rival = "ks".parse()?;
    /// let wide = ks.with("bandwidth", &0.8.into())?;
    /// assert!(serde_json::to_string(&wide).unwrap().contains(r#""bandwidth":{"share":0.8}"#));
    /// let wrong = ks.with("phi", &0.4.into()).unwrap_err().to_string();
    /// assert!(wrong.contains("bandwidth, boundary, centre"), "{wrong}");
    /// # Ok::<(), counterpoint::Error>(())
    /// ```
    pub fn with(self, field: &str, value: &Value) -> Result<Rival> {
        in_range(field, value)?;
        if let (Rival::Softmax(recipe), "cap", Some(cap)) = (self, field, value.as_f64()) {
            let estimator = softmax(self.name()).map_or(recipe.estimator, |e| e(cap));
            return Ok(Rival::Softmax(super::discrete::DiscreteRecipe { estimator, ..recipe }));
        }
        let mut settings = serde_json::to_value(self).unwrap_or_default();
        let known = settings.as_object_mut().filter(|m| field != "rival" && m.contains_key(field));
        let Some(known) = known else {
            return Err(Error::recipe(field, format!("{self} has no such setting"))
                .hint(format!("its settings are {}", self.fields().join(", "))));
        };
        let share = matches!(self, Rival::Ks(_) | Rival::SnKs(_)) && field == "bandwidth" && value.is_number();
        known.insert(field.into(), if share { json!({ "share": value }) } else { value.clone() });
        serde_json::from_value(settings).map_err(|e| {
            // the reader of tagged settings does not name the field, but says what it expected
            Error::recipe(field, format!("{value} does not fit: {e}"))
        })
    }

    /// The names of its settings.
    pub fn fields(&self) -> Vec<String> {
        let settings = serde_json::to_value(self).unwrap_or_default();
        let cap = matches!(self, Rival::Softmax(_)).then_some("cap");
        let names = settings.as_object().into_iter().flat_map(|m| m.keys().map(String::as_str));
        names.chain(cap).filter(|n| !["rival", "estimator", "seed"].contains(n)).map(String::from).collect()
    }
}

fn in_range(field: &str, value: &Value) -> Result<()> {
    let (Some((_, low, high, closed)), Some(v)) = (RANGES.iter().find(|r| r.0 == field), value.as_f64()) else {
        return Ok(());
    };
    if v <= *high && (v > *low || (*closed && v == *low)) {
        return Ok(());
    }
    let from = if *closed { "from" } else { "above" };
    Err(Error::recipe(field, format!("{v} is out of range (must be {from} {low}, at most {high})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_of_every_method_can_be_set_to_what_it_is() {
        for name in Rival::NAMES {
            let rival: Rival = name.parse().expect("a method");
            let settings = serde_json::to_value(rival).expect("settings");
            assert!(rival.fields().len() >= 3, "{name}");
            for field in rival.fields() {
                let (was, again) = match settings.get(&field) {
                    Some(value) => (rival, rival.with(&field, value)),
                    None => (rival, rival.with(&field, &5.0.into())), // the cap of the default
                };
                assert_eq!(again.expect("legal"), was, "{name} {field}");
            }
            // and a number that has a range is held to it
            for field in rival.fields().iter().filter(|f| RANGES.iter().any(|r| r.0 == **f)) {
                let wrong = rival.with(field, &(-1.0).into()).expect_err("out of range").to_string();
                assert!(wrong.contains(field.as_str()) && wrong.contains("out of range"), "{name}: {wrong}");
            }
        }
    }

    #[test]
    fn words_are_checked() {
        let cats: Rival = "cats".parse().expect("a method");
        let wrong = cats.with("map", &"parabolic".into()).expect_err("no map").to_string();
        assert!(wrong.contains("map") && wrong.contains("quadratic"), "{wrong}");
        assert!(cats.with("rival", &"ks".into()).is_err() && cats.with("ridge", &"much".into()).is_err());
    }
}
