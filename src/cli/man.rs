//! `rashomon man`: manual pages, made of the same definitions as `--help`.

use std::path::PathBuf;

use clap::Command;
use clap::builder::{Resettable, StyledStr};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::exit::{Exit, Failure};
use super::output::Output;
use super::output_file::{Overwriting, cannot_write};

/// Prints a manual page, or writes all of them into a folder
///
/// Without a command it is the page of the program. A folder named man1 whose parent is in MANPATH
/// makes the pages known to `man`.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  rashomon man | man -l -
  rashomon man triage show | man -l -
  rashomon man --out ~/.local/share/man/man1")]
pub(super) struct ManArguments {
    /// The command to print the page of: fuzz, or triage show
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,

    /// Write the pages of all commands into this folder: rashomon.1, rashomon-fuzz.1 ..
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,

    #[command(flatten)]
    overwriting: Overwriting,
}

pub(super) fn run(
    arguments: &ManArguments,
    command: Command,
    output: &mut Output,
) -> Result<Exit, Failure> {
    let pages = pages(command);
    let Some(folder) = &arguments.out else {
        let name = [&["rashomon".to_owned()], arguments.command.as_slice()].concat();
        let name = name.join("-");
        let page = pages.iter().find(|page| page.name == name);
        let page = page.ok_or_else(|| unknown(&arguments.command, &pages))?;
        output.line(page.text.trim_end())?;
        return Ok(Exit::Clean);
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    let files = || {
        pages
            .iter()
            .map(|page| (folder.join(format!("{}.1", page.name)), &page.text))
    };
    // All or none.
    for (path, _) in files() {
        arguments.overwriting.check(&path)?;
    }
    for (path, text) in files() {
        arguments.overwriting.write(&path, text.as_bytes())?;
    }
    let first = folder.join("rashomon.1");
    output.line(&format!(
        "{} pages in {}; the first is {}",
        pages.len(),
        folder.display(),
        first.display()
    ))?;
    Ok(Exit::Clean)
}

/// A manual page.
struct ManPage {
    /// The words of the command with hyphens between: `rashomon-triage-show`.
    name: String,
    text: String,
}

/// The page of the program, and one for each command, in the order of `--help`.
fn pages(command: Command) -> Vec<ManPage> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, None, &mut pages);
    pages
}

fn add_pages(command: &Command, parent: Option<&str>, pages: &mut Vec<ManPage>) {
    let name = name_of(command).to_owned();
    pages.push(ManPage {
        text: page(command, parent),
        name: name.clone(),
    });
    for inner in subcommands(command) {
        add_pages(inner, Some(&name), pages);
    }
}

fn subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    let inner = command.get_subcommands();
    inner.filter(|inner| inner.get_name() != "help" && !inner.is_hide_set())
}

fn name_of(command: &Command) -> &str {
    let name = command.get_display_name();
    name.unwrap_or_else(|| command.get_name())
}

/// The page of a command. What stands behind its options in `--help` is laid out here: the library
/// would run the lines of examples together.
fn page(command: &Command, parent: Option<&str>) -> String {
    let behind = command.get_after_help().map(ToString::to_string);
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim_start().to_owned();
    let bare = command.clone().after_help(Resettable::<StyledStr>::Reset);
    let source = concat!("rashomon ", env!("CARGO_PKG_VERSION"));
    // No date: it would be that of the build. An empty one is left out, and the others move up.
    let head = Man::new(bare.override_usage(usage))
        .date(" ")
        .source(source);
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = head.manual("Rashomon Manual").render(&mut text);
    // Commands and URLs are neither hyphenated nor stretched.
    let text = String::from_utf8_lossy(&text).replacen("\n.SH ", "\n.nh\n.ad l\n.SH ", 1);
    let mut rest = Roff::new();
    for paragraph in behind.iter().flat_map(|text| text.split("\n\n")) {
        add_paragraph(paragraph, &mut rest);
    }
    add_see_also(command, parent, &mut rest);
    text + &rest.render()
}

/// `Examples:` and the like head a section; indented lines keep their breaks.
fn add_paragraph(paragraph: &str, page: &mut Roff) {
    let (heading, lines) = match paragraph.split_once(':') {
        Some((heading, lines)) if !heading.contains(['\n', '.', '-']) => (heading, lines),
        _ => {
            page.control("PP", []);
            page.text([roman(paragraph)]);
            return;
        }
    };
    let heading = match heading {
        "Example" => "EXAMPLES".to_owned(),
        "Exit codes" => "EXIT STATUS".to_owned(),
        other => other.to_uppercase(),
    };
    page.control("SH", [heading.as_str()]);
    for line in lines.trim_start_matches('\n').lines() {
        match line.strip_prefix("  ") {
            Some(literal) => {
                page.control("nf", []).text([roman(literal)]);
                page.control("fi", []);
            }
            None => {
                page.text([roman(line.trim_start())]);
            }
        }
    }
}

fn add_see_also(command: &Command, parent: Option<&str>, page: &mut Roff) {
    let mut names: Vec<&str> = parent.into_iter().collect();
    names.extend(subcommands(command).map(name_of));
    if names.is_empty() {
        return;
    }
    page.control("SH", ["SEE ALSO"]);
    let mut line = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let end = if index + 1 < names.len() {
            "(1), "
        } else {
            "(1)"
        };
        line.extend([bold(*name), roman(end)]);
    }
    page.text(line);
}

fn unknown(words: &[String], pages: &[ManPage]) -> Failure {
    let names = pages
        .iter()
        .filter_map(|page| page.name.strip_prefix("rashomon-"));
    let names: Vec<String> = names.map(|name| name.replace('-', " ")).collect();
    Failure::usage(format!(
        "there is no command {:?}: the commands are {}",
        words.join(" "),
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::command;

    /// As it stands in the source of a page.
    fn source(text: &str) -> String {
        let text = text.replace('\\', "\\\\").replace('-', "\\-");
        text.replace('\'', "\\*(Aq")
    }

    fn check(command: &Command) {
        let name = name_of(command);
        let pages = pages(crate::cli::command());
        let page = pages.iter().find(|page| page.name == name);
        let page = &page.unwrap_or_else(|| panic!("no page of {name}")).text;
        for option in command.get_arguments().filter_map(|a| a.get_long()) {
            let option = source(&format!("--{option}"));
            assert!(page.contains(&option), "{name}: no {option}");
        }
        let behind = command.get_after_help().map(ToString::to_string);
        let behind = behind.unwrap_or_default();
        for example in behind.lines().filter(|line| line.starts_with("  ")) {
            let line = format!("\n{}\n", source(example.trim_start()));
            assert!(
                page.contains(&line),
                "{name}: {example} has no line of its own"
            );
        }
        subcommands(command).for_each(check);
    }

    #[test]
    fn every_command_has_a_page_with_its_options_and_examples() {
        let mut command = command();
        command.build();
        check(&command);
    }

    #[test]
    fn headings_are_those_of_manual_pages() {
        for page in pages(command()) {
            let headings = page.text.lines().filter_map(|l| l.strip_prefix(".SH "));
            let headings: Vec<&str> = headings.collect();
            assert_eq!(headings.first(), Some(&"NAME"), "{}", page.name);
            assert!(!headings.contains(&"EXTRA"), "{headings:?}");
            let is_main = page.name == "rashomon";
            assert_eq!(headings.contains(&"EXAMPLES"), !is_main, "{headings:?}");
            let status = headings.contains(&"\"EXIT STATUS\"");
            assert_eq!(status, is_main, "{}: {headings:?}", page.name);
        }
    }
}
