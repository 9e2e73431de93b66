//! A hang of a real release as the text of an issue: what happens, since when, and a script that shows it without rehang.
//!
//! Invariants: the text says of the release only what rows of `compat.json` say; a cell whose hang cannot be shown by a
//! script of [`LINES_MAX`] lines is refused with a reason.

mod model;
mod refused;
mod script;
mod shell;
mod steps;

pub use model::{TOLD, program};
pub use refused::Refused;
pub use script::LINES_MAX;
pub use shell::PORT;

use rehang_agents::{Agent, Version};
use rehang_compat::{Compat, Evidence, Found, LimitKind, Row};
use rehang_scenario::text::duration;
use rehang_scenario::{BlockedOn, Scenario, Terminal};
use std::fmt::Write;

/// The fewest seconds for which a script watches a release: several times the window of a row on the wall clock (10 s), and as
/// long again as the slowest start that was seen on a busy machine (56 s).
/// room for the start of a release on a slow machine.
const SECONDS_MIN: u64 = 120;
/// The most: who runs a script waits for it.
const SECONDS_MAX: u64 = 900;
/// What a script watches beyond a limit, in seconds.
const BEYOND: u64 = 60;
/// The most waits that a text quotes.
const WAITS_MAX: usize = 4;

/// What a text is made of.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    /// What is on record.
    pub compat: &'a Compat,
    /// The cell's row.
    pub row: &'a Row,
    /// The agent.
    pub agent: &'a Agent,
    /// The scenario.
    pub scenario: &'a Scenario,
    /// What the catalogue of mechanisms says against such a hang, if it says anything.
    pub prevent: Option<&'a str>,
}

