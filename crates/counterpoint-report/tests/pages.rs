//! The report: what holds for every page, and the page in a real browser.

#![allow(clippy::unwrap_used, missing_docs)]

#[cfg(unix)]
mod browser;
mod example;

use counterpoint::certify::{Interval, Verdict};
use counterpoint::data::Outcome;
use counterpoint::explain::{LogReport, PolicyReport, Shape};
use counterpoint_report::{log_page, policy_page, words};

/// A way to leave something out of a report.
type Change = fn(&mut PolicyReport);

/// The page without its embedded data, which may hold anything that JSON can.
fn markup(html: &str) -> String {
    let (before, rest) = html.split_once(r#"<script type="application/json" id="data">"#).unwrap();
    format!("{before}{}", rest.split_once("</script>").unwrap().1)
}

#[test]
fn same_data_same_bytes() {
    assert!(policy_page(&example::report()) == policy_page(&example::report()));
}

#[test]
fn page_is_whole_and_loads_nothing() {
    let html = policy_page(&example::report());
    assert!(html.starts_with("<!doctype html>\n<html") && html.trim_end().ends_with("</html>"));
    for loader in ["http:", "https:", "src=", "href=", "url(", "@import", "//fonts", "<link", "<iframe"] {
        assert!(!html.contains(loader), "{loader}");
    }
    assert!(html.contains("Content-Security-Policy") && html.contains("default-src"));
    for name in ["svg", "section", "figure", "details", "table", "div", "ul", "dl"] {
        let (open, close) = (html.matches(&format!("<{name}")).count(), html.matches(&format!("</{name}>")).count());
        assert!(open == close && open > 0, "{name}: {open} opened, {close} closed");
    }
}

#[test]
fn every_chart_has_a_title_and_a_description() {
    let html = markup(&policy_page(&example::report()));
    let charts: Vec<&str> = html.split("<svg class=\"chart\"").skip(1).collect();
    assert!(charts.len() >= 15);
    for chart in charts {
        let head = chart.split("</desc>").next().unwrap();
        assert!(head.contains("role=\"img\"") && head.contains("<title>") && head.contains("<desc>"));
        assert!(!head.contains("<title></title>") && !head.ends_with("<desc>"));
    }
}

#[test]
fn what_the_user_wrote_is_text_and_never_markup() {
    let evil = || "</title></script><img src=x onerror=alert(1)>\"'&".to_string();
    let mut r = example::report();
    r.title = evil();
    r.outcome.name = evil();
    r.recipe = Some(evil());
    r.assumptions.push(evil());
    r.caveats.push(evil());
    r.verdict.as_mut().unwrap().reasons[0].text = evil();
    let lift = r.lift.as_mut().unwrap();
    (lift.part, lift.method, lift.others[0].name) = (evil(), evil(), evil());
    for w in &mut r.weights {
        (w.part, w.facts[0].name, w.facts[0].value) = (evil(), evil(), evil());
    }
    for c in &mut r.contexts {
        (c.context, c.action) = (evil(), evil());
        if let Shape::Categorical { levels } = &mut c.shape {
            levels[0].name = evil();
        }
    }
    r.actions[0].action = evil();
    let predictions = r.predictions.as_mut().unwrap();
    (predictions.action, predictions.predicted_by, predictions.curves[0].context) = (evil(), evil(), evil());
    r.estimators.as_mut().unwrap().estimators[0].name = evil();
    let board = r.leaderboard.as_mut().unwrap();
    (board.part, board.settings[0], board.rows[0].settings[0], board.rows[0].state) = (evil(), evil(), evil(), evil());
    let p = &mut r.provenance;
    (p.version, p.split, p.files[0].name, p.files[0].fingerprint) = (evil(), evil(), evil(), evil());
    (p.parts[0].name, p.facts[0].name, p.facts[0].value) = (evil(), evil(), evil());
    let html = policy_page(&r);
    assert!(!html.contains("<img") && html.contains("&lt;img"));
    assert_eq!(html.matches("<script").count(), 2);
    assert_eq!(html.matches("</script").count(), 2);
    assert_eq!(words::escape("a\u{1}<\"'&>"), "a\u{fffd}&lt;&quot;&#39;&amp;&gt;");
}

#[test]
fn what_is_missing_is_left_out() {
    let html = policy_page(&example::bare());
    for heading in ["May it be believed", "estimators agree", "policy do?", "What else was tried", "Recipe", "<svg"] {
        assert!(!html.contains(heading), "{heading}");
    }
    assert!(html.contains("Not certified") && html.contains("lower is better"));
    let cuts: [(&str, Change); 8] = [
        ("May it be believed", |r| r.weights.clear()),
        ("against each context", |r| r.contexts.clear()),
        ("Distribution of", |r| r.actions.clear()),
        ("Predicted reward", |r| r.predictions = None),
        ("estimators agree", |r| r.estimators = None),
        ("What else was tried", |r| r.leaderboard = None),
        ("<summary>Recipe", |r| r.recipe = None),
        ("policy minus log", |r| r.lift = None),
    ];
    for (words, cut) in cuts {
        let mut r = example::report();
        assert!(markup(&policy_page(&r)).contains(words), "{words}");
        cut(&mut r);
        assert!(!markup(&policy_page(&r)).contains(words), "{words}");
    }
}

#[test]
fn charts_hold_only_finite_numbers() {
    for strange in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -1.0, 1e300, 1e-300] {
        let mut r = example::report();
        let odd = Interval { estimate: strange, std_error: strange, lower: strange, upper: strange };
        let lift = r.lift.as_mut().unwrap();
        (lift.log, lift.difference.upper, lift.rows, lift.p_value) = (odd, strange, strange, Some(strange));
        let w = &mut r.weights[0];
        (w.effective, w.floor, w.mean, w.largest_share, w.rows) = (strange, Some(strange), odd, strange, strange);
        w.histogram.as_mut().unwrap().counts[3] = strange;
        w.histogram.as_mut().unwrap().edges[0] = strange;
        for c in &mut r.contexts {
            match &mut c.shape {
                Shape::Numeric { rows, curve } => {
                    (rows[0], rows[1][1]) = ([strange; 2], strange);
                    (curve[0].x, curve[1].mean, curve[2].lower) = (strange, strange, strange);
                }
                Shape::Categorical { levels } => levels[0].mean = strange,
            }
        }
        r.actions[0].logged.counts[0] = strange;
        r.actions[0].policy.as_mut().unwrap().edges[1] = strange;
        let curve = &mut r.predictions.as_mut().unwrap().curves[0];
        (curve.points[4], curve.mean, curve.std) = ([strange; 2], strange, Some(strange));
        r.estimators.as_mut().unwrap().estimators[0].answer = Some(odd);
        r.leaderboard.as_mut().unwrap().rows[0].estimate = Some(strange);
        let html = markup(&policy_page(&r));
        assert!(!html.contains("NaN") && !html.contains("inf\""), "{strange}");
        for attribute in
            [" x=\"", " y=\"", " x1=\"", " y1=\"", " x2=\"", " y2=\"", " cx=\"", " cy=\"", " width=\"", " height=\""]
        {
            for after in html.split(attribute).skip(1) {
                let number: f64 = after.split('"').next().unwrap().parse().unwrap();
                assert!(number.abs() < 2000.0, "{attribute}{number} for {strange}");
            }
        }
    }
}

