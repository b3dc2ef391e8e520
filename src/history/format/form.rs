//! A form of EDN or JSON, and what it stands for as a key or a value.
//!
//! A form is a row of nodes, each behind the one that it lies in: reading a file of millions of
//! forms asks for no memory once the first are read.

use std::fmt;

use crate::history::{Atom, Builder};

/// A form. A keyword `:ok`, a symbol `ok` and a string `"ok"` say the same where a format expects
/// one of its own names, and are three different keys or values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form<'t> {
    Nil,
    Bool(bool),
    Integer(i64),
    /// A string.
    Text(&'t str),
    /// A keyword of EDN, without its colon.
    Keyword(&'t str),
    /// A bare word that is none of the others.
    Symbol(&'t str),
    List(Items<'t>),
    Map(Entries<'t>),
    /// A number that is no integer of 64 bits, as written.
    Number(&'t str),
}

/// What the text of a keyword begins with.
const KEYWORD: char = ':';

/// What the text of a symbol begins with. No symbol of EDN begins like this.
const SYMBOL: char = '\'';

/// What stands around a string that would be taken for a keyword or a symbol without it.
const QUOTE: char = '"';

impl<'t> Form<'t> {
    /// The form of a bare word.
    pub(super) fn word(word: &'t str) -> Self {
        match word {
            "nil" | "null" => return Self::Nil,
            "true" => return Self::Bool(true),
            "false" => return Self::Bool(false),
            _ => {}
        }
        let digits = word.strip_suffix('N').unwrap_or(word);
        if let Ok(integer) = digits.parse() {
            return Self::Integer(integer);
        }
        let first = word.trim_start_matches(['-', '+']).chars().next();
        if first.is_some_and(|c| c.is_ascii_digit()) {
            return Self::Number(word);
        }
        Self::Symbol(word)
    }

    /// Where the values of these fields lie, each where the form is a map that has it.
    #[inline]
    pub(super) fn fields<const COUNT: usize>(
        self,
        names: [&str; COUNT],
    ) -> [Option<FormPlace<'t>>; COUNT] {
        let mut found = [None; COUNT];
        if let Self::Map(entries) = self {
            entries.find(names, &mut found);
        }
        found
    }

    /// The value of a field, when the form is a map that has it.
    #[inline]
    pub(super) fn get(self, name: &str) -> Option<Self> {
        let Self::Map(entries) = self else {
            return None;
        };
        entries.get(name)
    }

    /// The name that a keyword, a symbol or a string says.
    #[inline]
    pub(super) fn name(self) -> Option<&'t str> {
        match self {
            Self::Text(text) | Self::Keyword(text) | Self::Symbol(text) => Some(text),
            Self::Nil
            | Self::Bool(_)
            | Self::Integer(_)
            | Self::List(_)
            | Self::Map(_)
            | Self::Number(_) => None,
        }
    }

    /// What kind of form it is, in words.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Nil => "nil",
            Self::Bool(_) => "a truth value",
            Self::Integer(_) => "an integer",
            Self::Text(_) => "a text",
            Self::Keyword(_) => "a keyword",
            Self::Symbol(_) => "a symbol",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Number(_) => "a number that is no integer of 64 bits",
        }
    }

    #[inline]
    pub(super) fn list(self) -> Option<Items<'t>> {
        let Self::List(items) = self else {
            return None;
        };
        Some(items)
    }

    /// The form as a key, a value or a session.
    ///
    /// # Errors
    /// When it is a form that stands for none, or there are too many texts.
    #[inline]
    pub(super) fn atom(self, builder: &mut Builder) -> Result<Atom, String> {
        let text = match self {
            Self::Nil => return Ok(Atom::NIL),
            Self::Integer(value) => {
                let atom = Atom::integer(value);
                return atom.ok_or_else(|| format!("the integer {value} is too small"));
            }
            Self::Text(text) if text.starts_with([KEYWORD, SYMBOL, QUOTE]) => {
                &format!("{QUOTE}{text}{QUOTE}")
            }
            Self::Text(text) => text,
            Self::Keyword(name) => &format!("{KEYWORD}{name}"),
            Self::Symbol(name) => &format!("{SYMBOL}{name}"),
            Self::Bool(_) | Self::List(_) | Self::Map(_) | Self::Number(_) => {
                return Err(format!("expected a key or a value, found {}", self.kind()));
            }
        };
        builder.text(text).map_err(|error| error.to_string())
    }

    /// The form whose [`Form::atom`] is this text; none where no form has it.
    pub(super) fn of_text(text: &'t str) -> Option<Self> {
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(is_word_byte);
        if let Some(name) = text.strip_prefix(KEYWORD) {
            return is_word(name).then_some(Self::Keyword(name));
        }
        if let Some(name) = text.strip_prefix(SYMBOL) {
            let form = is_word(name).then(|| Self::word(name))?;
            let is_bare = !name.starts_with([KEYWORD, '#']) && matches!(form, Self::Symbol(_));
            return is_bare.then_some(form);
        }
        if let Some(rest) = text.strip_prefix(QUOTE) {
            let inner = rest.strip_suffix(QUOTE)?;
            let needs_it = inner.starts_with([KEYWORD, SYMBOL, QUOTE]);
            return needs_it.then_some(Self::Text(inner));
        }
        Some(Self::Text(text))
    }
}

/// What a keyword, a symbol or a number is made of.
#[inline] // Asked of every byte by another file, which is another unit of code generation.
pub(super) fn is_word_byte(byte: u8) -> bool {
    WORD_BYTES[byte as usize]
}

/// Whether two short names are the same; a call to compare them costs more than they are long.
#[inline]
pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && (0..one.len()).all(|at| one[at] == other[at])
}

