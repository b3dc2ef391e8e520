//! Screens of the view after keys, without a terminal.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use super::draw::{ViewStyle, draw, page};
use super::lanes::lanes;
use super::rows::{LineTone, PaneLine};
use super::state::{ListedGroup, TriageView, ViewAction};
use crate::reproducer;
use crate::triage::GroupState;

const SCREEN: Rect = Rect::new(0, 0, 80, 24);

fn group(id: &str, state: GroupState, anomaly: &str, headline: &str) -> ListedGroup {
    ListedGroup {
        id: id.to_owned(),
        state,
        anomaly: anomaly.to_owned(),
        engines: "mariadb".to_owned(),
        levels: "READ COMMITTED".to_owned(),
        sightings: 3,
        last: "2h".to_owned(),
        headline: headline.to_owned(),
        path: format!("reproducers/mariadb/{anomaly}-{id}.sql"),
    }
}

fn view() -> TriageView {
    let long = "T2.1 (update) at READ COMMITTED: affected differ: got affected 0; on the rows it \
                should see: affected 1";
    TriageView {
        groups: vec![
            group("2fcdb124", GroupState::New, "lost-update", long),
            group("0c81c0e5", GroupState::Flaky, "stale-read", "T1.3 (select)"),
            group("4b381b31", GroupState::Known, "missing-row", "three rows"),
        ],
        ..TriageView::default()
    }
}

/// Types keys: a letter is itself, words in angle brackets are named keys.
fn press(view: &mut TriageView, keys: &[&str]) -> Option<ViewAction> {
    let mut last = None;
    for key in keys {
        let (code, modifiers) = match *key {
            "<enter>" => (KeyCode::Enter, KeyModifiers::NONE),
            "<esc>" => (KeyCode::Esc, KeyModifiers::NONE),
            "<page-down>" => (KeyCode::PageDown, KeyModifiers::NONE),
            "<end>" => (KeyCode::End, KeyModifiers::NONE),
            "<up>" => (KeyCode::Up, KeyModifiers::NONE),
            "<back>" => (KeyCode::Backspace, KeyModifiers::NONE),
            "<ctrl-c>" => (KeyCode::Char('c'), KeyModifiers::CONTROL),
            text => {
                for letter in text.chars() {
                    let key = KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE);
                    last = view.key(key, page(SCREEN));
                }
                continue;
            }
        };
        last = view.key(KeyEvent::new(code, modifiers), page(SCREEN));
    }
    last
}

