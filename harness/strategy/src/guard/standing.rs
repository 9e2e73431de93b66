//! What looks at the agent's processes find, for how long that has been so, and for how long it may be.
//!
//! Invariants: one look proves nothing: a finding must be the same, of the same process, at every look for as long as
//! its limit; a finding that has no limit here, or that is a guess, never ends a run. Each limit is above the longest
//! healthy run that is recorded beside it; [`CLOSED`] and [`STOPPED`] have no such record.

use super::parts::Parts;
use super::times::{After, Times};
use crate::Act;
use crate::canon::option;
use rehang_evidence::diagnosis::{Sure, Verdict};
use rehang_evidence::{Diagnosis, Pid};
use rehang_words::{Canon, Span, VTime};

/// How long nothing must have moved before the first look.
const FIRST: Span = Span::secs(10);

/// The time from one look to the next, by how long nothing else was found: a look costs some milliseconds.
fn every(unchanged: Span) -> Span {
    match unchanged {
        so_long if so_long < Span::mins(2) => Span::secs(10),
        so_long if so_long < Span::mins(20) => Span::secs(30),
        _ => Span::mins(2),
    }
}

/// How long a finding may last, and what is said of it.
#[derive(Debug, PartialEq, Eq)]
pub struct Limit {
    /// The signature of the finding, as `rehang why` names it: the cause of the end.
    pub signature: &'static str,
    /// Whether it is about the agent itself; otherwise about a process below it.
    pub root: bool,
    /// The least certainty of the finding.
    pub sure: Sure,
    /// How long it may last.
    pub after: After,
    /// The text of the report; it names no time, since the time depends on whether the agent is closed in.
    pub why: &'static str,
}

const fn of_agent(signature: &'static str, after: After, why: &'static str) -> Limit {
    Limit { signature, root: true, sure: Sure::Likely, after, why }
}

const fn below(signature: &'static str, after: After, why: &'static str) -> Limit {
    Limit { signature, root: false, sure: Sure::Likely, after, why }
}

/// No process below the agent can end this state, and the evidence itself shows that; but the agent's own limit for its
/// tool may, if it is not closed in.
const fn closed_below(signature: &'static str, why: &'static str) -> Limit {
    Limit { signature, root: false, sure: Sure::Certain, after: After::Fixed(HELD), why }
}

/// An ask that nobody can answer: the agent has no terminal, no host and no server for it.
const fn unanswerable(signature: &'static str, why: &'static str) -> Limit {
    Limit { signature, root: true, sure: Sure::Certain, after: After::Fixed(CLOSED_IN), why }
}

/// No process or person, alive or out of sight, can end this state, so the limit only waits out a reading that was
/// wrong once: three looks agree. No look at a healthy run of the corpus finds an agent closed in.
pub const CLOSED_IN: Span = Span::secs(30);
/// The process that could end this state is in sight and does nothing for it. A judgement: looks at healthy runs of the
/// corpus find it too, but in none for that long.
const CLOSED: Span = Span::secs(40);
/// The first word of a healthy answer came after 25 minutes in a provider's queue (batonogov/pine#1338). Most clients give
/// up sooner: the SDKs of Anthropic and OpenAI after 10 minutes, undici after 5.
pub(super) const SILENT: Span = Span::mins(30);
/// Whoever stopped a process on purpose is assumed to be gone. This is also a judgement.
pub(super) const STOPPED: Span = Span::mins(15);
/// A process that outlives its command and holds its pipe ends after up to 5 minutes in healthy runs (a `sleep 300`). Above
/// the bash tools' own limits too, 2 minutes unless more is asked for.
const HELD: Span = Span::mins(10);
/// A child that has no end of its own is ended by its tool's limit: an hour is the longest on record (Claude Code's
/// BASH_MAX_TIMEOUT_MS as it is set in reports).
pub(super) const OF_A_TOOL: Span = Span::mins(65);

/// A person who can answer comes back within 50 minutes (the longest on record in the corpus,
/// `benign/waiting-for-a-human`).
pub const PERSON: Span = Span::mins(58);

