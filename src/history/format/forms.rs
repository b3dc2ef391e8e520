//! EDN and JSON, one form after the other from a stream, none larger than a bound.
//!
//! Both are read by one reader: they differ in how a map parts its keys from its values and in
//! how names are quoted, and the files of the peers mix their habits.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::FORM_BYTES_MAX;
use super::form::{Form, is_word_byte};
use crate::history::HistoryError;

/// How many forms may lie in one: what a form of two bytes takes in memory is sixteen times that.
const FORMS_MAX: usize = 1 << 22;

/// How deep forms may lie in each other.
const DEPTH_MAX: u32 = 32;

/// Reads the forms of a stream; a list around them all is looked through.
pub(super) struct Forms<'s> {
    stream: &'s mut dyn BufRead,
    line: u64,
    column: usize,
    /// Bytes of the form that is being read.
    taken: usize,
    /// Forms in it.
    forms: usize,
    /// The byte that closes the list around all forms, once it was opened.
    around: Option<u8>,
}

impl<'s> Forms<'s> {
    pub(super) fn new(stream: &'s mut dyn BufRead) -> Self {
        Self {
            stream,
            line: 1,
            column: 1,
            taken: 0,
            forms: 0,
            around: None,
        }
    }

    /// The next form and its line.
    ///
    /// # Errors
    /// When the stream fails or is neither EDN nor JSON here, or the form is too large.
    pub(super) fn next(&mut self) -> Result<Option<(u64, Form)>, HistoryError> {
        loop {
            self.begin()?;
            let Some(byte) = self.peek()? else {
                return match self.around {
                    None => Ok(None),
                    Some(_) => Err(self.error("the file ends within a list")),
                };
            };
            if Some(byte) == self.around {
                self.advance();
                self.skip_blanks()?;
                return match self.peek()? {
                    None => Ok(None),
                    Some(_) => Err(self.error("more after the list of all forms")),
                };
            }
            if (byte == b'[' || byte == b'(') && self.around.is_none() {
                self.advance();
                self.around = Some(closing(byte));
                continue;
            }
            let line = self.line;
            return Ok(Some((line, self.form(0)?)));
        }
    }

    /// Goes into the list or map that comes next, so that what lies in it can be read piece by
    /// piece and no bound holds for the whole.
    ///
    /// # Errors
    /// When something else comes next.
    pub(super) fn open(&mut self, byte: u8) -> Result<(), HistoryError> {
        self.begin()?;
        if self.peek()? != Some(byte) {
            return Err(self.error(format!("expected '{}'", char::from(byte))));
        }
        self.advance();
        Ok(())
    }

    /// Whether what was gone into is over, in which case reading stands behind it.
    ///
    /// # Errors
    /// When the stream ends instead.
    pub(super) fn is_closed(&mut self, byte: u8) -> Result<bool, HistoryError> {
        self.begin()?;
        match self.peek()? {
            None => Err(self.error("the file ends within a form")),
            Some(next) if next == byte => {
                self.advance();
                Ok(true)
            }
            Some(_) => Ok(false),
        }
    }

    /// The key that comes next in a map that was gone into; `known` holds the names of those
    /// before it.
    ///
    /// # Errors
    /// When something else comes next, or the map has named this field before.
    pub(super) fn key(&mut self, known: &mut BTreeSet<String>) -> Result<Form, HistoryError> {
        let is_quoted = self.peek()? == Some(b'"');
        let place = (self.line, self.column);
        let key = self.form(0)?;
        if key
            .name()
            .is_some_and(|name| !known.insert(name.to_owned()))
        {
            return Err(named_twice(place, &key));
        }
        self.skip_colon(is_quoted)?;
        Ok(key)
    }

    /// The form that comes next, and the line and column where it begins.
    pub(super) fn item(&mut self) -> Result<(u64, usize, Form), HistoryError> {
        self.begin()?;
        Ok((self.line, self.column, self.form(0)?))
    }

    /// That nothing comes any more.
    pub(super) fn end(&mut self) -> Result<(), HistoryError> {
        self.begin()?;
        match self.peek()? {
            None => Ok(()),
            Some(_) => Err(self.error("more than one history")),
        }
    }

