//! The agents' own records, which the fakes do not write: Claude Code's transcript and opencode's log, made of the facts
//! that the processes themselves have reported so far.
//!
//! Invariant: in the form that the reader of real records reads, and from the real processes alone, not from a stage.

use super::cells::Progress;
use rehang_os::alone::journal::{self, Line, Said};
use rehang_scenario::Agent;
use rehang_trace::{AskKind, Fact, What};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// The folder of an opencode's log, below that of the scenario; `None` for any other agent.
pub fn log_of(agent: &Agent) -> Option<&'static str> {
    match agent.kind().word {
        "opencode" => Some("opencode/log"),
        "altimate" => Some("altimate-code/log"),
        _ => None,
    }
}

/// Writes them anew; returns how far the processes have come.
pub fn write(folder: &Path) -> io::Result<Progress> {
    let lines = journal::read(&folder.join("journal"))?;
    let mut progress = Progress::default();
    let mut agents: BTreeMap<&str, (String, Vec<&Fact>)> = BTreeMap::new();
    for Line { place, said, .. } in &lines {
        let (name, facts) = agents.entry(place).or_default();
        match said {
            Said::Began { argv, .. } => {
                progress.began += 1;
                *name = argv.first().cloned().unwrap_or_default();
            }
            Said::What(What::Fact(fact)) => {
                progress.states(fact);
                facts.push(fact);
            }
            Said::Ended(_) => progress.ended += 1,
            Said::Killed { .. } | Said::Signals { .. } | Said::Wrote | Said::StdinOpen | Said::What(_) => {}
        }
    }
    let work = folder.join("work").canonicalize()?;
    let slug: String =
        work.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let projects = folder.join("home/projects").join(slug);
    std::fs::create_dir_all(&projects)?;
    for (place, (name, facts)) in &agents {
        if name.contains("claude") {
            fresh(&projects.join(format!("{place}.jsonl")), &transcript(facts))?;
        }
        // the first agent's, which alone has its log open
        let log = folder.join(if name.contains("altimate") { "altimate-code/log" } else { "opencode/log" });
        let file = log.join("rehang.log");
        if !place.contains('.') && file.is_file() {
            fresh(&file, &log_text(facts))?;
        }
    }
    Ok(progress)
}

/// A file is touched only if its text is another.
fn fresh(path: &Path, text: &str) -> io::Result<()> {
    match std::fs::read(path) {
        Ok(old) if old == text.as_bytes() => Ok(()),
        _ => std::fs::write(path, text),
    }
}

fn transcript(facts: &[&Fact]) -> String {
    let user = |content: Value| json!({ "type": "user", "message": { "role": "user", "content": content } });
    let said = |block: Value| json!({ "type": "assistant", "message": { "content": [block] } });
    let calls = |id: &str, name: &str, input: Value| {
        said(json!({ "type": "tool_use", "id": id, "name": name, "input": input }))
    };
    let result = |id: &str| user(json!([{ "type": "tool_result", "tool_use_id": id, "content": "" }]));
    let nested: Vec<&str> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::Session { id, parent } if !parent.is_empty() => Some(id.as_str()),
            _ => None,
        })
        .collect();
    let mut lines: Vec<Value> = Vec::new();
    for fact in facts {
        match fact {
            Fact::ModelAsked { .. } if lines.is_empty() => lines.push(user(json!("go"))),
            Fact::ModelDone { session, finish } if finish == "stop" && !nested.contains(&session.as_str()) => {
                lines.push(said(json!({ "type": "text", "text": "Done." })));
            }
            // its ask has the same call
            Fact::ToolBegan { tool, .. } if tool == "question" => {}
            Fact::ToolBegan { call, tool, .. } => lines.push(calls(call, tool, json!({}))),
            Fact::ToolEnded { call, .. } => lines.push(result(call)),
            Fact::Asked { id, kind: AskKind::Question, questions, .. } => {
                lines.push(calls(id, "AskUserQuestion", json!({ "questions": questions })));
            }
            Fact::Asked { id, permission, .. } => {
                lines.push(calls(id, permission.split([' ', '(']).next().unwrap_or_default(), json!({})));
            }
            Fact::AskEnded { id, .. } => lines.push(result(id)),
            _ => {}
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn log_text(facts: &[&Fact]) -> String {
    let lines = facts.iter().filter_map(|fact| {
        Some(match fact {
            Fact::Asked { id, kind: AskKind::Question, .. } => {
                format!("INFO  +1ms service=question id={id} questions=1 asking\n")
            }
            Fact::Asked { id, permission, .. } => {
                let name = permission.split(' ').next().unwrap_or_default();
                format!("INFO  +1ms service=permission id={id} permission={name} patterns=[] asking\n")
            }
            Fact::AskEnded { id, .. } => format!("INFO  +1ms service=question requestID={id} rejected\n"),
            Fact::Busy { busy: false, .. } => "INFO  +1ms service=bus type=session.idle publishing\n".to_owned(),
            _ => return None,
        })
    });
    lines.collect()
}