#[test]
fn colours_follow_certainty_and_direction() {
    let shown = |better, low, high, decision| {
        let mut r = example::report();
        r.outcome.direction = better;
        r.verdict.as_mut().unwrap().decision = decision;
        r.lift.as_mut().unwrap().difference =
            Interval { estimate: (low + high) / 2.0, std_error: 0.1, lower: low, upper: high };
        let html = policy_page(&r);
        let value = html.split("<p class=\"value ").nth(1).unwrap();
        value.split('"').next().unwrap().to_string()
    };
    assert_eq!(shown(Outcome::Reward, 0.1, 0.2, Verdict::Deploy), "good");
    assert_eq!(shown(Outcome::Cost, 0.1, 0.2, Verdict::Keep), "bad");
    assert_eq!(shown(Outcome::Cost, -0.2, -0.1, Verdict::Deploy), "good");
    assert_eq!(shown(Outcome::Reward, -0.1, 0.2, Verdict::Keep), "plain");
    assert_eq!(shown(Outcome::Reward, 0.1, 0.2, Verdict::Invalid), "plain");
}

#[test]
fn the_page_about_a_log_is_whole_escaped_and_finite() {
    let html = log_page(&example::log_report());
    assert!(html.starts_with("<!doctype html>\n<html") && html.trim_end().ends_with("</html>"));
    assert!(html == log_page(&example::log_report()) && html.contains("How far a policy may go"));
    for loader in ["http:", "https:", "src=", "href=", "url(", "@import", "<link", "<iframe"] {
        assert!(!html.contains(loader), "{loader}");
    }
    let evil = || "</title></script><img src=x onerror=alert(1)>\"'&".to_string();
    for strange in [f64::NAN, f64::INFINITY, 0.0, -1.0, 1e300] {
        let mut r: LogReport = example::log_report();
        (r.title, r.outcome.name, r.warnings[0]) = (evil(), evil(), evil());
        (r.columns[0].name, r.support.action, r.actions[0].action) = (evil(), evil(), evil());
        r.propensities.estimated = evil();
        (r.mean.lower, r.nonzero, r.propensities.integral.estimate) = (strange, strange, strange);
        (r.columns[1].std, r.columns[0].quantiles[3]) = (strange, strange);
        (r.support.floor, r.support.lines[0].points[3]) = (strange, [strange; 2]);
        r.outcomes.counts[0] = strange;
        let page = markup(&log_page(&r));
        assert!(!page.contains("<img") && !page.contains("NaN") && !page.contains("inf\""), "{strange}");
        for attribute in [" x=\"", " y=\"", " x1=\"", " y1=\"", " cx=\"", " width=\"", " height=\""] {
            for after in page.split(attribute).skip(1) {
                let number: f64 = after.split('"').next().unwrap().parse().unwrap();
                assert!(number.abs() < 2000.0, "{attribute}{number} for {strange}");
            }
        }
    }
}

