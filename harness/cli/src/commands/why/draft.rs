//! A scenario from a diagnosis: what hangs the same way.
//!
//! Invariant: every draft is a right file (`rehang check`), and without a strategy it hangs on the same thing as the
//! process. If the fakes cannot play it, an error says so, and no file is written.

use rehang_evidence::{
    Diagnosis, Look, Verdict,
    data::{Agent, Ask},
};

/// The draft, as TOML.
///
/// # Errors
/// It does not hang; the fakes cannot play what it hangs on.
pub fn draft(look: &Look) -> Result<String, String> {
    let diagnosis = &look.diagnosis;
    if diagnosis.verdict != Verdict::Hung {
        return Err(format!("no scenario: {}", diagnosis.sentence));
    }
    let agent = look.after.agents.iter().find(|agent| agent.pid == diagnosis.pid);
    text(diagnosis, agent)
}

/// What is played, and how it is changed so that it does not hang.
struct Play {
    agent: String,
    more: String,
    terminal: &'static str,
    hung: &'static str,
    control: String,
}

fn text(diagnosis: &Diagnosis, agent: Option<&Agent>) -> Result<String, String> {
    let Some(play) = play(&diagnosis.signature, diagnosis.mechanism.as_deref(), agent) else {
        return Err(format!("no scenario: the fakes cannot play `{}`", diagnosis.signature));
    };
    let Play { agent, more, terminal, hung, control } = play;
    let mechanism = diagnosis.mechanism.as_deref().unwrap_or("Q1");
    let about = quoted(&format!("{}. Drafted by rehang why; {}", diagnosis.sentence, diagnosis.because));
    Ok(format!(
        "title     = {title}\nabout     = {about}\nmechanism = \"{mechanism}\"\nagent     = {agent}\nterminals = [\"{terminal}\"]\n{more}\n\
         [[expect]]\nstrategies = [\"none\"]\noutcome    = {{ hung = \"{hung}\" }}\n\n\
         # what every other strategy does here is for you to say: rehang run --scenarios FILE names those that act\n\
         [[expect]]\noutcome    = \"as none\"\n\n[control]\n{control}\n",
        title = quoted(&format!("Seen on a machine: {}", diagnosis.signature)),
    ))
}