impl Cell<'_> {
    /// The script alone.
    ///
    /// # Errors
    /// Why there is none.
    pub fn script(&self) -> Result<String, Refused> {
        let Cell { row, agent, scenario, .. } = *self;
        if !row.is_hang() {
            return Err(Refused::NoHang(row.verdict().to_string()));
        }
        let version = Version::parse(&row.version).map_err(|error| Refused::Cannot(error.to_string()))?;
        let recipe = agent.at(&version)?;
        let terminal = Terminal::ALL.into_iter().find(|terminal| terminal.name() == row.terminal);
        let terminal = terminal.ok_or_else(|| Refused::Cannot(format!("no terminal is called `{}`", row.terminal)))?;
        let what = format!("{} {}: {}.", agent.file.title, row.version, scenario.title);
        script::script(&recipe, scenario, terminal, self.seconds(), &what)
    }

    /// The whole text, in Markdown.
    ///
    /// # Errors
    /// Why there is none.
    pub fn text(&self) -> Result<String, Refused> {
        let script = self.script()?;
        let Cell { row, agent, scenario, .. } = *self;
        let (title, version) = (&agent.file.title, &row.version);
        let mut out = format!("# {title} {version} {}: {}\n", self.does(), lower(&scenario.title));
        let mut section = |head: &str, text: &str| {
            let _ = write!(out, "\n## {head}\n\n{text}\n");
        };
        section("What happens", &self.happens());
        section("What I expected", expected(row));
        section("Versions", &self.versions());
        let seconds = self.seconds();
        let script = format!(
            "It talks to a scripted model on 127.0.0.1 only; the key is a dummy. `RELEASE` may name the folder of an \
             installed release, with `node_modules` or `lib` in it.\n\n```bash\n{script}```\n\nIt prints `exit 124` (or 137) if \
             {title} was still running after {seconds} s. {}",
            self.why_so_long()
        );
        section("How to reproduce", &script);
        section("Where it waits", &self.waits());
        if let Some(prevent) = self.prevent {
            section("Workaround", &format!("Against hangs of this kind, in any agent: {}", printable(prevent)));
        }
        Ok(out)
    }

    /// How long the script watches the release, in seconds: longer than what the row has seen before it was sure, and longer
    /// than the limits of the same release that could end the wait.
    pub fn seconds(&self) -> u64 {
        let Row { ms, startup_ms, evidence, .. } = self.row;
        let seen = match evidence {
            // the whole horizon was watched, in virtual time
            Evidence::Horizon(_) | Evidence::Repeats(_) => 0,
            // a window of the wall clock is no proof: a limit of minutes, such as that of a task in the background, may follow
            Evidence::Observed(_) => SECONDS_MAX,
            _ => ms.saturating_add(startup_ms.unwrap_or(0)).div_ceil(1_000) + BEYOND / 2,
        };
        let limit = self.limits().map(|(_, seconds)| seconds + BEYOND).max().unwrap_or(0);
        seen.max(limit).next_multiple_of(10).clamp(SECONDS_MIN, SECONDS_MAX)
    }

    /// The limits of this release for what the row waits for, in seconds.
    fn limits(&self) -> impl Iterator<Item = (LimitKind, u64)> {
        let kinds: &[LimitKind] = match BlockedOn::of(&self.row.detail) {
            Some(BlockedOn::Model) => &[LimitKind::FirstByte, LimitKind::Stream],
            Some(BlockedOn::Tool) => &[LimitKind::McpCall],
            Some(BlockedOn::Bash | BlockedOn::Pipe | BlockedOn::Child) => &[LimitKind::Tool],
            Some(BlockedOn::Exit) => &[LimitKind::Shutdown],
            _ => &[],
        };
        let all = self.compat.limits(&self.row.agent, &self.row.version);
        all.into_iter().filter(|limit| kinds.contains(&limit.kind)).filter_map(|limit| match limit.found {
            // what goes on at once has no limit to speak of
            Found::After(span) if span.as_ms() >= 1_000 => Some((limit.kind, span.as_ms().div_ceil(1_000))),
            _ => None,
        })
    }

    fn why_so_long(&self) -> String {
        let seconds = self.seconds();
        let limits: Vec<String> =
            self.limits().map(|(kind, limit)| format!("{limit} s for {}", kind.waits_for())).collect();
        let spent = self.row.ms.saturating_add(self.row.startup_ms.unwrap_or(0)).div_ceil(1_000);
        match limits.as_slice() {
            _ if seconds == SECONDS_MAX && spent > SECONDS_MAX => {
                format!(
                    "That is less than the {spent} s that were watched in virtual time: it is as long as somebody waits."
                )
            }
            _ if matches!(self.row.evidence, Evidence::Observed(_)) => format!(
                "That is much longer than the {spent} s for which it was watched here: it may have a limit of its own beyond them."
            ),
            [] if seconds > SECONDS_MIN => {
                format!("That is longer than the {spent} s after which it was found to hang.")
            }
            [] => "A healthy run takes a few seconds.".to_owned(),
            limits => {
                format!("That is longer than the limits of this release that were measured: {}.", limits.join("; "))
            }
        }
    }

    fn does(&self) -> &'static str {
        match self.row.evidence {
            Evidence::Repeats(_) => "asks its model without end",
            Evidence::Proved | Evidence::Horizon(_) => "does not end",
            // a limit of its own may follow
            _ => "was not seen to end",
        }
    }

    fn happens(&self) -> String {
        let Cell { row, agent, scenario, .. } = *self;
        let title = &agent.file.title;
        let on = match row.terminal.as_str() {
            "null" => "stdin is `/dev/null`",
            "pipe" => "stdin is a pipe that stays open",
            _ => "it runs on a terminal at which nobody types",
        };
        let mut out = format!("{}: {on}.", sentence(&scenario.title));
        if let Some(about) = &scenario.about {
            let _ = write!(out, " {}", one_line(about));
        }
        let waits = match BlockedOn::of(&row.detail) {
            Some(BlockedOn::Exit) => " It has given its result, and does not exit.".to_owned(),
            on => on.and_then(waits_for).map(|waits| format!(" It waits for {waits}.")).unwrap_or_default(),
        };
        let _ = write!(out, "\n\n{title} {}.{waits} ", self.does());
        let after = duration(row.ms);
        out.push_str(&match row.evidence {
            Evidence::Proved => format!(
                "That is proved, {after} after its first request to the model (in virtual time): each thread waits for \
                 another one or for a message that nobody is left to send, and no timer is left."
            ),
            Evidence::Horizon(until) => format!(
                "In virtual time it was still alive after {until}: timers of its own go on, and none of them ends the wait."
            ),
            Evidence::Observed(window) => {
                format!("It was watched on the wall clock until nothing had moved for {window}; longer waits were not tried.")
            }
            Evidence::Deadline => format!("It was watched on the wall clock for {after}, and was still waiting then."),
            Evidence::Repeats(times) => format!(
                "It asked its model {times} times more than the scenario needs, within {after}; then it was stopped from outside."
            ),
            _ => format!("It was watched for {after}."),
        });
        if let Some(told) = row.told.first() {
            let _ = write!(out, "\n\nThe first result of a tool that it sent to its model:\n\n    {}", one_line(told));
        }
        out
    }

    fn versions(&self) -> String {
        let Cell { row, agent, compat, .. } = *self;
        let title = &agent.file.title;
        let package = compat.release(&row.agent, &row.version);
        let package = package.map(|release| format!(" (`{}`)", release.package)).unwrap_or_default();
        let mut out = format!("- {title} {}{package}, on Linux; tried on {}", row.version, row.day);
        let same = |other: &&Row| {
            other.agent == row.agent
                && other.scenario == row.scenario
                && other.terminal == row.terminal
                && other.version != row.version
        };
        for other in compat.rows.iter().filter(same) {
            if other.outcome.is_some() {
                let _ = write!(out, "\n- {title} {}: {} (tried on {})", other.version, other.verdict(), other.day);
            }
        }
        let claims = compat.claims.iter().filter(|claim| {
            claim.agent == row.agent && claim.scenario == row.scenario && claim.terminal == row.terminal
        });
        for boundary in claims.filter_map(|claim| claim.boundary.as_ref()) {
            let _ = write!(out, "\n- the outcome changes between {} and {}", boundary.older, boundary.newer);
        }
        out
    }

    fn waits(&self) -> String {
        let Row { waits, virtual_time, command, .. } = self.row;
        let mut out =
            "What its threads did at the end of the run (program/thread: system call, and for how long):\n".to_owned();
        for wait in waits.iter().take(WAITS_MAX) {
            let wait =
                wait.replace("fake-tool/fake-tool", "the command").replace("fake-mcp/fake-mcp", "the tool server");
            let _ = write!(out, "\n    {}", printable(&wait));
        }
        if let Some(lives) = virtual_time.as_ref().and_then(|time| time.lives_by.first()) {
            let _ = write!(out, "\n\nThe timer that keeps it alive: {}.", printable(lives));
        }
        let _ = write!(
            out,
            "\n\nWhile the script runs, `ps -eLo pid,comm,wchan:24,args` shows the same. Found with rehang: `{}`.",
            printable(command)
        );
        out
    }
}

