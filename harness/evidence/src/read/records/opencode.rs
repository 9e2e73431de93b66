//! opencode: its server's lists of open asks; else its log, which names every ask and every end of one; the question's
//! words from its database's journal.
//!
//! Invariant: an ask is open only if the server lists it, or if the log holds its beginning and not its end.

use super::{Reach, cut, http, tail};
use crate::data::{Agent, Ask, Object, Process, Socket};
use crate::kind;
use crate::read::net::within;
use rehang_wire::opencode::{Answers, Ask as Asks, PermissionReply, Permit, Route, Status};
use serde_json::Value;
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// The most bytes of a log's end, and of a journal's end, that are read.
const LOG_BYTES: u64 = 1 << 20;
const JOURNAL_BYTES: u64 = 4 << 20;
/// The most asks that are kept.
const MAX_ASKS: usize = 16;

/// Reads what opencode says: what its server answers, if it is asked and has one; else its log.
pub fn read(process: &Process, sockets: &BTreeMap<u64, Socket>, ask: bool, reach: &Reach, agent: &mut Agent) {
    agent.form = kind::opencode_form(process).to_owned();
    let asked = ask
        && process.listening(sockets).next().and_then(|socket| socket.local.parse::<SocketAddr>().ok()).is_some_and(
            |mut to| {
                if to.ip().is_unspecified() {
                    to.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
                }
                server(process, to, agent)
            },
        );
    if !asked {
        log(process, reach, agent);
    }
}

/// Asks the server; returns `false` if it does not answer as opencode does. A server that fails to say what its sessions
/// do may still list what is asked.
fn server(process: &Process, to: SocketAddr, agent: &mut Agent) -> bool {
    let folder = process.cwd.as_deref().filter(|cwd| cwd.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'&'));
    let get = |route: Route<'_>| -> Option<(u16, Vec<u8>)> {
        let (path, own) = (route.in_folder(folder), super::super::process::net_namespace(std::process::id() as i32));
        let get = move || http::get(to, &path);
        if own == process.namespaces.net { get() } else { within(process.pid, get).flatten() }
    };
    let parsed = |(status, body): (u16, Vec<u8>)| (status == 200).then(|| serde_json::from_slice(&body).ok()).flatten();
    let ask = |route: Route<'_>| -> Option<Value> { get(route).and_then(parsed) };
    let Some(answer) = get(Route::Status) else { return false };
    let fails = answer.0 >= 500;
    let status = parsed(answer).filter(Value::is_object);
    if status.is_none() && !fails {
        return false;
    }
    let busy = |one: &&(&String, &Value)| Status::of(one.1) != Some(Status::Idle);
    let sessions: Vec<(&String, &Value)> = status.iter().filter_map(Value::as_object).flatten().collect();
    if status.is_some() {
        agent.sources.push(format!("GET http://{to}{}", Route::Status));
        agent.busy = Some(sessions.iter().filter(busy).count());
    }
    for (session, said) in sessions.iter().filter(busy).take(MAX_ASKS).filter(|(session, _)| plain(session)) {
        if Status::of(said) == Some(Status::Retry) {
            "retrying".clone_into(&mut agent.turn);
        } else if let Some(Value::Array(last)) = ask(Route::Messages { session, limit: Some(1) }) {
            let at_work = |id: &str| sessions.iter().filter(busy).any(|(other, _)| *other == id);
            turn(&last, &at_work, agent);
        }
    }
    let mut is_one = status.is_some();
    for of in [Asks::Question, Asks::Permission] {
        let Some(Value::Array(open)) = ask(Route::Asks(of)) else { continue };
        is_one = true;
        agent.sources.push(format!("GET http://{to}{}", Route::Asks(of)));
        agent.asks.extend(open.iter().take(MAX_ASKS).map(|one| listed(one, of.segment())));
    }
    for open in &mut agent.asks {
        let session = plain(&open.session).then(|| ask(Route::Session(&open.session))).flatten();
        open.nested = session.is_some_and(|session| session["parentID"].is_string());
    }
    if let Some(open) = agent.asks.first() {
        let (route, body) = if open.kind == Asks::Question.segment() {
            (Route::Answer(&open.id), Answers { answers: vec![vec!["…".to_owned()]] }.body())
        } else {
            (Route::Permit(&open.id), PermissionReply::Own { reply: Permit::Once, message: None }.body())
        };
        agent.answer = format!("curl -d '{body}' -H 'content-type: application/json' http://{to}{route}");
    }
    is_one
}

