//! The command `rehang-lab` from the outside: the site that it makes, and what it says of names that do not exist and of a
//! machine without `/proc`.
//!
//! Invariant: no case waits for a time, and none asks a registry. Where this machine gives no namespace, the case that needs
//! one is skipped with its reason.

use std::path::Path;
use std::process::{Command, Stdio};

const OWN: &str = env!("CARGO_BIN_EXE_rehang-lab");

/// Asks, and nobody is there.
const HANGS: &str = r#"
title     = "Asks which database, and nobody is there"
mechanism = "Q1"
agent     = { opencode = { as = "1.2.15", mode = "serve" } }
terminals = ["null"]
turns     = [{ ask = [{ question = "Which database?", options = [{ label = "sqlite" }, { label = "postgres" }] }] }]

[[expect]]
outcome   = { hung = "question" }

[control]
people = [{ via = "http", after = "2s", does = { answer = ["sqlite"] } }]
"#;

struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

/// Lets this program (`unshare …`, or the command itself) run in a folder, and waits for it.
fn said(folder: &Path, by: &[&str], args: &[&str]) -> Said {
    let words: Vec<&str> = by.iter().chain(&[OWN]).chain(args).copied().collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(folder).stdin(Stdio::null());
    command.env("REHANG_FAKES", OWN).env("NO_COLOR", "1").env("REHANG_CACHE", folder.join("cache"));
    let out = command.output().expect("it starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { code: out.status.code(), out: text(out.stdout), err: text(out.stderr) }
}

#[test]
fn a_site_is_made_of_the_board_the_book_and_the_rows_of_releases() {
    let row = concat!(
        r#"{"agent":"opencode","version":"1.2.27","scenario":"hangs","terminal":"null","outcome":"hung","detail":"question","#,
        r#""evidence":"observed(10s)","exit":null,"ms":10049,"startup_ms":5,"told":[],"asks":[],"waits":[],"hot_loop":false,"#,
        r#""problems":[],"links":[],"runs":1,"day":"2026-11-21","command":"x","of":"0"}"#
    );
    let folder = tempfile::tempdir().expect("a folder");
    let files = [("hangs.toml", HANGS), ("rows.ndjson", &format!("{row}\n")), ("bad.json", "{}\n")];
    files.iter().for_each(|(name, text)| std::fs::write(folder.path().join(name), text).expect("a file"));
    let added = said(folder.path(), &[], &["compat", "--add", "rows.ndjson"]);
    assert_eq!(added.out, "rows.ndjson: 1 row\ncompat.json: 1 row\n", "{}", added.err);
    let made = said(folder.path(), &[], &["site", "--out", "site", "hangs.toml"]);
    assert!(made.code == Some(0) && made.out.starts_with("site/index.html: "), "{}", made.err);
    let page = |name: &str| std::fs::read_to_string(folder.path().join("site").join(name)).expect("a page");
    let home = page("index.html");
    assert!(home.contains("rehang-lab site --out site hangs.toml"), "how it was made");
    let of_q1 = home.split("Q1 question-no-answerer</a>").nth(1).and_then(|rest| rest.split("</tr>").next()).unwrap();
    assert!(of_q1.contains("guard") && of_q1.contains("opencode 1 of 1"), "{of_q1}");
    assert!(page("releases.html").contains("<strong>hung</strong> question 10s"));
    assert!(page("mechanisms/Q1.html").contains("Asks which database, and nobody is there"));
    let bad = said(folder.path(), &[], &["site", "--out", "site", "hangs.toml", "--compat", "bad.json"]);
    assert!(
        bad.code == Some(2) && bad.err.contains("bad.json: not in the format of compat.json: missing field"),
        "{}",
        bad.err
    );
}

#[test]
fn each_mistake_is_answered_in_few_lines_with_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let calls: [(&[&str], &str); 6] = [
        (&["record"], "for example: rehang-lab record claude@2.1.329 text question"),
        (&["record", "text"], "`rehang-lab record claude@2.1.329 text`"),
        (&["record", "claude@2.1.329"], "`rehang list upstream/`"),
        (&["record", "cluade@2.1.329", "text"], "did you mean `claude`?"),
        (&["fuzz", "import-cladue"], "did you mean `import-claude`?"),
        (&["tortur"], "similar subcommand exists: 'torture'"),
    ];
    for (args, remedy) in calls {
        let said = said(folder.path(), &[], args);
        assert!(said.code == Some(2) && said.out.is_empty() && said.err.contains(remedy), "{args:?}: {}", said.err);
        assert!(said.err.lines().count() <= 5, "{args:?}: {}", said.err);
    }
    let far = said(folder.path(), &[], &["fuzz", "xyzzyplugh"]);
    assert!(far.code == Some(2) && !far.err.contains("did you mean") && far.err.contains("there are"), "{}", far.err);
}

#[test]
fn without_proc_each_command_says_how_to_mount_it() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("hangs.toml"), HANGS).expect("a file");
    let then = ["--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$0\" \"$@\""];
    let ways = [&["unshare"][..], &["unshare", "--map-root-user"]].map(|way| [way, &then].concat());
    let works = |way: &&Vec<&str>| {
        let status = Command::new(way[0]).args(&way[1..]).arg("true").stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let Some(without) = ways.iter().find(works) else {
        println!("skipped: this machine does not let `unshare --mount` work");
        return;
    };
    let all: [&[&str]; 3] = [
        &["determinism", "--scenarios", "hangs.toml"],
        &["bench"],
        &["drift", "opencode@1.2.15", "hangs", "--scenarios", "hangs.toml"],
    ];
    for args in all {
        let said = said(folder.path(), without, args);
        assert!(said.code == Some(70) && said.err.contains("mount -t proc proc /proc"), "{args:?}: {}", said.err);
    }
}