/// What a release that is blocked on this waits for.
fn waits_for(on: BlockedOn) -> Option<&'static str> {
    Some(match on {
        BlockedOn::Question => "an answer to a question of the model, and nobody is there",
        BlockedOn::Permission => "a permission that nobody can give",
        BlockedOn::Stdin => "the end of its stdin, or more of it",
        BlockedOn::Tty => "somebody at its terminal",
        BlockedOn::Pipe => "the end of a pipe that another process holds open",
        BlockedOn::Bash => "a command that it started for the model",
        BlockedOn::Model => "the response of the model",
        BlockedOn::Tool => "the answer of a tool server",
        BlockedOn::Child => "a process that it started",
        _ => return None,
    })
}

/// What a release should do instead.
fn expected(row: &Row) -> &'static str {
    if matches!(row.evidence, Evidence::Repeats(_)) {
        return "After some requests without progress it gives up and ends with an error.";
    }
    match BlockedOn::of(&row.detail) {
        Some(BlockedOn::Question | BlockedOn::Permission) => {
            "Without anybody to answer, it refuses, tells its model so, and goes on; or it ends with an error after a limit."
        }
        Some(BlockedOn::Stdin) => {
            "It starts with the prompt of its command line, and does not wait for the end of stdin."
        }
        Some(BlockedOn::Tty) => "It starts with the prompt of its command line, or ends with an error after a limit.",
        Some(BlockedOn::Pipe) => "The tool's time limit ends the call also if another process still holds its pipes.",
        Some(BlockedOn::Bash) => "The command's time limit ends the command, and the run goes on.",
        Some(BlockedOn::Model) => "It gives up the response after a limit, and asks again or ends with an error.",
        Some(BlockedOn::Tool) => "It gives up the call after a limit, tells its model so, and goes on.",
        Some(BlockedOn::Exit) => "After its result it ends.",
        _ => "It ends.",
    }
}

/// A title as the middle of a sentence: acronyms keep their capitals.
fn lower(title: &str) -> String {
    let mut chars = title.chars();
    match (chars.next(), chars.next()) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            format!("{}{}", first.to_lowercase(), &title[first.len_utf8()..])
        }
        _ => title.to_owned(),
    }
}

fn sentence(title: &str) -> String {
    title.trim_end_matches('.').to_owned()
}

fn one_line(text: &str) -> String {
    printable(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Without characters that a terminal obeys.
fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '·' } else { c }).collect()
}
