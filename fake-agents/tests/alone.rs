//! A fake that runs alone, on the wall clock, as clients start it that know nothing of a stage: where it listens, what
//! it says about that, and what its time is.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};

/// 2023: any machine's clock is later, and a clock that begins with the process is not.
const LONG_AGO_MS: u64 = 1_700_000_000_000;

fn fake(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rehang-fakes"));
    command.arg("fake-opencode").args(args).env_clear().stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn said(args: &[&str]) -> Output {
    fake(args).output().expect("it runs")
}

/// A server, ended when the test is.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What it prints before it listens, and the line with the address.
fn serve(args: &[&str]) -> (Served, Vec<String>) {
    let mut served = Served(fake(args).spawn().expect("it starts"));
    let out = served.0.stdout.take().expect("a pipe");
    let mut lines = Vec::new();
    for line in BufReader::new(out).lines().map_while(Result::ok) {
        lines.push(line);
        if lines.last().is_some_and(|line| line.contains("listening on")) {
            break;
        }
    }
    (served, lines)
}

fn ask(port: u16, method: &str, target: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    let length = body.len();
    let request =
        format!("{method} {target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("it answers");
    response
}

fn port_of(line: &str) -> u16 {
    line.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or_else(|| panic!("no port: {line}"))
}

/// A port that was free a moment ago; another process may take it, so that a test tries again.
fn on_a_port_of_ours(args: &[&str], glue: &str) -> (Served, Vec<String>, u16) {
    for _ in 0..10 {
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|it| it.local_addr()).expect("a port").port();
        let port = free.to_string();
        let wish = format!("--port{glue}{port}");
        let all: Vec<&str> = args.iter().copied().chain(wish.split(' ')).collect();
        let (served, lines) = serve(&all);
        if !lines.is_empty() && lines.last().is_some_and(|line| line.contains("listening on")) {
            return (served, lines, free);
        }
    }
    panic!("ten ports were taken");
}

#[test]
fn a_server_listens_where_it_is_told_to() {
    for glue in [" ", "="] {
        let (_served, lines, port) = on_a_port_of_ours(&["serve", "--hostname", "127.0.0.1"], glue);
        let warning = "Warning: OPENCODE_SERVER_PASSWORD is not set; server is unsecured.";
        assert_eq!(lines, [warning, &format!("opencode server listening on http://127.0.0.1:{port}")]);
        assert!(ask(port, "GET", "/global/health", "").contains("\"healthy\":true"));
    }
    let (_served, lines, port) = on_a_port_of_ours(&["serve", "--as", "1.0.185", "--hostname=localhost"], " ");
    assert_eq!(lines, [format!("opencode server listening on http://localhost:{port}")], "1.0 says nothing else");
}

#[test]
fn a_port_that_is_taken_is_an_error_in_the_releases_words() {
    let taken = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = taken.local_addr().expect("its port").port().to_string();
    for (release, words) in [
        ("1.0.185", format!("Failed to start server. Is port {port} in use?")),
        ("1.2.27", format!("Failed to start server on port {port}")),
        ("1.18.33", "ServeError".to_owned()),
    ] {
        let output = said(&["serve", "--as", release, "--port", &port]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && text.contains(&words), "{release}: {output:?}");
    }
}

#[test]
fn times_count_from_1970_and_sessions_are_of_the_folder() {
    let folder = std::env::temp_dir();
    let mut served = Served(fake(&["serve"]).current_dir(&folder).spawn().expect("it starts"));
    let out = BufReader::new(served.0.stdout.take().expect("a pipe"));
    let line = out.lines().map_while(Result::ok).find(|line| line.contains("listening on")).expect("it listens");
    let port = port_of(&line);
    let body = |response: String| -> serde_json::Value {
        let (_, body) = response.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).expect("JSON")
    };
    let session = body(ask(port, "POST", "/session", "{\"title\":\"t\"}"));
    let id = session["id"].as_str().expect("an id");
    let path = format!("/session/{id}/message");
    let prompt = r#"{"parts":[{"type":"text","text":"go"}]}"#;
    let reply = body(ask(port, "POST", &path, prompt));
    let time = &reply["info"]["time"];
    for (what, ms) in
        [("session", &session["time"]["created"]), ("made", &time["created"]), ("done", &time["completed"])]
    {
        assert!(ms.as_u64().is_some_and(|ms| ms > LONG_AGO_MS), "{what}: {ms}");
    }
    let own = std::fs::canonicalize(&folder).expect("it is there");
    assert_eq!(session["directory"], own.to_string_lossy().as_ref());
    let other = body(ask(port, "POST", "/session?directory=%2Felsewhere", "{}"));
    assert_eq!(other["directory"], "/elsewhere", "a client names its folder");
}

