//! Logs: to standard error, as `--log` asks.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use super::exit::Failure;
use super::terminal::Style;

/// Starts logging.
pub(super) fn start(filter: &str) -> Result<(), Failure> {
    let filter = parse(filter)?;
    let is_terminal = std::io::stderr().is_terminal();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::TRACE)
        .with_writer(std::io::stderr)
        .with_ansi(is_terminal && Style::of_stderr().is_coloured())
        .with_target(false)
        .finish()
        .with(filter);
    // A second start happens in tests only, and the first one's filter stands.
    let _ = subscriber.try_init();
    Ok(())
}

/// Levels by name, and `module=level` pairs with commas between. `Targets` alone takes any word
/// for the name of a module, and a misspelt level would log nothing.
///
/// A level alone is meant for this program: the libraries it uses say nothing below a warning
/// unless they are named. The parser of SQL alone would tell of every word it reads.
fn parse(text: &str) -> Result<Targets, Failure> {
    let levels = ["off", "error", "warn", "info", "debug", "trace"];
    // A filter by spans would be taken for the name of a module, too.
    let is_wrong = |part: &&str| match part.split_once('=') {
        Some((module, _)) => module.contains(['[', '{']),
        None => !levels.contains(part),
    };
    let built = match text.split(',').find(is_wrong) {
        Some(part) => Err(format!("{part:?} is no level")),
        None => {
            let own = |part: &str| match part {
                "info" | "debug" | "trace" => format!("warn,rashomon={part}"),
                _ => part.to_owned(),
            };
            let parts: Vec<String> = text.split(',').map(own).collect();
            let parsed: Result<Targets, _> = parts.join(",").parse();
            parsed.map_err(|error| error.to_string())
        }
    };
    built.map_err(|reason| {
        let levels = levels.join(", ");
        Failure::usage(format!("--log: {reason}: one of {levels}, or module=level"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_level_is_an_error() {
        assert!(parse("warning").is_err());
        assert!(parse("rashomon=loud").is_err());
        assert!(parse("rashomon[case]=debug").is_err());
        assert!(parse("debug").is_ok());
        assert!(parse("warn,rashomon::engine=trace").is_ok());
    }

    #[test]
    fn a_level_alone_is_for_this_program() {
        let filter = |text| parse(text).expect("a filter").to_string();
        assert_eq!(filter("debug"), filter("warn,rashomon=debug"));
        assert_eq!(filter("off"), "off");
        assert_eq!(
            filter("debug,sqlparser=debug"),
            filter("warn,rashomon=debug,sqlparser=debug")
        );
    }
}
