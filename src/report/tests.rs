//! Everything that comes from outside, put into the page, reaches a reader as text.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use super::{GroupDetail, ReportExport, junit, page};
use crate::campaign::{Checkpoint, Ledger, SettingsRecord, Sightings, Statistics, VerdictTimeline};
use crate::engine::Identity;
use crate::model::{FindingKind, Signature, printable};
use crate::reproducer::{self, CaseEvidence, CaseHead, Registry, Reproduced};
use crate::triage::{
    Explanation, Group, GroupState, RunInFolder, RunStatus, SeenInRun, TriageFolder,
};

/// What somebody could have a table, a message, a name or a note hold.
pub(super) const PAYLOADS: [&str; 56] = [
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "</style><script>window.pwned=1</script>",
    "</title><script>window.pwned=1</script>",
    "</pre><img src=x onerror=window.pwned=1>",
    "</textarea><svg onload=window.pwned=1>",
    "<img src=x onerror=window.pwned=1>",
    "<svg/onload=window.pwned=1>",
    "<body onload=window.pwned=1>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'>",
    "<a href=javascript:window.pwned=1>x</a>",
    "<math><mtext></p><style><img src=x onerror=window.pwned=1>",
    "<details open ontoggle=window.pwned=1>",
    "<video><source onerror=window.pwned=1>",
    "<input autofocus onfocus=window.pwned=1>",
    "<base href=//example.org>",
    "<meta http-equiv=refresh content=0;url=//example.org>",
    "<link rel=stylesheet href=//example.org/x.css>",
    "<object data=//example.org></object>",
    "<form action=//example.org><button>",
    "<!--<img src=x onerror=window.pwned=1>-->",
    "--><script>window.pwned=1</script>",
    "<![CDATA[<script>window.pwned=1</script>]]>",
    "]]><script>window.pwned=1</script>",
    "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>&e;",
    "\" onmouseover=\"window.pwned=1",
    "' onmouseover='window.pwned=1",
    "\"><script>window.pwned=1</script>",
    "'><script>window.pwned=1</script>",
    "` onmouseover=`window.pwned=1",
    "javascript:window.pwned=1",
    " javascript:window.pwned=1",
    "java\tscript:window.pwned=1",
    "JaVaScRiPt:window.pwned=1",
    "data:text/html,<script>parent.pwned=1</script>",
    "vbscript:window.pwned=1",
    "//example.org/x",
    "&lt;script&gt;window.pwned=1&lt;/script&gt;",
    "&#60;script&#62;window.pwned=1",
    "&amp;lt;b&amp;gt;",
    "&colon;&lpar;&NewLine;",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "\u{9b}31m",
    "a\u{0}b",
    "a\u{8}\u{8}b\u{7f}",
    "\u{202e}txet desrever\u{202c}",
    "\u{2066}isolated\u{2069}\u{200f}",
    "a\rb\u{85}c",
    "\u{feff}\u{fffe}\u{ffff}",
    "\u{e000}\u{1f600}",
    "{{7*7}}${7*7}<%= 7*7 %>#{7*7}",
    "(name) @if true { (PreEscaped(\"<b>\")) }",
    "<ScRiPt >window.pwned=1</sCrIpT >",
    "<\u{0}script>window.pwned=1</script>",
    "\u{ff1c}script\u{ff1e}window.pwned=1",
    "%3Cscript%3Ewindow.pwned=1%3C/script%3E",
];

fn identity(payload: &str) -> Identity {
    Identity {
        engine: payload.to_owned(),
        version_text: payload.to_owned(),
        version: "11.8.6".parse().expect("a version"),
        variables: BTreeMap::new(),
        session_setup: Vec::new(),
        isolation_setup: BTreeMap::new(),
    }
}

/// A group of which every text is the payload.
fn group(payload: &str) -> Group {
    let kind = FindingKind::NotSerializable;
    let texts = || vec![payload.to_owned()];
    let signature = Signature::new(payload, kind, texts(), texts());
    let head = CaseHead {
        path: PathBuf::from(payload),
        server: identity(payload),
        id: payload.to_owned(),
        signature: Some(signature),
        anomaly: payload.to_owned(),
        levels: payload.to_owned(),
        headline: payload.to_owned(),
        statements: 3,
        reproduced: Some(Reproduced { hits: 1, runs: 3 }),
        seed: Some(payload.to_owned()),
        known: None,
    };
    Group {
        id: payload.to_owned(),
        state: GroupState::Known,
        files: vec![head],
        seen: vec![SeenInRun {
            run: payload.to_owned(),
            server: payload.to_owned(),
            seed: 1,
            sightings: Sightings {
                shapes: BTreeMap::from([(payload.to_owned(), 1)]),
                last_unix_s: u64::MAX,
                count: u64::MAX,
                ..Sightings::default()
            },
        }],
        rechecks: Vec::new(),
        explanation: Some(Explanation {
            id: payload.to_owned(),
            status: None,
            url: Some(payload.to_owned()),
            note: Some(payload.to_owned()),
            is_regression: false,
        }),
    }
}

