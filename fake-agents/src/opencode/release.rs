//! The differences between the releases, in one place: every other module asks here and names no version.
//!
//! Invariant: a release's behaviour is a function of its name alone.

use crate::ReleaseError;
use rehang_scenario::agents::{ALTIMATE, PAWWORK};
use rehang_scenario::{Agent, Span};
use rehang_wire::opencode::Numbers;

/// How a release writes its events and objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// 1.0.185 (recorded): `permission.updated`, one reply route, no question tool.
    V1_0,
    /// 1.2.15 (recorded) and 1.3.2, and the forks that branched off there.
    V1_2,
    /// 1.18.33 (recorded): events carry an id, objects carry cost and tokens.
    V1_18,
}

/// The project that made the build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavour {
    /// The upstream project.
    Opencode,
    /// The fork altimate-code.
    Altimate,
    /// The fork PawWork.
    Pawwork,
}

/// What happens to a tool that waits for a person when its session is aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abort {
    /// Nothing: the session says idle, the ask stays listed, the prompt's POST never ends (1.2.15, goldens 08, 09).
    Leaves,
    /// After [`ABORT_SETTLE_MS`] the tool part ends as an error; the ask stays listed (1.18.33, goldens 08, 09).
    Settles,
    /// The ask is rejected at once with a reason (PawWork 2837fabbb).
    Rejects,
}

/// How long 1.18.33 takes to settle an aborted turn, in milliseconds: goldens 08 and 09 show 0.26 to 0.29 s.
pub const ABORT_SETTLE_MS: u64 = 250;
/// The period of `server.heartbeat`, in milliseconds (goldens 08 and 09 of both versions).
pub const HEARTBEAT_MS: u64 = 10_000;
/// The bash tool's time limit if the model sets none, in milliseconds (`tool/bash.ts`).
pub const BASH_TIMEOUT_MS: u64 = 120_000;
/// How long after its limit the bash tool kills, in milliseconds (`tool/bash.ts`).
pub const BASH_TIMEOUT_SLACK_MS: u64 = 100;
/// The time between SIGTERM and SIGKILL to the tree (`shell.ts`, SIGKILL_TIMEOUT_MS).
const SIGKILL: Span = Span::ms(200);
/// The same in 1.18.33: a command that ignores SIGTERM ends 8.6 s after its begin where its limit is 5 s.
const SIGKILL_NEWEST: Span = Span::secs(3);
/// The most bytes that `metadata.output` of a bash tool holds (`tool/bash.ts`, MAX_METADATA_LENGTH).
pub const METADATA_MAX_BYTES: usize = 30_000;

/// How long 1.18.33 waits for the next byte of a model's stream (`chunkTimeout`; measured: it asks again 302 s after
/// the last one). Any byte counts. 1.0.185, 1.2.15 and 1.3.2 have no such limit: they still waited after eleven
/// minutes.
pub const SILENCE_MAX: Span = Span::secs(300);

/// How often 1.18.17 and later send a failed model request again (measured: 1.18.17 and 1.18.33 give up after their
/// sixth request; 1.18.16 goes on).
pub const RETRIES_MAX: u32 = 5;
/// The first release with that limit.
const RETRIES_SINCE: Numbers = (1, 18, 17);

/// The tools of 1.18.33 (recorded).
const TOOLS: &[&str] =
    &["bash", "edit", "glob", "grep", "invalid", "question", "read", "skill", "task", "todowrite", "webfetch", "write"];
/// The tools of 1.3.2 (recorded; the place of the question among them is read), also used for 1.1 and 1.2.
const TOOLS_OLD: &[&str] =
    &["invalid", "question", "bash", "read", "glob", "grep", "edit", "write", "task", "webfetch", "todowrite", "skill"];
/// The tools of 1.0.185 (recorded).
const TOOLS_FIRST: &[&str] =
    &["invalid", "bash", "read", "glob", "grep", "list", "edit", "write", "task", "webfetch", "todowrite", "todoread"];

