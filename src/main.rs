//! Parse, run, exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    rashomon::cli::main()
}
