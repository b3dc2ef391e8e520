//! Enums whose variants have a fixed spelling in files, signatures and statistics.

/// Declares an enum with `ALL`, `slug()`, `about()`, `from_slug()` and `Display`. Slugs are words in
/// lower case with hyphens between; `about()` is the doc comment of the variant.
macro_rules! slugged {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[doc = $about:literal])* $variant:ident = $slug:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[doc = $about])* $variant, )*
        }

        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: &[Self] = &[$( Self::$variant, )*];

            /// Its spelling in files, signatures and statistics.
            pub fn slug(self) -> &'static str {
                match self {
                    $( Self::$variant => $slug, )*
                }
            }

            /// What it means, in a sentence; empty where the slug says it all.
            pub fn about(self) -> &'static str {
                match self {
                    $( Self::$variant => concat!($($about),*).trim_ascii(), )*
                }
            }

            /// The variant of this spelling.
            pub fn from_slug(slug: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|variant| variant.slug() == slug)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.slug())
            }
        }
    };
}

pub(crate) use slugged;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::model::{AnomalyClass, Aspect, Direction, Doubt, FindingKind, UndecidedReason};

    fn check(slugs: &[&str]) {
        let distinct: BTreeSet<&&str> = slugs.iter().collect();
        assert_eq!(distinct.len(), slugs.len(), "{slugs:?}");
        for slug in slugs {
            let is_word = |word: &str| {
                !word.is_empty()
                    && word
                        .chars()
                        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            };
            assert!(slug.split('-').all(is_word), "{slug:?}");
        }
    }

    #[test]
    fn slugs_are_distinct_and_in_kebab_case() {
        check(
            &UndecidedReason::ALL
                .iter()
                .map(|r| r.slug())
                .collect::<Vec<_>>(),
        );
        check(&Aspect::ALL.iter().map(|a| a.slug()).collect::<Vec<_>>());
        check(&Direction::ALL.iter().map(|d| d.slug()).collect::<Vec<_>>());
        check(
            &AnomalyClass::ALL
                .iter()
                .map(|a| a.slug())
                .collect::<Vec<_>>(),
        );
        check(&Doubt::ALL.iter().map(|d| d.slug()).collect::<Vec<_>>());
        check(
            &FindingKind::all()
                .map(FindingKind::slug)
                .collect::<Vec<_>>(),
        );
    }

    #[test]
    fn every_slug_reads_back() {
        for reason in UndecidedReason::ALL {
            assert_eq!(UndecidedReason::from_slug(reason.slug()), Some(*reason));
        }
        for kind in FindingKind::all() {
            assert_eq!(FindingKind::from_slug(kind.slug()), Some(kind));
        }
        assert_eq!(FindingKind::from_slug("wrong-row"), None);
    }
}
