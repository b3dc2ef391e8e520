//! A version as a container image names it: `mysql:8.0.36`.

use crate::engine::{SERVER_IMAGES, ServerImage};

/// An image with its tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageName {
    /// As it was given, but for a product's short name.
    pub(super) reference: String,
    pub(super) image: &'static ServerImage,
}

impl ImageName {
    /// The image that a version names; none where it is something else, a URL.
    ///
    /// A name with a path (`registry.example/mirror/mysql:8.0.36`) is that image, a name alone the one of the
    /// product's makers.
    pub(super) fn of(version: &str) -> Option<Self> {
        let (path, last) = match version.rsplit_once('/') {
            Some((path, last)) => (Some(path), last),
            None => (None, version),
        };
        let is_url = path.is_some_and(|path| path.contains("//") || path.ends_with(':'));
        let (product, tag) = last.split_once(':')?;
        // Docker reference: "a tag may contain letters, digits, underscores, periods, and hyphens".
        let is_of_tag = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
        let is_tag = tag.chars().all(is_of_tag) && tag.starts_with(|c: char| c != '.' && c != '-');
        let image = SERVER_IMAGES.iter().find(|image| image.engine == product)?;
        if is_url || tag.is_empty() || !is_tag || path.is_some_and(|path| path.starts_with('-')) {
            return None;
        }
        let reference = match path {
            Some(_) => version.to_owned(),
            None => format!("{}:{tag}", image.repository),
        };
        Some(Self { reference, image })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_and_a_tag_name_an_image_and_everything_else_is_left_to_the_urls() {
        for (version, reference, engine) in [
            ("mysql:8.0.36", "mysql:8.0.36", "mysql"),
            ("mariadb:10.11", "mariadb:10.11", "mariadb"),
            ("tidb:v8.5.4", "pingcap/tidb:v8.5.4", "tidb"),
            ("pingcap/tidb:v8.5.4", "pingcap/tidb:v8.5.4", "tidb"),
            (
                "h.example:5000/a/postgres:17.2-alpine",
                "h.example:5000/a/postgres:17.2-alpine",
                "postgres",
            ),
        ] {
            let image = ImageName::of(version).unwrap();
            assert_eq!(
                (image.reference.as_str(), image.image.engine),
                (reference, engine)
            );
        }
        for version in [
            "mysql://root@127.0.0.1:3306",
            "mysql://h/mysql:8.0",
            "mysql:/mysql:8.0",
            "mysql:",
            "mysql",
            "sqlite:",
            "sqlite:mysql",
            "simulated:?fault=lost-update",
            "mysql:8.0 --privileged",
            "mysql:-8",
            "--privileged/mysql:8.0",
            "localhost:3306",
        ] {
            assert_eq!(ImageName::of(version), None, "{version}");
        }
    }
}