/// The findings that end a run; if several fit, the first counts.
pub const LIMITS: [Limit; 82] = [
    unanswerable("question-open", "the agent asks, and it runs where nobody can answer"),
    unanswerable("permission-open", "the agent asks for a permission, and it runs where nobody can answer"),
    of_agent("question-open", After::Person, "the agent asks, and nobody answers"),
    of_agent("permission-open", After::Person, "the agent asks for a permission, and nobody answers"),
    of_agent("stdin-open", After::Fixed(CLOSED), "the agent waits for its stdin, and nobody writes to it or closes it"),
    of_agent("stdout-undrained", After::Fixed(CLOSED), "the agent's stdout is full, and nobody reads it"),
    of_agent("stderr-undrained", After::Fixed(CLOSED), "the agent's stderr is full, and nobody reads it"),
    of_agent("tty-unread", After::Fixed(CLOSED), "the agent's terminal is full, and nobody reads it"),
    of_agent("mutual-pipe", After::Fixed(CLOSED), "two processes wait for each other's pipe"),
    of_agent("mutual-wait", After::Fixed(CLOSED), "two processes wait for each other"),
    of_agent("own-pipe", After::Fixed(CLOSED), "the agent waits for a pipe that only it can write to"),
    of_agent("thread-deadlock", After::Fixed(CLOSED), "the agent's threads wait for each other"),
    of_agent(
        "eof-spin",
        After::Fixed(CLOSED),
        "the agent spins: it reads or writes again and again, and no byte moves",
    ),
    of_agent("unreaped", After::Fixed(CLOSED), "the agent waits for a child that is over"),
    of_agent("alive-after-result", After::Fixed(CLOSED), "the agent has finished its turn, and does not exit"),
    of_agent("sigttin", After::Fixed(CLOSED), "the agent was stopped: it read its terminal from the background"),
    of_agent("sigttou", After::Fixed(CLOSED), "the agent was stopped: it set its terminal's mode from the background"),
    of_agent("never-ends", After::Fixed(Span::mins(5)), "the agent waits for nothing, and no timer of its own is left"),
    of_agent("tool-lost", After::Fixed(HELD), "the agent waits for a tool of which nothing runs"),
    of_agent("stray-holds-pipe", After::Fixed(HELD), "a tool is over, and a process that outlived it holds its pipe"),
    of_agent(
        "stray-writes-pipe",
        After::Fixed(HELD),
        "a tool is over, and a process that outlived it goes on writing to its pipe",
    ),
    of_agent("model-silent", After::Model, "the model sends nothing"),
    of_agent("peer-silent", After::Model, "the agent's peer sends nothing"),
    of_agent("host-silent", After::Person, "the agent waits for its host in the middle of a turn, and nothing comes"),
    of_agent("no-connection", After::Model, "the agent has nothing under way, and says nothing"),
    of_agent("tty-read", After::Person, "the agent waits for a key at its terminal, and nobody comes"),
    of_agent("oauth-callback", After::Person, "the agent waits for a log-in in a browser, and nobody comes"),
    of_agent("terminal-person", After::Fixed(CLOSED), "the agent's screen waits for a key, and nobody comes"),
    of_agent("stopped", After::Fixed(STOPPED), "the agent is stopped, and nobody continues it"),
    of_agent("fifo-open", After::Tool, "the agent waits for the other end of a named pipe"),
    of_agent("file-lock", After::Tool, "the agent waits for the lock on a file, and its holder does not let it go"),
    of_agent("sqlite-lock", After::Tool, "the agent waits for a database that somebody else has locked"),
    of_agent("owes-answer", After::Tool, "the agent takes requests, and owes an answer that does not come"),
    of_agent("server-mute", After::Tool, "the agent listens at a port, and takes nothing of what is sent to it"),
    of_agent(
        "busy-stuck",
        After::Model,
        "the agent calls its session busy, and the last answer of that session is complete",
    ),
    of_agent("editor", After::Person, "the agent waits for a key in its editor, and nobody comes"),
    of_agent("pager", After::Person, "the agent waits for a key in its pager, and nobody comes"),
    of_agent("editor-on-stderr", After::Fixed(HELD), "the agent reads its own stderr as if it were a terminal"),
    of_agent("frozen", After::Fixed(STOPPED), "the agent is frozen with its cgroup, and nobody thaws it"),
    of_agent("traced", After::Person, "a debugger holds the agent, and nobody lets it go on"),
    closed_below(
        "stdout-undrained",
        "a process below the agent has a full stdout, and who should read it waits for it",
    ),
    closed_below(
        "stderr-undrained",
        "a process below the agent has a full stderr, and who should read it waits for it",
    ),
    closed_below(
        "stdin-open",
        "a process below the agent waits for its stdin, and whoever holds it waits for that process",
    ),
    closed_below("question-open", "an agent below the agent asks, and it runs where nobody can answer"),
    closed_below(
        "permission-open",
        "an agent below the agent asks for a permission, and it runs where nobody can answer",
    ),
    closed_below("eof-spin", "a process below the agent spins: it reads or writes again and again, and no byte moves"),
    below(
        "question-open",
        After::Person,
        "an agent of which the agent is a client, or that it runs, asks, and nobody answers",
    ),
    below(
        "permission-open",
        After::Person,
        "an agent of which the agent is a client, or that it runs, asks for a permission, and nobody answers",
    ),
    below("mutual-pipe", After::Fixed(HELD), "two processes below the agent wait for each other's pipe"),
    below("mutual-wait", After::Fixed(HELD), "two processes below the agent wait for each other"),
    below("stray-holds-pipe", After::Fixed(HELD), "a tool is over, and a process that outlived it holds its pipe"),
    below(
        "stray-writes-pipe",
        After::Fixed(HELD),
        "a tool is over, and a process that outlived it goes on writing to its pipe",
    ),
    below("never-ends", After::Tool, "a tool's command never ends by itself"),
    below("stdin-open", After::Tool, "a tool's command waits for a stdin that nobody writes to"),
    below("tty-read", After::Person, "a tool's command waits for a key at the terminal, and nobody comes"),
    below("fifo-open", After::Tool, "a tool's command waits for the other end of a named pipe"),
    below("tty-unread", After::Fixed(HELD), "a process below the agent has a full terminal, and nobody reads it"),
    below("own-pipe", After::Fixed(HELD), "a process below the agent waits for a pipe that only it can write to"),
    below("thread-deadlock", After::Fixed(HELD), "the threads of a process below the agent wait for each other"),
    below("unreaped", After::Fixed(HELD), "a process below the agent waits for a child that is over"),
    below("tool-lost", After::Fixed(HELD), "an agent below the agent waits for a tool of which nothing runs"),
    below(
        "alive-after-result",
        After::Fixed(HELD),
        "an agent below the agent has finished its turn, and does not exit",
    ),
    below("sigttin", After::Fixed(STOPPED), "a tool's command was stopped: it read its terminal from the background"),
    below(
        "sigttou",
        After::Fixed(STOPPED),
        "a tool's command was stopped: it set its terminal's mode from the background",
    ),
    below("stopped", After::Fixed(STOPPED), "a process below the agent is stopped, and nobody continues it"),
    below("model-silent", After::Model, "the model of an agent below the agent sends nothing"),
    below("no-connection", After::Model, "an agent below the agent has nothing under way, and says nothing"),
    below("peer-silent", After::Tool, "the peer of a process below the agent sends nothing"),
    below("host-silent", After::Person, "an agent below the agent waits for its host in the middle of a turn"),
    below("oauth-callback", After::Person, "a tool waits for a log-in in a browser, and nobody comes"),
    below(
        "terminal-person",
        After::Person,
        "the screen of a process below the agent waits for a key, and nobody comes",
    ),
    below("stdout-undrained", After::Tool, "a process below the agent has a full stdout, and nobody reads it"),
    below("file-lock", After::Tool, "a tool's command waits for the lock on a file, and its holder does not let it go"),
    below("sqlite-lock", After::Tool, "a tool's command waits for a database that somebody else has locked"),
    below("owes-answer", After::Tool, "a tool server owes the agent an answer"),
    below("server-mute", After::Tool, "a server below the agent takes nothing of what is sent to it"),
    below(
        "busy-stuck",
        After::Model,
        "an agent below the agent calls its session busy, and the last answer of that session is complete",
    ),
    below("editor", After::Person, "a tool's command waits for a key in an editor, and nobody comes"),
    below("pager", After::Person, "a tool's command waits for a key in a pager, and nobody comes"),
    below("editor-on-stderr", After::Fixed(HELD), "a tool's editor reads its own stderr as if it were a terminal"),
    below("frozen", After::Fixed(STOPPED), "a process below the agent is frozen with its cgroup, and nobody thaws it"),
    below("traced", After::Person, "a debugger holds a process below the agent, and nobody lets it go on"),
];

