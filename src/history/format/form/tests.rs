//! Keys and values of forms, and forms of texts.

use super::*;

#[test]
fn each_keyword_symbol_and_string_is_a_text_of_its_own_and_is_found_again_from_it() {
    let mut builder = Builder::new(Atom::NIL);
    let mut atoms = Vec::new();
    for name in ["x", ":x", "'x", "\"x", "\":x", "\":x\"", "", ":", "a b"] {
        let mut forms = vec![Form::Text(name)];
        if !name.is_empty() && name.bytes().all(is_word_byte) {
            forms.push(Form::Keyword(name));
            if !name.starts_with(KEYWORD) {
                forms.push(Form::Symbol(name));
            }
        }
        for form in forms {
            let atom = form.atom(&mut builder).expect("few texts");
            assert!(!atoms.contains(&atom), "{form:?}");
            atoms.push(atom);
            let text = builder.texts().show(atom);
            assert_eq!(Form::of_text(&text), Some(form), "{text}");
        }
    }
    for text in [":", ":a b", "'1", "'nil", "'#a", "\"x", "\"\"", "\""] {
        assert_eq!(Form::of_text(text), None, "{text}");
    }
}