fn screen(view: &TriageView, columns: u16, lines: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, lines)).expect("a screen");
    let style = ViewStyle { is_coloured: false };
    terminal
        .draw(|frame| draw(frame, view, style))
        .expect("it is drawn");
    let shown = terminal.backend().to_string();
    // Between quotes; what stands behind them is of cells that a wide letter hides.
    let lines = shown
        .lines()
        .map(|line| line.split('"').nth(1).unwrap_or_default());
    let lines = lines.map(str::trim_end);
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_list_has_a_line_a_group_and_the_headline_of_the_chosen_one() {
    expect_test::expect![[r#"
        group 1 of 3, 3 in all
        STATE      SIGNATURE ANOMALY     ENGINE  SEEN  LAST  WHAT IS WRONG
        new        2fcdb124  lost-update mariadb 3     2h    T2.1 (update) at READ COMMI
        flaky      0c81c0e5  stale-read  mariadb 3     2h    T1.3 (select)
        known      4b381b31  missing-row mariadb 3     2h    three rows


        T2.1 (update) at READ COMMITTED: affected differ: got affected 0; on the rows it
        should see: affected 1

        Enter open / search s state r replay m mark u unmark e export ? keys q leave"#]]
    .assert_eq(&screen(&view(), 80, 11));
    let narrow = screen(&view(), 30, 8);
    assert!(
        narrow.contains("lost-update") || narrow.contains("new"),
        "{narrow}"
    );
}

#[test]
fn keys_move_search_and_list_one_state() {
    let mut view = view();
    assert_eq!(press(&mut view, &["jj"]), None);
    assert_eq!(view.chosen().map(|g| g.id.as_str()), Some("4b381b31"));
    press(&mut view, &["jjj", "<up>"]);
    assert_eq!(view.chosen().map(|g| g.id.as_str()), Some("0c81c0e5"));
    press(&mut view, &["/", "LOST-x", "<back>", "<back>", "<enter>"]);
    assert_eq!(view.listed().len(), 1);
    assert_eq!(view.chosen().map(|g| g.id.as_str()), Some("2fcdb124"));
    press(&mut view, &["<esc>"]);
    assert_eq!(view.listed().len(), 3);
    press(&mut view, &["s"]);
    assert_eq!(view.listed().len(), 1, "those that are new");
    press(&mut view, &["/", "nothing has this", "<enter>"]);
    assert_eq!(view.chosen(), None);
    assert_eq!(
        press(&mut view, &["<enter>"]),
        None,
        "there is nothing to open"
    );
    assert!(screen(&view, 80, 11).starts_with("group 0 of 0 new with"));
}

#[test]
fn what_is_asked_for_is_done_with_the_answer_and_not_without() {
    let mut view = view();
    let mark = ViewAction::Mark("MDEV-1 a note".to_owned());
    assert_eq!(
        press(&mut view, &["m", "MDEV-1 a note", "<enter>"]),
        Some(mark)
    );
    assert_eq!(press(&mut view, &["m", "MDEV-1", "<esc>"]), None);
    assert_eq!(press(&mut view, &["m", " ", "<enter>"]), None);
    let replay = ViewAction::Replay("sqlite:".to_owned());
    assert_eq!(
        press(&mut view, &["r", "sqlite:", "<enter>"]),
        Some(replay.clone())
    );
    // The target that was named last stands there.
    assert_eq!(press(&mut view, &["r", "<enter>"]), Some(replay));
    let export = ViewAction::Export("mtr".to_owned());
    assert_eq!(press(&mut view, &["e", "mtr", "<enter>"]), Some(export));
    assert_eq!(press(&mut view, &["u"]), Some(ViewAction::Unmark));
    press(&mut view, &["y"]);
    assert!(
        view.told.ends_with("lost-update-2fcdb124.sql"),
        "{}",
        view.told
    );
}

#[test]
fn what_runs_is_stopped_before_the_view_is_left() {
    let mut view = view();
    view.is_busy = true;
    view.show(Vec::new());
    assert_eq!(press(&mut view, &["<esc>"]), Some(ViewAction::Cancel));
    assert_eq!(press(&mut view, &["<ctrl-c>"]), Some(ViewAction::Cancel));
    view.is_busy = false;
    assert_eq!(press(&mut view, &["<esc>"]), None);
    assert_eq!(press(&mut view, &["q"]), Some(ViewAction::Leave));
    assert_eq!(press(&mut view, &["<ctrl-c>"]), Some(ViewAction::Leave));
}

#[test]
fn the_chosen_group_stays_chosen_when_the_folder_is_read_again() {
    let mut view = view();
    press(&mut view, &["j"]);
    let mut groups = view.groups.clone();
    groups.remove(0);
    view.renew(groups);
    assert_eq!(view.chosen().map(|g| g.id.as_str()), Some("0c81c0e5"));
    view.renew(Vec::new());
    assert_eq!((view.chosen(), view.chosen), (None, 0));
}

#[test]
fn sessions_stand_side_by_side_and_what_should_be_is_marked() {
    let text = "--! format = 1\n--! isolation = \"READ COMMITTED\"\n\
                /* init */ CREATE TABLE t (a INT);\n/* s1 T1.1 */ BEGIN;\n\
                /* s2 T2.1 */ SELECT a FROM t; -- @got (1)  @expect empty\n";
    let case = reproducer::read(text, "case.sql").expect("a case");
    let lines = lanes(&case);
    let shown: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(
        shown,
        [
            "init  CREATE TABLE t (a INT)",
            "s1 T1.1  BEGIN",
            "    s2 T2.1  SELECT a FROM t",
            "          got (1)",
            "          should be empty",
        ]
    );
    let wrong = lines.iter().filter(|line| line.tone == LineTone::Wrong);
    assert_eq!(wrong.count(), 1);
}

#[test]
fn a_pane_scrolls_to_its_last_line_and_back() {
    let mut view = view();
    let line = |number: usize| PaneLine {
        tone: LineTone::Plain,
        text: format!("line {number}"),
    };
    view.show((1..=100).map(line).collect());
    press(&mut view, &["<end>", "jj"]);
    let shown = screen(&view, 80, 24);
    assert!(
        shown.contains("line 100") && shown.contains("line 82"),
        "{shown}"
    );
    press(&mut view, &["k"]);
    let shown = screen(&view, 80, 24);
    assert!(
        shown.contains("line 81") && !shown.contains("line 100"),
        "{shown}"
    );
    press(&mut view, &["?"]);
    assert!(screen(&view, 80, 24).contains("replay the case on a server"));
}

#[test]
fn page_by_page_every_line_of_a_pane_is_shown() {
    let mut view = view();
    let long = |number: usize| PaneLine {
        tone: LineTone::Plain,
        text: format!("line {number} {}", "is longer than the screen ".repeat(5)),
    };
    view.show((0..40).map(long).collect());
    let mut shown = screen(&view, 80, 24);
    loop {
        let before = view.scrolled;
        press(&mut view, &["<page-down>"]);
        if view.scrolled == before {
            break;
        }
        shown += &screen(&view, 80, 24);
    }
    for number in 0..40 {
        assert!(shown.contains(&format!("line {number} ")), "{shown}");
    }
    // The last page is full.
    assert!(
        screen(&view, 80, 24).contains("line 33 "),
        "{}",
        screen(&view, 80, 24)
    );
    press(&mut view, &["<up>"]);
    assert_eq!(view.scrolled, 40 * 2 - 19 - 1);
}
