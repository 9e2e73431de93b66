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
