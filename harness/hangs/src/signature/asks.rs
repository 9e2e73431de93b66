//! The agent waits for a person, or for the program that runs it.

use super::{EndedBy, Facts, Owed, no_draft};
use crate::LimitClass::{ClosedIn, Held, Person};
use crate::Limits;
use crate::Mechanism::{P1, P2, P3, P4, Q1, Q2, X4, X5};
use crate::draft::{Play, Shown, quoted};
use rehang_words::{BlockedOn, Terminal};

/// Why an ask that nobody can answer has a short limit.
const NOBODY: &str = "it runs where nobody can answer: no terminal, no host, no server";
/// The same of an agent that a tool runs.
const NOBODY_BELOW: &str = "above the bash tools' own limits: an agent that a tool runs asks, and nobody can answer; the \
                            agent may end its tool";
/// Why an ask that somebody can answer has a person's time.
const SOMEBODY: &str = "somebody may come; the longest absence on record is 50 minutes";
/// The same of an agent below the agent.
const SOMEBODY_BELOW: &str = "somebody may come; also of a server of which the agent is a client";

pub(super) const QUESTION_OPEN: Facts = Facts {
    word: "question-open",
    called: "hung",
    means: "the agent has asked a question, and nobody answers; it reports so itself, by its server or its records",
    mechanisms: &[Q1, Q2],
    judged: &[BlockedOn::Question],
    owed: Owed::Person,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Person, "the agent asks, and nobody answers", SOMEBODY).certain(
        ClosedIn,
        "the agent asks, and it runs where nobody can answer",
        NOBODY,
    ),
    below: Limits::likely(
        Person,
        "an agent of which the agent is a client, or that it runs, asks, and nobody answers",
        SOMEBODY_BELOW,
    )
    .certain(Held, "an agent below the agent asks, and it runs where nobody can answer", NOBODY_BELOW),
    draft: |shown| Some(if shown.is_claude() { permission_of_claude() } else { question(shown) }),
};

pub(super) const PERMISSION_OPEN: Facts = Facts {
    word: "permission-open",
    called: "hung",
    means: "the agent has asked for a permission, and nobody answers; it reports so itself, by its server or its records",
    mechanisms: &[P1, P2, P3, X5],
    judged: &[BlockedOn::Permission],
    owed: Owed::Person,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Person, "the agent asks for a permission, and nobody answers", SOMEBODY).certain(
        ClosedIn,
        "the agent asks for a permission, and it runs where nobody can answer",
        NOBODY,
    ),
    below: Limits::likely(
        Person,
        "an agent of which the agent is a client, or that it runs, asks for a permission, and nobody answers",
        SOMEBODY_BELOW,
    )
    .certain(
        Held,
        "an agent below the agent asks for a permission, and it runs where nobody can answer",
        NOBODY_BELOW,
    ),
    draft: |shown| {
        Some(if shown.is_claude() { permission_of_claude() } else { permission(shown.mechanism == Some(P2)) })
    },
};

/// Why an agent that waits for its host has a person's time.
const HOST: &str = "its host may have shown a person what the agent asked it";

pub(super) const HOST_SILENT: Facts = Facts {
    word: "host-silent",
    called: "hung",
    means: "in the middle of a turn, the agent waits for a message of the program that runs it, and nothing else is under way",
    mechanisms: &[P4],
    judged: &[BlockedOn::Message],
    owed: Owed::Peer,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Person, "the agent waits for its host in the middle of a turn, and nothing comes", HOST),
    below: Limits::likely(Person, "an agent below the agent waits for its host in the middle of a turn", HOST),
    draft: |_| Some(mute_host()),
};

/// Why a log-in has a person's time.
const BROWSER: &str = "somebody may come, with a browser";

pub(super) const OAUTH_CALLBACK: Facts = Facts {
    word: "oauth-callback",
    called: "hung",
    means: "the agent listens at a port for a browser to come back from a log-in, and does nothing else",
    mechanisms: &[X4],
    judged: &[],
    owed: Owed::Person,
    ended_by: EndedBy::Neither,
    agent: Limits::likely(Person, "the agent waits for a log-in in a browser, and nobody comes", BROWSER),
    below: Limits::likely(Person, "a tool waits for a log-in in a browser, and nobody comes", BROWSER),
    draft: no_draft,
};

/// A question of opencode, in a subagent if the look named that.
fn question(shown: &Shown<'_>) -> Play {
    let text = if shown.question.is_empty() { "Shall I go on?" } else { shown.question };
    let both = ["Yes".to_owned(), "No".to_owned()];
    let options = if shown.options.is_empty() { &both } else { shown.options };
    let options: Vec<String> = options.iter().map(|label| format!("{{ label = {} }}", quoted(label))).collect();
    let asks = format!("{{ ask = [{{ question = {}, options = [{}] }}] }}", quoted(text), options.join(", "));
    let turn = if shown.mechanism == Some(Q2) { in_a_subagent(&asks) } else { asks };
    Play {
        agent: r#"{ opencode = { as = "1.2.15", mode = "serve" } }"#.to_owned(),
        more: format!("turns     = [{turn}, {{ say = \"Done.\" }}]\n"),
        terminal: Terminal::Null,
        hung: BlockedOn::Question,
        control: "turns = [{ say = \"Done.\" }]".to_owned(),
    }
}

/// A permission of opencode.
fn permission(is_nested: bool) -> Play {
    let bash = |asks: &str| format!("{{ bash = {{ command = \"make\", {asks}does = [{{ print = \"built\" }}] }} }}");
    let asks = bash("asks = \"bash\", ");
    let turn = if is_nested { in_a_subagent(&asks) } else { asks };
    Play {
        agent: r#"{ opencode = { as = "1.18.33", mode = "serve" } }"#.to_owned(),
        more: format!("turns     = [{turn}, {{ say = \"Done.\" }}]\n"),
        terminal: Terminal::Null,
        hung: BlockedOn::Permission,
        control: format!("turns = [{}, {{ say = \"Done.\" }}]", bash("")),
    }
}

fn permission_of_claude() -> Play {
    let turns = r#"[{ bash = { command = "touch out.txt", asks = "bash", does = [{ print = "made" }] } }, { say = "Told: {answer}" }]"#;
    Play {
        agent: r#"{ claude = { as = "2.0.77", mode = "stream-json" } }"#.to_owned(),
        more: format!("args      = [\"--permission-prompt-tool\", \"stdio\"]\nturns     = {turns}\n"),
        terminal: Terminal::Pipe,
        hung: BlockedOn::Permission,
        control: r#"people = [{ via = "stdin", sees = "messages", after = "2s", does = "allow" }]"#.to_owned(),
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
        terminal: Terminal::Pipe,
        hung: BlockedOn::Message,
        control: format!("\"people.0.does.type\" = {}", named("null")),
    }
}

/// The same turn in a subagent.
fn in_a_subagent(turn: &str) -> String {
    format!("{{ task = {{ description = \"a part of it\", turns = [{turn}, {{ say = \"Told.\" }}] }} }}")
}