static WORD_BYTES: [bool; 256] = {
    let mut are_part = [true; 256];
    let others = b" \t\n\r\x0c,;[](){}\"";
    let mut at = 0;
    while at < others.len() {
        are_part[others[at] as usize] = false;
        at += 1;
    }
    are_part
};

/// Where a text lies: in the source of a form, or behind [`DECODED`] among what was decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextSpan {
    pub(super) begin: u32,
    pub(super) end: u32,
}

/// The place of the first decoded text.
const DECODED: u32 = 1 << 31;

/// What lies in a list or map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Within {
    /// The place of the node behind its last.
    end: u32,
    /// Items of a list, entries of a map.
    count: u32,
}

/// A form without what lies in it.
#[derive(Clone, Copy, Debug)]
pub(super) enum FormNode {
    Nil,
    Bool(bool),
    Integer(i64),
    Text(TextSpan),
    Keyword(TextSpan),
    Symbol(TextSpan),
    Number(TextSpan),
    List(Within),
    Map(Within),
}

/// One form, and all that lie in it. It is used again for the next one.
#[derive(Default)]
pub(super) struct Tape {
    nodes: Vec<FormNode>,
    /// The bytes of the form, where texts without escapes lie. All texts are UTF-8.
    source: Vec<u8>,
    decoded: Vec<u8>,
    /// For the parser: the names of the fields so far, of all maps that it is in.
    pub(super) names: Vec<TextSpan>,
}

