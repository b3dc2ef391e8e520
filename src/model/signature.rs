//! What findings have in common: the whole shape of one, and the group that it belongs to.

use super::{AnomalyClass, Aspect, Direction, FindingKind, Form, StatementKind};

/// The feature of a statement that waited and went on.
pub const RESUMED: &str = "resumed";

/// What a finding looks like. Computed from the minimized case.
///
/// Two findings are told as one bug when they are of one [group](Signature::group): the same anomaly at the
/// same levels, with the same special features. Everything that distinguishes the findings of one group is
/// here, too, because the registry explains shapes, not groups.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signature {
    /// What is wrong, whichever oracle found it.
    pub anomaly: AnomalyClass,
    /// The name of the oracle.
    pub oracle: String,
    pub kind: FindingKind,
    /// Levels run and claimed of the sessions in conflict, sorted.
    pub levels: Vec<String>,
    /// Kinds, read modes and waits of the statements in conflict, normalized and sorted.
    pub features: Vec<String>,
}

impl Signature {
    /// A signature whose anomaly follows from its kind and from the direction among its features.
    pub fn new(
        oracle: impl Into<String>,
        kind: FindingKind,
        levels: Vec<String>,
        features: Vec<String>,
    ) -> Self {
        let direction = features.iter().find_map(|f| f.strip_prefix(DIFFERS));
        let direction = direction.and_then(Direction::from_slug);
        Self {
            anomaly: AnomalyClass::of(kind, direction),
            oracle: oracle.into(),
            kind,
            levels,
            features,
        }
    }

    /// The same finding under the name of an anomaly that more is known of.
    #[must_use]
    pub fn with_anomaly(mut self, anomaly: AnomalyClass) -> Self {
        self.anomaly = anomaly;
        self
    }

    /// The whole shape: `lost-update serial not-serializable [SERIALIZABLE] differs:lost select`.
    pub fn text(&self) -> String {
        format!(
            "{} {} {} [{}] {}",
            self.anomaly,
            self.oracle,
            self.kind,
            self.levels.join(", "),
            self.features.join(" ")
        )
    }

    /// Reads [`Signature::text`]. The anomaly may be left out: it is then the one that follows from the
    /// kind and the direction.
    pub fn parse(text: &str) -> Option<Self> {
        let (head, rest) = text.split_once(" [")?;
        let (levels, features) = rest.split_once(']')?;
        let words: Vec<&str> = head.split(' ').collect();
        let (anomaly, oracle, kind) = match words.as_slice() {
            [oracle, kind] => (None, oracle, kind),
            [anomaly, oracle, kind] => (Some(AnomalyClass::from_slug(anomaly)?), oracle, kind),
            _ => return None,
        };
        let owned = |words: std::str::Split<'_, &str>| words.map(str::to_owned).collect();
        let features = features.split_whitespace().map(str::to_owned).collect();
        let kind = FindingKind::from_slug(kind)?;
        let signature = Self::new(*oracle, kind, owned(levels.split(", ")), features);
        Some(match anomaly {
            Some(anomaly) => signature.with_anomaly(anomaly),
            None => signature,
        })
    }

    /// What is told as one bug: `lost-update [READ COMMITTED claimed SERIALIZABLE]`.
    ///
    /// Anomaly, levels, and the features that an engine special-cases: the form of the statement that
    /// differs, its kind, properties of its tables. Not what other statements stand around by chance, and
    /// not which oracle saw it. Where the anomaly is a relation between transactions, its direction in one
    /// statement is chance, too. At a claimed level such an anomaly is what the level that ran allows, in
    /// whatever statement it shows.
    pub fn group(&self) -> String {
        let levels = self.levels.join(", ");
        let mut text = format!("{} [{levels}]", self.anomaly);
        for feature in self.features.iter().filter(|f| self.distinguishes(f)) {
            text.push(' ');
            text.push_str(feature);
        }
        text
    }

    /// Eight hexadecimal digits of BLAKE3 over [`Signature::group`]: names files and groups.
    pub fn id(&self) -> String {
        group_id(&self.group())
    }

