//! How long a release waits: the limits that follow from its rows in virtual time.
//!
//! Invariant: a limit is computed from one row, never written down beside it. Of rows on the wall clock none is computed: a
//! window or a deadline ends them.

use crate::{Compat, Evidence, Row};
use rehang_words::{OutcomeKind, Span};
use schemars::JsonSchema;
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a release waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The first byte of a response whose head has arrived.
    FirstByte,
    /// The rest of a stream that stops.
    Stream,
    /// A command of the bash tool that never ends.
    Tool,
    /// The answer to a question of the model.
    Question,
    /// A permission for a command.
    Permission,
    /// A tool server that never answers `initialize`.
    McpStart,
    /// A tool server that never answers a call.
    McpCall,
    /// A hook of the session's start that never ends.
    Hook,
    /// A model that answers each request with status 500.
    Retry,
    /// Its own end, while a process of a command is still alive.
    Shutdown,
}

/// A limit of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit<'c> {
    /// What it waits for.
    pub kind: LimitKind,
    /// How long.
    pub found: Found,
    /// The row that it follows from; `None` if there is none.
    pub row: Option<&'c Row>,
}

/// How long a release waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// It goes on, or ends, after this long.
    After(Span),
    /// It was alive after this long, by timers of its own.
    NoneIn(Span),
    /// Nothing can ever end the wait: each thread waits for another one, and no timer is left.
    Deadlock,
    /// It asks its model again and again.
    Loops,
    /// Neither an end nor a proof: why.
    Undecided(String),
    /// It was not tried: why.
    NotTried(String),
}

/// Why a limit of an agent has no row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NotTried {
    /// The agent.
    pub agent: String,
    /// The limit.
    pub limit: LimitKind,
    /// Why.
    pub because: String,
}

impl LimitKind {
    /// All of them, in the order of a run.
    pub const ALL: [LimitKind; 10] = [
        LimitKind::McpStart,
        LimitKind::Hook,
        LimitKind::FirstByte,
        LimitKind::Stream,
        LimitKind::Retry,
        LimitKind::Question,
        LimitKind::Permission,
        LimitKind::Tool,
        LimitKind::McpCall,
        LimitKind::Shutdown,
    ];

    /// What it is called.
    pub fn title(self) -> &'static str {
        match self {
            Self::FirstByte => "first byte",
            Self::Stream => "stream",
            Self::Tool => "tool",
            Self::Question => "question",
            Self::Permission => "permission",
            Self::McpStart => "MCP start",
            Self::McpCall => "MCP call",
            Self::Hook => "hook",
            Self::Retry => "retry",
            Self::Shutdown => "shutdown",
        }
    }

    /// What the release waits for.
    pub fn waits_for(self) -> &'static str {
        match self {
            Self::FirstByte => "the first byte of a response of the model",
            Self::Stream => "the rest of a stream of the model that stops",
            Self::Tool => "a command that never ends, to which the model gave no time limit",
            Self::Question => "an answer to a question of the model, with nobody there",
            Self::Permission => "a permission for a command, with nobody there",
            Self::McpStart => "a tool server that never answers `initialize`",
            Self::McpCall => "a tool server that never answers a call",
            Self::Hook => "a hook of the session's start that never ends",
            Self::Retry => "a model that answers each request with status 500: until it gives up",
            Self::Shutdown => "its own end, while a process that a command left is alive",
        }
    }

    /// The scenario of `scenarios/upstream` that shows it, without a variant.
    pub fn scenario(self) -> &'static str {
        match self {
            Self::FirstByte => "model-silent-once",
            Self::Stream => "stream-stalled",
            Self::Tool => "bash-no-timeout",
            Self::Question => "question",
            Self::Permission => "bash-permission",
            Self::McpStart => "tool-server-mute-at-start",
            Self::McpCall => "tool-server-mute-at-call",
            Self::Hook => "hook-never-ends",
            Self::Retry => "model-500",
            Self::Shutdown => "bash-leaves-a-process",
        }
    }

    /// The limit that a row shows: the row ran in virtual time without a terminal, or says why it could not run.
    fn of(self, row: &Row) -> Option<Found> {
        let is_scenario = row.scenario.split('[').next() == Some(self.scenario()) && row.terminal == "null";
        // rows of earlier versions of rehang do not say when the release asked its model
        let is_timed =
            row.virtual_time.is_some() && (matches!(self, Self::McpStart | Self::Hook) || !row.asked.is_empty());
        if !is_scenario || row.outcome.is_some() && !is_timed {
            return None;
        }
        Some(self.found(row))
    }

    fn found(self, row: &Row) -> Found {
        let after = |ms: u64| Found::After(Span::ms(ms));
        // a row that did not play its scenario to the end has seen the limit if the release asked its model again
        let went_on = match self {
            Self::McpStart | Self::Hook => row.startup_ms,
            Self::Retry | Self::Shutdown => None,
            _ => row.asked.get(1).copied(),
        };
        match (went_on, row.outcome, row.evidence) {
            (Some(ms), ..) => after(ms),
            (None, None, _) => Found::NotTried(row.detail.clone()),
            (None, Some(OutcomeKind::Undecided | OutcomeKind::Waiting), _) => Found::Undecided(row.detail.clone()),
            (None, _, Evidence::Proved) => Found::Deadlock,
            (None, _, Evidence::Horizon(until)) => Found::NoneIn(until),
            (None, _, Evidence::Repeats(_)) => Found::Loops,
            (None, Some(_), _) if self == Self::Shutdown => {
                after(row.ms.saturating_sub(row.asked.last().copied().unwrap_or_default()))
            }
            (None, Some(_), _) => after(row.ms),
        }
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // the answer to a call comes within milliseconds of virtual time
            Self::After(span) if span.as_ms() < 1_000 => f.write_str("at once"),
            Self::After(span) => write!(f, "{} s", (span.as_ms() + 500) / 1_000),
            Self::NoneIn(until) => write!(f, "none in {until}"),
            Self::Deadlock => f.write_str("proved deadlock"),
            Self::Loops => f.write_str("asks again and again"),
            Self::Undecided(why) => write!(f, "undecided: {why}"),
            Self::NotTried(because) => write!(f, "not tried: {because}"),
        }
    }
}

