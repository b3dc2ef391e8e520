//! Plants a fault between Rashomon and a MySQL, MariaDB, TiDB or PostgreSQL server, for long trials by hand:
//!
//! ```text
//! cargo run --example plant -- mariadb://root@127.0.0.1:3306 update-lies texts 7
//! ```
//!
//! The first line on standard output is the URL to give to `rashomon fuzz`; each further line is a
//! statement at which the fault was planted. Without a fault's name it lists them.

use std::io::{self, Write};
use std::process::ExitCode;

#[path = "../tests/it/plant/mod.rs"]
mod plant;

use plant::{Fault, Plant, PlantedServer, Rate};

const USAGE: &str = "usage: plant URL FAULT [always | texts N | turns N]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let rate = match words.get(2..).unwrap_or_default() {
        [] | ["always"] => Some(Rate::Always),
        ["texts", number] => count(number).map(Rate::OneTextIn),
        ["turns", number] => count(number).map(Rate::OneTurnIn),
        _ => None,
    };
    let fault = words.get(1).and_then(|name| Fault::from_name(name));
    let ([url, ..], Some(fault), Some(rate)) = (words.as_slice(), fault, rate) else {
        let names: Vec<&str> = Fault::ALL.iter().map(|(name, _)| *name).collect();
        let _ = writeln!(io::stderr(), "{USAGE}\nfaults: {}", names.join(" "));
        return ExitCode::from(2);
    };
    if !fault.fits(url) {
        let _ = writeln!(
            io::stderr(),
            "plant: {fault} cannot be planted before {url}"
        );
        return ExitCode::from(2);
    }
    let server = PlantedServer::before(url, Plant { fault, rate });
    let mut out = io::stdout();
    let mut told = writeln!(out, "{}", server.url).and_then(|()| out.flush());
    while told.is_ok() {
        let Ok(sql) = server.planted.recv() else {
            break;
        };
        told = writeln!(out, "{fault}: {sql}").and_then(|()| out.flush());
    }
    ExitCode::SUCCESS
}

/// A number that one can divide by.
fn count(text: &str) -> Option<u64> {
    text.parse().ok().filter(|number| *number > 0)
}
