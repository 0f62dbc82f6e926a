//! Soft against hard clipping: the same recipe, starting point and cap.

use super::draw::{scatter, series};
use super::pool::{self, DEPENDENCE, EVERYWHERE, Pool, SYNTHETIC, Variant, about, pool};
use super::statistics::Paired;
use super::{Ask, Claim, Exhibit, Mark, Picture};
use counterpoint::Result;

/// Figure 5 and the right column of Figure 20: test rewards with soft and with hard clipping.
pub fn clipping(ask: &Ask) -> Result<Exhibit> {
    let pools = pool(ask, &EVERYWHERE, &[Variant::Hard, Variant::Soft])?;
    let gains = |pool: &Pool| pool.fits.iter().map(|p| p[1].online - p[0].online).collect::<Vec<f64>>();
    let synthetic = pools.iter().filter(|p| SYNTHETIC.contains(&p.place));
    let mut claims = vec![claim("on the synthetic sets together", &synthetic.flat_map(gains).collect::<Vec<_>>())];
    claims.extend(pools.iter().map(|p| claim(&format!("on {}", p.place.title()), &gains(p))));
    let mut notes = vec![DEPENDENCE.into()];
    notes.extend(pool::notes(&pools));
    Ok(Exhibit {
        about: format!(
            "Policies learned with hard and with soft clipping, all else equal: {}",
            about(ask, &EVERYWHERE)
        ),
        pictures: pools.iter().map(picture).collect(),
        claims,
        notes,
        ..Exhibit::default()
    })
}

fn picture(pool: &Pool) -> Picture {
    let dots = |name: &str, linear: bool| {
        let fits = pool.fits.iter().filter(|p| p[0].linear == linear);
        series(name, Mark::Dots, fits.map(|p| [p[0].online, p[1].online]).collect())
    };
    let mut both = vec![dots("linear context map", true), dots("quadratic context map", false)];
    both.retain(|s| !s.points.is_empty());
    let title = format!("Test reward on {}", pool.place.title());
    scatter(pool.place.name(), &title, ["hard clipping", "soft clipping"], both)
}

fn claim(place: &str, gains: &[f64]) -> Claim {
    let paired = Paired::new(gains);
    Claim {
        says: format!("Soft clipping gives a better test reward than hard clipping, {place}."),
        holds: paired.larger(),
        measured: format!("soft minus hard: {paired}"),
    }
}