    /// Whether a stronger level was claimed than run.
    fn is_claimed(&self) -> bool {
        self.levels.iter().any(|level| level.contains(" claimed "))
    }

    /// Whether the kinds among the features are those of all statements that take part, not the kind of the
    /// one that differs. Of a cycle each statement is an example, and where commit order fails is chance.
    fn names_many_kinds(&self) -> bool {
        let cycle = self.anomaly != AnomalyClass::NotSerializable;
        match self.kind {
            FindingKind::Anomaly(_)
            | FindingKind::Wrong(Aspect::FinalState)
            | FindingKind::IndexDisagrees
            | FindingKind::TableCheckFailed => true,
            FindingKind::NotSerializable => cycle,
            FindingKind::Wrong(
                Aspect::Rows | Aspect::Affected | Aspect::Error | Aspect::Effect | Aspect::Waiting,
            )
            | FindingKind::UnstableSerialAnswer
            | FindingKind::UnexplainedChange
            | FindingKind::MiscountedWrite
            | FindingKind::RefusalWithoutCause
            | FindingKind::WrongTransactionEnd
            | FindingKind::WrongSavepoint
            | FindingKind::WrongCommandTag
            | FindingKind::NumberGivenAgain
            | FindingKind::MistoldNumber
            | FindingKind::InternalError
            | FindingKind::Crash
            | FindingKind::Hang
            | FindingKind::LostCommit
            | FindingKind::TornTransaction
            | FindingKind::UncommittedSurvives
            | FindingKind::UnexplainedRow
            | FindingKind::UnexpectedOutcome
            | FindingKind::Lock(_) => false,
        }
    }

    fn distinguishes(&self, feature: &str) -> bool {
        let between = self.anomaly.is_between_transactions();
        if between && self.is_claimed() {
            return false;
        }
        match FeatureWord::of(feature) {
            FeatureWord::Chance => false,
            FeatureWord::Kind => !self.names_many_kinds(),
            FeatureWord::Direction => !between || self.anomaly == AnomalyClass::NotSerializable,
            FeatureWord::Special => true,
        }
    }
}

/// The identifier of a group by its text.
pub fn group_id(group: &str) -> String {
    blake3::hash(group.as_bytes()).to_hex()[..8].to_owned()
}

/// Begins the feature that says in which direction an outcome differs.
const DIFFERS: &str = "differs:";

/// What a feature is about.
enum FeatureWord {
    /// What other statements did meanwhile, and how a level reads by its own rules.
    Chance,
    /// The kind of a statement that takes part.
    Kind,
    Direction,
    /// A form or a property that engines special-case, or a circumstance that has no other.
    Special,
}