impl Limit {
    /// How long the finding may last, if the agent is closed in or not.
    pub fn within(&self, closed_in: bool, times: &Times) -> Span {
        let after = self.after.span(times);
        // the one who holds a process can let it go on
        let is_held = ["stopped", "frozen", "traced"].contains(&self.signature);
        if closed_in && !is_held { after.min(CLOSED_IN) } else { after }
    }
}

/// A finding of a look that ends a run once it has lasted for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// The limit that it falls under.
    pub limit: &'static Limit,
    /// The process that it is about.
    pub pid: Pid,
    /// Whether nothing in sight can end it.
    pub closed_in: bool,
    /// It counts as hung only after this time, since something in sight may still end it.
    pub hung_in: Option<Span>,
    /// How long it may last.
    pub after: Span,
    /// The processes below the agent that are ended first.
    pub parts: Parts,
}

impl Finding {
    /// Whether this says what an earlier one said: that the same process is in the same state, and no surer to go on.
    fn is_same(self, before: Finding) -> bool {
        let state = |finding: Finding| match finding.limit.signature {
            // whether it wrote anything between two looks is chance
            "stray-writes-pipe" => "stray-holds-pipe",
            signature => signature,
        };
        let what = |finding: Finding| {
            (finding.pid, finding.closed_in, finding.limit.root, finding.limit.after, state(finding))
        };
        what(self) == what(before) && !(self.hung_in.is_some() && before.hung_in.is_none())
    }

