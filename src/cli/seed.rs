//! Seeds as they are typed: a number, or a case of a run as reproducers name it.

use super::quantity::number;

/// What `fuzz --seed` takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seed {
    pub(super) seed: u64,
    /// The case that is meant alone, of `SEED:INDEX`.
    pub(super) index: Option<u64>,
}

/// Reads `1`, or `1:12` for case 12 of seed 1.
pub(super) fn of_run(text: &str) -> Result<Seed, String> {
    let wrong = |reason| format!("{reason}, or SEED:INDEX as a reproducer has it");
    let Some((seed, index)) = text.split_once(':') else {
        let seed = number(text).map_err(wrong)?;
        return Ok(Seed { seed, index: None });
    };
    Ok(Seed {
        seed: number(seed).map_err(wrong)?,
        index: Some(number(index).map_err(wrong)?),
    })
}

/// Reads the seed of a command that runs no cases.
pub(super) fn alone(text: &str) -> Result<u64, String> {
    match of_run(text) {
        Ok(Seed {
            index: Some(index),
            seed,
        }) => Err(format!(
            "{text} is case {index} of seed {seed}, and this command has no cases: `rashomon fuzz \
             --seed {text}` runs it"
        )),
        _ => number(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_number_or_a_case_of_a_run() {
        let of = |seed, index| Ok(Seed { seed, index });
        assert_eq!(of_run("1"), of(1, None));
        assert_eq!(of_run("1:12"), of(1, Some(12)));
        for wrong in [
            "",
            ":",
            "1:",
            ":1",
            "-1",
            "1:-2",
            "1:2:3",
            "x",
            "18446744073709551616",
        ] {
            let error = of_run(wrong).expect_err(wrong);
            assert!(
                error.contains("SEED:INDEX") && error.contains("from 0 to"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_command_without_cases_says_which_one_runs_the_case() {
        assert_eq!(alone("7"), Ok(7));
        let error = alone("1:12").expect_err("it is a case");
        assert!(error.contains("rashomon fuzz --seed 1:12"), "{error}");
        assert!(alone("x").is_err());
    }
}
