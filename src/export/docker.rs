//! A shell script that starts the product's image and runs the case in it, for somebody who has nothing
//! but docker.

use super::case_format::{CaseFormat, DoesNotApply, Exported};
use super::maintainers::ScriptDriver;
use super::python;
use super::scenario::Scenario;
use super::words;
use crate::engine::ServerImage;
use crate::reproducer::CaseFile;

/// The image with Python in which the case runs.
const PYTHON_IMAGE: &str = "python:3-slim";

/// What stands behind the Python script, on a line of its own.
const END: &str = "END_OF_THE_SCRIPT";

pub(super) struct Docker;

impl CaseFormat for Docker {
    fn name(&self) -> &'static str {
        "docker"
    }

    fn about(&self) -> &'static str {
        "a shell script that starts the product's image and runs the case in it"
    }

    fn extension(&self) -> &'static str {
        "sh"
    }

    fn write(&self, file: &CaseFile) -> Result<Exported, DoesNotApply> {
        let scenario = Scenario::of_fault(file)?;
        let maintainers = scenario.maintainers;
        match (&maintainers.image, maintainers.driver) {
            (Ok(image), Ok(driver)) => Ok(Exported::of(script(&scenario, image, driver))),
            (Err(reason), _) => Err(DoesNotApply((*reason).to_owned())),
            (_, Err(reason)) => Err(DoesNotApply(reason.to_owned())),
        }
    }
}

fn script(scenario: &Scenario<'_>, image: &ServerImage, driver: ScriptDriver) -> String {
    let product = scenario.maintainers.product;
    let synopsis = words::synopsis(scenario).replace('\n', " ");
    let (name, client) = (image.repository, scenario.maintainers.client);
    let (is_up, packages) = match driver {
        ScriptDriver::Postgres => ("pg_isready -h 127.0.0.1".to_owned(), "psycopg2-binary"),
        ScriptDriver::MySqlProtocol | ScriptDriver::Sqlite => (
            format!("{client} -h127.0.0.1 -uroot -e 'SELECT 1'"),
            "pymysql cryptography",
        ),
    };
    let tag = tag(scenario);
    let environment: String = image
        .environment
        .iter()
        .map(|variable| format!(" -e {variable}"))
        .collect();
    let options = image.options(&scenario.file.header.variables);
    let options: String = options.iter().map(|option| format!(" {option}")).collect();
    let python = python::script(scenario, driver);
    format!(
        r#"#!/bin/sh
# {product}: {synopsis}
#
# Needs docker. Starts a server, runs the case in it, and removes it. Another version:
#   IMAGE={name}:TAG sh THIS-FILE
#
# Exits with 1 if the bug shows, with 0 if it does not, and with 2 if the case could not be run.
set -eu
IMAGE=${{IMAGE:-{name}:{tag}}}
server=bug-to-repeat-$$
trap 'docker rm -f -v "$server" >/dev/null 2>&1 || true' EXIT
trap 'exit 2' INT TERM
docker run -d --name "$server"{environment} "$IMAGE"{options} >/dev/null || exit 2

# While the image makes its system tables, its server has no port.
tries=0
until docker exec "$server" {is_up} >/dev/null 2>&1; do
    tries=$((tries + 1))
    if [ $tries -gt 120 ]; then
        docker logs "$server" >&2
        exit 2
    fi
    sleep 1
done

docker run --rm -i --network "container:$server" {PYTHON_IMAGE} \
    sh -c 'pip install --quiet --root-user-action=ignore {packages} </dev/null >&2 || exit 2; python3 -' <<'{END}'
{python}{END}
"#
    )
}

/// The version that showed it as the image's tag; the newest where the file does not say.
fn tag(scenario: &Scenario<'_>) -> String {
    let seen = scenario.file.header.seen_on.first();
    let version = seen.map_or("", String::as_str);
    let end = version
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(version.len());
    match version[..end].trim_end_matches('.') {
        "" => "latest".to_owned(),
        version => version.to_owned(),
    }
}
