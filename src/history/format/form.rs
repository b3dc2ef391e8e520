//! EDN and JSON, one form after the other from a stream, none larger than a bound.
//!
//! Both are read by one reader: they differ in how a map parts its keys from its values and in
//! how names are quoted, and the files of the peers mix their habits.

use std::io::BufRead;

use super::FORM_BYTES_MAX;
use crate::history::HistoryError;

/// How many forms may lie in one: what a form of two bytes takes in memory is sixteen times that.
const FORMS_MAX: usize = 1 << 22;

/// How deep forms may lie in each other.
const DEPTH_MAX: u32 = 32;

/// A form. Keywords, symbols and strings are all texts: `:ok`, `ok` and `"ok"` say the same.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Form {
    Nil,
    Bool(bool),
    Integer(i64),
    Text(String),
    List(Vec<Form>),
    Map(Vec<(Form, Form)>),
    /// A number that is no integer of 64 bits, as written.
    Number(String),
}

impl Form {
    /// The value of a key, when the form is a map that has it.
    pub(super) fn get(&self, name: &str) -> Option<&Form> {
        let Self::Map(entries) = self else {
            return None;
        };
        let is_it = |key: &Form| matches!(key, Self::Text(text) if text == name);
        entries
            .iter()
            .find(|(key, _)| is_it(key))
            .map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What kind of form it is, in words.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a truth value",
            Self::Integer(_) => "an integer",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Number(_) => "a number that is no integer of 64 bits",
        }
    }

    pub(super) fn list(&self) -> Option<&[Form]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }
}

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

    /// The key that comes next in a map.
    pub(super) fn key(&mut self) -> Result<Form, HistoryError> {
        let is_quoted = self.peek()? == Some(b'"');
        let key = self.form(0)?;
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
                self.word().map(Form::Text)
            }
            Some(_) => {
                let word = self.word()?;
                Ok(plain(word))
            }
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
        let mut entries = Vec::new();
        loop {
            self.skip_blanks()?;
            if self.peek()? == Some(b'}') {
                self.advance();
                return Ok(entries);
            }
            let is_quoted = self.peek()? == Some(b'"');
            let key = self.form(depth + 1)?;
            self.skip_colon(is_quoted)?;
            entries.push((key, self.form(depth + 1)?));
        }
    }

    /// After a quoted key a colon is JSON's.
    fn skip_colon(&mut self, is_quoted: bool) -> Result<(), HistoryError> {
        self.skip_blanks()?;
        if is_quoted && self.peek()? == Some(b':') {
            self.advance();
        }
        Ok(())
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
                    let escaped = self.peek()?;
                    self.advance();
                    let c = self.escape(escaped)?;
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).map_err(|_| self.error("a string that is not UTF-8"))
    }

    fn escape(&mut self, escaped: Option<u8>) -> Result<char, HistoryError> {
        match escaped {
            Some(b'n') => Ok('\n'),
            Some(b't') => Ok('\t'),
            Some(b'r') => Ok('\r'),
            Some(b'b') => Ok('\u{8}'),
            Some(b'f') => Ok('\u{c}'),
            Some(c @ (b'"' | b'\\' | b'/')) => Ok(char::from(c)),
            Some(b'u') => {
                let mut code = 0;
                for _ in 0..4 {
                    let digit = self.peek()?.and_then(|byte| char::from(byte).to_digit(16));
                    let digit = digit.ok_or_else(|| self.error("expected four hex digits"))?;
                    code = code * 16 + digit;
                    self.advance();
                }
                // Halves of a surrogate pair name no character of their own.
                Ok(char::from_u32(code).unwrap_or('\u{fffd}'))
            }
            _ => Err(self.error("an unknown escape in a string")),
        }
    }

    fn word(&mut self) -> Result<String, HistoryError> {
        let mut bytes = Vec::new();
        while let Some(byte) = self.peek()? {
            if byte.is_ascii_whitespace() || b",;[](){}\"".contains(&byte) {
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

/// The form of a bare word.
fn plain(word: String) -> Form {
    match word.as_str() {
        "nil" | "null" => return Form::Nil,
        "true" => return Form::Bool(true),
        "false" => return Form::Bool(false),
        _ => {}
    }
    let digits = word.strip_suffix('N').unwrap_or(&word);
    if let Ok(integer) = digits.parse() {
        return Form::Integer(integer);
    }
    let first = word.trim_start_matches(['-', '+']).chars().next();
    if first.is_some_and(|c| c.is_ascii_digit()) {
        return Form::Number(word);
    }
    Form::Text(word)
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
    fn edn_and_json_of_one_operation_are_one_form() {
        let edn = all("; a comment\n{:type :ok, :value [[:r 1 nil]], :process 3 :a #{1N}}");
        let json = all("[{\"type\":\"ok\",\"value\":[[\"r\",1,null]],\"process\" : 3, \"a\":[1]}]");
        assert_eq!(edn, json);
        assert_eq!(edn.expect("forms").len(), 1);
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
