//! A trace as a log of its agent.
//!
//! Invariant: only what such a log would hold is written: messages and their directions, the events that a server
//! publishes, what comes out of a terminal. What a process waits for is in no log. A trace of any length is read a
//! fixed number of times, and what is written is not kept in memory.

mod server;

use self::server::{Server, argv};
use crate::read::cast;
use rehang_trace::{Event, Name, Trace, What};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// The form of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    /// `{t, dir, msg}` or `{t, kind, …}`: both directions, with instants.
    Recording,
    /// What Claude Code writes to its stdout.
    StreamJson,
    /// Events of an opencode server, one a line.
    Events,
    /// Events of an opencode server, as SSE text.
    Sse,
    /// asciicast v3.
    Asciicast,
    /// `timestamp<TAB>text`.
    Plain,
}

impl LogForm {
    /// All of them, by their words.
    pub const NAMES: [(&'static str, LogForm); 6] = [
        ("recording", LogForm::Recording),
        ("stream-json", LogForm::StreamJson),
        ("opencode-events", LogForm::Events),
        ("sse", LogForm::Sse),
        ("asciicast", LogForm::Asciicast),
        ("plain", LogForm::Plain),
    ];

    /// The form in which a trace's agent would be logged: a recording if messages are exchanged, else a terminal's.
    pub fn of(trace: &Trace) -> LogForm {
        let argv = argv(trace);
        let name = argv.first().map_or("", String::as_str);
        let server = ["opencode", "altimate", "pawwork"].iter().any(|agent| name.contains(agent));
        let interactive = server && !argv.iter().any(|arg| arg == "serve" || arg == "run");
        let claude = name.contains("claude") && argv.iter().any(|arg| arg == "-p");
        if claude || server && !interactive { LogForm::Recording } else { LogForm::Asciicast }
    }
}

/// Writes a trace as a log.
///
/// # Errors
/// Those of `out`.
pub fn export(trace: &Trace, form: LogForm, out: &mut impl Write) -> io::Result<()> {
    let claude = argv(trace).first().is_some_and(|name| name.contains("claude"));
    match form {
        LogForm::Recording if claude => messages(trace, &mut |line| writeln!(out, "{line}"))?,
        LogForm::Recording => exchanges(trace, &mut |line| writeln!(out, "{line}"))?,
        LogForm::StreamJson => messages(trace, &mut |line| match &line["msg"] {
            _ if line["dir"] != "OUT" => Ok(()),
            Value::String(text) => writeln!(out, "{text}"),
            message => writeln!(out, "{message}"),
        })?,
        LogForm::Events | LogForm::Sse => exchanges(trace, &mut |line| match form {
            _ if line["kind"] != "sse:event" => Ok(()),
            LogForm::Sse => writeln!(out, "data: {}\n", line["ev"]),
            _ => writeln!(out, "{}", json!({"t": line["t"], "event": line["ev"]})),
        })?,
        LogForm::Asciicast => screen(trace, out)?,
        LogForm::Plain => plain(trace, out)?,
    }
    out.flush()
}

fn seconds(event: &Event) -> f64 {
    event.t.0 as f64 / 1_000.0
}

/// Where lines of a log go.
type Put<'a> = dyn FnMut(Value) -> io::Result<()> + 'a;

/// Claude Code's messages, both ways.
fn messages(trace: &Trace, put: &mut Put<'_>) -> io::Result<()> {
    let mut held: BTreeMap<u8, String> = BTreeMap::new();
    let message = |text: &str| match serde_json::from_str::<Value>(text) {
        Ok(value) if value.is_object() => value,
        _ => Value::from(text),
    };
    for event in &trace.events {
        let t = seconds(event);
        match &event.what {
            What::Out { fd, text } if event.who == "agent" => {
                let held = held.entry(*fd).or_default();
                let mut rest = text.as_str();
                while let Some((line, behind)) = rest.split_once('\n') {
                    held.push_str(line);
                    rest = behind;
                    let line = held.trim_end();
                    if !line.is_empty() {
                        let dir = if *fd == 2 { "ERR" } else { "OUT" };
                        put(json!({"t": t, "dir": dir, "msg": message(line)}))?;
                    }
                    held.clear();
                }
                held.push_str(rest);
            }
            What::In { text } => {
                for line in text.lines().filter(|line| !line.trim().is_empty()) {
                    put(json!({"t": t, "dir": "IN", "msg": message(line)}))?;
                }
            }
            What::InEnd => put(json!({"t": t, "dir": "IN", "msg": "<close>"}))?,
            What::Exit(code) if event.who == "agent" => put(json!({"t": t, "dir": "EXIT", "msg": code}))?,
            What::Killed(_) if event.who == "agent" => put(json!({"t": t, "dir": "EXIT", "msg": 137}))?,
            _ => {}
        }
    }
    Ok(())
}

/// What comes out of a terminal, or of a program's pipes.
fn screen(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    let argv = argv(trace);
    let command = argv.first().cloned().unwrap_or_default();
    writeln!(out, "{}", json!({"version": 3, "term": {"cols": 80, "rows": 24}, "command": command}))?;
    let mut last = 0;
    for event in &trace.events {
        let (code, data) = match &event.what {
            What::Out { text, .. } if event.who == "agent" => ("o", text.clone()),
            What::In { text } => ("i", text.clone()),
            What::Exit(code) if event.who == "agent" => ("x", code.to_string()),
            What::Killed(_) if event.who == "agent" => ("x", "137".to_owned()),
            _ => continue,
        };
        let gap = event.t.0.saturating_sub(last) as f64 / 1_000.0;
        last = last.max(event.t.0);
        writeln!(out, "{}", json!([gap, code, data]))?;
    }
    Ok(())
}

fn plain(trace: &Trace, out: &mut impl Write) -> io::Result<()> {
    for event in &trace.events {
        match &event.what {
            What::Out { text, .. } if event.who == "agent" => {
                for line in cast::plain(text).lines() {
                    writeln!(out, "{:.3}\t{line}", seconds(event))?;
                }
            }
            What::Exit(code) if event.who == "agent" => writeln!(out, "{:.3}\t[exit {code}]", seconds(event))?,
            _ => {}
        }
    }
    Ok(())
}

/// What a client of an opencode server sees: events and its own requests. If no client listened, the events are those
/// that the server publishes, made from the facts that it reports.
fn exchanges(trace: &Trace, put: &mut Put<'_>) -> io::Result<()> {
    let listener = trace.events.iter().find_map(|event| match &event.what {
        What::Sse(_) if event.who == "client" => Some(event.who.as_str()),
        _ => None,
    });
    let mut open: BTreeMap<u32, (Name, String, Value)> = BTreeMap::new();
    let mut server = Server::new(trace);
    let end = trace.events.last().map_or(0.0, seconds);
    for event in &trace.events {
        let t = seconds(event);
        match &event.what {
            What::Sse(ev) if Some(event.who.as_str()) == listener => {
                put(json!({"t": t, "kind": "sse:event", "ev": ev.clone_value()}))?;
            }
            What::Request { id, method, path, body } => {
                open.insert(*id, (method.clone(), path.clone(), body.clone_value()));
            }
            What::Response { id, status, body } => {
                if let Some((method, path, sent)) = open.remove(id) {
                    put(json!({"t": t, "kind": "rest", "method": method, "path": path, "body": sent,
                        "status": status, "response": body.clone_value()}))?;
                }
            }
            What::RequestFailed { id, why } => {
                if let Some((method, path, sent)) = open.remove(id) {
                    put(json!({"t": t, "kind": "rest", "method": method, "path": path, "body": sent,
                        "status": null, "response": why}))?;
                }
            }
            What::Fact(fact) if event.who == "agent" && listener.is_none() => {
                for ev in server.events(fact) {
                    put(json!({"t": t, "kind": "sse:event", "ev": ev}))?;
                }
            }
            _ => {}
        }
    }
    for (method, path, body) in
        open.into_values().filter(|(method, path, _)| method == "POST" && !path.ends_with("prompt_async"))
    {
        put(json!({"t": end, "kind": "rest", "method": method, "path": path, "body": body, "status": null,
            "response": "no response"}))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trace of the facts that an agent reports, one millisecond after the other.
    fn trace(argv: &[&str], whats: impl Iterator<Item = Value>) -> Trace {
        let header = json!({"rehang_trace": 1, "scenario": "x/y", "strategy": "none", "terminal": "null",
            "stage": "sim", "seed": 1, "control": false});
        let spawn = json!({"spawn": {"parent": "", "argv": argv}});
        let events = std::iter::once(spawn).chain(whats).enumerate();
        let lines = events.map(|(t, what)| json!({"t": t, "who": "agent", "what": what}).to_string());
        let text = std::iter::once(header.to_string()).chain(lines).collect::<Vec<_>>().join("\n");
        rehang_trace::ndjson::read(text.as_bytes()).unwrap().1
    }

    fn lines(trace: &Trace, form: LogForm) -> Vec<Value> {
        let mut out = Vec::new();
        export(trace, form, &mut out).unwrap();
        out.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| serde_json::from_slice(l).unwrap()).collect()
    }

    const MANY: usize = 5_000;

    #[test]
    fn asks_find_their_calls_in_order_among_thousands() {
        let asked = |i: usize| {
            let kind = if i.is_multiple_of(2) { "question" } else { "permission" };
            json!({"fact": {"asked": {"id": format!("q{i}"), "kind": kind, "session": format!("s{}", i % 3), "questions": [], "permission": "bash (ls)"}}})
        };
        let began = |i: usize| {
            let tool = if i.is_multiple_of(2) { "question" } else { "bash" };
            json!({"fact": {"tool-began": {"call": format!("c{i}"), "tool": tool, "session": format!("s{}", i % 3)}}})
        };
        for asks_first in [true, false] {
            let (one, other): (Vec<Value>, Vec<Value>) = if asks_first {
                ((0..MANY).map(asked).collect(), (0..MANY).map(began).collect())
            } else {
                ((0..MANY).map(began).collect(), (0..MANY).map(asked).collect())
            };
            let trace = trace(&["fake-opencode", "serve"], one.into_iter().chain(other));
            let lines = lines(&trace, LogForm::Events);
            let asks: Vec<(&str, &str)> = lines
                .iter()
                .map(|line| &line["event"]["properties"])
                .filter_map(|asked| Some((asked["id"].as_str()?, asked["tool"]["callID"].as_str()?)))
                .collect();
            let expected: Vec<(String, String)> = (0..MANY).map(|i| (format!("q{i}"), format!("c{i}"))).collect();
            let expected: Vec<(&str, &str)> = expected.iter().map(|(q, c)| (q.as_str(), c.as_str())).collect();
            assert_eq!(asks, expected);
        }
    }

    #[test]
    fn tasks_find_their_sessions_in_order_among_thousands() {
        let session = |i: usize| json!({"fact": {"session": {"id": format!("k{i}"), "parent": format!("s{}", i % 3)}}});
        let began = |i: usize| json!({"fact": {"tool-began": {"call": format!("c{i}"), "tool": "task", "session": format!("s{}", i % 3)}}});
        let before: Vec<Value> = (0..MANY).map(session).chain((0..MANY).map(began)).collect();
        let behind: Vec<Value> = (0..MANY).map(began).chain((0..MANY).map(session)).collect();
        for whats in [before, behind] {
            let lines = lines(&trace(&["fake-opencode", "serve"], whats.into_iter()), LogForm::Events);
            let parts = lines.iter().map(|line| &line["event"]["properties"]["part"]).filter(|part| part.is_object());
            let mut count = 0;
            for (i, part) in parts.enumerate() {
                assert_eq!(part["state"]["metadata"]["sessionId"], format!("k{i}"), "{part}");
                count += 1;
            }
            assert_eq!(count, MANY);
        }
    }

    #[test]
    fn lines_are_put_together_of_pieces_whatever_their_number() {
        let out = |fd: u8, text: &str| json!({"out": {"fd": fd, "text": text}});
        let whats = (0..MANY).map(|_| out(1, "x")).chain([out(2, "e"), out(1, "\n\n{}\r\n"), out(2, "f\ng")]);
        let whats = whats.chain([out(1, &"{}\n".repeat(MANY))]);
        let lines = lines(&trace(&["fake-claude", "-p"], whats), LogForm::Recording);
        let said: Vec<(&Value, &Value)> = lines.iter().map(|line| (&line["dir"], &line["msg"])).collect();
        assert_eq!(said[0], (&json!("OUT"), &json!("x".repeat(MANY))));
        assert_eq!(said[1..3], [(&json!("OUT"), &json!({})), (&json!("ERR"), &json!("ef"))]);
        assert_eq!(said.len(), 3 + MANY);
    }

    #[test]
    fn an_instant_that_goes_back_is_no_gap() {
        let mut trace = trace(&["fake"], ["a", "b", "c"].iter().map(|text| json!({"out": {"fd": 1, "text": text}})));
        for (event, t) in trace.events.iter_mut().zip([0, 5_000, 2_000, 6_000]) {
            event.t.0 = t;
        }
        let gaps: Vec<Value> = lines(&trace, LogForm::Asciicast)[1..].iter().map(|line| line[0].clone()).collect();
        assert_eq!(gaps, [json!(5.0), json!(0.0), json!(1.0)]);
    }
}
