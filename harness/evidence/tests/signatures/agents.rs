//! What agents leave for a reader: a server's lists, a transcript, a log.
//!
//! Invariant: the formats are those of the releases that `rehang_evidence` reads them from.

use crate::play::{play, ready};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::path::Path;

/// As much of opencode's server as a reader of open asks needs. Any request that is not a GET ends it.
pub fn serve(status: &str, question: &str, permission: &str, session: &str, message: &str) {
    // its clients know where it listens if its starter does
    let given = std::io::stdin().as_fd().try_clone_to_owned().expect("a copy");
    let is_socket = rustix::fs::fstat(&given)
        .is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Socket);
    let listener = match is_socket {
        true => TcpListener::from(given),
        false => TcpListener::bind("127.0.0.1:0").expect("loopback"),
    };
    let mut clients = Vec::new();
    ready();
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else { continue };
        let mut request = Vec::new();
        let mut part = [0; 1024];
        while !request.ends_with(b"\r\n\r\n") {
            match stream.read(&mut part) {
                Ok(n) if n > 0 => request.extend_from_slice(&part[..n]),
                _ => break,
            }
        }
        let request = String::from_utf8_lossy(&request).into_owned();
        assert!(request.starts_with("GET "), "only GET requests: {request}");
        let path = request.split([' ', '?']).nth(1).unwrap_or_default();
        if path == "/event" {
            let event = "data: {\"type\":\"server.connected\",\"properties\":{}}\n\n";
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
            let _ = stream.write_all(format!("{head}{event}").as_bytes());
            clients.push(stream);
            continue;
        }
        let body = match path {
            "/session/status" => status,
            "/question" => question,
            "/permission" => permission,
            path if path.ends_with("/message") => message,
            _ => session,
        };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
    }
}

/// Writes Claude Code's transcript: a prompt, and what came of it.
pub fn recorded(what: &str, rest: &[&str]) {
    let prompt = r#"{"type":"user","message":{"role":"user","content":"go"}}"#;
    let call = |name: &str, input: &str| {
        format!(
            r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"t1","name":"{name}","input":{input}}}]}}}}"#
        )
    };
    let answer = match what {
        "ended" => r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Done."}]}}"#.to_owned(),
        "bash" => call("Bash", r#"{"command":"touch x"}"#),
        "question" => call("AskUserQuestion", r#"{"questions":[{"question":"Which colour?"}]}"#),
        "tool-server" => call("mcp__tickets__list", "{}"),
        "prompt" => String::new(),
        other => panic!("no transcript has {other}"),
    };
    let folder = std::env::var("CLAUDE_CONFIG_DIR").expect("the stage names it");
    let here = std::env::current_dir().expect("a folder");
    let slug: String =
        here.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let project = Path::new(&folder).join("projects").join(slug);
    std::fs::create_dir_all(&project).expect("a folder");
    let lines: Vec<String> = [prompt.to_owned(), answer].into_iter().filter(|line| !line.is_empty()).collect();
    std::fs::write(project.join("session.jsonl"), lines.join("\n") + "\n").expect("a transcript");
    again(rest);
}

/// Writes opencode's log, and keeps it open as opencode does.
pub fn logged(line: &str, rest: &[&str]) {
    let folder = std::env::current_dir().expect("a folder").join("opencode/log");
    std::fs::create_dir_all(&folder).expect("a folder");
    let mut log = std::fs::File::create(folder.join("dev.log")).expect("a log");
    writeln!(log, "INFO  2026-11-21T02:43:00 +45ms {line}").expect("written");
    again(rest);
    drop(log);
}

fn again(rest: &[&str]) {
    play(&rest.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
}