    pub(super) fn canon(self, canon: &mut Canon) {
        let Self { limit, pid, closed_in, hung_in, after, parts } = self;
        canon.text(limit.signature).flag(limit.root).num(after.as_ms()).num(u64::from(pid.unsigned_abs()));
        canon.flag(closed_in).flag(hung_in.is_some());
        parts.canon(canon);
    }
}

/// What the last look found, and since when looks find that.
#[derive(Debug, Default)]
pub(super) struct Lasting {
    found: Option<Finding>,
    since: VTime,
}

impl Lasting {
    /// Nothing is found yet.
    fn from(now: VTime) -> Lasting {
        Lasting { found: None, since: now }
    }

    /// What was found counts from now on.
    pub(super) fn restart(&mut self, now: VTime) {
        self.since = now;
    }

    /// Processes what a look found.
    pub(super) fn see(&mut self, now: VTime, diagnosis: &Diagnosis, times: &Times, said: bool) {
        let found = found_by(diagnosis, times, said);
        self.found = match (found, self.found) {
            // the time that it had at first sight counts
            (Some(found), Some(before)) if found.is_same(before) => Some(Finding { after: before.after, ..found }),
            (None, None) => None,
            (found, _) => {
                self.since = now;
                found
            }
        };
    }

    /// The finding, since when it has been so, and until when it may be.
    fn intent(&self) -> Option<(Finding, VTime, VTime)> {
        self.found.map(|found| (found, self.since, self.since + found.after))
    }

    /// The finding that has lasted for its limit.
    pub(super) fn due(&self, now: VTime) -> Option<Finding> {
        self.intent().filter(|(.., at)| now >= *at).map(|(found, ..)| found)
    }

    pub(super) fn canon(&self, canon: &mut Canon, times: &Times) {
        let Self { found, since } = self;
        canon.age(*since, times.of_a_finding());
        option(canon, *found, |canon, found| found.canon(canon));
    }
}