#[test]
fn a_command_that_lists_starts_no_agent() {
    for (args, begins) in [
        (&["models"][..], "rehang/script\n"),
        (&["auth", "list"], "┌  Credentials"),
        (&["session", "list"], ""),
        (&["--as", "1.2.27", "--version"], "1.2.27\n"),
        (&["--help"], "opencode\n"),
    ] {
        let output = said(args);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && text.starts_with(begins), "{args:?}: {text}");
        assert!(!text.contains("Hello from a scripted model"), "{args:?}: {text}");
    }
}

/// What a run of fake Claude Code in a folder with a settings file says, beside the recording of the release: the texts of
/// its messages, its stderr, its exit code. The hook of each file blocks the prompt, and says which file it is from.
#[test]
fn settings_are_read_from_the_files_that_the_releases_read() {
    let golden = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut played = 0;
    for version in ["1.0.128", "2.0.77", "2.1.329"] {
        let folder = golden.join(format!("claude-{version}/command-line"));
        let files = std::fs::read_dir(folder).expect("recordings");
        let mut files: Vec<_> = files.map(|file| file.expect("one").path()).collect();
        files.sort();
        for file in files {
            let name = file.file_stem().expect("a name").to_string_lossy().into_owned();
            let Some(name) = name.strip_prefix("settings-") else { continue };
            let recorded = Ran::recorded(&std::fs::read_to_string(&file).expect("a recording"));
            assert_eq!(Ran::of(version, name), recorded, "{version}/{name}");
            played += 1;
        }
    }
    assert_eq!(played, 30, "recordings were added or lost");
}

/// A run, as far as settings decide it.
#[derive(Debug, PartialEq, Eq)]
struct Ran {
    said: Vec<String>,
    err: Vec<String>,
    code: Option<i32>,
}

impl Ran {
    fn recorded(text: &str) -> Ran {
        let mut ran = Ran { said: Vec::new(), err: Vec::new(), code: None };
        for line in text.lines() {
            let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
            match line["dir"].as_str() {
                Some("OUT") => ran.said.extend(words(&line["msg"])),
                Some("ERR") => ran.err.push(line["msg"].as_str().expect("a line").to_owned()),
                Some("EXIT") => ran.code = line["msg"].as_i64().map(|code| code as i32),
                _ => {}
            }
        }
        ran
    }

    /// A run in a folder of its own: the recording's name says which file there is, and which sources are read.
    fn of(version: &str, name: &str) -> Ran {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("project/.claude")).expect("a folder");
        std::fs::create_dir_all(path("user")).expect("a folder");
        let (from, sources) = match name.split_once("-sources-") {
            Some((from, sources)) => (from, Some(sources)),
            None if name == "sources-empty" => ("sources", Some("")),
            None => (name, None),
        };
        let hook = format!("fake-tool --plays '[{{\"warn\":\"from {from}\"}},{{\"exit\":2}}]' -- {from}");
        let hooks = serde_json::json!([{ "hooks": [{ "type": "command", "command": hook }] }]);
        let settings = serde_json::json!({ "hooks": { "UserPromptSubmit": hooks } }).to_string();
        let (file, own) = match from {
            "project" | "sources" => (Some("project/.claude/settings.json"), None),
            "local" => (Some("project/.claude/settings.local.json"), None),
            "user" => (Some("user/settings.json"), None),
            "file" => (Some("project/own.json"), Some("own.json")),
            "missing" => (None, Some("none.json")),
            "badjson" => (None, Some("{not json")),
            other => panic!("{other}: which file is that?"),
        };
        if let Some(file) = file {
            std::fs::write(path(file), settings).expect("a file");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_rehang-fakes"));
        command.args(["fake-claude", "-p", "go", "--output-format", "stream-json", "--verbose", "--as", version]);
        command.args(own.into_iter().flat_map(|own| ["--settings", own]));
        command.args(sources.into_iter().flat_map(|sources| ["--setting-sources", sources]));
        command.env_clear().env("CLAUDE_CONFIG_DIR", path("user")).current_dir(path("project")).stdin(Stdio::null());
        let output = command.output().expect("it runs");
        let own_folder = path("project").canonicalize().expect("it is there").to_string_lossy().into_owned();
        let texts = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&own_folder, "/home/agent/project");
        let messages = texts(&output.stdout);
        let messages = messages.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        Ran {
            said: messages
                .filter(|message: &serde_json::Value| message["subtype"] != "init")
                .flat_map(|m| words(&m))
                .collect(),
            err: texts(&output.stderr).lines().map(str::to_owned).collect(),
            code: output.status.code(),
        }
    }
}

/// The texts of a message, without the one that a fake that runs alone says in place of a model.
fn words(message: &serde_json::Value) -> Vec<String> {
    let texts = [&message["content"], &message["result"], &message["message"]["content"][0]["text"]];
    let texts = texts.into_iter().filter_map(|text| text.as_str());
    let kind = message["type"].as_str().unwrap_or_default();
    texts.map(|text| format!("{kind}: {}", text.replace("Hello from a scripted model.", "Hello."))).collect()
}
