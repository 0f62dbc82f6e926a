//! The same rows give the same results, however they are stored, ordered and computed.

use crate::support::{COLUMNS, Place, SMALL, rows};
use counterpoint::engine::Instructions;

/// Policy, certificate and report of a log; the log's own name is the one thing that may tell them apart.
fn results(place: &Place, log: &str, more: &str) -> [String; 3] {
    place.done(&format!("learn {log} {COLUMNS} {SMALL} -o p.json --report r.html {more}"));
    let report = place.text("r.html");
    assert!(report.contains(log), "the report does not name its log");
    let escaped = log.replace('/', "&#x2f;");
    let certificate = place.text("p.certificate.json");
    assert!(certificate.contains(log), "the certificate does not name its log");
    [place.text("p.json"), certificate.replace(log, "LOG"), report.replace(log, "LOG").replace(&escaped, "LOG")]
}

#[test]
fn neither_the_format_of_a_log_nor_threads_nor_instructions_change_a_byte() {
    let place = Place::new();
    place.done("simulate moons --rows 2400 --seed 4 -o the-log.csv");
    let expected = results(&place, "the-log.csv", "");
    for ending in ["csv.gz", "parquet", "arrow"] {
        place.done(&format!("simulate moons --rows 2400 --seed 4 -o the-log.{ending}"));
        assert!(results(&place, &format!("the-log.{ending}"), "") == expected, "{ending}");
    }
    for threads in [1, 2] {
        let more = format!("--threads {threads}");
        assert!(results(&place, "the-log.parquet", &more) == expected, "{threads} threads");
    }
    for instructions in Instructions::all() {
        let more = format!("--instructions {}", instructions.name());
        assert!(results(&place, "the-log.parquet", &more) == expected, "{}", instructions.name());
    }
    let said = String::from_utf8_lossy(&place.run("recipe --instructions abacus").stderr).into_owned();
    assert!(said.contains("this machine has") && said.contains(&Instructions::best().name()), "{said}");
}

#[test]
fn a_directory_of_shards_is_the_file_they_were_cut_from() {
    let place = Place::with_log();
    let table = place.table();
    table.write(place.path("the-log.parquet")).unwrap();
    let expected = results(&place, "the-log.parquet", "");
    std::fs::create_dir_all(place.path("the-shards")).unwrap();
    for (i, cut) in [0..500, 500..501, 501..900].into_iter().enumerate() {
        let shard = rows(&table, &cut.collect::<Vec<_>>());
        shard.write(place.path(&format!("the-shards/part-{i}.parquet"))).unwrap();
    }
    assert!(results(&place, "the-shards", "") == expected);
    assert!(results(&place, "the-shards/*.parquet", "") == expected);
}

/// The bootstrap draws by row number, so its ends move with the order of rows as with its seed; the estimates do not.
#[test]
fn the_order_of_test_rows_moves_only_the_bootstrap() {
    let place = Place::with_log();
    place.done("simulate moons --rows 6000 --seed 3 -o log.csv");
    let table = place.table();
    table.write(place.path("in-order.parquet")).unwrap();
    let mut order: Vec<usize> = (0..6000).collect();
    // thirds are train, valid, test: the last third is turned over and dealt anew
    let test: Vec<usize> = (0..2000).map(|i| 4000 + (i * 797 + 13) % 2000).collect();
    order.splice(4000.., test);
    rows(&table, &order).write(place.path("shuffled.parquet")).unwrap();
    place.done(&format!("learn in-order.parquet {COLUMNS} {SMALL} --set std_floor=0.3 --no-certify -o policy.json"));
    let certificate = |log: &str| -> serde_json::Value {
        place.done(&format!("certify policy.json {log} {COLUMNS} -o c.json"));
        serde_json::from_slice(&place.bytes("c.json")).unwrap()
    };
    let (a, b) = (certificate("in-order.parquet"), certificate("shuffled.parquet"));
    assert_eq!(a["verdict"], b["verdict"]);
    for figure in ["value", "logged", "difference"] {
        let number = |c: &serde_json::Value, k: &str| c[figure][k].as_f64().unwrap();
        let width = number(&a, "upper") - number(&a, "lower");
        for exact in ["estimate", "std_error"] {
            assert!((number(&a, exact) - number(&b, exact)).abs() < 1e-12 * (1.0 + width), "{figure} {exact}");
        }
        for end in ["lower", "upper"] {
            assert!((number(&a, end) - number(&b, end)).abs() < 0.1 * width, "{figure} {end}: {a} {b}");
        }
    }
}
