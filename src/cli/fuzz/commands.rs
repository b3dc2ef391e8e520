//! Commands that are printed to be typed again: they work as they stand.

use std::path::Path;

use super::arguments::FuzzArguments;
use crate::campaign::RunSettings;
use crate::cli::quantity::shown_time;
use crate::cli::shell;
use crate::export;
use crate::reproducer::{self, CaseFile};

/// Judges a reproducer again on the server of the run that it was found on; or, where it takes a crash of the
/// server, its case.
pub(super) fn replay(
    path: &str,
    target: &str,
    settings: &RunSettings,
    arguments: &FuzzArguments,
) -> String {
    let target = shell::word(target);
    let mut command = match &settings.restart_command {
        None => format!("rashomon replay {} {target}", shell::word(path)),
        Some(restart) => {
            let file = reproducer::load(Path::new(path)).ok();
            let seed = file.and_then(|file| file.header.seed);
            let seed = seed.unwrap_or_else(|| settings.seed.to_string());
            let claim = if settings.claim_durable {
                " --claim-durable"
            } else {
                ""
            };
            format!(
                "rashomon fuzz {target} --oracle recovery --seed {} --isolation {} --restart-command \
                 {}{claim}",
                shell::word(&seed),
                settings.levels,
                shell::word(restart)
            )
        }
    };
    let files = [("dialect", &settings.dialect), ("known", &settings.known)];
    for (option, file) in files {
        if let Some(file) = file {
            let file = file.display().to_string();
            command.push_str(&format!(" --{option} {}", shell::word(&file)));
        }
    }
    command + &arguments.server.repeated()
}

/// Exports a reproducer in a format that applies to it; the others that do follow as a comment. The
/// case file itself is there already.
pub(super) fn exported(path: &str, file: &CaseFile) -> String {
    let mut formats = export::applicable(file);
    if formats.len() > 1 {
        formats.retain(|name| *name != export::CASE_FILE);
    }
    let or = match formats.get(1..).unwrap_or_default() {
        [] => String::new(),
        others => format!("   # or {}", others.join(", ")),
    };
    let format = formats.first().unwrap_or(&export::CASE_FILE);
    format!("rashomon export {} --to {format}{or}", shell::word(path))
}

/// Goes on with a run as this sitting went. What the checkpoint keeps is not repeated; the limit of
/// time, who is told, the permission for a shared server and the place of the password are, for it
/// keeps none.
pub(super) fn resume(settings: &RunSettings, arguments: &FuzzArguments) -> String {
    let folder = settings.folder().display().to_string();
    let mut command = format!("rashomon fuzz --resume {}", shell::word(&folder));
    if let Some(time) = settings.time {
        command.push_str(&format!(" --for {}", shown_time(time)));
    }
    if let Some(restart) = &settings.restart_command {
        command.push_str(&format!(" --restart-command {}", shell::word(restart)));
    }
    if let Some(hook) = &arguments.on_finding {
        command.push_str(&format!(" --on-finding {}", shell::word(hook)));
    }
    if let Some(address) = arguments.metrics {
        command.push_str(&format!(" --metrics {address}"));
    }
    if let Some(path) = &arguments.junit {
        let path = path.display().to_string();
        command.push_str(&format!(" --junit {}", shell::word(&path)));
    }
    let switches = [
        ("--brief", arguments.brief),
        ("--explain-grammar", arguments.explain_grammar),
    ];
    for (switch, _) in switches.into_iter().filter(|(_, is_on)| *is_on) {
        command.push_str(&format!(" {switch}"));
    }
    command + &arguments.server.repeated()
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches as _};

    use super::*;
    use crate::cli::fuzz::settings::plan;

    /// What was typed after `rashomon fuzz`.
    fn typed(words: &[&str]) -> FuzzArguments {
        let command = FuzzArguments::augment_args(clap::Command::new("fuzz"));
        let words = [&["fuzz"], words].concat();
        let matches = command
            .try_get_matches_from(words)
            .expect("it is well typed");
        FuzzArguments::from_arg_matches(&matches).expect("it is well typed")
    }

    fn settings(arguments: &FuzzArguments) -> RunSettings {
        plan(arguments, || Ok(7)).expect("it makes a run").0
    }

    #[test]
    fn the_printed_commands_repeat_what_no_checkpoint_keeps() {
        let arguments = typed(&[
            "mariadb://root:s3cret@localhost:3306?socket=/run/my sql.sock",
            "--out",
            "what is found",
            "--for",
            "90m",
            "--workers",
            "2",
            "--allow-shared-server",
            "--password-file",
            "a'file",
            "--dialect",
            "own.toml",
            "--explain-grammar",
            "--on-finding",
            "tell me",
            "--metrics",
            "[::1]:9464",
            "--brief",
        ]);
        let settings = settings(&arguments);
        assert_eq!(
            resume(&settings, &arguments),
            "rashomon fuzz --resume 'what is found/runs/00000007' --for 1h30m --on-finding 'tell me' \
             --metrics [::1]:9464 --brief --explain-grammar --allow-shared-server --password-file 'a'\\''file'"
        );
        assert_eq!(
            replay(
                "what is found/mariadb/x.sql",
                &settings.target.to_string(),
                &settings,
                &arguments
            ),
            "rashomon replay 'what is found/mariadb/x.sql' \
             'mariadb://root@localhost:3306?socket=/run/my sql.sock' --dialect own.toml \
             --allow-shared-server --password-file 'a'\\''file'"
        );
    }

    #[test]
    fn what_takes_a_crash_is_shown_by_another_run_of_its_case() {
        let arguments = typed(&[
            "postgres://postgres@localhost",
            "--oracle",
            "recovery",
            "--restart-command",
            "./crash it",
            "--claim-durable",
        ]);
        let settings = settings(&arguments);
        assert_eq!(
            replay(
                "no such file.sql",
                &settings.target.to_string(),
                &settings,
                &arguments
            ),
            format!(
                "rashomon fuzz {} --oracle recovery --seed {} --isolation all --restart-command \
                 './crash it' --claim-durable",
                shell::word(&settings.target.to_string()),
                settings.seed
            )
        );
        let again = resume(&settings, &arguments);
        assert!(
            again.ends_with(" --restart-command './crash it'"),
            "{again}"
        );
    }

    #[test]
    fn the_printed_export_names_every_format_that_applies() {
        let text = "--! format = 1\n--! engine = \"mariadb\"\n--! isolation = \"SERIALIZABLE\"\n\
                    /* init */ CREATE TABLE t (a INT);\n\
                    /* s1 */ SELECT a FROM t; -- @got (1)  @expect empty\n";
        let file = crate::reproducer::read(text, "x.sql").expect("it reads");
        let command = exported("a b.sql", &file);
        assert!(
            command.starts_with("rashomon export 'a b.sql' --to "),
            "{command}"
        );
        for format in export::applicable(&file) {
            let is_there = format == export::CASE_FILE;
            assert_eq!(
                command.contains(&format!(" {format}")),
                !is_there,
                "{command}"
            );
        }
    }
}
