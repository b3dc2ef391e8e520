//! A version that a case is tried on: a server that is up, or an image that one is started from.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::container::{Container, ContainerEngine};
use super::image_name::ImageName;
use crate::cli::exit::Failure;
use crate::cli::signals;
use crate::engine::{self, EngineError, OpenOptions, Password, Server};

/// How long the server of an image may take until it can be logged in to.
const ANSWERS_WITHIN: Duration = Duration::from_secs(300);

const ASK_EVERY: Duration = Duration::from_millis(200);

/// One version of the list.
pub(super) enum ListedVersion {
    /// A server that was reached, or why not.
    Server(Result<Box<dyn Server>, String>),
    Image(ImageName),
}

/// The versions of a list. Every server is reached and a container engine looked for before the first run: what is
/// wrong is told at once.
///
/// # Errors
/// When a version is neither a URL nor an image, a server refuses us, or no container engine answers.
pub(super) fn versions(
    list: &[String],
    options: &OpenOptions,
) -> Result<(Vec<ListedVersion>, Option<ContainerEngine>), Failure> {
    let mut versions = Vec::new();
    for version in list {
        versions.push(match ImageName::of(version) {
            Some(image) => ListedVersion::Image(image),
            None => ListedVersion::Server(match engine::open(version, options) {
                Err(error) if is_unreachable(&error) => Err(error.to_string()),
                opened => Ok(opened?),
            }),
        });
    }
    let has_images = versions
        .iter()
        .any(|version| matches!(version, ListedVersion::Image(_)));
    if !has_images {
        return Ok((versions, None));
    }
    let containers = ContainerEngine::find()?;
    let at_a_signal = containers.clone();
    signals::clean_up_and_end(move || at_a_signal.remove_for_good())?;
    Ok((versions, Some(containers)))
}

/// The environment is at fault; other servers may answer.
pub(super) fn is_unreachable(error: &EngineError) -> bool {
    matches!(
        error,
        EngineError::Connect { .. } | EngineError::ConnectionLost { .. } | EngineError::Hang { .. }
    )
}

/// Starts a server of an image, with those of the variables that answers depend on, and reaches it. The container
/// goes with the value that holds it.
///
/// # Errors
/// Why there is no server, in a line.
pub(super) fn start<'e>(
    image: &ImageName,
    name: &str,
    containers: &'e ContainerEngine,
    (variables, options): (&BTreeMap<String, String>, &OpenOptions),
) -> Result<(Container<'e>, Box<dyn Server>), String> {
    tracing::info!("starting {}", image.reference);
    let server_options = image.image.options(variables);
    let container = containers.start(image, name, &server_options)?;
    let url = image.image.url(container.port(image.image.port)?);
    let options = OpenOptions {
        // Its account has none; that of the other servers is not for it.
        password: Some(Password::new("")),
        ..options.clone()
    };
    let began = Instant::now();
    loop {
        let error = match engine::open(&url, &options) {
            Ok(server) => return Ok((container, server)),
            Err(error) if is_unreachable(&error) => error,
            Err(error) => return Err(error.to_string()),
        };
        container.still_runs()?;
        if began.elapsed() > ANSWERS_WITHIN {
            let seconds = ANSWERS_WITHIN.as_secs();
            return Err(format!("it does not answer within {seconds} s: {error}"));
        }
        std::thread::sleep(ASK_EVERY);
    }
}
