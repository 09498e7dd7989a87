//! `edit` on real files.

use std::os::unix::fs::PermissionsExt;

use crate::common::{Session, code_of, file, quoted, swap};

/// Content, old, new, whether all, and the content afterwards.
const EDITS: &[(&str, &str, &str, bool, &str)] = &[
    ("one two\n", "two", "2", false, "one 2\n"),
    ("a\nb\n", "a\n", "", false, "b\n"),
    ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n"),
    ("a\r\nb\nc\n", "b", "1\n2", false, "a\r\n1\n2\nc\n"),
    ("x x x", "x", "yy", true, "yy yy yy"),
    ("x", "x", "y", true, "y"),
    ("\u{feff}é😀", "é", "ê", false, "\u{feff}ê😀"),
    ("$1 \\n .*", ".*", "$0\\", false, "$1 \\n $0\\"),
];

#[tokio::test]
async fn a_part_is_replaced_and_the_rest_stays() {
    let session = Session::new();
    for (before, old, new, all, after) in EDITS {
        let path = session.put("f", before);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o751)).unwrap();
        session.call("read", &file("f", &["\"limit\":1"])).await;
        let more = [
            format!(r#""old_string":{}"#, quoted(old)),
            format!(r#""new_string":{}"#, quoted(new)),
            format!(r#""replace_all":{all}"#),
        ];
        let arguments = file("f", &more.each_ref().map(String::as_str));
        let text = if *all {
            "The file $W/f has been updated. All occurrences were successfully replaced."
        } else {
            "The file $W/f has been updated successfully."
        };
        session.check("edit", &arguments, "ok", text).await;
        assert_eq!((session.get("f").as_str(), session.mode("f")), (*after, 0o751));
    }
}

/// Content, old, new, code and text.
const REFUSED: &[(&[u8], &str, &str, &str, &str)] = &[
    (b"a", "", "x", "INVALID_ARGS", "Error: old_string must be a non-empty string"),
    (b"a", "a", "a", "INVALID_ARGS", "Error: old_string and new_string must differ"),
    (b"a\n", "a\r\n", "a\n", "INVALID_ARGS", "Error: old_string and new_string must differ"),
    (b"abc", "z", "x", "FS_EDIT_NOT_FOUND", "Error: old_string was not found in \"$W/f\""),
    (
        b"aba",
        "a",
        "x",
        "FS_AMBIGUOUS_EDIT",
        "Error: old_string matched 2 times in \"$W/f\"; provide a more specific old_string or set replace_all to true",
    ),
    (
        b"12345678901234567890",
        "1234567890123",
        "x2345678901234567890123",
        "FS_TOO_LARGE",
        "Error: cannot edit \"$W/f\": more than 20 bytes; use bash for a file of this size",
    ),
];

#[tokio::test]
async fn what_cannot_be_edited_stays_as_it_is() {
    let session = Session::with(|config| config.fs.text_bytes_max = 20);
    for (before, old, new, code, text) in REFUSED {
        session.put("f", before);
        session.call("read", &file("f", &[])).await;
        session.check("edit", &swap("f", old, new), code, text).await;
        assert_eq!(session.get("f").as_bytes(), *before);
    }
    session.put("f", "123456789012345678901");
    session.call("read", &file("f", &[])).await;
    let text = "Error: cannot edit \"$W/f\": more than 20 bytes; use bash for a file of this size";
    session.check("edit", &swap("f", "1", "2"), "FS_TOO_LARGE", text).await;
}

#[tokio::test]
async fn nul_anywhere_is_no_text_to_edit() {
    let session = Session::new();
    let late = [b"line\n".repeat(4_096), vec![0, b'\n']].concat();
    session.put("f", &late);
    assert_eq!(code_of(&session.call("read", &file("f", &[])).await), "ok");
    let text = "Error: cannot edit \"$W/f\": binary file";
    session.check("edit", &swap("f", "x", "y"), "FS_NOT_TEXT", text).await;
    assert_eq!(std::fs::read(session.path("f")).unwrap(), late);
}

const NOT_OBSERVED: &str = "Error: edit requires reading \"$W/f\" first — read the file, then retry";
const STALE: &str =
    "Error: cannot edit \"$W/f\": file changed since it was read — re-read the file, then retry";
const GONE: &str = "Error: cannot edit \"$W/f\": file no longer exists — re-read the file, then retry";

#[tokio::test]
async fn only_what_was_read_is_edited() {
    let session = Session::new();
    session.check("edit", &swap("f", "a", "b"), "FS_NOT_OBSERVED", NOT_OBSERVED).await;
    session.call("read", &file("f", &[])).await;
    let text = "Error: cannot edit \"$W/f\": no such file";
    session.check("edit", &swap("f", "a", "b"), "FS_NOT_FOUND", text).await;
    let path = session.put("f", "a");
    session.check("edit", &swap("f", "a", "b"), "FS_NOT_FOUND", text).await;
    session.call("read", &file("f", &[])).await;
    // Stale comes before any matching: the text would be found, and in the second case not.
    session.put("f", "a changed");
    session.check("edit", &swap("f", "a", "b"), "FS_STALE_VERSION", STALE).await;
    session.check("edit", &swap("f", "zzz", "b"), "FS_STALE_VERSION", STALE).await;
    session.call("read", &file("f", &[])).await;
    // The same bytes in another file are another version.
    std::fs::rename(&path, session.path("g")).unwrap();
    std::fs::copy(session.path("g"), &path).unwrap();
    session.check("edit", &swap("f", "a", "b"), "FS_STALE_VERSION", STALE).await;
    session.call("read", &file("f", &[])).await;
    std::fs::remove_file(&path).unwrap();
    session.check("edit", &swap("f", "a", "b"), "FS_STALE_VERSION", GONE).await;
}

#[tokio::test]
async fn a_forgotten_file_has_to_be_read_again() {
    let session = Session::with(|config| config.fs.observations_max = 1);
    session.put("f", "a");
    session.put("g", "a");
    session.call("read", &file("f", &[])).await;
    session.call("read", &file("g", &[])).await;
    session.check("edit", &swap("f", "a", "b"), "FS_NOT_OBSERVED", NOT_OBSERVED).await;
    assert_eq!(code_of(&session.call("edit", &swap("g", "a", "b")).await), "ok");
}
