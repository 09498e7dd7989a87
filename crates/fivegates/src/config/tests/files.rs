//! Where files are looked for, and files that cannot be read.

use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use super::*;

#[test]
fn the_nearest_file_upward_is_the_projects_and_the_users_is_never_one() {
    let place = Place::new().project("permission = \"read-only\"\n");
    assert_eq!(place.load().unwrap().files_read, [project(&place.project_path())]);
    let nearer = place.root().join("project/src/fivegates.toml");
    fs::write(&nearer, "").unwrap();
    // A repository does not end the way up.
    fs::create_dir(place.root().join("project/src/deep/.git")).unwrap();
    let config = place.load().unwrap();
    assert_eq!(config.files_read, [project(&nearer)]);
    assert_eq!(config.permission, Setting::default_of(Permission::Ask));

    // In a folder below the user's own file, or with a link to it, it is the user's and may loosen.
    let place = Place::new().user("permission = \"allow\"\n");
    let user_path = place.user_path();
    let below =
        Sources { cwd: user_path.parent().unwrap().to_owned(), user: Some(user_path.clone()), only: None };
    let linked = Sources { cwd: place.sources.cwd.clone(), user: Some(user_path.clone()), only: None };
    symlink(&user_path, place.project_path()).unwrap();
    for sources in [below, linked] {
        let config = load(&sources, &Overrides::default()).unwrap();
        assert_eq!(config.permission, Setting { value: Permission::Allow, origin: user(&user_path) });
        assert_eq!(config.files_read, [user(&user_path)]);
    }
}

#[test]
fn the_users_file_is_found_by_the_xdg_rules() {
    let check = |xdg: Option<&str>, home: Option<&str>, expected: Option<&str>| {
        let sources = Sources::of(PathBuf::from("/"), |name| match name {
            "XDG_CONFIG_HOME" => xdg.map(Into::into),
            "HOME" => home.map(Into::into),
            _ => None,
        });
        assert_eq!(sources.user.as_deref(), expected.map(Path::new));
    };
    check(Some("/x"), Some("/h"), Some("/x/fivegates/fivegates.toml"));
    check(Some("x"), Some("/h"), Some("/h/.config/fivegates/fivegates.toml"));
    check(Some(""), Some("/h"), Some("/h/.config/fivegates/fivegates.toml"));
    check(None, Some("h"), None);
    check(None, None, None);
}

#[test]
fn without_files_the_defaults_hold() {
    let place = Place::new();
    assert_eq!(place.load().unwrap(), Config::default());
    assert_eq!(place.user("").project("# nothing\n").load().unwrap().permission.origin, Origin::Default);
}

#[test]
fn what_cannot_be_read_is_one_clear_error() {
    let place = Place::new();
    fs::create_dir(place.project_path()).unwrap();
    assert_snapshot!(place.told(place.load()), @r#"
    `/project/fivegates.toml` is a folder, not a file
    hint: make it a readable file, or remove it to go without
    "#);
    let place = Place::new();
    symlink("nowhere", place.project_path()).unwrap();
    assert_snapshot!(place.told(place.load()), @r#"
    `/project/fivegates.toml` is a link in a project, not a file
    hint: make it a readable file, or remove it to go without
    "#);
    let place = Place::new();
    symlink("fivegates.toml", place.project_path()).unwrap();
    assert_snapshot!(place.told(place.load()), @r#"
    `/project/fivegates.toml` is a link in a project, not a file
    hint: make it a readable file, or remove it to go without
    "#);
    let place = Place::new().user(b"permission = \"ask\"\n# caf\xe9\n");
    assert_snapshot!(place.told(place.load()), @r#"
    `/home/.config/fivegates/fivegates.toml` is not UTF-8 text: line 2 has the byte 0xe9 in it
    hint: save it as UTF-8
    "#);
    let place = Place::new().project(vec![b'\n'; 256 * 1024 + 1]);
    assert_snapshot!(place.told(place.load()), @r#"
    `/project/fivegates.toml` is larger than 262144 bytes
    hint: is it meant to be the configuration?
    "#);
    assert!(Place::new().project(vec![b'\n'; 256 * 1024]).load().is_ok());
}

#[test]
fn a_pipe_in_the_place_of_a_file_does_not_make_it_wait() {
    let place = Place::new();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.project_path(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    assert_snapshot!(place.told(place.load()), @r#"
    `/project/fivegates.toml` is a pipe or device, not a file
    hint: make it a readable file, or remove it to go without
    "#);
    let place = Place::new();
    symlink("/dev/zero", place.project_path()).unwrap();
    assert_snapshot!(place.told(place.load()), @r#"
    `/project/fivegates.toml` is a link in a project, not a file
    hint: make it a readable file, or remove it to go without
    "#);
}

#[test]
fn a_folder_that_cannot_be_searched_hides_no_file() {
    let name = "x".repeat(300);
    let cwd = Path::new("/").join(name);
    let error = load(&Sources { cwd, user: None, only: None }, &Overrides::default()).unwrap_err();
    assert!(matches!(error, ConfigError::Lookup { .. }), "{error}");
}
