//! Flags with a range: what lies outside is refused before anything is read, by the name of the flag.

use counterpoint::engine::Instructions;

/// More threads than this are a slip of the finger: they would be slower, and may take the machine down.
const MOST_THREADS: usize = 512;

/// Vector instructions that this machine has.
pub(crate) fn instructions(text: &str) -> Result<Instructions, String> {
    let names = || Instructions::all().iter().map(|i| i.name()).collect::<Vec<_>>().join(", ");
    Instructions::named(text).ok_or_else(|| format!("this machine has {}", names()))
}

fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| "expected a number such as 0.95".to_string())
}

/// A number strictly between 0 and 1.
pub(crate) fn between_0_and_1(text: &str) -> Result<f64, String> {
    let v = number(text)?;
    if v > 0.0 && v < 1.0 { Ok(v) } else { Err("must lie between 0 and 1, for example 0.95".into()) }
}

/// A share, 0 and 1 included.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let v = number(text)?;
    if (0.0..=1.0).contains(&v) { Ok(v) } else { Err("must lie in [0, 1]".into()) }
}

/// A finite number of at least 0.
pub(crate) fn at_least_0(text: &str) -> Result<f64, String> {
    let v = number(text)?;
    if v.is_finite() && v >= 0.0 { Ok(v) } else { Err("must be a number >= 0".into()) }
}

/// Outcomes are no larger than this, so that they can be squared and added up.
const LARGEST: f64 = 1e140;

/// An outcome: a finite number.
pub(crate) fn outcome(text: &str) -> Result<f64, String> {
    let v = number(text)?;
    match v.abs() <= LARGEST {
        true => Ok(v),
        false => Err(format!("must be a number, at most {LARGEST:e} in size")),
    }
}

/// Two outcomes, LOW,HIGH, the first below the second.
pub(crate) fn range(text: &str) -> Result<[f64; 2], String> {
    let ends = text.split_once(',').ok_or("expected two numbers such as 0,1")?;
    let (low, high) = (outcome(ends.0)?, outcome(ends.1)?);
    if low < high { Ok([low, high]) } else { Err("the first number must be below the second".into()) }
}

/// A finite number above 0.
pub(crate) fn positive(text: &str) -> Result<f64, String> {
    let v = number(text)?;
    if v.is_finite() && v > 0.0 { Ok(v) } else { Err("must be a number > 0".into()) }
}

/// A number of threads.
pub(crate) fn threads(text: &str) -> Result<usize, String> {
    let v: usize = text.trim().parse().map_err(|_| "expected a whole number; 0 means one per core".to_string())?;
    if v <= MOST_THREADS { Ok(v) } else { Err(format!("at most {MOST_THREADS}; 0 means one per core")) }
}

/// A seed; recipes are TOML, whose whole numbers end at 2^63 - 1.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    let v: i64 = text.trim().parse().map_err(|_| format!("expected a whole number from 0 to {}", i64::MAX))?;
    u64::try_from(v).map_err(|_| format!("must be from 0 to {}", i64::MAX))
}

/// A duration: a number with its unit, such as 60s, 500ms, 2m, 1.5h.
pub(crate) fn duration(text: &str) -> Result<std::time::Duration, String> {
    let wrong = || "expected a time such as 60s, 2m or 1.5h".to_string();
    let at = text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let unit = match text[at..].trim() {
        "ms" => 1e-3,
        "s" | "sec" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(wrong()),
    };
    let v = number(&text[..at]).map_err(|_| wrong())? * unit;
    // a year is no budget
    if v > 0.0 && v < 3e7 { Ok(std::time::Duration::from_secs_f64(v)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::{duration, outcome, range};

    #[test]
    fn outcomes_are_numbers_that_can_be_squared() {
        assert_eq!((outcome("-1.5"), range(" -60 , 9 ")), (Ok(-1.5), Ok([-60.0, 9.0])));
        for wrong in ["nan", "inf", "-inf", "1e308", "", "x"] {
            assert!(outcome(wrong).is_err() && range(&format!("0,{wrong}")).is_err(), "{wrong}");
        }
        assert!(range("1,1").is_err() && range("1").is_err() && range("0,1,2").is_err());
    }

    #[test]
    fn a_duration_has_a_unit() {
        let seconds = |text: &str| duration(text).map(|d| d.as_secs_f64()).ok();
        let found = ["60s", "500ms", "2m", "1.5h", "2 min"].map(seconds);
        assert_eq!(found, [Some(60.0), Some(0.5), Some(120.0), Some(5400.0), Some(120.0)]);
        for wrong in ["60", "s", "day", "-3s", "0s", "1e9h", "nans"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