    /// Counts anew, and goes to where something comes.
    fn begin(&mut self) -> Result<(), HistoryError> {
        (self.taken, self.forms) = (0, 0);
        self.skip_blanks()
    }

    /// An error where reading stands.
    pub(super) fn error(&self, message: impl Into<String>) -> HistoryError {
        HistoryError::at(self.line, self.column, message)
    }

    fn peek(&mut self) -> Result<Option<u8>, HistoryError> {
        Ok(self.stream.fill_buf()?.first().copied())
    }

    /// Goes past the byte that was peeked at.
    fn advance(&mut self) {
        if let Ok(&[byte, ..]) = self.stream.fill_buf() {
            if byte == b'\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
            self.taken += 1;
            self.stream.consume(1);
        }
    }

    /// Skips white space, commas and comments.
    fn skip_blanks(&mut self) -> Result<(), HistoryError> {
        let mut is_comment = false;
        while let Some(byte) = self.peek()? {
            is_comment = byte != b'\n' && (is_comment || byte == b';');
            if !is_comment && !b" \t\r\n,".contains(&byte) {
                break;
            }
            self.bound()?;
            self.advance();
        }
        Ok(())
    }

    fn form(&mut self, depth: u32) -> Result<Form, HistoryError> {
        if depth > DEPTH_MAX {
            return Err(self.error(format!("forms nested deeper than {DEPTH_MAX}")));
        }
        self.forms += 1;
        if self.forms > FORMS_MAX {
            return Err(self.error(format!("more than {FORMS_MAX} forms in one")));
        }
        self.skip_blanks()?;
        match self.peek()? {
            None => Err(self.error("the file ends within a form")),
            Some(open @ (b'[' | b'(')) => {
                self.advance();
                self.items(closing(open), depth).map(Form::List)
            }
            Some(b'{') => {
                self.advance();
                self.entries(depth).map(Form::Map)
            }
            Some(b'"') => {
                self.advance();
                self.string().map(Form::Text)
            }
            Some(b'#') => {
                self.advance();
                self.tagged(depth)
            }
            Some(b':') => {
                self.advance();
                self.word().map(Form::Keyword)
            }
            Some(_) => self.word().map(Form::word),
        }
    }

    /// What follows a `#`: a set, or a form with a tag that says nothing to us.
    fn tagged(&mut self, depth: u32) -> Result<Form, HistoryError> {
        if self.peek()? == Some(b'{') {
            self.advance();
            return self.items(b'}', depth).map(Form::List);
        }
        self.word()?;
        self.form(depth + 1)
    }

