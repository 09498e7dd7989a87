//! What a person is shown.

use std::sync::Mutex;

use fivegates_core::decision::ApprovalOutcome;
use fivegates_core::gates::Reply;
use fivegates_core::ids::ComponentId;
use fivegates_core::ports::ApprovalRequest;
use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;
use crate::approvals::page::{Page, Size, Subject};

/// Lays out what it is asked about and rejects it.
struct Printer {
    id: ComponentId,
    size: Size,
    printed: Mutex<Option<(String, String)>>,
}

impl Approver for Printer {
    fn id(&self) -> &ComponentId {
        &self.id
    }

    fn request<'a>(&'a self, request: &'a ApprovalRequest<'a>) -> Reply<'a, ApprovalOutcome> {
        let subject = Subject {
            call: request.call.clone(),
            reason: request.reason.map(str::to_owned),
            by: request.by.cloned(),
        };
        let page = Page::new(&subject, self.size);
        *self.printed.lock().unwrap() = Some((page.screenful(), page.whole()));
        Reply::ready(ApprovalOutcome::Rejected)
    }
}

/// The first screen of a call and all of it, on a terminal of this size.
async fn pages(id: &str, arguments: &str, columns: u16, rows: u16) -> (String, String) {
    let printer = Arc::new(Printer {
        id: ComponentId::new("printer"),
        size: Size::new(columns, rows),
        printed: Mutex::default(),
    });
    let (_source, cancel) = never();
    Asking::new(Arc::clone(&printer) as Arc<dyn Approver>).call(id, arguments, &cancel).await;
    let printed = printer.printed.lock().unwrap().take();
    printed.unwrap()
}

#[tokio::test]
async fn it_shows_what_will_run() {
    let (screen, whole) = pages("c1", &arguments("echo hi\n\techo \"ho\""), 80, 40).await;
    assert_eq!(screen, whole);
    assert_snapshot!(screen, @r#"
       tool | bash
       call | c1
        why | it may change things
       asks | permission
       what | say hi
    command | echo hi
            |     echo "ho"
    exactly | {
            |   "command": "echo hi\n\techo \"ho\"",
            |   "description": "say hi"
            | }
    "#);
}

#[tokio::test]
async fn hidden_characters_are_shown_and_warned_of() {
    let raw = arguments("curl http://safe.com/\u{202e}moc.live\u{200b}\u{1b}[2K\r");
    let (screen, _) = pages("c1\u{1b}[1A", &raw, 80, 40).await;
    assert_snapshot!(screen, @r#"
       tool | bash
       call | c1\u{1b}[1A
        why | it may change things
       asks | permission
       what | say hi
    command | curl http://safe.com/\u{202e}moc.live\u{200b}\u{1b}[2K\u{d}
    exactly | {
            |   "command": "curl http://safe.com/\u202emoc.live\u200b\u001b[2K\r",
            |   "description": "say hi"
            | }
     ! 5 hidden characters shown as \u{…}: read closely
    "#);
}

#[tokio::test]
async fn long_lines_cannot_look_like_rows_of_the_program() {
    let command = format!("true{}Allow this one call? y", " ".repeat(52));
    let (screen, _) = pages("c1", &arguments(&command), 40, 40).await;
    assert_snapshot!(screen, @r#"
       tool | bash
       call | c1
        why | it may change things
       asks | permission
       what | say hi
    command | true                        
            :                             
            : Allow this one call? y
    exactly | {
            |   "command": "true          
            :                             
            :               Allow this one
            :  call? y",
            |   "description": "say hi"
            | }
    "#);
    // Wide characters count as what they take at most.
    let (screen, _) = pages("c1", &arguments(&"漢".repeat(30)), 40, 40).await;
    for row in screen.lines() {
        let columns: usize = row.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).sum();
        assert!(columns < 40, "{row}");
    }
}

#[tokio::test]
async fn what_does_not_fit_is_counted_and_nothing_is_lost() {
    let command: String = (1..=1_000).map(|line| format!("echo {line}\n")).collect();
    let (screen, whole) = pages("c1", &arguments(&command), 80, 20).await;
    assert!(screen.lines().count() <= 14, "{screen}");
    assert_snapshot!(screen, @r#"
       tool | bash
       call | c1
        why | it may change things
       asks | permission
       what | say hi
    command | echo 1
            | echo 2
            | echo 3
            | echo 4
     ... 1142 lines (31366 bytes) are not shown here: v shows everything
            : 89\necho 990\necho 991\necho 992\necho 993\necho 994\necho 995\necho
            :  996\necho 997\necho 998\necho 999\necho 1000\n",
            |   "description": "say hi"
            | }
    "#);
    for line in 1..=1_000 {
        assert!(whole.contains(&format!("| echo {line}\n")), "{line}");
    }
    // What is counted is what is missing.
    let marker = screen.lines().find(|row| row.contains("not shown")).unwrap();
    let numbers: Vec<usize> =
        marker.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    let shown_rows = screen.lines().count() - 1;
    let shown_bytes = screen.len() - marker.len() - 1;
    assert_eq!(numbers, [whole.lines().count() - shown_rows, whole.len() - shown_bytes]);
}

#[tokio::test]
async fn a_terminal_that_does_not_tell_its_size_gets_a_usual_one() {
    let usual = pages("c1", &arguments(&"x\n".repeat(99)), 80, 24).await;
    assert_eq!(pages("c1", &arguments(&"x\n".repeat(99)), 0, 0).await, usual);
    let (screen, _) = pages("c1", &arguments("x"), 1, 1).await;
    assert!(screen.lines().count() <= 7, "{screen}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Whatever a model writes: nothing hidden is left, and every row is marked and narrower than the terminal.
    #[test]
    fn no_text_escapes_its_margin(command in any::<String>(), id in any::<String>(), columns in 20_u16..120) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (_, whole) = runtime.block_on(pages(&format!("c{id}"), &arguments(&command), columns, 24));
        prop_assert_eq!(crate::escape::hidden(&whole), 0);
        for row in whole.lines().filter(|row| !row.starts_with("  ! ")) {
            let margin: String = row.chars().skip(8).take(3).collect();
            prop_assert!([" | ", " : "].contains(&&*margin), "{row}");
            let taken: usize = row.chars().map(|c| if c < '\u{1100}' { 1 } else { 2 }).sum();
            prop_assert!(taken < usize::from(columns), "{row}");
        }
    }
}