/// A release, and how it behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// The project that made the build.
    pub flavour: Flavour,
    /// Its version, as it reports it.
    pub version: String,
    /// The dialect of its events and objects.
    pub dialect: Dialect,
    /// Whether it has a question tool at all.
    pub question_tool: bool,
    /// Whether `run` withholds the question tool from the model (boundary measured between 1.2.27 and 1.3.0).
    pub run_withholds_question: bool,
    /// Whether `run` rejects permissions by itself (measured: 1.0.185 hangs, 1.1.53 and later reject).
    pub run_rejects_permissions: bool,
    /// Whether `run` follows child sessions (`session.created.parentID`); older ones ignore their asks (#36868).
    pub run_follows_children: bool,
    /// Whether a tool's error reads `Error: …` (1.2.15; not in 1.3.2, which is recorded too).
    pub errors_say_so: bool,
    /// The tools that it offers, by name; the question if it is not withheld.
    pub tools: &'static [&'static str],
    /// Whether a reply to an unknown ask is a 404; older ones answer `true`.
    pub unknown_ask_is_404: bool,
    /// The status of a path that it does not know (recorded without a network, where older ones cannot ask the vendor's
    /// site for it; that of the forks is assumed).
    pub unknown_route: u16,
    /// Whether a rejected permission rejects the further asks of its session (recorded; not in 1.0.185).
    pub reject_reaches_others: bool,
    /// What happens to waiting tools on abort.
    pub abort: Abort,
    /// Whether a command that is aborted with its run is a call that has completed, and says so (recorded in
    /// acp's bash-cancel of 1.18.33; an error in the others).
    pub aborted_command_completes: bool,
    /// Whether a model's broken stream ends the tools that it began (newest `session/llm.ts`: the stream's scope holds
    /// their signal). In older ones they run on after the retry, and their results are not used
    /// (`session/processor.ts`).
    pub retry_stops_tools: bool,
    /// The time between SIGTERM and SIGKILL to the tree of a bash tool.
    pub sigkill: Span,
    /// How long a model's stream may be silent before its request counts as failed; `None`: for ever.
    pub silence_max: Option<Span>,
    /// How often a failed model request is sent again until the turn fails; `None`: for ever.
    pub retries_max: Option<u32>,
    /// The period of heartbeats on an event stream, in milliseconds.
    pub heartbeat_ms: Option<u64>,
    /// Whether a command that fails exits with 1 (recorded for `models nosuch`: 0 in 1.2.27, 1 in 1.18.33).
    pub fails_loudly: bool,
    /// The version's numbers, which determine its routes; for a fork, those of the release that it branched off from.
    pub numbers: Numbers,
}

impl Release {
    /// The release that a scenario names.
    ///
    /// # Errors
    /// It is not an agent of this family, or its version does not parse.
    pub fn of(agent: &Agent) -> Result<Release, ReleaseError> {
        match agent {
            Agent::Opencode(opencode) => Release::opencode(&opencode.release),
            Agent::Altimate(_) => Ok(Release::altimate(ALTIMATE.default_release)),
            Agent::Pawwork(_) => Ok(Release::pawwork(PAWWORK.default_release)),
            _ => Err(ReleaseError::Family),
        }
    }

    /// The same build with another version (`--as`).
    ///
    /// # Errors
    /// A version that does not parse.
    pub fn with_version(&self, version: &str) -> Result<Release, ReleaseError> {
        match self.flavour {
            Flavour::Opencode => Release::opencode(version),
            Flavour::Altimate => Ok(Release::altimate(version)),
            Flavour::Pawwork => Ok(Release::pawwork(version)),
        }
    }