impl Tape {
    /// The form; nil where none was read.
    #[inline]
    pub(super) fn form(&self) -> Form<'_> {
        match self.nodes.is_empty() {
            true => Form::Nil,
            false => self.at(0),
        }
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.nodes.clear();
        self.source.clear();
        self.decoded.clear();
        self.names.clear();
    }

    /// How many forms there are: the place of the next one.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    pub(super) fn push(&mut self, node: FormNode) {
        self.nodes.push(node);
    }

    #[inline]
    pub(super) fn node(&self, at: usize) -> FormNode {
        self.nodes[at]
    }

    #[inline]
    pub(super) fn set(&mut self, at: usize, node: FormNode) {
        self.nodes[at] = node;
    }

    /// Opens a list or map; its place, for [`Tape::within`].
    #[inline]
    pub(super) fn open(&mut self) -> usize {
        self.nodes.push(FormNode::Nil);
        self.nodes.len() - 1
    }

    /// Everything that came since a list or map was opened.
    #[inline]
    pub(super) fn within(&self, count: u32) -> Within {
        Within {
            end: self.nodes.len() as u32,
            count,
        }
    }

    /// Adds a list of nodes in which nothing lies.
    #[inline(always)]
    pub(super) fn push_short_list<const COUNT: usize>(&mut self, items: [FormNode; COUNT]) {
        let end = self.nodes.len() + 1 + COUNT;
        self.push(FormNode::List(Within {
            end: end as u32,
            count: COUNT as u32,
        }));
        for item in items {
            self.push(item);
        }
    }

    /// Says which bytes its texts lie in.
    pub(super) fn set_source(&mut self, source: &[u8]) {
        self.source.extend_from_slice(source);
    }

    /// Keeps a text that does not stand like this in the source.
    pub(super) fn decode(&mut self, text: &[u8]) -> TextSpan {
        let begin = DECODED + self.decoded.len() as u32;
        self.decoded.extend_from_slice(text);
        let end = DECODED + self.decoded.len() as u32;
        TextSpan { begin, end }
    }

    /// The bytes of a text, whose source is this.
    #[inline]
    pub(super) fn bytes<'t>(&'t self, span: TextSpan, source: &'t [u8]) -> &'t [u8] {
        match span.begin.checked_sub(DECODED) {
            Some(begin) => &self.decoded[begin as usize..(span.end - DECODED) as usize],
            None => &source[span.begin as usize..span.end as usize],
        }
    }

    /// The name that a node says, as [`Form::name`]; its source is this.
    #[inline]
    pub(super) fn name<'t>(&'t self, at: usize, source: &'t [u8]) -> Option<&'t [u8]> {
        match self.nodes[at] {
            FormNode::Text(span) | FormNode::Keyword(span) | FormNode::Symbol(span) => {
                Some(self.bytes(span, source))
            }
            FormNode::Nil
            | FormNode::Bool(_)
            | FormNode::Integer(_)
            | FormNode::Number(_)
            | FormNode::List(_)
            | FormNode::Map(_) => None,
        }
    }

    #[inline]
    fn at(&self, at: usize) -> Form<'_> {
        // All texts are UTF-8: whoever pushed them has seen to it.
        let text = |span| str::from_utf8(self.bytes(span, &self.source)).unwrap_or_default();
        let items = |within: Within| Items {
            tape: self,
            at: at + 1,
            left: within.count as usize,
        };
        match self.nodes[at] {
            FormNode::Nil => Form::Nil,
            FormNode::Bool(is_true) => Form::Bool(is_true),
            FormNode::Integer(value) => Form::Integer(value),
            FormNode::Text(span) => Form::Text(text(span)),
            FormNode::Keyword(span) => Form::Keyword(text(span)),
            FormNode::Symbol(span) => Form::Symbol(text(span)),
            FormNode::Number(span) => Form::Number(text(span)),
            FormNode::List(within) => Form::List(items(within)),
            FormNode::Map(within) => Form::Map(Entries(items(within))),
        }
    }

    /// The place behind a form and all that lies in it.
    #[inline]
    fn behind(&self, at: usize) -> usize {
        match self.nodes[at] {
            FormNode::List(within) | FormNode::Map(within) => within.end as usize,
            FormNode::Nil
            | FormNode::Bool(_)
            | FormNode::Integer(_)
            | FormNode::Text(_)
            | FormNode::Keyword(_)
            | FormNode::Symbol(_)
            | FormNode::Number(_) => at + 1,
        }
    }

    /// Adds a copy of a form of another tape.
    fn copy(&mut self, form: Form<'_>) {
        let node = match form {
            Form::Nil => FormNode::Nil,
            Form::Bool(is_true) => FormNode::Bool(is_true),
            Form::Integer(value) => FormNode::Integer(value),
            Form::Text(text) => FormNode::Text(self.decode(text.as_bytes())),
            Form::Keyword(name) => FormNode::Keyword(self.decode(name.as_bytes())),
            Form::Symbol(name) => FormNode::Symbol(self.decode(name.as_bytes())),
            Form::Number(digits) => FormNode::Number(self.decode(digits.as_bytes())),
            Form::List(items) => {
                let at = self.open();
                items.for_each(|item| self.copy(item));
                self.nodes[at] = FormNode::List(self.within(items.left as u32));
                return;
            }
            Form::Map(entries) => return self.copy_map(entries),
        };
        self.push(node);
    }

    /// Adds a map of these fields.
    pub(super) fn copy_map<'f>(&mut self, entries: impl IntoIterator<Item = (Form<'f>, Form<'f>)>) {
        let at = self.open();
        let mut count = 0;
        for (key, value) in entries {
            self.copy(key);
            self.copy(value);
            count += 1;
        }
        self.nodes[at] = FormNode::Map(self.within(count));
    }
}

/// What lies in a list, first to last.
#[derive(Clone, Copy)]
pub(super) struct Items<'t> {
    tape: &'t Tape,
    at: usize,
    left: usize,
}

