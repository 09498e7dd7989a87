//! What a person is told about a mistake: inline snapshots of message, place, line, caret and hint.

use insta::assert_snapshot;

use super::told;

#[test]
fn unknown_keys_are_named_with_what_is_allowed() {
    assert_snapshot!(told("permission = \"ask\"\n\n[bash]\ntimeout = 3\n"), @r#"
    unknown key `timeout` in `[bash]`
     --> /home/.config/fivegates/fivegates.toml:4:1
      |
    4 | timeout = 3
      | ^^^^^^^
    hint: the keys of `[bash]` are `timeout_ms`, `timeout_ms_max`, `output_bytes_max`, `grace_ms`
    "#);
    assert_snapshot!(told("permisson = \"allow\"\n"), @r#"
    unknown key `permisson`
     --> /home/.config/fivegates/fivegates.toml:1:1
      |
    1 | permisson = "allow"
      | ^^^^^^^^^
    hint: a file may hold `permission`, `[model]`, `[bash]`, `[files]`, `[record]`, `[waits]`, `[limits]`, `[deadline]`, `[[guard]]`
    "#);
    assert_snapshot!(told("[wait]\nguard_ms = 1\n"), @r#"
    unknown key `wait`
     --> /home/.config/fivegates/fivegates.toml:1:2
      |
    1 | [wait]
      |  ^^^^
    hint: a file may hold `permission`, `[model]`, `[bash]`, `[files]`, `[record]`, `[waits]`, `[limits]`, `[deadline]`, `[[guard]]`
    "#);
    assert_snapshot!(told("bash.shell = \"/bin/zsh\"\n"), @r#"
    unknown key `shell` in `[bash]`
     --> /home/.config/fivegates/fivegates.toml:1:6
      |
    1 | bash.shell = "/bin/zsh"
      |      ^^^^^
    hint: the keys of `[bash]` are `timeout_ms`, `timeout_ms_max`, `output_bytes_max`, `grace_ms`
    "#);
}

#[test]
fn the_first_mistake_of_the_file_is_the_one_that_is_named() {
    assert_snapshot!(told("zebra = 1\nanother = 2\n"), @r#"
    unknown key `zebra`
     --> /home/.config/fivegates/fivegates.toml:1:1
      |
    1 | zebra = 1
      | ^^^^^
    hint: a file may hold `permission`, `[model]`, `[bash]`, `[files]`, `[record]`, `[waits]`, `[limits]`, `[deadline]`, `[[guard]]`
    "#);
}

#[test]
fn rules_that_are_not_supported_are_refused() {
    assert_snapshot!(told("[[guard]]\ntool = \"bash\"\nreason = \"no\"\narguments = \"rm *\"\n"), @r#"
    unknown key `arguments` in `[[guard]]`
     --> /home/.config/fivegates/fivegates.toml:4:1
      |
    4 | arguments = "rm *"
      | ^^^^^^^^^
    hint: the keys of `[[guard]]` are `tool`, `reason`, `code`
    "#);
    assert_snapshot!(told("[[guard]]\ntool = \"bash\"\n"), @r#"
    this guard has no `reason`
     --> /home/.config/fivegates/fivegates.toml:1:1
      |
    1 | [[guard]]
      | ^^^^^^^^^
    hint: the keys of `[[guard]]` are `tool`, `reason`, `code`
    "#);
    assert_snapshot!(told("[[guard]]\ntool = \"bash\"\nreason = \"no\"\ncode = \"no way\"\n"), @r#"
    `code` of a guard has a space or control character in it
     --> /home/.config/fivegates/fivegates.toml:4:8
      |
    4 | code = "no way"
      |        ^^^^^^^^
    hint: it takes the code of the denial, in capitals; `GUARD_DENIED` without one
    "#);
    assert_snapshot!(told("[guard]\ntool = \"bash\"\n"), @r#"
    `guard` is a list of sections
     --> /home/.config/fivegates/fivegates.toml:1:1
      |
    1 | [guard]
      | ^^^^^^^
    hint: write `[[guard]]` and its keys in the lines below
    "#);
    assert_snapshot!(told("[[guard]]\ntool = [\"bash\"]\nreason = \"no\"\n"), @r#"
    `tool` of a guard cannot be a list
     --> /home/.config/fivegates/fivegates.toml:2:8
      |
    2 | tool = ["bash"]
      |        ^^^^^^^^
    hint: it takes a text in quotes
    "#);
}

#[test]
fn duplicate_keys_are_refused() {
    assert_snapshot!(told("[bash]\ngrace_ms = 1\ntimeout_ms = 2\ngrace_ms = 3\n"), @r#"
    duplicate key `grace_ms`
     --> /home/.config/fivegates/fivegates.toml:4:1
      |
    4 | grace_ms = 3
      | ^^^^^^^^
    hint: say it once
    "#);
    assert_snapshot!(told("[bash]\ngrace_ms = 1\n[files]\nread_lines_max = 1\n[bash]\ntimeout_ms = 1\n"), @r#"
    duplicate key `bash`
     --> /home/.config/fivegates/fivegates.toml:5:2
      |
    5 | [bash]
      |  ^^^^
    hint: say it once
    "#);
}

#[test]
fn values_of_another_kind_are_refused() {
    assert_snapshot!(told("permission = true\n"), @r#"
    `permission` cannot be true or false
     --> /home/.config/fivegates/fivegates.toml:1:14
      |
    1 | permission = true
      |              ^^^^
    hint: it takes `"read-only"`, `"ask"` or `"allow"`
    "#);
    assert_snapshot!(told("[bash]\ntimeout_ms = \"120000\"\n"), @r#"
    `bash.timeout_ms` cannot be a text in quotes
     --> /home/.config/fivegates/fivegates.toml:2:14
      |
    2 | timeout_ms = "120000"
      |              ^^^^^^^^
    hint: it takes a whole number from 1 to 86400000
    "#);
    assert_snapshot!(told("[bash]\ntimeout_ms = 1.5\n"), @r#"
    `bash.timeout_ms` cannot be a number with a fraction
     --> /home/.config/fivegates/fivegates.toml:2:14
      |
    2 | timeout_ms = 1.5
      |              ^^^
    hint: it takes a whole number from 1 to 86400000
    "#);
    assert_snapshot!(told("bash = 3\n"), @r#"
    `bash` is a section, not a key
     --> /home/.config/fivegates/fivegates.toml:1:1
      |
    1 | bash = 3
      | ^^^^
    hint: write `[bash]` and its keys in the lines below
    "#);
    assert_snapshot!(told("[model.use]\nname = \"x\"\n"), @r#"
    `model.use` cannot be a section
     --> /home/.config/fivegates/fivegates.toml:1:1
      |
    1 | [model.use]
      | ^^^^^^^^^^^
    hint: it takes `"deepseek:NAME"`, `"openai:NAME"` or `"scripted:FILE"`
    "#);
}

#[test]
fn values_out_of_range_are_refused_with_the_range() {
    assert_snapshot!(told("[bash]\ntimeout_ms = 0\n"), @r#"
    `bash.timeout_ms` is out of range
     --> /home/.config/fivegates/fivegates.toml:2:14
      |
    2 | timeout_ms = 0
      |              ^
    hint: it takes a whole number from 1 to 86400000
    "#);
    assert_snapshot!(told("[model]\nparallel_max = -1\n"), @r#"
    `model.parallel_max` is out of range
     --> /home/.config/fivegates/fivegates.toml:2:16
      |
    2 | parallel_max = -1
      |                ^^
    hint: it takes a whole number from 1 to 64
    "#);
    assert_snapshot!(told("[waits]\nguard_ms = 99999999999999999999\n"), @r#"
    `waits.guard_ms` is out of range
     --> /home/.config/fivegates/fivegates.toml:2:12
      |
    2 | guard_ms = 99999999999999999999
      |            ^^^^^^^^^^^^^^^^^^^^
    hint: it takes a whole number from 1 to 604800000
    "#);
    assert_snapshot!(told("[bash]\ntimeout_ms = 700_000\n"), @r#"
    `bash.timeout_ms` (700000) is above `bash.timeout_ms_max` (600000, set by the default)
     --> /home/.config/fivegates/fivegates.toml:2:14
      |
    2 | timeout_ms = 700_000
      |              ^^^^^^^
    hint: lower `bash.timeout_ms` or raise `bash.timeout_ms_max`
    "#);
    assert_snapshot!(told("[deadline]\ndefault_ms = 2000\nmax_ms = 1000\n"), @r#"
    `deadline.default_ms` (2000) is above `deadline.max_ms` (1000, set by the user's `/home/.config/fivegates/fivegates.toml`)
     --> /home/.config/fivegates/fivegates.toml:2:14
      |
    2 | default_ms = 2000
      |              ^^^^
    hint: lower `deadline.default_ms` or raise `deadline.max_ms`
    "#);
}

#[test]
fn words_that_mean_nothing_are_refused() {
    assert_snapshot!(told("permission = \"yes\"\n"), @r#"
    `permission` holds no permission mode
     --> /home/.config/fivegates/fivegates.toml:1:14
      |
    1 | permission = "yes"
      |              ^^^^^
    hint: it takes `"read-only"`, `"ask"` or `"allow"`
    "#);
    assert_snapshot!(told("[model]\nuse = \"gpt-5\"\n"), @r#"
    `model.use` names no provider
     --> /home/.config/fivegates/fivegates.toml:2:7
      |
    2 | use = "gpt-5"
      |       ^^^^^^^
    hint: it takes `"deepseek:NAME"`, `"openai:NAME"` or `"scripted:FILE"`
    "#);
    assert_snapshot!(told("[model]\nuse = \"claude:opus\"\n"), @r#"
    `model.use` names an unknown provider
     --> /home/.config/fivegates/fivegates.toml:2:7
      |
    2 | use = "claude:opus"
      |       ^^^^^^^^^^^^^
    hint: it takes `"deepseek:NAME"`, `"openai:NAME"` or `"scripted:FILE"`
    "#);
    assert_snapshot!(told("[model]\nuse = \"openai:\"\n"), @r#"
    `model.use` names no model
     --> /home/.config/fivegates/fivegates.toml:2:7
      |
    2 | use = "openai:"
      |       ^^^^^^^^^
    hint: it takes `"deepseek:NAME"`, `"openai:NAME"` or `"scripted:FILE"`
    "#);
    assert_snapshot!(told("[model]\nbase_url = \"localhost:8080\"\n"), @r#"
    `model.base_url` is neither `http` nor `https`
     --> /home/.config/fivegates/fivegates.toml:2:12
      |
    2 | base_url = "localhost:8080"
      |            ^^^^^^^^^^^^^^^^
    hint: it takes a URL such as `"https://api.deepseek.com"` or `"http://127.0.0.1:8080/v1"`
    "#);
    assert_snapshot!(told("[record]\nsync = \"fast\"\n"), @r#"
    `record.sync` holds an unknown word
     --> /home/.config/fivegates/fivegates.toml:2:8
      |
    2 | sync = "fast"
      |        ^^^^^^
    hint: it takes `"normal"` or `"full"`
    "#);
    assert_snapshot!(told("[record]\npath = \"\"\n"), @r#"
    `record.path` is empty
     --> /home/.config/fivegates/fivegates.toml:2:8
      |
    2 | path = ""
      |        ^^
    hint: it takes a path in quotes; a relative one starts from the folder of this file
    "#);
}

#[test]
fn what_is_no_toml_is_shown_where_it_stops_being_any() {
    assert_snapshot!(told("permission = ask\n"), @r#"
    string values must be quoted, expected literal string
     --> /home/.config/fivegates/fivegates.toml:1:14
      |
    1 | permission = ask
      |              ^^^
    hint: the file is TOML: `key = value` or `[section]` in a line, texts in quotes
    "#);
    assert_snapshot!(told("[bash\ntimeout_ms = 1\n"), @r#"
    unclosed table, expected `]`
     --> /home/.config/fivegates/fivegates.toml:1:6
      |
    1 | [bash
      |      ^
    hint: the file is TOML: `key = value` or `[section]` in a line, texts in quotes
    "#);
    assert_snapshot!(told("[model]\nsystem_prompt = \"\"\"never ends\n"), @r#"
    invalid multi-line basic string, expected `"`
     --> /home/.config/fivegates/fivegates.toml:3:1
      |
    3 | 
      | ^
    hint: the file is TOML: `key = value` or `[section]` in a line, texts in quotes
    "#);
    let nested = format!("permission = {}", "[".repeat(20_000));
    assert!(told(&nested).contains(" --> /home/.config/fivegates/fivegates.toml:1:"));
}

#[test]
fn hidden_text_is_shown_and_the_caret_stays_under_its_place() {
    assert_snapshot!(told("\"\\u001b[2J\u{202e}\" = 1\n"), @r#"
    unknown key `\u{1b}[2J\u{202e}`
     --> /home/.config/fivegates/fivegates.toml:1:1
      |
    1 | "\u001b[2J\u{202e}" = 1
      | ^^^^^^^^^^^^^^^^^^^
    hint: a file may hold `permission`, `[model]`, `[bash]`, `[files]`, `[record]`, `[waits]`, `[limits]`, `[deadline]`, `[[guard]]`
    "#);
    assert_snapshot!(told("[model]\nuse = \"é\u{202e}:x\"\n"), @r#"
    `model.use` names an unknown provider
     --> /home/.config/fivegates/fivegates.toml:2:7
      |
    2 | use = "é\u{202e}:x"
      |       ^^^^^^^^^^^^^
    hint: it takes `"deepseek:NAME"`, `"openai:NAME"` or `"scripted:FILE"`
    "#);
}

#[test]
fn long_lines_are_cut_around_the_place() {
    let padding = "x".repeat(300);
    assert_snapshot!(told(&format!("bash = {{ grace_ms = 1, {padding} = 2, timeout_ms = 3 }} # {padding}\n")), @r#"
    unknown key `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (236 more characters)` in `[bash]`
     --> /home/.config/fivegates/fivegates.toml:1:24
      |
    1 | bash = { grace_ms = 1, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...
      |                        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    hint: the keys of `[bash]` are `timeout_ms`, `timeout_ms_max`, `output_bytes_max`, `grace_ms`
    "#);
    assert_snapshot!(told(&format!("bash = {{ grace_ms = 1, {} grace_msec = 2, output_bytes_max = 3 }}\n", " ".repeat(300))), @r#"
    unknown key `grace_msec` in `[bash]`
     --> /home/.config/fivegates/fivegates.toml:1:325
      |
    1 | ...                                grace_msec = 2, output_bytes_max = 3 }
      |                                    ^^^^^^^^^^
    hint: the keys of `[bash]` are `timeout_ms`, `timeout_ms_max`, `output_bytes_max`, `grace_ms`
    "#);
}

#[test]
fn what_may_be_a_secret_is_not_shown() {
    assert_snapshot!(told("[model]\napi_key = \"sk-hunter2\"\n"), @r#"
    unknown key `api_key` in `[model]`
     --> /home/.config/fivegates/fivegates.toml:2:1
      |
    2 | api_key = ****
      | ^^^^^^^
    hint: the keys of `[model]` are `use`, `base_url`, `system_prompt`, `steps_max`, `parallel_max`
    "#);
    assert_snapshot!(told("[model]\nbase_url = \"https://me:hunter2@example.com\"\n"), @r#"
    `model.base_url` has a user name or password in it
     --> /home/.config/fivegates/fivegates.toml:2:12
      |
    2 | base_url = ****
      |            ^
    hint: it takes a URL such as `"https://api.deepseek.com"` or `"http://127.0.0.1:8080/v1"`
    "#);
    assert_snapshot!(told("api-token = sk-hunter2\n"), @r#"
    string values must be quoted, expected literal string
     --> /home/.config/fivegates/fivegates.toml:1:13
      |
    1 | api-token = ****
      |             ^
    hint: the file is TOML: `key = value` or `[section]` in a line, texts in quotes
    "#);
}
