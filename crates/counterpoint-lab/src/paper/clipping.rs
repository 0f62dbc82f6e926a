//! Soft against hard clipping: the same recipe, starting point and cap.

use super::draw::{scatter, series};
use super::pool::{DEPENDENCE, Fitted, Variant, about, pool};
use super::statistics::Paired;
use super::{Ask, Claim, Exhibit, Mark};
use crate::Potential;
use counterpoint::Result;

/// Figure 5 and the right column of Figure 20: test rewards with soft and with hard clipping.
pub fn clipping(ask: &Ask) -> Result<Exhibit> {
    let pairs = pool(ask, &[Variant::Hard, Variant::Soft])?;
    let of = |kind: Potential| pairs.iter().filter(move |p| p[0].set == kind);
    let pictures = Potential::ALL.map(|kind| {
        let dots = |name: &str, linear: bool| {
            let points = of(kind).filter(|p| p[0].linear == linear).map(|p| [p[0].online, p[1].online]).collect();
            series(name, Mark::Dots, points)
        };
        scatter(
            kind.name(),
            &format!("Test reward on {kind}"),
            ["hard clipping", "soft clipping"],
            vec![dots("linear context map", true), dots("quadratic context map", false)],
        )
    });
    let gain = |p: &Vec<Fitted>| p[1].online - p[0].online;
    let mut claims = vec![claim("on all sets together", &pairs.iter().map(gain).collect::<Vec<_>>())];
    claims.extend(Potential::ALL.map(|kind| claim(&format!("on {kind}"), &of(kind).map(gain).collect::<Vec<_>>())));
    Ok(Exhibit {
        about: format!("Policies learned with hard and with soft clipping, all else equal: {}", about(ask)),
        pictures: pictures.to_vec(),
        claims,
        notes: vec![DEPENDENCE.into()],
        ..Exhibit::default()
    })
}

fn claim(place: &str, gains: &[f64]) -> Claim {
    let paired = Paired::new(gains);
    Claim {
        says: format!("Soft clipping gives a better test reward than hard clipping, {place}."),
        holds: paired.larger(),
        measured: format!("soft minus hard: {paired}"),
    }
}