fn detail(payload: &str) -> GroupDetail {
    // A line break would end a remark or a note of a case file.
    let case = "--! format = 1\n--! isolation = \"SERIALIZABLE\"\n/* init */ CREATE TABLE t (a INT);\n\
                /* s1 */ SELECT 1; -- @got empty @expect (1)\n/* end */ SELECT 1;\n";
    let mut case = reproducer::read(case, "case.sql").expect("it reads");
    for line in &mut case.lines {
        line.sql = format!("SELECT '{payload}'");
    }
    case.header.kind = Some(FindingKind::NotSerializable.slug().to_owned());
    let headline = format!("cycle: T1 -rw({payload})-> T2 -ww(t)-> T1");
    case.header.comments.last = vec![headline.clone()];
    let cell = reproducer::Cell::Text(payload.to_owned());
    let told = reproducer::Note::new("got", format!("({cell})"));
    case.lines[1].notes.push(told);
    case.lines[1]
        .notes
        .push(reproducer::Note::new("snapshot-read", payload));
    case.lines[1]
        .notes
        .push(reproducer::Note::new("resumes", payload));
    GroupDetail {
        case: Ok(case),
        evidence: Some(CaseEvidence {
            headline,
            explanation: vec![payload.to_owned()],
            spans: BTreeMap::new(),
        }),
        exports: vec![ReportExport {
            name: "issue",
            about: "a report",
            text: payload.to_owned(),
            beside: Some(("result", payload.to_owned())),
            remark: Some(payload.to_owned()),
        }],
        unexported: Some(payload.to_owned()),
    }
}

fn checkpoint(payload: &str) -> Checkpoint {
    let text = || payload.to_owned();
    let counts = || BTreeMap::from([(payload.to_owned(), 7)]);
    Checkpoint {
        settings: SettingsRecord {
            program: text(),
            run_id: text(),
            target: text(),
            seed: 1,
            isolation: text(),
            claim: Some(text()),
            oracles: vec![text()],
            observe: None,
            cases: Some(7),
            case: None,
            grammar: None,
            dialect: None,
            known: None,
            doublecheck: false,
            against: None,
            workers: 1,
            confirmations: 3,
            patience_s: 600,
            claim_durable: false,
        },
        server: text(),
        done: Default::default(),
        statistics: Statistics {
            undecided: counts(),
            known: counts(),
            ..Statistics::default()
        },
        ledger: Ledger::default(),
        elapsed_s: f64::INFINITY,
        timeline: Some(VerdictTimeline::default()),
    }
}

/// A folder of which every text that comes from outside is the payload.
fn folder(payload: &str) -> TriageFolder {
    let run = |checkpoint| RunInFolder {
        folder: PathBuf::from(format!("runs/{}", payload.replace('/', "|"))),
        state: RunStatus::Stopped,
        saved_unix_s: Some(u64::MAX),
        checkpoint,
    };
    TriageFolder {
        path: PathBuf::from(payload),
        groups: vec![group(payload)],
        runs: vec![run(Ok(checkpoint(payload))), run(Err(payload.to_owned()))],
        registry: Registry::empty(),
        left_out: vec![payload.to_owned()],
    }
}

fn written(payload: &str) -> String {
    page(&folder(payload), &[detail(payload)], 1_795_388_383)
}

/// An element's name, and the names and values of its attributes.
type Element = (String, Vec<(String, String)>);

/// What a browser makes of a page: its elements with the names of their attributes, and its text.
#[derive(Default)]
struct Seen {
    elements: RefCell<Vec<Element>>,
    text: RefCell<String>,
    errors: RefCell<Vec<String>>,
    comments: RefCell<usize>,
}

impl TokenSink for Seen {
    type Handle = ();

    fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                let name = tag.name.to_string();
                let attributes = tag.attrs.iter();
                let attributes =
                    attributes.map(|a| (a.name.local.to_string(), a.value.to_string()));
                let attributes: Vec<(String, String)> = attributes.collect();
                self.text
                    .borrow_mut()
                    .extend(attributes.iter().map(|(_, value)| format!(" {value} ")));
                self.elements.borrow_mut().push((name.clone(), attributes));
                // As the tree builder of a browser tells its tokenizer.
                match name.as_str() {
                    "script" => return TokenSinkResult::RawData(RawKind::ScriptData),
                    "style" => return TokenSinkResult::RawData(RawKind::Rawtext),
                    "title" => return TokenSinkResult::RawData(RawKind::Rcdata),
                    _ => {}
                }
            }
            Token::CharacterTokens(text) => self.text.borrow_mut().push_str(&text),
            Token::NullCharacterToken => self.text.borrow_mut().push('\0'),
            Token::ParseError(error) => self.errors.borrow_mut().push(error.into_owned()),
            Token::CommentToken(_) => *self.comments.borrow_mut() += 1,
            Token::TagToken(_) | Token::DoctypeToken(_) | Token::EOFToken => {}
        }
        TokenSinkResult::Continue
    }
}