/// When to look, and what looks find.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// When the next look is due; `None` while one is under way, or if no looks are taken.
    next: Option<VTime>,
    /// `None` while no looks are taken.
    lasting: Option<Lasting>,
}

impl Standing {
    /// Something moved: the finding is outdated.
    pub(super) fn moved(&mut self, now: VTime) {
        *self = Standing { next: Some(now + FIRST), lasting: Some(Lasting::from(now)) };
    }

    /// Ends the looks.
    pub(super) fn over(&mut self) {
        *self = Standing::default();
    }

    /// When a look is due.
    pub(super) fn deadline(&self) -> Option<VTime> {
        self.next
    }

    /// Takes a look if one is due.
    pub(super) fn tick(&mut self, now: VTime, acts: &mut Vec<Act>) {
        if self.next.is_some_and(|at| now >= at) {
            self.look(acts);
        }
    }

    /// Takes a look now, if none is under way.
    pub(super) fn look(&mut self, acts: &mut Vec<Act>) {
        if self.next.take().is_some() {
            acts.push(Act::Look);
        }
    }

    /// Processes what a look found.
    pub(super) fn see(&mut self, now: VTime, diagnosis: &Diagnosis, times: &Times, said: bool) {
        let lasting = self.lasting.get_or_insert_with(|| Lasting::from(now));
        lasting.see(now, diagnosis, times, said);
        let next = now + every(now.since(lasting.since));
        // the last look is at the end of the limit
        let limit = lasting.intent().map(|(.., at)| at).filter(|at| *at > now);
        self.next = Some(limit.map_or(next, |limit| limit.min(next)));
    }

    /// The finding that has lasted for its limit.
    pub(super) fn due(&self, now: VTime) -> Option<Finding> {
        self.lasting.as_ref()?.due(now)
    }

    /// The finding, since when it has been so, and until when it may be.
    pub(super) fn intent(&self) -> Option<(Finding, VTime, VTime)> {
        self.lasting.as_ref()?.intent()
    }

    pub(super) fn canon(&self, canon: &mut Canon, times: &Times) {
        let Self { next, lasting } = self;
        canon.deadline(*next);
        option(canon, lasting.as_ref(), |canon, lasting| lasting.canon(canon, times));
    }
}

/// The finding, if it ends a run once it has lasted for its time. `said`: the run has said something, so that what it reads may
/// be an answer to that.
fn found_by(diagnosis: &Diagnosis, times: &Times, said: bool) -> Option<Finding> {
    let fits = |limit: &&Limit| {
        limit.signature == diagnosis.signature && limit.root == diagnosis.is_root && diagnosis.sure >= limit.sure
    };
    let limit = LIMITS.iter().find(fits).filter(|_| diagnosis.may_be_hung())?;
    let closed_in = diagnosis.closed_in;
    // the times of a person and of a model are the user's to set
    let is_set = matches!(limit.after, After::Person | After::Model);
    let hung_in = diagnosis.hung_in_ms.map(Span::ms).filter(|_| !is_set);
    let within = limit.within(closed_in, times);
    let within = if diagnosis.is_at_callers_stdin && !said { within.min(CLOSED) } else { within };
    let after = within.max(hung_in.unwrap_or_default());
    Some(Finding { limit, pid: diagnosis.pid, closed_in, hung_in, after, parts: Parts::of(&diagnosis.parts) })
}

