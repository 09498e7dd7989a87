//! What a person is shown of a call: everything that will run, escaped, in rows that cannot be mistaken for the program's own.

use std::fmt::Write as _;
use std::ops::Range;

use fivegates_core::call::Call;
use fivegates_core::ids::ComponentId;
use fivegates_core::json::{self, Json};
use fivegates_core::tool::CallCard;

use crate::escape::{self, BlockLimits};

/// The size of a terminal that does not tell: columns.
const COLUMNS: usize = 80;
/// Fewer columns than this are taken for a mistake.
const COLUMNS_MIN: usize = 20;
/// The size of a terminal that does not tell: rows.
const ROWS: usize = 24;
/// Rows that the warning and the question need.
const ROWS_RESERVED: usize = 6;
/// Rows that are shown of a call at least.
const ROWS_MIN: usize = 6;

/// Columns for the name of a short text.
const LABEL_COLUMNS: usize = 8;
/// A foreign text begins after this, in every row.
const FIRST: &str = " | ";
/// The same where a row was broken.
const REST: &str = " : ";

const NO_LIMITS: BlockLimits = BlockLimits { chars_max: usize::MAX, lines_max: usize::MAX };

/// Columns and rows of a terminal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    columns: usize,
    rows: usize,
}

impl Size {
    /// Takes what a terminal tells; 0 means that it does not.
    pub(super) fn new(columns: u16, rows: u16) -> Self {
        let known = |told: u16, else_: usize| if told == 0 { else_ } else { usize::from(told) };
        Self { columns: known(columns, COLUMNS).max(COLUMNS_MIN), rows: known(rows, ROWS) }
    }
}

/// What an ask is about, free of the request's lifetime.
pub(super) struct Subject {
    pub(super) call: Call,
    pub(super) reason: Option<String>,
    pub(super) by: Option<ComponentId>,
}

/// All rows about one call.
pub(super) struct Page {
    text: String,
    /// Where each row ends in the text, its line break included.
    ends: Vec<usize>,
    columns: usize,
    /// Rows that may be shown without being asked for more.
    rows_max: usize,
    /// Hidden characters that were made visible.
    hidden: usize,
}

impl Page {
    /// Lays out a call for a terminal of this size. Costs time and memory in proportion to the arguments.
    pub(super) fn new(subject: &Subject, size: Size) -> Self {
        let rows_max = size.rows.saturating_sub(ROWS_RESERVED).max(ROWS_MIN);
        let mut page =
            Self { text: String::new(), ends: Vec::new(), columns: size.columns, rows_max, hidden: 0 };
        let call = &subject.call;
        page.field("tool", call.name().as_str());
        page.field("call", call.id().as_str());
        if let Some(parent) = call.parent_id() {
            page.field("inside", parent.as_str());
        }
        if let Some(reason) = &subject.reason {
            page.field("why", reason);
        }
        if let Some(by) = &subject.by {
            page.field("asks", by.as_str());
        }
        let arguments = call.arguments().unwrap_or(&Json::Null);
        if let Some(card) = call.definition().and_then(|definition| definition.card(arguments)) {
            page.card(&card);
        }
        page.hidden += hidden_in(arguments);
        for (number, line) in json::pretty(arguments, 2).split('\n').enumerate() {
            // Escaped line by line, so that the line breaks of the layout stay.
            page.rows(if number == 0 { "exactly" } else { "" }, &escape::json(line));
        }
        page
    }

    /// The call as far as it fits the screen. What is left out is counted where it is left out.
    pub(super) fn screenful(&self) -> String {
        let rows = self.ends.len();
        if rows <= self.rows_max {
            return format!("{}{}", self.text, self.warning());
        }
        let tail = self.rows_max / 3;
        let head = self.rows_max - tail - 1;
        let (before, left_out, after) =
            (self.bytes(0..head), self.bytes(head..rows - tail), self.bytes(rows - tail..rows));
        format!(
            "{}  ... {} lines ({} bytes) are not shown here: v shows everything\n{}{}",
            &self.text[before],
            rows - tail - head,
            left_out.len(),
            &self.text[after],
            self.warning()
        )
    }

    /// The whole call.
    pub(super) fn whole(&self) -> String {
        format!("{}{}", self.text, self.warning())
    }

    fn warning(&self) -> String {
        escape::warning(self.hidden)
            .map_or_else(String::new, |warning| format!("  ! {warning}: read closely\n"))
    }

    fn bytes(&self, rows: Range<usize>) -> Range<usize> {
        let start_of = |row: usize| row.checked_sub(1).map_or(0, |before| self.ends[before]);
        start_of(rows.start)..start_of(rows.end)
    }

    fn card(&mut self, card: &CallCard) {
        match card {
            CallCard::Generic { title } => self.block("what", title),
            CallCard::Terminal { title, command, cwd } => {
                self.block("what", title);
                if let Some(cwd) = cwd {
                    self.block("in", cwd);
                }
                self.block("command", command);
            }
            CallCard::Diff { title, path, old, new } => {
                self.block("what", title);
                self.block("file", path);
                if let Some(old) = old {
                    self.block("goes", old);
                }
                self.block("comes", new);
            }
        }
    }

    /// A name and a short text that is not ours.
    fn field(&mut self, label: &str, text: &str) {
        self.hidden += escape::hidden(text);
        self.rows(label, &escape::line(text, usize::MAX));
    }

    /// A name and a text that is not ours, whose hidden characters are counted with the arguments that it comes from.
    fn block(&mut self, label: &str, text: &str) {
        for (number, line) in escape::block(text, NO_LIMITS).split('\n').enumerate() {
            self.rows(if number == 0 { label } else { "" }, line);
        }
    }

    /// One line of escaped text, broken into rows that end before the terminal would break them itself: a row that
    /// it broke would begin without a mark, and could look like one of ours.
    fn rows(&mut self, label: &str, line: &str) {
        let room = self.columns - 1;
        let margin = LABEL_COLUMNS + FIRST.len();
        let _ = write!(self.text, "{label:>LABEL_COLUMNS$}{FIRST}");
        let mut used = margin;
        for c in line.chars() {
            let width = width(c);
            if used + width > room {
                self.end_row();
                let _ = write!(self.text, "{:>LABEL_COLUMNS$}{REST}", "");
                used = margin;
            }
            self.text.push(c);
            used += width;
        }
        self.end_row();
    }

    fn end_row(&mut self) {
        self.text.push('\n');
        self.ends.push(self.text.len());
    }
}

/// Columns that a character takes at most.
fn width(c: char) -> usize {
    if c < '\u{1100}' { 1 } else { 2 }
}

/// Counts what is hidden in the keys and texts of a value. Does not recurse.
fn hidden_in(value: &Json) -> usize {
    let mut count = 0;
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if let Some(text) = value.as_str() {
            count += escape::hidden(text);
        } else if let Some(items) = value.as_array() {
            open.extend(items);
        } else if let Some(object) = value.as_object() {
            for (key, value) in object.entries() {
                count += escape::hidden(key);
                open.push(value);
            }
        }
    }
    count
}