    fn items(&mut self, close: u8, depth: u32) -> Result<Vec<Form>, HistoryError> {
        let mut items = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.peek()? == Some(close) {
                self.advance();
                return Ok(items);
            }
            items.push(self.form(depth + 1)?);
        }
    }

    fn entries(&mut self, depth: u32) -> Result<Vec<(Form, Form)>, HistoryError> {
        let mut entries: Vec<(Form, Form)> = Vec::new();
        let mut fields = Fields::default();
        loop {
            self.skip_blanks()?;
            if self.peek()? == Some(b'}') {
                self.advance();
                return Ok(entries);
            }
            let is_quoted = self.peek()? == Some(b'"');
            let place = (self.line, self.column);
            let key = self.form(depth + 1)?;
            if !fields.insert(&key, &entries) {
                return Err(named_twice(place, &key));
            }
            let is_after_colon = self.skip_colon(is_quoted)?;
            let mut value = self.form(depth + 1)?;
            // JSON has no bare words: the colon was that of a keyword of EDN.
            if is_after_colon && let Form::Symbol(name) = &mut value {
                value = Form::Keyword(std::mem::take(name));
            }
            entries.push((key, value));
        }
    }

    /// Reads the colon of JSON behind a key in quotes; whether there was one.
    fn skip_colon(&mut self, is_quoted: bool) -> Result<bool, HistoryError> {
        self.skip_blanks()?;
        let is_there = is_quoted && self.peek()? == Some(b':');
        if is_there {
            self.advance();
        }
        Ok(is_there)
    }

    fn string(&mut self) -> Result<String, HistoryError> {
        let mut bytes = Vec::new();
        loop {
            let Some(byte) = self.peek()? else {
                return Err(self.error("the file ends within a string"));
            };
            self.bound()?;
            self.advance();
            match byte {
                b'"' => break,
                b'\\' => {
                    let c = self.escape()?;
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).map_err(|_| self.error("a string that is not UTF-8"))
    }

    /// What an escape stands for, whose backslash was read.
    fn escape(&mut self) -> Result<char, HistoryError> {
        let place = (self.line, self.column - 1);
        let escaped = self.peek()?;
        self.advance();
        match escaped {
            Some(b'n') => Ok('\n'),
            Some(b't') => Ok('\t'),
            Some(b'r') => Ok('\r'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(c @ (b'"' | b'\\' | b'/')) => Ok(char::from(c)),
            Some(b'u') => self.code_point(place),
            _ => Err(self.error("an unknown escape in a string")),
        }
    }

    /// The character of `XXXX`, or of the pair of surrogates `XXXX\uXXXX`, behind a `\u` at a
    /// place.
    fn code_point(&mut self, (line, column): (u64, usize)) -> Result<char, HistoryError> {
        let first = self.hex()?;
        let mut units = vec![first];
        // Only the first half of a pair asks for another unit: RFC 8259, section 7.
        if (0xd800..0xdc00).contains(&first) && self.peek()? == Some(b'\\') {
            self.advance();
            if self.peek()? == Some(b'u') {
                self.advance();
                units.push(self.hex()?);
            }
        }
        match char::decode_utf16(units).next() {
            Some(Ok(c)) => Ok(c),
            _ => {
                let message = format!(
                    "\\u{first:04x} is half of a surrogate pair and names no character: write both \
                     halves, as in \\ud83d\\ude00, or the character itself"
                );
                Err(HistoryError::at(line, column, message))
            }
        }
    }

    /// Four hexadecimal digits.
    fn hex(&mut self) -> Result<u16, HistoryError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
            let digit = digit.ok_or_else(|| self.error("expected four hex digits"))?;
            // A digit is below 16.
            code = code << 4 | digit as u16;
            self.advance();
        }
        Ok(code)
    }

    fn word(&mut self) -> Result<String, HistoryError> {
        let mut bytes = Vec::new();
        while let Some(byte) = self.peek()? {
            if !is_word_byte(byte) {
                break;
            }
            self.bound()?;
            bytes.push(byte);
            self.advance();
        }
        if bytes.is_empty() {
            return Err(self.error("expected a form"));
        }
        String::from_utf8(bytes).map_err(|_| self.error("a word that is not UTF-8"))
    }

    fn bound(&self) -> Result<(), HistoryError> {
        if self.taken > FORM_BYTES_MAX {
            return Err(self.error(format!("a form of more than {FORM_BYTES_MAX} bytes")));
        }
        Ok(())
    }
}

fn closing(open: u8) -> u8 {
    if open == b'[' { b']' } else { b')' }
}

/// How many fields of a map are compared one by one before a set of their names is made.
const COMPARED_MAX: usize = 16;

/// The names of a map's fields, once there are too many to compare each with all.
#[derive(Default)]
struct Fields(BTreeSet<String>);

impl Fields {
    /// Whether a key names no field that `before` names. Keys that are no names always pass: no
    /// format has fields of such keys.
    fn insert(&mut self, key: &Form, before: &[(Form, Form)]) -> bool {
        let Some(name) = key.name() else {
            return true;
        };
        if before.len() < COMPARED_MAX {
            return before.iter().all(|(key, _)| key.name() != Some(name));
        }
        if self.0.is_empty() {
            let names = before.iter().filter_map(|(key, _)| key.name());
            self.0.extend(names.map(str::to_owned));
        }
        self.0.insert(name.to_owned())
    }
}