/// Whether an id may be put into a path unchanged.
fn plain(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// What the last message of a busy session says: tools that it calls running, and whether it is complete. If several
/// are busy, one that is open counts.
fn turn(last: &[Value], at_work: &dyn Fn(&str) -> bool, agent: &mut Agent) {
    let Some(message) = last.last() else { return };
    for part in message["parts"].as_array().into_iter().flatten().filter(|part| part["type"] == "tool") {
        let state = &part["state"];
        // a question's ask, and a subagent's session, are in lists of their own; a subagent whose session is idle is not
        let own = match part["tool"].as_str() {
            Some("question") => true,
            Some("task") => state["metadata"]["sessionId"].as_str().is_none_or(at_work),
            _ => false,
        };
        if state["status"] == "running" && !own && agent.running.len() < MAX_ASKS {
            let input = &state["input"];
            let what = input["command"].as_str().map_or_else(|| input.to_string(), str::to_owned);
            agent.running.push(cut(&format!("{}: {what}", part["tool"].as_str().unwrap_or("a tool"))));
        }
    }
    let info = &message["info"];
    // an answer that ends with tool calls has another step after it
    let complete = info["role"] == "assistant" && info["time"]["completed"].is_number() && info["finish"] == "stop";
    if agent.turn != "open" && agent.turn != "retrying" {
        if complete { "ended" } else { "open" }.clone_into(&mut agent.turn);
    }
}

fn listed(one: &Value, kind: &str) -> Ask {
    let text = |value: &Value| value.as_str().map(cut).unwrap_or_default();
    let first = &one["questions"][0];
    let patterns: Vec<String> = one["patterns"].as_array().into_iter().flatten().map(text).collect();
    let options = first["options"].as_array().into_iter().flatten().map(|option| text(&option["label"]));
    Ask {
        kind: kind.to_owned(),
        id: text(&one["id"]),
        session: text(&one["sessionID"]),
        text: if kind == "question" {
            text(&first["question"])
        } else {
            cut(&format!("{}: {}", text(&one["permission"]), patterns.join(" ")))
        },
        options: if kind == "question" {
            options.take(MAX_ASKS).collect()
        } else {
            ["once", "always", "reject"].map(str::to_owned).to_vec()
        },
        nested: false,
    }
}

/// `INFO 2026-… +45ms service=question id=que_… questions=1 asking`, and later `replied` or `rejected` with the same id.
fn log(process: &Process, reach: &Reach, agent: &mut Agent) {
    let path = process.fds.iter().find_map(|fd| match &fd.what {
        Object::File { path, .. } if path.contains("/opencode/log/") || path.contains("/altimate-code/log/") => {
            Some(path)
        }
        _ => None,
    });
    let Some(path) = path else { return };
    let Some(bytes) = tail(process, path, LOG_BYTES, reach) else { return };
    let text = String::from_utf8_lossy(&bytes);
    let asks = open_asks(&text);
    agent.sources.push(path.clone());
    agent.asks = asks;
    for ask in agent.asks.iter_mut().filter(|ask| ask.kind == "question") {
        if let Some((question, options)) = words(process, reach) {
            (ask.text, ask.options) = (question, options);
        }
    }
}

fn open_asks(log: &str) -> Vec<Ask> {
    let mut open: Vec<Ask> = Vec::new();
    for line in log.lines() {
        let kind = match line {
            _ if line.contains("service=question ") => "question",
            _ if line.contains("service=permission ") => "permission",
            // what was asked before is void once its session is over
            _ if line.contains("type=session.idle publishing") => {
                open.clear();
                continue;
            }
            // the log names no id when a permission is answered: the oldest open one is assumed
            _ if line.contains("type=permission.replied publishing") => {
                if let Some(at) = open.iter().position(|ask| ask.kind == "permission") {
                    open.remove(at);
                }
                continue;
            }
            _ => continue,
        };
        let value = |key: &str| {
            let from = line.find(&format!(" {key}="))? + key.len() + 2;
            let rest = line.get(from..)?;
            Some(rest.split(' ').next().unwrap_or(rest).to_owned())
        };
        if line.ends_with(" asking") {
            let Some(id) = value("id") else { continue };
            let permission = value("permission").unwrap_or_default();
            let patterns = line.find(" patterns=").and_then(|at| line.get(at + 10..line.len() - 7)).unwrap_or_default();
            let text = if kind == "permission" { cut(&format!("{permission}: {patterns}")) } else { String::new() };
            open.push(Ask { kind: kind.to_owned(), id, text, ..Ask::default() });
            open.truncate(MAX_ASKS);
        } else {
            let ended = [value("requestID"), value("permissionID"), value("id")];
            open.retain(|ask| !ended.iter().flatten().any(|id| *id == ask.id));
        }
    }
    open
}

/// The words of the last question in the journal of the database that the process has open.
fn words(process: &Process, reach: &Reach) -> Option<(String, Vec<String>)> {
    let path = process.fds.iter().find_map(|fd| match &fd.what {
        Object::File { path, .. } if path.ends_with("opencode.db-wal") => Some(path),
        _ => None,
    })?;
    let bytes = tail(process, path, JOURNAL_BYTES, reach)?;
    let text = String::from_utf8_lossy(&bytes);
    // a part is written once as pending, with no input yet, and again as running: the last one with a question counts
    let from = text.rmatch_indices(r#""tool":"question""#).map(|(at, _)| at);
    let question = |at: usize| {
        let part = text.get(at..)?;
        let asked = part.find(r#""question":""#).filter(|asked| *asked < 4096)?;
        Some((at, string(part.get(asked + 11..)?)?))
    };
    let (at, question) = from.take(8).find_map(question)?;
    let end = text.get(at..)?.char_indices().nth(4096).map_or(text.len(), |(end, _)| at + end);
    let part = text.get(at..end)?;
    let labels = part.match_indices(r#""label":""#).filter_map(|(at, _)| string(part.get(at + 8..)?));
    let mut options: Vec<String> = Vec::new();
    for label in labels.take(MAX_ASKS) {
        if !options.contains(&label) {
            options.push(label);
        }
    }
    Some((question, options))
}

/// The JSON string at the beginning of a text.
fn string(text: &str) -> Option<String> {
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<String>();
    Some(cut(&stream.next()?.ok()?))
}

#[cfg(test)]
mod tests;