impl FeatureWord {
    fn of(feature: &str) -> Self {
        let kind = |word: &str| StatementKind::ALL.iter().any(|kind| kind.slug() == word);
        if kind(feature) {
            return Self::Kind;
        }
        // How many rows a refused INSERT has distinguishes causes, not anomalies.
        if feature == RESUMED || feature == Form::SeveralRows.slug() {
            return Self::Chance;
        }
        let Some((head, rest)) = feature.split_once(':') else {
            return if feature.starts_with("violates-") {
                Self::Chance
            } else {
                Self::Special
            };
        };
        match head {
            "differs" => Self::Direction,
            "open" | "committed" | "rolled-back" => Self::Chance,
            "against" if kind(rest) => Self::Chance,
            // The statement's own table, read as its level has it. Another table is a form: a join, a
            // subquery.
            "plain-select" | "locking-select" | "update-target" | "delete-target"
            | "insert-target" => Self::Chance,
            _ => Self::Special,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signature(text: &str) -> Signature {
        Signature::parse(text).unwrap_or_else(|| panic!("{text:?}"))
    }

    fn check(text: &str, group: &str) {
        assert_eq!(signature(text).group(), group);
    }

    #[test]
    fn a_signature_reads_back_from_its_text() {
        for text in [
            "lost-update serial not-serializable [READ COMMITTED claimed SERIALIZABLE] differs:lost select",
            "stale-read txcheck wrong-rows [READ COMMITTED, SERIALIZABLE] differs:lost open:update select",
            "crash crash crash [SERIALIZABLE] none",
        ] {
            assert_eq!(signature(text).text(), text);
        }
        for text in [
            "",
            "serial [X] y",
            "a b c d [X] y",
            "odd serial crash [X] y",
            "serial odd [X] y",
        ] {
            assert_eq!(Signature::parse(text), None, "{text}");
        }
    }

    #[test]
    fn without_an_anomaly_the_kind_and_the_direction_name_it() {
        let named = |text: &str| signature(text).anomaly;
        assert_eq!(
            named("txcheck wrong-rows [X] differs:lost select"),
            AnomalyClass::MissingRow
        );
        assert_eq!(
            named("txcheck wrong-rows [X] differs:nulled select"),
            AnomalyClass::WrongRow
        );
        assert_eq!(
            named("troc wrong-rows [X] differs:lower select"),
            AnomalyClass::WrongCount
        );
        assert_eq!(
            named("troc wrong-rows [X] differs:refused select"),
            AnomalyClass::WrongError
        );
        assert_eq!(
            named("isolation dirty-read [X] select"),
            AnomalyClass::DirtyRead
        );
        assert_eq!(
            named("locks unkept-range [X] insert"),
            AnomalyClass::Phantom
        );
    }

    #[test]
    fn what_others_did_meanwhile_does_not_part_findings_and_what_engines_special_case_does() {
        let group = "missing-row [READ COMMITTED] differs:lost order-by select";
        check(
            "txcheck wrong-rows [READ COMMITTED] differs:lost open:update order-by plain-select:statement-snapshot resumed select",
            group,
        );
        check(
            "troc wrong-rows [READ COMMITTED] committed:delete differs:lost order-by select",
            group,
        );
        for other in [
            "troc wrong-rows [READ COMMITTED] differs:lost select",
            "troc wrong-rows [READ COMMITTED] differs:lost limit order-by select",
            "troc wrong-rows [READ COMMITTED] differs:lost locking-select order-by",
            "troc wrong-rows [READ COMMITTED] differs:extra order-by select",
            "troc wrong-rows [SERIALIZABLE] differs:lost order-by select",
            "stale-read troc wrong-rows [READ COMMITTED] differs:lost order-by select",
        ] {
            assert_ne!(signature(other).group(), group, "{other}");
        }
    }

    #[test]
    fn one_cycle_is_one_group_whichever_statements_and_oracles_show_it() {
        let group = "lost-update [REPEATABLE READ]";
        check(
            "isolation lost-update [REPEATABLE READ] select update",
            group,
        );
        check(
            "isolation lost-update [REPEATABLE READ] delete locking-select resumed",
            group,
        );
        check(
            "lost-update serial not-serializable [REPEATABLE READ] differs:lost open:update select",
            group,
        );
        check("history lost-update [REPEATABLE READ] violates-si", group);
        // Without a cycle it is the statement that tells one bug from the other.
        check(
            "serial not-serializable [SERIALIZABLE] differs:lost open:update select",
            "not-serializable [SERIALIZABLE] differs:lost select",
        );
    }

    #[test]
    fn at_a_claimed_level_what_the_weaker_one_allows_is_one_group_an_anomaly() {
        let levels = "[READ COMMITTED claimed SERIALIZABLE]";
        let group = format!("missing-lock {levels}");
        check(
            &format!("locks unlocked-read {levels} against:delete select whole-count"),
            &group,
        );
        check(
            &format!("locks unkept-row {levels} against:select delete"),
            &group,
        );
        // A wrong row is none of what a weaker level allows.
        check(
            &format!("txcheck wrong-rows {levels} differs:lost limit open:update select"),
            &format!("missing-row {levels} differs:lost limit select"),
        );
    }

    #[test]
    fn at_the_level_that_ran_a_missing_lock_keeps_the_form_that_misses_it() {
        check(
            "locks unlocked-read [SERIALIZABLE] against:delete against:limit locking-select nowait whole-count",
            "missing-lock [SERIALIZABLE] against:limit locking-select nowait whole-count",
        );
    }
}
