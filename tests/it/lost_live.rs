//! A run on a real server whose connections are cut before the first case and while a finding is minimized.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::Value as Json;

use crate::engine_faults::{Proxy, address};
use crate::events::assert_described;
use crate::plant::{Fault, Plant, PlantedServer, Rate, WriteKind};
use crate::program::{PATIENCE, end, files, folder, shown, start};
use crate::servers::{Needs, url};

/// Enough for a finding, whatever the generator draws.
const CASES: &str = "6";

fn until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < PATIENCE, "{what} does not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The file of the finding that is being minimized.
fn is_minimizing(out: &Path) -> bool {
    let runs = std::fs::read_dir(out.join("runs")).into_iter().flatten();
    let mut runs = runs.flatten().map(|run| run.path().join("unminimized"));
    runs.any(|kept| kept.exists() && !files(&kept, ".sql").is_empty())
}

#[test]
fn cuts_in_the_calibration_and_while_minimizing_are_told_and_sat_out() {
    let test = "cuts_in_the_calibration_and_while_minimizing";
    let Some(url) = url(test, Needs::MariaDb) else {
        return;
    };
    let planted = PlantedServer::before(
        &url,
        Plant {
            fault: Fault::Lies(WriteKind::Update),
            rate: Rate::Always,
        },
    );
    let (host, port) = address(&planted.url);
    let proxy = Proxy::before(&host, port);
    let target = format!("mariadb://root@127.0.0.1:{}", proxy.port);
    let place = folder();
    let out = shown(place.path());
    let (child, started) = start(&[
        "fuzz",
        &target,
        "--isolation",
        "all",
        "--cases",
        CASES,
        "--seed",
        "78",
        "--workers",
        "1",
        "--out",
        &out,
        "--allow-shared-server",
        "--format",
        "json",
    ]);
    let sent = || proxy.sent.load(Ordering::SeqCst);
    let before = sent();
    until("the calibration", || sent() > before + 10_000);
    proxy.cut();
    until("a finding", || is_minimizing(place.path()));
    proxy.cut();
    let ran = end(child);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let lines = format!("{started}{}", ran.out);
    assert_described(&lines);
    let lines = lines.lines().map(serde_json::from_str);
    let lines: Vec<Json> = lines.map(|line| line.expect("JSON")).collect();
    let of = |event: &'static str| lines.iter().filter(move |line| line["event"] == event);
    let lost: Vec<Option<u64>> = of("server-lost")
        .map(|line| line["index"].as_u64())
        .collect();
    assert!(matches!(lost[..], [None, Some(_)]), "{lost:?}: {}", ran.err);
    assert_eq!(of("server-back").count(), 2, "{}", ran.err);
    assert_eq!(
        ran.err.matches("the server is lost").count(),
        2,
        "{}",
        ran.err
    );
    let found: Vec<&Json> = of("finding").collect();
    assert!(!found.is_empty(), "{}", ran.err);
    for found in found {
        assert_eq!((&found["hits"], &found["runs"]), (&3.into(), &3.into()));
    }
    assert_eq!(of("flaky").count(), 0, "{}", ran.err);
    let summary = of("summary").next().expect("a summary");
    assert_eq!(summary["cases"].to_string(), CASES);
    assert_eq!(summary["failure"], Json::Null);
    assert!(!is_minimizing(place.path()), "what was kept is removed");
}