fn parsed(page: &str) -> Seen {
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    let tokenizer = Tokenizer::new(
        Seen::default(),
        TokenizerOpts {
            exact_errors: true,
            ..TokenizerOpts::default()
        },
    );
    let _ = tokenizer.feed(&input);
    assert!(input.is_empty(), "the page is read to its end");
    tokenizer.end();
    tokenizer.sink
}

fn names(seen: &Seen) -> BTreeSet<String> {
    let elements = seen.elements.borrow();
    let names = elements.iter().flat_map(|(name, attributes)| {
        let attributes = attributes
            .iter()
            .map(move |(attribute, _)| format!("{name} {attribute}"));
        [name.clone()].into_iter().chain(attributes)
    });
    names.collect()
}

#[test]
fn whatever_a_text_holds_the_page_has_the_elements_that_it_has_for_a_plain_one() {
    // A plain text and one that cannot be copied: all that the page is made of.
    let known: BTreeSet<String> = ["plain", "https://example.org/1", "\u{1b}"]
        .iter()
        .flat_map(|plain| names(&parsed(&written(plain))))
        .collect();
    assert!(
        known
            .iter()
            .all(|name| !name.contains(" on") && !name.ends_with(" style"))
    );
    let count = |seen: &Seen, wanted: &str| {
        let elements = seen.elements.borrow();
        elements.iter().filter(|(name, _)| name == wanted).count()
    };
    for payload in PAYLOADS {
        let page = written(payload);
        let seen = parsed(&page);
        let strange: Vec<String> = names(&seen).difference(&known).cloned().collect();
        assert_eq!(strange, [""; 0], "{payload:?}");
        assert_eq!(*seen.errors.borrow(), [""; 0], "{payload:?}");
        assert_eq!(
            (
                count(&seen, "script"),
                count(&seen, "style"),
                *seen.comments.borrow()
            ),
            (1, 1, 0)
        );
        // Not lost, either: every place shows it, whole.
        let shown = printable(payload).replace('\r', "");
        let shown = match payload.contains('\t') {
            true => payload.to_owned(),
            false => shown,
        };
        let places = seen.text.borrow().matches(shown.as_str()).count();
        assert!(places > 30, "{payload:?} is shown in {places} places");
        let is_hidden = |c: &char| c.is_control() && !matches!(c, '\n' | '\t');
        assert_eq!(page.chars().find(is_hidden), None, "{payload:?}");
        assert_eq!(
            page.chars().find(|c| ('\u{202a}'..='\u{202e}').contains(c)),
            None
        );
    }
}

#[test]
fn a_page_has_nothing_to_load_and_forbids_it() {
    for payload in PAYLOADS.iter().chain(&["https://example.org/1"]) {
        let seen = parsed(&written(payload));
        let elements = seen.elements.borrow();
        for (name, attributes) in elements.iter() {
            for (attribute, value) in attributes {
                let loads = [
                    "src",
                    "srcset",
                    "data",
                    "action",
                    "background",
                    "poster",
                    "ping",
                    "manifest",
                ];
                assert!(!loads.contains(&attribute.as_str()), "{name} {attribute}");
                if attribute == "href" {
                    let is_web = value.starts_with("https://") || value.starts_with("http://");
                    assert!(
                        name == "a" && (value.starts_with('#') || is_web),
                        "{name} {value}"
                    );
                }
            }
            assert!(!["link", "img", "iframe", "object", "embed", "base"].contains(&name.as_str()));
        }
        let policy = elements.iter().flat_map(|(_, attributes)| attributes);
        let mut policy = policy.filter(|(_, value)| value.starts_with("default-src"));
        let (_, policy) = policy.next().expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'; style-src 'sha256-"),
            "{policy}"
        );
        assert!(!policy.contains("unsafe"), "{policy}");
    }
    for text in [super::page::STYLE, super::page::SCRIPT] {
        for loads in [
            "url(", "@import", "fetch", "http", "import(", "XMLHttp", "</",
        ] {
            assert!(!text.contains(loads), "{loads}");
        }
    }
}

