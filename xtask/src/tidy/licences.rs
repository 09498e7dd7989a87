//! Licences and origins: every package that any platform or feature brings in is permissively licensed and comes from
//! crates.io or from this workspace.

use std::path::Path;

use spdx::{Expression, ParseMode};

use super::metadata::{Metadata, Package};
use super::{Violation, source};

const RULE: &str = "licences";
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Licences that ask for no more than a notice.
const PERMISSIVE: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// A package that is let through although its declared licence is not on the list.
pub(crate) struct Exception {
    pub(crate) package: &'static str,
    /// The licence it declares, to the letter; empty for none. Another one ends the exception.
    pub(crate) declared: &'static str,
    /// Why it is all right to use.
    pub(crate) reason: &'static str,
}

/// Written by hand, each with its reason; one that lets nothing through any more is itself an error.
pub(crate) const EXCEPTIONS: &[Exception] = &[];

/// Checks every package in the metadata, the workspace's own included.
pub(crate) fn check(
    metadata: &Metadata,
    exceptions: &[Exception],
    root: &Path,
    read: &dyn Fn(&str) -> String,
) -> Vec<Violation> {
    let lock = read("Cargo.lock");
    let mut found = Vec::new();
    let mut used = vec![false; exceptions.len()];
    for package in &metadata.packages {
        let (file, line) = if package.source.is_none() {
            (package.manifest(root), 1)
        } else {
            ("Cargo.lock".to_owned(), source::line_of(&lock, &format!("name = \"{}\"", package.name)))
        };
        let mut report = |what: String, remedy: &str| {
            let (file, remedy) = (file.clone(), remedy.to_owned());
            found.push(Violation { rule: RULE, file, line, what, remedy });
        };
        if package.source.as_deref().is_some_and(|source| source != CRATES_IO) {
            report(
                format!("`{} {}` does not come from crates.io", package.name, package.version),
                "use a published version, so that every checkout builds from the same source",
            );
        }
        let Err(what) = judge(package) else { continue };
        if let Some(index) = exceptions.iter().position(|exception| covers(exception, package)) {
            used.iter_mut().skip(index).take(1).for_each(|slot| *slot = true);
        } else {
            report(
                what,
                "use another package, or write an exception with its reason in `xtask/src/tidy/licences.rs`",
            );
        }
    }
    let stale = exceptions.iter().zip(used).filter(|(_, used)| !used);
    found.extend(stale.map(|(exception, _)| Violation {
        rule: RULE,
        file: "xtask/src/tidy/licences.rs".to_owned(),
        line: 1,
        what: format!(
            "the exception for `{}` ({}) lets nothing through",
            exception.package, exception.reason
        ),
        remedy: "remove it".to_owned(),
    }));
    found
}

fn covers(exception: &Exception, package: &Package) -> bool {
    exception.package == package.name && exception.declared == package.license.as_deref().unwrap_or_default()
}

/// `OR` needs one licence of the list, `AND` needs all.
fn judge(package: &Package) -> Result<(), String> {
    let name = format!("`{} {}`", package.name, package.version);
    let Some(declared) = &package.license else {
        return Err(format!("{name} declares no licence"));
    };
    let expression = Expression::parse_mode(declared, ParseMode::LAX)
        .map_err(|error| format!("{name} declares `{declared}`, which is not SPDX: {}", error.reason))?;
    if expression.evaluate(|licence| PERMISSIVE.contains(&licence.to_string().as_str())) {
        Ok(())
    } else {
        Err(format!("{name} is licensed under `{declared}`, which is not permissive"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;

    use super::{CRATES_IO, Exception, check};
    use crate::tidy::metadata::Metadata;

    fn violations(licence: Option<&str>, source: &str, exceptions: &[Exception]) -> Vec<String> {
        let package =
            json!({ "name": "p", "version": "1.0.0", "id": "p", "license": licence, "source": source });
        let metadata: Metadata =
            serde_json::from_value(json!({ "packages": [package], "workspace_members": [] })).unwrap();
        let read = |_: &str| "version = 4\n\n[[package]]\nname = \"p\"\n".to_owned();
        check(&metadata, exceptions, Path::new("/w"), &read).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn permissive_expressions_pass() {
        for licence in [
            "MIT",
            "MIT OR Apache-2.0",
            "MIT/Apache-2.0",
            "MIT OR GPL-3.0-only",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 AND ISC",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "CDLA-Permissive-2.0",
        ] {
            assert_eq!(violations(Some(licence), CRATES_IO, &[]), Vec::<String>::new(), "{licence}");
        }
    }

    #[test]
    fn other_expressions_are_named() {
        for licence in [
            "GPL-3.0-only",
            "MIT AND GPL-3.0-only",
            "(MIT OR Apache-2.0) AND OpenSSL",
            "MPL-2.0",
            "MIT AND (LGPL-2.1-only OR MPL-2.0)",
            "MIT WITH Classpath-exception-2.0",
            "Apache-2.0+",
        ] {
            let found = violations(Some(licence), CRATES_IO, &[]);
            assert!(
                matches!(found.as_slice(), [one] if one.contains("is not permissive")),
                "{licence}: {found:?}"
            );
        }
    }

    #[test]
    fn missing_and_broken_licences_are_named() {
        let found = violations(None, CRATES_IO, &[]);
        assert_eq!(
            found,
            [
                "tidy: licences: Cargo.lock:4: `p 1.0.0` declares no licence — use another package, or write an \
              exception with its reason in `xtask/src/tidy/licences.rs`"
            ]
        );
        let found = violations(Some("MIT OR Whatever-1.0"), CRATES_IO, &[]);
        assert!(matches!(found.as_slice(), [one] if one.contains("not SPDX")), "{found:?}");
    }

    #[test]
    fn origins_other_than_crates_io_are_named() {
        let found = violations(Some("MIT"), "git+https://example.org/p#1", &[]);
        assert!(
            matches!(found.as_slice(), [one] if one.contains("does not come from crates.io")),
            "{found:?}"
        );
    }

    #[test]
    fn an_exception_holds_for_the_licence_it_names() {
        let exception = |declared| Exception { package: "p", declared, reason: "test data only" };
        assert!(violations(Some("MPL-2.0"), CRATES_IO, &[exception("MPL-2.0")]).is_empty());
        assert!(violations(None, CRATES_IO, &[exception("")]).is_empty());
        let found = violations(Some("GPL-2.0-only"), CRATES_IO, &[exception("MPL-2.0")]);
        assert_eq!(found.len(), 2, "the licence and the stale exception: {found:?}");
    }
}
