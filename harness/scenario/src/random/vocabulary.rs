//! What a random scenario is made of: the words that a strategy or an agent looks for.
//!
//! Invariant: this is the vocabulary of the format and of the agents. It never says which of them belong together: a
//! search finds that.

use crate::time::Span;

/// Labels, questions, commands, what is said and printed: texts that a strategy matches, and unrelated words that
/// contain them.
pub const TEXTS: [&str; 32] = [
    "no",
    "No",
    "yes",
    "Cancel",
    "cancel",
    "Snowflake",
    "Annotate",
    "Knowledge",
    "Profile only",
    "skip",
    "Stop",
    "abort",
    "decline",
    "first",
    "last",
    "First",
    "Approve",
    "Deny",
    "sqlite",
    "postgres",
    "make",
    "npm ci",
    "working",
    "done",
    "rate limit",
    "429",
    "quota exceeded",
    "retrying",
    "Answer questions?",
    "Ok to proceed? (y) ",
    "{answer}",
    "",
];
/// Lines that are messages to a reader of an agent's stdout, and lines that a person types.
pub const LINES: [&str; 7] = [
    "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_1\",\"content\":\"Exit code 1\",\"is_error\":true}]}}",
    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"done\"}",
    "{\"type\":\"system\"}",
    "{\"type\":",
    "{}",
    "TERMINAL=completed",
    "\u{1b}[2J",
];
/// Keys and lines that somebody types.
pub const TYPED: [&str; 7] = ["y\n", "\n", "1\n", "\u{3}", "\u{4}", "more", "{\"type\":\"keep_alive\"}\n"];
/// Variables that a persona, a strategy or a tool reads, with what they take.
pub const ENV: [(&str, &str); 17] = [
    ("ALTIMATE_NON_INTERACTIVE", "1"),
    ("ALTIMATE_NON_INTERACTIVE", "0"),
    ("ALTIMATE_NON_INTERACTIVE", ""),
    ("ALTIMATE_FORCE_INTERACTIVE", "1"),
    ("ALTIMATE_AUTO_ANSWER", "first"),
    ("ALTIMATE_AUTO_ANSWER", "last"),
    ("ALTIMATE_AUTO_ANSWER", "skip"),
    ("ALTIMATE_AUTO_ANSWER", "Cancel"),
    ("ALTIMATE_STDIN_TIMEOUT_MS", "500"),
    ("BASH_MAX_TIMEOUT_MS", "14400000"),
    ("BASH_MAX_TIMEOUT_MS", "36000000"),
    ("BASH_DEFAULT_TIMEOUT_MS", "14400000"),
    ("BASH_DEFAULT_TIMEOUT_MS", "1000"),
    ("OPENCODE_CLIENT", "app"),
    ("OPENCODE_CLIENT", "serve"),
    ("OPENCODE_ENABLE_QUESTION_TOOL", "1"),
    ("LANG", "C"),
];
/// Events of opencode and its forks; those that most clients wait for are listed more than once.
pub const EVENTS: [&str; 17] = [
    "question.asked",
    "question.asked",
    "question.asked",
    "permission.asked",
    "permission.asked",
    "session.idle",
    "session.status",
    "message.part.updated",
    "message.updated",
    "question.replied",
    "question.rejected",
    "permission.replied",
    "session.created",
    "session.error",
    "server.heartbeat",
    "session.blocker.upserted",
    "session.blocker.removed",
];
/// Routes that a client or a strategy asks; those that most of them ask are listed more than once.
pub const PATHS: [&str; 11] = [
    "/question",
    "/question",
    "/question",
    "/permission",
    "/blocker",
    "/external-result",
    "/session/*",
    "/session/ses_1/message*",
    "/session/ses_1/abort",
    "/session/status",
    "*",
];
/// Processes by their roles: the agent, its children, theirs.
pub const ROLES: [&str; 4] = ["agent", "agent.1", "agent.2", "agent.1.1"];
/// Permissions that are asked for.
pub const PERMISSIONS: [&str; 4] = ["bash", "external_directory", "edit", "webfetch"];
/// Tools that start no process.
pub const TOOLS: [&str; 3] = ["write", "edit", "webfetch"];
/// HTTP statuses; 0 is a connection that is closed.
pub const STATUSES: [u16; 7] = [400, 401, 404, 429, 500, 503, 529];

/// Times that are short beside every limit.
pub const SHORT: [Span; 8] = [
    Span::ZERO,
    Span::ms(1),
    Span::ms(500),
    Span::secs(1),
    Span::secs(2),
    Span::secs(5),
    Span::secs(10),
    Span::secs(20),
];
/// The agents' own limits: the time limit of opencode's bash tool, and when its POST is cut.
pub const LIMITS: [Span; 2] = [Span::secs(120), Span::secs(300)];
/// Beyond every limit of a seed system.
pub const LONGEST: Span = Span::hours(6);