/// Loads the page in Chromium, clicks all that can be clicked, and finds no complaint in the console and no request but
/// that for the page itself.
#[cfg(unix)]
#[test]
#[ignore = "needs a browser"]
fn a_browser_finds_no_error_and_no_request() {
    let chromium = browser::find();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report.html");
    std::fs::write(&file, policy_page(&example::report())).unwrap();
    let mut page = browser::Page::open(&chromium, &file);

    // the theme: as the system says, then as the button says
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = page.ask(background);
    page.click("#theme", 0);
    let dark = page.ask(background);
    assert!(light != dark, "{light} {dark}");
    page.click("#theme", 0);
    assert_eq!(page.ask(background), light);
    page.ask("delete document.documentElement.dataset.theme");
    let prefers = serde_json::json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    page.call("Emulation.setEmulatedMedia", prefers);
    assert_eq!(page.ask(background), dark);

    // every heading sorts its column, up and down, and empty cells stay last
    let heads = page.count("th button");
    assert!(heads >= 15);
    for head in 0..heads {
        for way in ["ascending", "descending"] {
            page.click("th button", head);
            let sorted = page.ask(&format!(
                "(() => {{ const th = document.querySelectorAll('th')[{head}]; const number = th.classList.contains('number'); \
                 const keys = [...th.closest('table').tBodies[0].rows].map(r => r.cells[th.cellIndex].dataset.key); \
                 const full = keys.filter(k => k !== '').map(k => number ? Number(k) : k); \
                 const up = '{way}' === 'ascending'; \
                 return th.getAttribute('aria-sort') === '{way}' && keys.slice(full.length).every(k => k === '') \
                   && full.every((k, i) => i === 0 || (up ? full[i - 1] <= k : full[i - 1] >= k)); }})()"
            ));
            assert_eq!(sorted, true, "column {head}, {way}");
        }
    }

    // everything that folds opens and closes
    let folds = page.count("summary");
    assert!(folds >= 5);
    for fold in 0..folds {
        let open = format!("document.querySelectorAll('summary')[{fold}].parentElement.open");
        let before = page.ask(&open);
        page.click("summary", fold);
        assert!(page.ask(&open) != before, "fold {fold}");
        page.click("summary", fold);
        assert_eq!(page.ask(&open), before, "fold {fold}");
    }

    // the mouse over a chart shows a tip, and away from it hides it
    for hit in [0, 10, 60] {
        page.hover("figure .hit", hit);
        assert_eq!(
            page.ask("!document.getElementById('tip').hidden && document.getElementById('tip').textContent !== ''"),
            true
        );
    }
    page.hover("h1", 0);
    assert_eq!(page.ask("document.getElementById('tip').hidden"), true);

    // a telephone shows it without scrolling sideways
    let telephone = serde_json::json!({"width": 400, "height": 800, "deviceScaleFactor": 2, "mobile": true});
    page.call("Emulation.setDeviceMetricsOverride", telephone);
    assert_eq!(page.ask("document.documentElement.scrollWidth"), 400);
    assert_eq!(page.ask("JSON.parse(document.getElementById('data').textContent).lift.rows"), 10_000.0);

    assert!(page.complaints().is_empty(), "{:#?}", page.complaints());
    assert_eq!(page.requests(), [format!("file://{}", file.display())]);
    assert_eq!(page.ask("performance.getEntriesByType('resource').length"), 0);

    // and should anything ever try, the page's policy refuses it
    let refused = page.ask(
        "new Promise(done => { addEventListener('securitypolicyviolation', e => done(e.effectiveDirective)); \
         fetch('http://127.0.0.1:9/').then(() => done('sent'), () => {}); })",
    );
    assert_eq!(refused, "connect-src");
}

