//! Rust source as the checks need it: without comments and literals, and without its test modules.

use std::ops::Range;

/// Blanks comments, strings and character literals, so that a search in the result finds code only.
///
/// Each blanked character becomes one space; newlines stay, so line numbers are those of the original.
pub(crate) fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let end = literal_or_comment_end(&chars, at);
        if end == at {
            out.push(c);
            at += 1;
        } else {
            out.extend(
                chars.get(at..end).unwrap_or_default().iter().map(|&c| if c == '\n' { c } else { ' ' }),
            );
            at = end;
        }
    }
    out
}

/// The end of the comment or literal that starts at `at`; `at` itself when none does.
fn literal_or_comment_end(chars: &[char], at: usize) -> usize {
    let peek = |ahead: usize| chars.get(at + ahead).copied().unwrap_or('\0');
    let after_word = at.checked_sub(1).and_then(|i| chars.get(i)).is_some_and(|&c| is_word(c));
    match (peek(0), peek(1)) {
        ('/', '/') => find_from(chars, at, '\n'),
        ('/', '*') => block_comment_end(chars, at),
        ('"', _) => quoted_end(chars, at + 1, '"'),
        ('\'', _) => char_literal_end(chars, at),
        ('b' | 'c', '"') if !after_word => quoted_end(chars, at + 2, '"'),
        ('b', '\'') if !after_word => char_literal_end(chars, at + 1),
        ('r', _) if !after_word => raw_string_end(chars, at, at + 1),
        ('b' | 'c', 'r') if !after_word => raw_string_end(chars, at, at + 2),
        _ => at,
    }
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < chars.len() {
        match (chars.get(at), chars.get(at + 1)) {
            (Some('/'), Some('*')) => (depth, at) = (depth + 1, at + 2),
            (Some('*'), Some('/')) if depth == 1 => return at + 2,
            (Some('*'), Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], mut at: usize, quote: char) -> usize {
    while let Some(&c) = chars.get(at) {
        match c {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// A quote starts a character literal when an escape follows or the quote closes after one character; else a lifetime.
fn char_literal_end(chars: &[char], start: usize) -> usize {
    match (chars.get(start + 1), chars.get(start + 2)) {
        (Some('\\'), _) => quoted_end(chars, start + 1, '\''),
        (Some(_), Some('\'')) => start + 3,
        _ => start,
    }
}

/// `hashes` is where the `#`s of a raw string would begin; a raw identifier (`r#type`) is no string.
fn raw_string_end(chars: &[char], start: usize, hashes: usize) -> usize {
    let count = chars.get(hashes..).unwrap_or_default().iter().take_while(|&&c| c == '#').count();
    if chars.get(hashes + count) != Some(&'"') {
        return start;
    }
    let mut at = hashes + count + 1;
    while at < chars.len() {
        let closing = chars.get(at + 1..at + 1 + count);
        if chars.get(at) == Some(&'"') && closing.is_some_and(|tail| tail.iter().all(|&c| c == '#')) {
            return at + 1 + count;
        }
        at += 1;
    }
    chars.len()
}

fn find_from(chars: &[char], at: usize, wanted: char) -> usize {
    chars.get(at..).and_then(|rest| rest.iter().position(|&c| c == wanted)).map_or(chars.len(), |i| at + i)
}

/// What the `#[cfg(test)] mod …` items of a file amount to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TestModules {
    /// Line indices (from 0) of the modules written in the file, attributes included.
    pub(crate) lines: Vec<Range<usize>>,
    /// Names of the modules that live in files of their own.
    pub(crate) elsewhere: Vec<String>,
}

/// Finds the test modules in source from which comments and literals were blanked.
pub(crate) fn test_modules(code: &str) -> TestModules {
    const MARK: &str = "#[cfg(test)]";
    let mut found = TestModules::default();
    let mut from = 0;
    while let Some(start) = code.get(from..).and_then(|rest| rest.find(MARK)).map(|i| from + i) {
        from = start + MARK.len();
        let Some((name, body)) = module_head(code, from) else { continue };
        if code.as_bytes().get(body) == Some(&b';') {
            found.elsewhere.push(name);
        } else {
            from = matching_brace(code, body);
            found.lines.push(line_index(code, start)..line_index(code, from) + 1);
        }
    }
    found
}

/// The name of the module declared at `at` and the offset of its `{` or `;`; nothing if another item stands there.
fn module_head(code: &str, at: usize) -> Option<(String, usize)> {
    let mut rest = code.get(at..)?.trim_start();
    while let Some(attribute) = rest.strip_prefix("#[") {
        rest = attribute.get(attribute.find(']')? + 1..)?.trim_start();
    }
    if let Some(public) = rest.strip_prefix("pub") {
        rest = public.trim_start();
        if rest.starts_with('(') {
            rest = rest.get(rest.find(')')? + 1..)?.trim_start();
        }
    }
    let rest = rest.strip_prefix("mod ")?.trim_start();
    let name: String = rest.chars().take_while(|&c| is_word(c)).collect();
    let after = rest.get(name.len()..)?.trim_start();
    after.starts_with(['{', ';']).then(|| (name, code.len() - after.len()))
}

/// The offset of the brace that closes the one at `open`; the end of the text when none does.
pub(crate) fn matching_brace(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, c) in code.get(open..).unwrap_or_default().char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth <= 1 => return open + offset,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// The index (from 0) of the line that holds the byte at `offset`.
pub(crate) fn line_index(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|&b| b == b'\n').count()
}

/// The number (from 1) of the first line that holds `needle`; 1 when none does, which still opens the right file.
pub(crate) fn line_of(text: &str, needle: &str) -> usize {
    text.lines().position(|line| line.contains(needle)).map_or(1, |index| index + 1)
}

/// Whether `c` can stand inside an identifier.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{TestModules, code_only, line_index, line_of, test_modules};

    #[track_caller]
    fn check(source: &str, expected: &str) {
        assert_eq!(code_only(source), expected);
    }

    #[test]
    fn comments_and_literals_are_blanked() {
        check("a // b\nc", "a     \nc");
        check("a /* b /* c */ d */ e", "a                   e");
        check(r#"f("x\"y") + g"#, "f(      ) + g");
        check("('{', '\\'', b'x')", "(   ,     ,     )");
        check("fn f<'a>(x: &'a str)", "fn f<'a>(x: &'a str)");
        check("r#\"a \" b\"# + br\"c\" + r#type", "           +       + r#type");
        check("for r in b", "for r in b");
        check("/* open\n\"", "       \n ");
    }

    #[test]
    fn test_modules_are_found() {
        let code = code_only(
            "fn a() {}\n#[cfg(test)]\n#[path = \"x\"]\nmod tests {\n    fn b() { let s = \"}\"; }\n}\nfn c() {}\n\
             #[cfg(test)]\npub(crate) mod fakes;\n#[cfg(test)]\nuse x::{y};\n",
        );
        let TestModules { lines, elsewhere } = test_modules(&code);
        assert_eq!((lines.len(), lines.first()), (1, Some(&(1..6))));
        assert_eq!(elsewhere, ["fakes"]);
    }

    #[test]
    fn lines_are_counted() {
        assert_eq!(line_index("a\nb\nc", 4), 2);
        assert_eq!(line_of("a\nb\nc", "c"), 3);
        assert_eq!(line_of("a", "z"), 1);
    }
}