    /// An upstream release: it behaves as the nearest measured one below it.
    ///
    /// # Errors
    /// A version that does not parse, or is older than 1.0.
    pub fn opencode(version: &str) -> Result<Release, ReleaseError> {
        let mut numbers = version.split('.').map(str::parse::<u32>);
        let (Some(Ok(major)), Some(Ok(minor)), patch) = (numbers.next(), numbers.next(), numbers.next()) else {
            return Err(ReleaseError::NoVersion(version.to_owned()));
        };
        if major < 1 {
            return Err(ReleaseError::TooOld(version.to_owned()));
        }
        let at = (major, minor);
        let dialect = match at {
            (1, 0) => Dialect::V1_0,
            _ if at < (1, 14) => Dialect::V1_2,
            _ => Dialect::V1_18,
        };
        let newest = dialect == Dialect::V1_18;
        let numbers = (major, minor, patch.and_then(Result::ok).unwrap_or(0));
        Ok(Release {
            flavour: Flavour::Opencode,
            version: version.to_owned(),
            dialect,
            question_tool: dialect > Dialect::V1_0,
            run_withholds_question: at >= (1, 3),
            run_rejects_permissions: at >= (1, 1),
            run_follows_children: newest,
            errors_say_so: at < (1, 3),
            tools: match dialect {
                Dialect::V1_0 => TOOLS_FIRST,
                Dialect::V1_2 => TOOLS_OLD,
                Dialect::V1_18 => TOOLS,
            },
            unknown_ask_is_404: newest,
            unknown_route: if newest { 200 } else { 500 },
            reject_reaches_others: dialect > Dialect::V1_0,
            abort: if newest { Abort::Settles } else { Abort::Leaves },
            aborted_command_completes: newest,
            retry_stops_tools: newest,
            sigkill: if newest { SIGKILL_NEWEST } else { SIGKILL },
            silence_max: (at >= (1, 18)).then_some(SILENCE_MAX),
            retries_max: (numbers >= RETRIES_SINCE).then_some(RETRIES_MAX),
            heartbeat_ms: (dialect > Dialect::V1_0).then_some(HEARTBEAT_MS),
            fails_loudly: newest,
            numbers,
        })
    }

    fn altimate(version: &str) -> Release {
        Release { flavour: Flavour::Altimate, version: version.to_owned(), ..Release::fork() }
    }

    fn pawwork(version: &str) -> Release {
        Release {
            flavour: Flavour::Pawwork,
            version: version.to_owned(),
            unknown_ask_is_404: true,
            abort: Abort::Rejects,
            retry_stops_tools: true,
            ..Release::fork()
        }
    }

    /// What the forks share with 1.2: they branched off before 1.3.
    fn fork() -> Release {
        Release {
            flavour: Flavour::Opencode,
            version: String::new(),
            dialect: Dialect::V1_2,
            question_tool: true,
            run_withholds_question: false,
            run_rejects_permissions: true,
            run_follows_children: false,
            errors_say_so: true,
            tools: TOOLS_OLD,
            unknown_ask_is_404: false,
            unknown_route: 404,
            reject_reaches_others: true,
            abort: Abort::Leaves,
            aborted_command_completes: false,
            retry_stops_tools: false,
            sigkill: SIGKILL,
            silence_max: None,
            retries_max: None,
            heartbeat_ms: Some(HEARTBEAT_MS),
            fails_loudly: false,
            numbers: (1, 2, 15),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::agents::OPENCODE;

    #[test]
    fn the_question_is_withheld_from_1_3_on() {
        let withholds = |v: &str| Release::opencode(v).unwrap().run_withholds_question;
        assert!(!withholds("1.2.27"));
        assert!(withholds("1.3.0"));
        assert!(withholds("1.18.33"));
    }

    #[test]
    fn a_version_must_parse() {
        assert!(Release::opencode("latest").is_err());
        assert!(Release::opencode("0.15.2").is_err());
    }

    #[test]
    fn who_gives_silence_up_is_known_to_whoever_writes_scenarios() {
        for kind in [&OPENCODE, &ALTIMATE, &PAWWORK] {
            for release in kind.releases.iter().chain([&kind.default_release]) {
                let mut agent = kind.default_agent();
                agent.set_release(release);
                let gives_up = Release::of(&agent).unwrap().silence_max.is_some();
                assert_eq!(agent.gives_silence_up(), gives_up, "{kind:?} {release}");
            }
        }
    }
}