#[test]
fn a_planted_element_would_be_noticed() {
    let plain = written("plain");
    let known = names(&parsed(&plain));
    for planted in PAYLOADS.iter().filter(|payload| payload.starts_with('<')) {
        let spoiled = plain.replace("No exports: plain", planted);
        assert_ne!(spoiled, plain);
        let seen = parsed(&spoiled);
        let is_same = names(&seen) == known && seen.errors.borrow().is_empty();
        let scripts = seen
            .elements
            .borrow()
            .iter()
            .filter(|(name, _)| name == "script")
            .count();
        let is_quiet = is_same && scripts == 1 && *seen.comments.borrow() == 0;
        assert!(!is_quiet, "{planted:?} goes unnoticed");
    }
}

#[test]
fn what_applies_to_the_case_is_drawn() {
    let page = written("plain");
    for part in [
        "<svg viewBox=\"0 0 560 172\"",
        "rw(plain)",
        "<td class=\"step differs\">",
        "data-copy",
        "id=\"g-plain\"",
        "href=\"#g-plain\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(
        !written("\u{1b}").contains("data-copy=\"\""),
        "what cannot be copied has no button"
    );
}

/// The elements of a file of XML with the names of their attributes, and all of its text, by a reader of its own.
fn read_xml(xml: &str) -> (Vec<String>, String) {
    use quick_xml::Reader;
    use quick_xml::events::Event;
    let mut reader = Reader::from_str(xml);
    let (mut names, mut text) = (Vec::new(), String::new());
    loop {
        match reader.read_event().expect("well-formed XML") {
            Event::Start(element) | Event::Empty(element) => {
                names.push(element.name().as_ref().to_owned());
                for attribute in element.attributes() {
                    let attribute = attribute.expect("an attribute");
                    names.push(format!("@{}", attribute.key.as_ref()));
                    let value = attribute.value.into_owned();
                    text.push_str(&quick_xml::escape::unescape(&value).expect("escaped"));
                    text.push(' ');
                }
            }
            Event::Text(part) => text.push_str(&part),
            Event::GeneralRef(part) => {
                let part = format!("&{};", &*part);
                text.push_str(&quick_xml::escape::unescape(&part).expect("a known reference"));
            }
            Event::Eof => return (names, text),
            Event::End(_) | Event::Decl(_) => {}
            other @ (Event::CData(_) | Event::Comment(_) | Event::PI(_) | Event::DocType(_)) => {
                panic!("{other:?}")
            }
        }
    }
}

/// A folder with a group of each state, all their texts the payload.
fn every_state(payload: &str) -> TriageFolder {
    let groups = GroupState::ALL.iter().map(|state| Group {
        state: *state,
        ..group(payload)
    });
    TriageFolder {
        groups: groups.collect(),
        ..folder(payload)
    }
}

#[test]
fn new_flaky_and_returned_groups_fail_known_ones_are_skipped_and_fixed_ones_pass() {
    let xml = junit(&every_state("plain"), None).expect("it is written");
    let count = |what: &str| xml.matches(what).count();
    // Five groups and two runs, of which one cannot be read.
    assert_eq!(
        (
            count("<testcase "),
            count("<failure "),
            count("<skipped "),
            count("<error ")
        ),
        (7, 3, 1, 1)
    );
    for part in [
        "<testsuites name=\"rashomon\" tests=\"7\" failures=\"3\" errors=\"1\">",
        "tests=\"7\" failures=\"3\" errors=\"1\" skipped=\"1\"",
        "<skipped message=\"plain: plain\"/>",
        "<failure type=\"new\"",
        "<failure type=\"flaky\"",
        "<failure type=\"regression\"",
        "shows in 1 of 3 runs of its case",
    ] {
        assert!(xml.contains(part), "{part}: {xml}");
    }
    assert!(
        !xml.contains("flakyFailure"),
        "a violation that shows now and then is no pass"
    );
    let failed = junit(&every_state("plain"), Some("disk full")).expect("it is written");
    assert_eq!(failed.matches("<error message=\"disk full\"/>").count(), 1);
}

#[test]
fn whatever_a_text_holds_the_xml_is_well_formed_and_has_the_same_elements() {
    let (plain, _) = read_xml(&junit(&every_state("plain"), None).expect("it is written"));
    for payload in PAYLOADS {
        let xml = junit(&every_state(payload), None).expect("it is written");
        let (names, text) = read_xml(&xml);
        assert_eq!(names, plain, "{payload:?}");
        // XML 1.0, section 2.2, production 2.
        let is_allowed = |c: char| matches!(c, '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
        assert_eq!(xml.chars().find(|c| !is_allowed(*c)), None, "{payload:?}");
        let shown = printable(payload);
        let places = text.matches(shown.as_str()).count();
        assert!(places > 20, "{payload:?} is shown in {places} places");
    }
}