impl<'t> Items<'t> {
    /// All of them, if there are just so many.
    #[inline]
    pub(super) fn exactly<const COUNT: usize>(mut self) -> Option<[Form<'t>; COUNT]> {
        let mut forms = [Form::Nil; COUNT];
        if self.left != COUNT {
            return None;
        }
        for form in &mut forms {
            *form = self.next()?;
        }
        Some(forms)
    }
}

impl<'t> Items<'t> {
    /// The name that the first says, as [`Form::name`], and the two behind it, if there are just three.
    #[inline]
    pub(super) fn named_pair(self) -> Option<(Option<&'t [u8]>, FormPlace<'t>, FormPlace<'t>)> {
        if self.left != 3 {
            return None;
        }
        let tape = self.tape;
        let second = tape.behind(self.at);
        let third = tape.behind(second);
        let name = tape.name(self.at, &tape.source);
        Some((
            name,
            FormPlace { tape, at: second },
            FormPlace { tape, at: third },
        ))
    }
}

/// Where a form lies. The processor waits for a form that is copied before it is whole in memory,
/// and for a place it does not.
#[derive(Clone, Copy)]
pub(super) struct FormPlace<'t> {
    tape: &'t Tape,
    at: usize,
}

impl<'t> FormPlace<'t> {
    pub(super) fn form(self) -> Form<'t> {
        self.tape.at(self.at)
    }

    /// As [`Form::atom`].
    ///
    /// # Errors
    /// As it.
    #[inline]
    pub(super) fn atom(self, builder: &mut Builder) -> Result<Atom, String> {
        if let FormNode::Integer(value) = self.tape.nodes[self.at]
            && let Some(atom) = Atom::integer(value)
        {
            return Ok(atom);
        }
        self.form().atom(builder)
    }

    /// As [`Form::name`].
    #[inline]
    pub(super) fn name(self) -> Option<&'t [u8]> {
        self.tape.name(self.at, &self.tape.source)
    }

    /// As [`Form::list`].
    #[inline]
    pub(super) fn list(self) -> Option<Items<'t>> {
        let is_list = matches!(self.tape.nodes[self.at], FormNode::List(_));
        is_list.then(|| self.form().list()).flatten()
    }
}

impl<'t> Iterator for Items<'t> {
    type Item = Form<'t>;

    #[inline]
    fn next(&mut self) -> Option<Form<'t>> {
        self.left = self.left.checked_sub(1)?;
        let form = self.tape.at(self.at);
        self.at = self.tape.behind(self.at);
        Some(form)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Items<'_> {}

impl PartialEq for Items<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

impl fmt::Debug for Items<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

/// The keys and values of a map.
#[derive(Clone, Copy)]
pub(super) struct Entries<'t>(Items<'t>);

impl<'t> Entries<'t> {
    /// Where the values of these fields lie.
    #[inline]
    fn find<const COUNT: usize>(
        self,
        names: [&str; COUNT],
        found: &mut [Option<FormPlace<'t>>; COUNT],
    ) {
        let Items { tape, mut at, left } = self.0;
        for _ in 0..left {
            let value = tape.behind(at);
            if let Some(key) = tape.name(at, &tape.source)
                && let Some(place) = names.iter().position(|name| is_same(key, name.as_bytes()))
            {
                found[place] = Some(FormPlace { tape, at: value });
            }
            at = tape.behind(value);
        }
    }

    /// The value of a field.
    #[inline]
    fn get(self, name: &str) -> Option<Form<'t>> {
        let Items { tape, mut at, left } = self.0;
        for _ in 0..left {
            let value = tape.behind(at);
            let key = tape.name(at, &tape.source);
            if key.is_some_and(|key| is_same(key, name.as_bytes())) {
                return Some(tape.at(value));
            }
            at = tape.behind(value);
        }
        None
    }
}

impl<'t> Iterator for Entries<'t> {
    type Item = (Form<'t>, Form<'t>);

    #[inline]
    fn next(&mut self) -> Option<(Form<'t>, Form<'t>)> {
        let items = &mut self.0;
        items.left = items.left.checked_sub(1)?;
        let value = items.tape.behind(items.at);
        let entry = (items.tape.at(items.at), items.tape.at(value));
        items.at = items.tape.behind(value);
        Some(entry)
    }
}

impl PartialEq for Entries<'_> {
    fn eq(&self, other: &Self) -> bool {
        Iterator::eq(*self, *other)
    }
}

impl fmt::Debug for Entries<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(*self).finish()
    }
}

#[cfg(test)]
mod tests;