fn play(signature: &str, mechanism: Option<&str>, agent: Option<&Agent>) -> Option<Play> {
    let program = |steps: &str| format!("{{ program = [{steps}] }}");
    let plain = |steps: &str, terminal, hung, control: &str| {
        Some(Play { agent: program(steps), more: String::new(), terminal, hung, control: control.to_owned() })
    };
    let agentless = |steps: &str| format!("agent = {}", program(steps));
    let done = agentless(r#"{ print = "done" }"#);
    let claude = agent.is_some_and(|agent| agent.name == "claude");
    match signature {
        "stdin-open" if mechanism == Some("B1") => {
            plain(r#"{ run = [{ prompt = "Ok to proceed? (y) " }, "read-stdin"] }, { print = "done" }"#, "pipe", "stdin", r#"terminals = ["null"]"#)
        }
        "stdin-open" => plain(r#""read-stdin", { print = "done" }"#, "pipe", "stdin", r#"terminals = ["null"]"#),
        "tty-read" | "pager" | "editor" => {
            plain(r#"{ run = [{ ask-tty = "Password: " }] }, { print = "done" }"#, "tty", "tty", r#"terminals = ["null"]"#)
        }
        "sigttin" => plain(r#"{ print = "in the background" }, "read-stdin""#, "tty-background", "stopped", &done),
        "sigttou" => plain(r#"{ print = "in the background" }, "set-tty""#, "tty-background", "stopped", r#"terminals = ["tty"]"#),
        "stray-holds-pipe" => plain(r#"{ background = { name = "server", does = ["hold"] } }, { print = "done" }"#, "null", "pipe", &done),
        "stray-writes-pipe" => plain(
            r#"{ background = { name = "server", does = [{ every = { every = "5s", print = "GET / 200" } }] } }, { print = "done" }"#,
            "null",
            "pipe",
            &done,
        ),
        "stderr-undrained" => Some(Play {
            agent: program(r#"{ fill = { bytes = 65537, stderr = true } }, { print = "done" }"#),
            more: "faults    = [{ wrapper = \"ignores-stderr\" }]\n".to_owned(),
            terminal: "null",
            hung: "pipe",
            control: r#""agent.program.0.fill.bytes" = 1000"#.to_owned(),
        }),
        "stdout-undrained" => plain(r#"{ fill = { bytes = 69632 } }, { print = "done" }"#, "stdout-stopped", "pipe", r#"terminals = ["stdout-slow"]"#),
        "never-ends" => plain(r#"{ run = [{ print = "started" }, "hold"] }"#, "null", "child", &done),
        "alive-after-result" => plain(r#"{ result = { text = "done" } }, "hold""#, "null", "exit", &agentless(r#"{ result = { text = "done" } }"#)),
        // Claude Code gives up a stream without a byte after 300 s (1.0.128, 2.0.77, 2.1.329, measured): what keeps it for
        // ever are lines that only keep the stream alive
        "model-silent" if !claude => Some(silent(r#"{ opencode = { as = "1.2.15" } }"#, r#""stall""#)),
        "model-silent" | "peer-keepalive" => {
            Some(silent(r#"{ claude = { as = "2.0.77", mode = "json" } }"#, r#"{ keep-alive = "15s" }"#))
        }
        "no-connection" => Some(Play {
            agent: r#"{ claude = { as = "2.0.77", mode = "json" } }"#.to_owned(),
            more: "args      = [\"--dangerously-skip-permissions\"]\nturns     = [{ bash = { command = \"make\", does = [{ print = \"built\" }] } }, { say = \"Told: {answer}\" }]\nfaults    = [{ tool = { nth = 1, does = \"never-flips\" } }]\n".to_owned(),
            terminal: "null",
            hung: "bash",
            control: "faults = []".to_owned(),
        }),
        "tool-lost" if claude && mechanism == Some("X2") => Some(tool_server()),
        "host-silent" => Some(mute_host()),
        "question-open" | "permission-open" if claude => Some(permission_of_claude()),
        "question-open" => Some(question(agent.and_then(|agent| agent.asks.first()), mechanism == Some("Q2"))),
        "permission-open" => Some(permission(mechanism == Some("P2"))),
        _ => None,
    }
}

/// A model that breaks off in the middle of an answer.
fn silent(agent: &str, does: &str) -> Play {
    Play {
        agent: agent.to_owned(),
        more: format!(
            "turns     = [{{ say = \"Half of \" }}, {{ say = \"an answer.\" }}]\nfaults    = [{{ model = {{ after = 1, does = {does} }} }}]\n"
        ),
        terminal: "null",
        hung: "model",
        control: "faults = []".to_owned(),
    }
}

/// A tool server that takes a call and does not answer it.
fn tool_server() -> Play {
    let turns = r#"[{ permit = { tool = "mcp__db__query", permission = "mcp" } }, { say = "Told: {answer}" }]"#;
    let server = r#"{ output = "3 rows", fault = { at = "call", does = "stall" } }"#;
    Play {
        agent: r#"{ claude = { as = "2.0.77", mode = "json" } }"#.to_owned(),
        more: format!(
            "args      = [\"--allowedTools\", \"mcp__db__query\"]\nturns     = {turns}\ntool-server = {server}\n"
        ),
        terminal: "null",
        hung: "tool",
        control: r#""tool-server.fault.does" = { pause = "1s" }"#.to_owned(),
    }
}

/// A host that names a callback as a hook and does not answer it.
fn mute_host() -> Play {
    let named = |hooks: &str| {
        let request = format!(r#"{{"subtype":"initialize","hooks":{hooks}}}"#);
        format!(r#"'{{"type":"control_request","request_id":"c1","request":{request}}}'"#)
    };
    let hooks = named(r#"{"PreToolUse":[{"matcher":"Bash","hookCallbackIds":["before"]}]}"#);
    let turns = r#"[{ bash = { command = "make", does = [{ print = "built" }] } }, { say = "Done." }]"#;
    Play {
        agent: r#"{ claude = { as = "1.0.128", mode = "stream-json" } }"#.to_owned(),
        // the model takes its time, so that the host's word comes before the command
        more: format!(
            "turns     = {turns}\nfaults    = [{{ model = {{ response = 1, does = {{ pause = \"3s\" }} }} }}]\n\
             people    = [{{ via = \"stdin\", sees = \"clock\", after = \"1s\", does = {{ type = {hooks} }} }}]\n"
        ),
        terminal: "pipe",
        hung: "message",
        control: format!("\"people.0.does.type\" = {}", named("null")),
    }
}

fn permission_of_claude() -> Play {
    let turns = r#"[{ bash = { command = "touch out.txt", asks = "bash", does = [{ print = "made" }] } }, { say = "Told: {answer}" }]"#;
    Play {
        agent: r#"{ claude = { as = "2.0.77", mode = "stream-json" } }"#.to_owned(),
        more: format!("args      = [\"--permission-prompt-tool\", \"stdio\"]\nturns     = {turns}\n"),
        terminal: "pipe",
        hung: "permission",
        control: r#"people = [{ via = "stdin", sees = "messages", after = "2s", does = "allow" }]"#.to_owned(),
    }
}

fn question(ask: Option<&Ask>, nested: bool) -> Play {
    let text = ask.map(|ask| ask.text.as_str()).filter(|text| !text.is_empty()).unwrap_or("Shall I go on?");
    let options = ask.map(|ask| ask.options.as_slice()).filter(|options| !options.is_empty());
    let both = ["Yes".to_owned(), "No".to_owned()];
    let options: Vec<String> =
        options.unwrap_or(&both).iter().map(|label| format!("{{ label = {} }}", quoted(label))).collect();
    let asks = format!("{{ ask = [{{ question = {}, options = [{}] }}] }}", quoted(text), options.join(", "));
    let turns = if nested { below(&asks) } else { asks };
    Play {
        agent: r#"{ opencode = { as = "1.2.15", mode = "serve" } }"#.to_owned(),
        more: format!("turns     = [{turns}, {{ say = \"Done.\" }}]\n"),
        terminal: "null",
        hung: "question",
        control: "turns = [{ say = \"Done.\" }]".to_owned(),
    }
}

fn permission(nested: bool) -> Play {
    let bash = |asks: &str| format!("{{ bash = {{ command = \"make\", {asks}does = [{{ print = \"built\" }}] }} }}");
    let asks = bash("asks = \"bash\", ");
    let turns = if nested { below(&asks) } else { asks };
    Play {
        agent: r#"{ opencode = { as = "1.18.33", mode = "serve" } }"#.to_owned(),
        more: format!("turns     = [{turns}, {{ say = \"Done.\" }}]\n"),
        terminal: "null",
        hung: "permission",
        control: format!("turns = [{}, {{ say = \"Done.\" }}]", bash("")),
    }
}

/// The same in a subagent.
fn below(turn: &str) -> String {
    format!("{{ task = {{ description = \"a part of it\", turns = [{turn}, {{ say = \"Told.\" }}] }} }}")
}

/// A TOML basic string: its escapes are JSON's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text.replace('\u{7f}', " ")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::select::Select;
    use rehang_evidence::{Limits, Snapshot, diagnose};
    use rehang_scenario::Stage;

    /// Every signature that can be drafted, with the mechanisms that it can have.
    const DRAFTS: [(&str, &str, &str); 26] = [
        ("stdin-open", "S1", ""),
        ("stdin-open", "B1", ""),
        ("tty-read", "B2", ""),
        ("pager", "B3", ""),
        ("editor", "B4", ""),
        ("sigttin", "T1", ""),
        ("sigttou", "T1", ""),
        ("stray-holds-pipe", "B6", ""),
        ("stray-writes-pipe", "B7", ""),
        ("stderr-undrained", "C1", ""),
        ("stdout-undrained", "C6", ""),
        ("stdout-undrained", "C2", ""),
        ("never-ends", "B5", ""),
        ("alive-after-result", "H1", "claude"),
        ("model-silent", "M1", "claude"),
        ("model-silent", "M1", "opencode"),
        ("peer-keepalive", "M2", "claude"),
        ("no-connection", "M8", "opencode"),
        ("tool-lost", "X2", "claude"),
        ("host-silent", "P4", "claude"),
        ("question-open", "Q1", "opencode"),
        ("question-open", "Q2", "opencode"),
        ("permission-open", "P1", "opencode"),
        ("permission-open", "P2", "opencode"),
        ("permission-open", "P3", "claude"),
        ("question-open", "Q1", "claude"),
    ];

    #[test]
    fn every_draft_is_right_and_hangs_on_sim() {
        let none = Snapshot::default();
        let folder = tempfile::tempdir().expect("a folder");
        for (signature, mechanism, agent) in DRAFTS {
            let mut diagnosis = diagnose(&none, &none, &Limits::default());
            diagnosis.verdict = Verdict::Hung;
            diagnosis.signature = signature.to_owned();
            diagnosis.mechanism = Some(mechanism.to_owned());
            diagnosis.sentence = "it hangs “so” \"quoted\" \\ here".to_owned();
            let ask =
                Ask { text: "Which \"database\"?".to_owned(), options: vec!["sqlite".to_owned()], ..Ask::default() };
            let agent = Agent { name: agent.to_owned(), asks: vec![ask], ..Agent::default() };
            let text = text(&diagnosis, Some(&agent)).expect("it can be drafted");
            let file = folder.path().join(format!("{signature}-{mechanism}-{}.toml", agent.name));
            std::fs::write(&file, &text).expect("written");
            let select = Select { scenarios: vec![file], strategy: vec!["none".to_owned()], ..Select::default() };
            let selected = select.select(&[Stage::Sim]).expect("selected");
            assert!(selected.problems.is_empty(), "{signature} {mechanism}: {:?}\n{text}", selected.problems);
            let mut world = |stage| rehang_runner::kernel::kernel(stage, std::path::Path::new("/nowhere"));
            for unit in &selected.units {
                for cell in rehang_runner::unit::run(unit, &mut world).cells {
                    let row = cell.row.unwrap_or_else(|| panic!("{signature}: {:?}\n{text}", cell.fault));
                    assert!(row.expected, "{signature} {mechanism}: {} {:?}\n{text}", row.outcome, row.blocked_on);
                }
            }
        }
    }

    #[test]
    fn what_the_fakes_cannot_play_is_said() {
        let none = Snapshot::default();
        let mut diagnosis = diagnose(&none, &none, &Limits::default());
        diagnosis.signature = "file-lock".to_owned();
        assert_eq!(text(&diagnosis, None), Err("no scenario: the fakes cannot play `file-lock`".to_owned()));
    }
}
