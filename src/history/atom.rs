//! Keys, values and labels: an integer, a text, or nil, in eight bytes.

use super::Interner;

/// A key, a value or a label of a history: an integer, a text by its number, or nil.
///
/// Texts take the lowest 2^32 integers, which no recorder draws; a reader refuses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Atom(i64);

const FIRST_INTEGER: i64 = i64::MIN + (1 << 32);

impl Atom {
    /// No value: what a key holds that nobody wrote, unless the history says otherwise.
    pub const NIL: Self = Self(i64::MIN);

    /// An integer; none for those that stand for texts.
    pub fn integer(value: i64) -> Option<Self> {
        (value >= FIRST_INTEGER).then_some(Self(value))
    }

    /// The integer, unless it is a text or nil.
    pub fn as_integer(self) -> Option<i64> {
        (self.0 >= FIRST_INTEGER).then_some(self.0)
    }

    /// The integer as a place in a table, unless it is negative.
    pub fn as_place(self) -> Option<usize> {
        usize::try_from(self.as_integer()?).ok()
    }

    /// The bits, for hashing and indexing.
    pub fn bits(self) -> u64 {
        self.0.cast_unsigned()
    }

    /// The atom of these bits.
    pub fn from_bits(bits: u64) -> Self {
        Self(bits.cast_signed())
    }
}

impl From<u32> for Atom {
    fn from(value: u32) -> Self {
        Self(i64::from(value))
    }
}

/// The texts among the atoms of one history.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    texts: Vec<Box<str>>,
    index: Interner,
    /// The bytes of all texts.
    bytes: usize,
}

impl Texts {
    /// The atom of a text. A text that reads as an integer or as `nil` stays a text.
    ///
    /// None when 2^32 texts are there already.
    pub fn atom(&mut self, text: &str) -> Option<Atom> {
        let next = u32::try_from(self.texts.len()).ok()?;
        let texts = &self.texts;
        let found = self
            .index
            .find_or_insert(hash(text), next, |known| &*texts[known as usize] == text);
        if found == next {
            self.texts.push(text.into());
            self.bytes += text.len();
        }
        Some(Atom(i64::MIN + 1 + i64::from(found)))
    }

    /// The atom of an unsigned integer: its digits as a text from 2^63 on, where signed ones end.
    ///
    /// None when 2^32 texts are there already.
    pub fn natural(&mut self, number: u64) -> Option<Atom> {
        match i64::try_from(number) {
            Ok(number) => Atom::integer(number),
            Err(_) => self.atom(&number.to_string()),
        }
    }

    /// The unsigned integer of [`Texts::natural`]; none when the atom is another.
    pub fn as_natural(&self, atom: Atom) -> Option<u64> {
        if let Some(integer) = atom.as_integer() {
            return u64::try_from(integer).ok();
        }
        let text = self.text(atom)?;
        let number: u64 = text.parse().ok()?;
        (i64::try_from(number).is_err() && number.to_string() == text).then_some(number)
    }

    /// What they take of the memory.
    pub fn bytes(&self) -> usize {
        self.bytes + self.texts.capacity() * size_of::<Box<str>>() + self.index.bytes()
    }

    /// An atom as people wrote it.
    pub fn show(&self, atom: Atom) -> String {
        match (atom.as_integer(), self.text(atom)) {
            (Some(integer), _) => integer.to_string(),
            (None, Some(text)) => text.to_owned(),
            (None, None) => "nil".to_owned(),
        }
    }

    /// An atom as our own line format has it: a text that is no word in quotes, on one line.
    pub fn spelled(&self, atom: Atom) -> String {
        let Some(text) = self.text(atom) else {
            return self.show(atom);
        };
        spelled_text(text)
    }

    /// The text, unless the atom is an integer or nil.
    pub fn text(&self, atom: Atom) -> Option<&str> {
        if atom == Atom::NIL || atom.as_integer().is_some() {
            return None;
        }
        let index = usize::try_from(atom.0.wrapping_sub(i64::MIN + 1)).ok()?;
        self.texts.get(index).map(|text| &**text)
    }
}

/// A text as our own line format has it.
pub(in crate::history) fn spelled_text(text: &str) -> String {
    let begins = text.bytes().next().is_some_and(|b| b.is_ascii_alphabetic());
    if begins && text != "nil" && text.bytes().all(is_plain_byte) {
        return text.to_owned();
    }
    let escaped = text
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("\"{escaped}\"")
}

/// What a word of our own line format is made of.
pub(in crate::history) fn is_plain_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte)
}

/// FNV-1a: short texts, no secret, the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atom_prints_as_it_was_written() {
        let mut texts = Texts::default();
        let x = texts.atom("x").expect("room");
        let y = texts.atom("y y").expect("room");
        assert_eq!(texts.atom("x"), Some(x));
        let minus = Atom::integer(-7).expect("an integer");
        let shown: Vec<String> = [x, y, minus, Atom::NIL].map(|a| texts.show(a)).into();
        assert_eq!(shown, ["x", "y y", "-7", "nil"]);
        let torn = texts.atom("a\n\"b\"").expect("room");
        let spelled: Vec<String> = [x, y, minus, Atom::NIL, torn]
            .map(|a| texts.spelled(a))
            .into();
        assert_eq!(spelled, ["x", "\"y y\"", "-7", "nil", "\"a\\n\\\"b\\\"\""]);
        assert_eq!(Atom::integer(i64::MIN + 5), None);
    }

    #[test]
    fn unsigned_integers_of_64_bits_are_atoms_of_their_own() {
        let mut texts = Texts::default();
        let numbers = [0, 7, i64::MAX.unsigned_abs(), 1 << 63, u64::MAX];
        for number in numbers {
            let atom = texts.natural(number).expect("room");
            assert_eq!(texts.natural(number), Some(atom));
            assert_eq!(texts.show(atom), number.to_string());
            assert_eq!(texts.as_natural(atom), Some(number));
        }
        for other in ["x", "7", "018446744073709551615", "+18446744073709551615"] {
            let atom = texts.atom(other).expect("room");
            assert_eq!(texts.as_natural(atom), None, "{other}");
        }
        assert_eq!(texts.as_natural(Atom::NIL), None);
    }
}