/// The page about a log: no complaint, no request, tips over its charts, tables that sort, light and dark.
#[cfg(unix)]
#[test]
#[ignore = "needs a browser"]
fn a_browser_likes_the_page_about_a_log_too() {
    let chromium = browser::find();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("log.html");
    std::fs::write(&file, log_page(&example::log_report())).unwrap();
    let mut page = browser::Page::open(&chromium, &file);
    let background = "getComputedStyle(document.body).backgroundColor";
    let light = page.ask(background);
    page.click("#theme", 0);
    assert!(light != page.ask(background));
    for head in 0..page.count("th button") {
        page.click("th button", head);
        let sorted = page.ask(&format!("document.querySelectorAll('th')[{head}].getAttribute('aria-sort')"));
        assert_eq!(sorted, "ascending", "column {head}");
    }
    for fold in 0..page.count("summary") {
        page.click("summary", fold);
    }
    page.hover("figure .hit", 5);
    assert_eq!(page.ask("!document.getElementById('tip').hidden"), true);
    let telephone = serde_json::json!({"width": 400, "height": 800, "deviceScaleFactor": 2, "mobile": true});
    page.call("Emulation.setDeviceMetricsOverride", telephone);
    assert_eq!(page.ask("document.documentElement.scrollWidth"), 400);
    assert_eq!(page.ask("JSON.parse(document.getElementById('data').textContent).rows"), 30_000.0);
    assert!(page.complaints().is_empty(), "{:#?}", page.complaints());
    assert_eq!(page.requests(), [format!("file://{}", file.display())]);
}