fn named_twice((line, column): (u64, usize), key: &Form) -> HistoryError {
    let name = key.name().unwrap_or_default();
    let message = format!("the field {name:?} stands twice in this map: take one of them out");
    HistoryError::at(line, column, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Form>, String> {
        let mut stream = text.as_bytes();
        let mut forms = Forms::new(&mut stream);
        let mut found = Vec::new();
        while let Some((_, form)) = forms.next().map_err(|error| error.to_string())? {
            found.push(form);
        }
        Ok(found)
    }

    #[test]
    fn edn_and_json_of_one_operation_have_the_same_fields() {
        let edn = all("; a comment\n{:type :ok, :value [[1 nil]], :process 3 :a #{1N}}");
        let json = all("[{\"type\":\"ok\",\"value\":[[1,null]],\"process\" : 3, \"a\":[1]}]");
        let mixed = all("{\"type\" :ok \"value\" [[1 nil]] \"process\" 3 \"a\" (1)}");
        for (forms, is_keyword) in [(&edn, true), (&json, false), (&mixed, true)] {
            let forms = forms.as_ref().expect("forms");
            let [form] = &forms[..] else {
                panic!("{forms:?}");
            };
            let kind = form.get("type").expect("a type");
            assert_eq!(kind.name(), Some("ok"));
            assert_eq!(matches!(kind, Form::Keyword(_)), is_keyword, "{kind:?}");
            let numbers = Form::List(vec![Form::Integer(1), Form::Nil]);
            assert_eq!(form.get("value"), Some(&Form::List(vec![numbers])));
            assert_eq!(form.get("process"), Some(&Form::Integer(3)));
            assert_eq!(form.get("a"), Some(&Form::List(vec![Form::Integer(1)])));
        }
    }

    #[test]
    fn a_surrogate_pair_is_one_character() {
        let escaped = r#""\ud83d\ude00 \uD83D\uDE01 \u00e9 \ud7ff \ue000""#;
        let text = "\u{1f600} \u{1f601} \u{e9} \u{d7ff} \u{e000}".to_owned();
        assert_eq!(all(escaped), Ok(vec![Form::Text(text)]));
    }

    #[test]
    fn half_of_a_surrogate_pair_is_refused_with_its_place_and_the_remedy() {
        let halves = [
            (r#""ab\ud83d""#, "ud83d"),
            (r#""ab\ud83dx""#, "ud83d"),
            (r#""ab\ud83d\n""#, "ud83d"),
            (r#""ab\ud83d\u0041""#, "ud83d"),
            (r#""ab\ud83d\ud83d""#, "ud83d"),
            (r#""ab\ude00""#, "ude00"),
            (r#""ab\ude00\ud83d""#, "ude00"),
        ];
        for (text, half) in halves {
            let error = all(text).expect_err(text);
            let place = format!("line 1, column 4: \\{half} is half of a surrogate pair");
            assert!(error.starts_with(&place), "{text}: {error}");
            assert!(error.contains("write both halves"), "{text}: {error}");
        }
        let torn = all(r#""\ud83d\u12""#).expect_err("no hex digit");
        assert_eq!(torn, "line 1, column 12: expected four hex digits");
    }

    #[test]
    fn a_field_that_stands_twice_is_refused_wherever_it_stands() {
        let last = (0..40).map(|at| format!("\"f{at}\":{at},"));
        let many = format!("{{{}\n\"f3\":0}}", last.collect::<String>());
        let twice = [
            ("{\"a\":1,\n \"a\":1}", "line 2, column 2: the field \"a\""),
            ("{:a 1 \"a\" 2}", "line 1, column 7: the field \"a\""),
            ("{:b {:a 1 :a 2}}", "line 1, column 11: the field \"a\""),
            (&many, "line 2, column 1: the field \"f3\""),
        ];
        for (text, message) in twice {
            let error = all(text).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
            assert!(error.ends_with("take one of them out"), "{error}");
        }
        let once = all(&many.replace("\n\"f3\"", "\"f40\"")).expect("no field twice");
        assert_eq!(once[0].get("f40"), Some(&Form::Integer(0)));
    }

    #[test]
    fn what_is_torn_is_an_error_with_its_place() {
        let torn = [
            ("[{:a 1}", "line 1, column 8: the file ends within a list"),
            (
                "{:a\n \"b",
                "line 2, column 4: the file ends within a string",
            ),
            ("{:a )}", "line 1, column 5: expected a form"),
            (
                "[1] 2",
                "line 1, column 5: more after the list of all forms",
            ),
            ("\"\\q\"", "line 1, column 4: an unknown escape in a string"),
        ];
        for (text, message) in torn {
            assert_eq!(all(text), Err(message.to_owned()), "{text}");
        }
        let deep = "{:a ".repeat(100);
        assert!(all(&deep).is_err_and(|error| error.contains("deeper than 32")));
    }
}