impl Compat {
    /// The limits of a release, in the order of [`LimitKind::ALL`].
    pub fn limits(&self, agent: &str, version: &str) -> Vec<Limit<'_>> {
        let rows = self.rows.iter().filter(|row| row.agent == agent && row.version == version);
        let rows: Vec<&Row> = rows.collect();
        let one = |kind: LimitKind| {
            let seen = rows.iter().find_map(|row| Some((kind.of(row)?, *row)));
            if let Some((found, row)) = seen {
                return Limit { kind, found, row: Some(row) };
            }
            let known = self.not_tried.iter().find(|not| not.agent == agent && not.limit == kind);
            let because = known.map_or("no row has it", |not| not.because.as_str());
            Limit { kind, found: Found::NotTried(because.to_owned()), row: None }
        };
        LimitKind::ALL.into_iter().map(one).collect()
    }

    /// The releases whose limits were measured, by agent and version, the oldest first: each has a row of
    /// [`LimitKind::FirstByte`].
    pub fn measured(&self) -> Vec<(&str, &str)> {
        let of = |row: &&Row| row.scenario == LimitKind::FirstByte.scenario() && row.virtual_time.is_some();
        let all: BTreeSet<_> = self
            .rows
            .iter()
            .filter(of)
            .map(|row| (&*row.agent, Version::parse(&row.version).ok(), &*row.version))
            .collect();
        all.into_iter().map(|(agent, _, version)| (agent, version)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Key, VirtualTime};

    fn row(scenario: &str) -> Row {
        let name = |text: &str| text.to_owned();
        let key = Key { agent: name("mine"), version: name("1.0.0"), scenario: name(scenario), terminal: name("null") };
        let virtual_time = VirtualTime { repeatable: true, ..VirtualTime::default() };
        let outcome = Some(OutcomeKind::Completed);
        Row {
            outcome,
            evidence: Evidence::Exited,
            virtual_time: Some(virtual_time),
            ..Row::unrun(&key, "h", String::new())
        }
    }

    fn limit(kind: LimitKind, row: Row) -> String {
        let compat = Compat { rows: vec![row], ..Compat::default() };
        let all = compat.limits("mine", "1.0.0");
        all.iter().find(|limit| limit.kind == kind).map(|limit| limit.found.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_limit_is_the_time_until_the_release_goes_on() {
        let tool = Row { asked: vec![0, 10_150], ms: 15_150, ..row("bash-no-timeout") };
        assert_eq!(limit(LimitKind::Tool, tool), "10 s");
        let silent = Row { asked: vec![0], ms: 300_000, ..row("model-silent-once") };
        assert_eq!(limit(LimitKind::FirstByte, silent), "300 s");
        let retries = Row { asked: vec![0, 500, 1_500], ms: 187_600, ..row("model-500") };
        assert_eq!(limit(LimitKind::Retry, retries), "188 s");
        let start = Row { startup_ms: Some(60_000), ms: 3, ..row("tool-server-mute-at-start") };
        assert_eq!(limit(LimitKind::McpStart, start), "60 s");
        let end = Row { asked: vec![0, 20], ms: 5_020, ..row("bash-leaves-a-process") };
        assert_eq!(limit(LimitKind::Shutdown, end), "5 s");
        let at_once = Row { asked: vec![0, 1], ms: 0, ..row("bash-leaves-a-process") };
        assert_eq!(limit(LimitKind::Shutdown, at_once), "at once", "two clocks may be a millisecond apart");
        assert_eq!(limit(LimitKind::Question, Row { asked: vec![0, 1], ..row("question") }), "at once");
    }

    #[test]
    fn what_has_no_limit_says_how_that_is_known() {
        let earlier = Row { ms: 5_000, ..row("question") };
        assert_eq!(limit(LimitKind::Question, earlier), "not tried: no row has it");
        let of = |evidence, outcome| Row { evidence, outcome: Some(outcome), asked: vec![0], ..row("question") };
        let is = |row| limit(LimitKind::Question, row);
        assert_eq!(is(of(Evidence::Horizon(Span::hours(24)), OutcomeKind::NoEnd)), "none in 24h");
        assert_eq!(is(of(Evidence::Proved, OutcomeKind::Hung)), "proved deadlock");
        assert_eq!(is(of(Evidence::Repeats(40), OutcomeKind::Hung)), "asks again and again");
        let undecided = Row { detail: "no proof".to_owned(), ..of(Evidence::Undecided, OutcomeKind::Undecided) };
        assert_eq!(is(undecided), "undecided: no proof");
        let unrun =
            Row { outcome: None, detail: "it has no tools".to_owned(), evidence: Evidence::None, ..row("question") };
        assert_eq!(is(unrun), "not tried: it has no tools");
    }

    #[test]
    fn a_row_of_the_wall_clock_shows_no_limit() {
        let wall = Row { virtual_time: None, ms: 10_000, ..row("question") };
        assert_eq!(limit(LimitKind::Question, wall), "not tried: no row has it");
        assert_eq!(
            limit(LimitKind::Question, Row { terminal: "tty".to_owned(), ..row("question") }),
            "not tried: no row has it"
        );
    }
}