/// Whether something in sight may be at work: it computes, a timer of its own runs, or something is still sent to it.
pub(super) fn may_work(diagnosis: &Diagnosis) -> bool {
    let may = matches!(diagnosis.verdict, Verdict::Working | Verdict::Waiting | Verdict::Unknown);
    may && !diagnosis.may_be_hung()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seen;
    use crate::testing::looked;

    #[test]
    fn looks_become_rarer_while_nothing_else_is_found() {
        let after = |unchanged: u64| every(Span::secs(unchanged)).as_ms() / 1_000;
        assert_eq!([0, 119, 120, 1_199, 1_200, 100_000].map(after), [10, 10, 30, 30, 120, 120]);
    }

    fn found(signature: &str, root: bool, sure: Sure, change: impl Fn(&mut Diagnosis)) -> Option<Finding> {
        let Seen::Looked(mut diagnosis) = looked(signature, root, sure) else { panic!("no look") };
        change(&mut diagnosis);
        found_by(&diagnosis, &Times::default(), false)
    }

    /// The first that fits counts, so a limit that asks for more certainty comes before one of the same name.
    #[test]
    fn each_limit_is_found_by_what_it_is_about() {
        for limit in &LIMITS {
            let Limit { signature, root, sure, after, why } = limit;
            assert!(["second", "minute", "hour"].iter().all(|time| !why.contains(time)), "it depends: {why}");
            let finding = found(signature, *root, *sure, |_| {}).expect("it ends a run");
            let after = after.span(&Times::default());
            assert_eq!((finding.limit, finding.after, finding.pid), (limit, after, 100));
            let closed_in = found(signature, *root, *sure, |diagnosis| diagnosis.closed_in = true);
            assert_eq!(closed_in.map(|finding| finding.after), Some(limit.within(true, &Times::default())));
            assert!(found(signature, *root, Sure::Guess, |_| {}).is_none(), "a guess ends nothing");
            for verdict in [Verdict::Waiting, Verdict::Working, Verdict::Ended, Verdict::Unknown] {
                assert!(found(signature, *root, *sure, |diagnosis| diagnosis.verdict = verdict).is_none());
            }
        }
        assert!(found("serves", true, Sure::Certain, |_| {}).is_none());
        let likely = found("question-open", true, Sure::Likely, |_| {}).map(|finding| finding.after);
        assert_eq!(likely, Some(PERSON));
    }

    #[test]
    fn who_waits_for_the_callers_stdin_has_the_agents_limit_until_something_was_said() {
        let Seen::Looked(mut diagnosis) = looked("stdin-open", false, Sure::Likely) else { panic!("no look") };
        let after =
            |diagnosis: &Diagnosis, said| found_by(diagnosis, &Times::default(), said).map(|finding| finding.after);
        assert_eq!(after(&diagnosis, false), Some(OF_A_TOOL));
        diagnosis.is_at_callers_stdin = true;
        assert_eq!((after(&diagnosis, false), after(&diagnosis, true)), (Some(CLOSED), Some(OF_A_TOOL)));
    }

    #[test]
    fn a_look_follows_ten_seconds_of_rest_and_the_last_one_ends_the_limit() {
        let mut standing = Standing::default();
        let see = |standing: &mut Standing, at: u64, signature: &str| {
            let mut acts = Vec::new();
            standing.tick(VTime(at), &mut acts);
            assert_eq!(acts, [Act::Look]);
            assert_eq!(standing.deadline(), None, "one look at a time");
            let Seen::Looked(diagnosis) = looked(signature, true, Sure::Likely) else { panic!("no look") };
            standing.see(VTime(at), &diagnosis, &Times::default(), false);
            standing.deadline().map(|next| next.0)
        };
        standing.moved(VTime(5_000));
        assert_eq!((standing.deadline(), standing.intent()), (Some(VTime(15_000)), None));
        let mut early = Vec::new();
        standing.tick(VTime(14_999), &mut early);
        assert_eq!(early, []);
        assert_eq!(see(&mut standing, 15_000, "stdin-open"), Some(25_000));
        assert_eq!(see(&mut standing, 25_000, "stdin-open"), Some(35_000));
        assert_eq!(see(&mut standing, 35_001, "stdin-open"), Some(45_001));
        assert_eq!(see(&mut standing, 45_001, "stdin-open"), Some(55_000), "40 s after it was found first");
        assert!(standing.due(VTime(54_999)).is_none() && standing.due(VTime(55_000)).is_some());
        assert_eq!(standing.intent().map(|(_, since, at)| (since.0, at.0)), Some((15_000, 55_000)));
        assert_eq!(see(&mut standing, 55_000, "stdin-open"), Some(65_000), "the limit has passed");
        assert_eq!(see(&mut standing, 65_000, "never-ends"), Some(75_000));
        assert!(standing.due(VTime(75_000)).is_none(), "another finding begins anew");
        standing.over();
        assert_eq!((standing.deadline(), standing.intent()), (None, None));
    }
}
