//! Lines of JSON against the schemas in `docs/`.

use std::collections::BTreeSet;

use jsonschema::Validator;
use jsonschema::error::{ValidationError, ValidationErrorKind};
use serde_json::{Value as Json, json};

/// A schema of lines, as consumers have it and without fields that it does not name.
pub(crate) struct LineSchema {
    open: Validator,
    closed: Validator,
}

impl LineSchema {
    /// The schema in a text. `definition`: which of its definitions describes the lines; else its root does.
    pub(crate) fn of(text: &str, definition: Option<&str>) -> Self {
        let mut schema = parsed(text);
        if let Some(name) = definition {
            assert!(schema["$defs"][name].is_object(), "no definition of {name}");
            schema = json!({ "$ref": format!("#/$defs/{name}"), "$defs": schema["$defs"].take() });
        }
        let open = validator(&schema);
        close(&mut schema);
        Self {
            open,
            closed: validator(&schema),
        }
    }

    /// What consumers accept.
    pub(crate) fn open(&self) -> &Validator {
        &self.open
    }

    /// Why a line is not as the schema says; nothing where it is, and each of its fields is named, of the
    /// objects in it, too.
    pub(crate) fn complaints(&self, line: &Json) -> Vec<String> {
        let errors = self.open.iter_errors(line);
        let errors = errors.chain(self.closed.iter_errors(line));
        errors.flat_map(|error| causes(&error)).collect()
    }

    /// Holds lines to the schema: each is valid, and has the fields that are named and no others. Returns
    /// their events.
    pub(crate) fn assert_describes(&self, out: &str) -> BTreeSet<String> {
        let mut events = BTreeSet::new();
        for line in out.lines() {
            let line: Json = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
            assert_eq!(self.complaints(&line), [""; 0], "{line}");
            events.insert(line["event"].as_str().expect("a name").to_owned());
        }
        events
    }
}

pub(crate) fn parsed(text: &str) -> Json {
    serde_json::from_str(text).expect("JSON")
}

fn validator(schema: &Json) -> Validator {
    jsonschema::draft202012::new(schema).expect("a schema of draft 2020-12")
}

/// Takes the fields that are not named away from every object of a schema.
fn close(part: &mut Json) {
    if is_object(part) && part["additionalProperties"].is_null() {
        part["additionalProperties"] = json!(false);
    }
    if let Some(parts) = part.as_object_mut() {
        parts.values_mut().for_each(close);
    }
    if let Some(parts) = part.as_array_mut() {
        parts.iter_mut().for_each(close);
    }
}

/// Whether a part of a schema describes objects.
fn is_object(part: &Json) -> bool {
    let kind = &part["type"];
    let mut kinds = kind.as_array().into_iter().flatten();
    kind == "object" || kinds.any(|kind| kind == "object")
}

/// What is wrong, in the alternative that a line comes nearest to.
fn causes(error: &ValidationError<'_>) -> Vec<String> {
    if let ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } =
        error.kind()
    {
        let alternatives = context.iter();
        let alternatives = alternatives.map(|errors| errors.iter().flat_map(causes).collect());
        let nearest = alternatives.min_by_key(Vec::len);
        return nearest.unwrap_or_default();
    }
    vec![format!("{}: {error}", error.instance_path())]
}

/// The fields of objects that a line may lack, each behind the fields and events that it stands in.
pub(crate) fn optional(part: &Json) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    note_optional(part, "", &mut found);
    found
}

fn note_optional(part: &Json, place: &str, found: &mut BTreeSet<String>) {
    if is_object(part)
        && let Some(fields) = part["properties"].as_object()
    {
        let event = fields
            .get("event")
            .and_then(|event| event["const"].as_str());
        let place = event.unwrap_or(place);
        let required = part["required"].as_array();
        for (name, field) in fields {
            let inner = format!("{place}.{name}");
            if !required.is_some_and(|names| names.iter().any(|one| one == name)) {
                found.insert(inner.clone());
            }
            note_optional(field, &inner, found);
        }
        return;
    }
    for inner in part.as_object().into_iter().flat_map(|map| map.values()) {
        note_optional(inner, place, found);
    }
    for inner in part.as_array().into_iter().flatten() {
        note_optional(inner, place, found);
    }
}
