//! What looks at the agent's processes find, for how long that has been so, and for how long it may be.
//!
//! Invariants: one look proves nothing: a finding must be the same, of the same process, at every look for as long as
//! its limit; a finding that has no limit in the catalogue, or that is a guess, never ends a run. Each limit is above the longest
//! healthy run that is recorded beside it; [`CLOSED`] and [`STOPPED`] have no such record.

use super::parts::Parts;
use super::times::Times;
use crate::canon::option;
use crate::{Act, ProcessAct};
use rehang_evidence::diagnosis::{Sure, Verdict};
use rehang_evidence::{Diagnosis, Pid};
use rehang_hangs::{EndedBy, Limit, LimitClass, Signature};
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

/// No process or person, alive or out of sight, can end this state, so the limit only waits out a reading that was
/// wrong once: three looks agree. No look at a healthy run of the corpus finds an agent closed in.
pub const CLOSED_IN: Span = Span::secs(30);
/// No timer of the process's own is left, and it waits for nothing.
pub(super) const ENDLESS: Span = Span::mins(5);
/// The process that could end this state is in sight and does nothing for it. A judgement: looks at healthy runs of the
/// corpus find it too, but in none for that long.
pub(super) const CLOSED: Span = Span::secs(40);
/// The first word of a healthy answer came after 25 minutes in a provider's queue (batonogov/pine#1338). Most clients give
/// up sooner: the SDKs of Anthropic and OpenAI after 10 minutes, undici after 5.
pub(super) const SILENT: Span = Span::mins(30);
/// Whoever stopped a process on purpose is assumed to be gone. This is also a judgement.
pub(super) const STOPPED: Span = Span::mins(15);
/// A process that outlives its command and holds its pipe ends after up to 5 minutes in healthy runs (a `sleep 300`). Above
/// the bash tools' own limits too, 2 minutes unless more is asked for.
pub(super) const HELD: Span = Span::mins(10);
/// A child that has no end of its own is ended by its tool's limit: an hour is the longest on record (Claude Code's
/// BASH_MAX_TIMEOUT_MS as it is set in reports).
pub(super) const OF_A_TOOL: Span = Span::mins(65);

/// A person who can answer comes back within 50 minutes (the longest on record in the corpus,
/// `benign/waiting-for-a-human`).
pub const PERSON: Span = Span::mins(58);

/// How long a finding of this limit may last, if the agent is closed in or not.
pub fn span_of(signature: Signature, limit: &Limit, closed_in: bool, times: &Times) -> Span {
    let span = times.span_of(limit.class);
    // the one who holds a process can let it go on
    let is_held = signature.facts().ended_by == EndedBy::Holder;
    if closed_in && !is_held { span.min(CLOSED_IN) } else { span }
}

/// A finding of a look that ends a run once it has lasted for its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// What was found, as `rehang why` names it: the cause of the end.
    pub signature: Signature,
    /// Whether it is about the agent itself; otherwise about a process below it.
    pub is_root: bool,
    /// The limit that it falls under.
    pub limit: &'static Limit,
    /// The process that it is about.
    pub pid: Pid,
    /// Whether nothing in sight can end it.
    pub closed_in: bool,
    /// It counts as hung only after this time, since something in sight may still end it.
    pub hung_in: Option<Span>,
    /// What the process has written that owes an answer, in bytes: a report of progress begins the wait anew.
    pub written_bytes: Option<u64>,
    /// How long it may last.
    pub after: Span,
    /// The processes below the agent that are ended first.
    pub parts: Parts,
}

impl Finding {
    /// Whether this says what an earlier one said: that the same process is in the same state, and no surer to go on.
    fn is_same(self, before: Finding) -> bool {
        let state = |finding: Finding| match finding.signature {
            // whether it wrote anything between two looks is chance
            Signature::StrayWritesPipe => Signature::StrayHoldsPipe,
            signature => signature,
        };
        let what = |finding: Finding| {
            let Finding { pid, closed_in, is_root, limit, written_bytes, .. } = finding;
            (pid, closed_in, is_root, limit.class, written_bytes, state(finding))
        };
        what(self) == what(before) && !(self.hung_in.is_some() && before.hung_in.is_none())
    }

    pub(super) fn canon(self, canon: &mut Canon) {
        let Self {
            signature,
            is_root,
            limit: _, // not compared: signature, is_root and after say which
            pid,
            closed_in,
            hung_in,
            written_bytes,
            after,
            parts,
        } = self;
        canon.text(signature.word()).flag(is_root).num(after.as_ms()).num(u64::from(pid.unsigned_abs()));
        canon.flag(closed_in).flag(hung_in.is_some());
        option(canon, written_bytes, |canon, bytes| {
            canon.num(bytes);
        });
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

    /// Whether who owes an answer has written since the last look.
    pub(super) fn has_written(&self, diagnosis: &Diagnosis) -> bool {
        let before = self.found.filter(|found| found.pid == diagnosis.pid).and_then(|found| found.written_bytes);
        before.zip(diagnosis.written_bytes).is_some_and(|(before, now)| now > before)
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
            acts.push(Act::Process(ProcessAct::Look));
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

    /// Whether who owes an answer has written since the last look.
    pub(super) fn has_written(&self, diagnosis: &Diagnosis) -> bool {
        self.lasting.as_ref().is_some_and(|lasting| lasting.has_written(diagnosis))
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
    let Diagnosis { signature, is_root, closed_in, pid, sure, written_bytes, .. } = *diagnosis;
    let limit = match sure {
        Sure::Guess => None,
        Sure::Likely | Sure::Certain => signature.limit(is_root, sure == Sure::Certain),
    };
    let limit = limit.filter(|_| diagnosis.may_be_hung())?;
    // the times of a person and of a model are the user's to set
    let is_set = matches!(limit.class, LimitClass::Person | LimitClass::Model);
    let hung_in = diagnosis.hung_in_ms.map(Span::ms).filter(|_| !is_set);
    let within = span_of(signature, limit, closed_in, times);
    let within = if diagnosis.is_at_callers_stdin && !said { within.min(CLOSED) } else { within };
    let after = within.max(hung_in.unwrap_or_default());
    Some(Finding {
        signature,
        is_root,
        limit,
        pid,
        closed_in,
        hung_in,
        written_bytes,
        after,
        parts: Parts::of(&diagnosis.parts),
    })
}

/// Whether something in sight may be at work: it computes, a timer of its own runs, or something is still sent to it.
pub(super) fn may_work(diagnosis: &Diagnosis) -> bool {
    let may = matches!(diagnosis.verdict, Verdict::Working | Verdict::Waiting | Verdict::Unknown);
    may && !diagnosis.may_be_hung()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::tests::{Case, cases};
    use crate::testing::looked;
    use crate::{ProcessSeen, Seen};

    #[test]
    fn looks_become_rarer_while_nothing_else_is_found() {
        let after = |unchanged: u64| every(Span::secs(unchanged)).as_ms() / 1_000;
        assert_eq!([0, 119, 120, 1_199, 1_200, 100_000].map(after), [10, 10, 30, 30, 120, 120]);
    }

    fn found(of: &Case, sure: Sure, change: impl Fn(&mut Diagnosis)) -> Option<Finding> {
        let Seen::Process(ProcessSeen::Looked(mut diagnosis)) = looked(of.signature, of.is_root, sure) else {
            panic!("no look")
        };
        change(&mut diagnosis);
        found_by(&diagnosis, &Times::default(), false)
    }

    #[test]
    fn each_limit_is_found_by_what_it_is_about() {
        for of in &cases() {
            let Case { signature, is_root, sure, limit } = *of;
            let finding = found(of, sure, |_| {}).expect("it ends a run");
            let after = Times::default().span_of(limit.class);
            let about = (finding.signature, finding.is_root, finding.limit, finding.after, finding.pid);
            assert_eq!(about, (signature, is_root, limit, after, 100));
            let closed_in = found(of, sure, |diagnosis| diagnosis.closed_in = true);
            let after = span_of(signature, limit, true, &Times::default());
            assert_eq!(closed_in.map(|finding| finding.after), Some(after));
            assert!(found(of, Sure::Guess, |_| {}).is_none(), "a guess ends nothing");
            for verdict in [Verdict::Waiting, Verdict::Working, Verdict::Ended, Verdict::Unknown] {
                assert!(found(of, sure, |diagnosis| diagnosis.verdict = verdict).is_none());
            }
        }
        let Seen::Process(ProcessSeen::Looked(serves)) = looked(Signature::Serves, true, Sure::Certain) else {
            panic!("no look")
        };
        assert!(found_by(&serves, &Times::default(), false).is_none());
        let Seen::Process(ProcessSeen::Looked(asks)) = looked(Signature::QuestionOpen, true, Sure::Likely) else {
            panic!("no look")
        };
        assert_eq!(found_by(&asks, &Times::default(), false).map(|finding| finding.after), Some(PERSON));
    }

    #[test]
    fn who_waits_for_the_callers_stdin_has_the_agents_limit_until_something_was_said() {
        let Seen::Process(ProcessSeen::Looked(mut diagnosis)) = looked(Signature::StdinOpen, false, Sure::Likely)
        else {
            panic!("no look")
        };
        let after =
            |diagnosis: &Diagnosis, said| found_by(diagnosis, &Times::default(), said).map(|finding| finding.after);
        assert_eq!(after(&diagnosis, false), Some(OF_A_TOOL));
        diagnosis.is_at_callers_stdin = true;
        assert_eq!((after(&diagnosis, false), after(&diagnosis, true)), (Some(CLOSED), Some(OF_A_TOOL)));
    }

    #[test]
    fn who_writes_while_it_owes_an_answer_is_at_work() {
        let Seen::Process(ProcessSeen::Looked(mut owes)) = looked(Signature::OwesAnswer, false, Sure::Likely) else {
            panic!("no look")
        };
        let mut standing = Standing::default();
        standing.moved(VTime(0));
        for (at, written, is_at_work, since) in [(10, 5, false, 10), (20, 5, false, 10), (30, 9, true, 30)] {
            owes.written_bytes = Some(written);
            assert_eq!(standing.has_written(&owes), is_at_work, "at {at}");
            standing.see(VTime(at), &owes, &Times::default(), false);
            assert_eq!(standing.intent().map(|(_, since, _)| since.0), Some(since), "at {at}");
        }
    }

    #[test]
    fn a_look_follows_ten_seconds_of_rest_and_the_last_one_ends_the_limit() {
        let mut standing = Standing::default();
        let see = |standing: &mut Standing, at: u64, signature: Signature| {
            let mut acts = Vec::new();
            standing.tick(VTime(at), &mut acts);
            assert_eq!(acts, [Act::Process(ProcessAct::Look)]);
            assert_eq!(standing.deadline(), None, "one look at a time");
            let Seen::Process(ProcessSeen::Looked(diagnosis)) = looked(signature, true, Sure::Likely) else {
                panic!("no look")
            };
            standing.see(VTime(at), &diagnosis, &Times::default(), false);
            standing.deadline().map(|next| next.0)
        };
        standing.moved(VTime(5_000));
        assert_eq!((standing.deadline(), standing.intent()), (Some(VTime(15_000)), None));
        let mut early = Vec::new();
        standing.tick(VTime(14_999), &mut early);
        assert_eq!(early, []);
        assert_eq!(see(&mut standing, 15_000, Signature::StdinOpen), Some(25_000));
        assert_eq!(see(&mut standing, 25_000, Signature::StdinOpen), Some(35_000));
        assert_eq!(see(&mut standing, 35_001, Signature::StdinOpen), Some(45_001));
        assert_eq!(see(&mut standing, 45_001, Signature::StdinOpen), Some(55_000), "40 s after it was found first");
        assert!(standing.due(VTime(54_999)).is_none() && standing.due(VTime(55_000)).is_some());
        assert_eq!(standing.intent().map(|(_, since, at)| (since.0, at.0)), Some((15_000, 55_000)));
        assert_eq!(see(&mut standing, 55_000, Signature::StdinOpen), Some(65_000), "the limit has passed");
        assert_eq!(see(&mut standing, 65_000, Signature::NeverEnds), Some(75_000));
        assert!(standing.due(VTime(75_000)).is_none(), "another finding begins anew");
        standing.over();
        assert_eq!((standing.deadline(), standing.intent()), (None, None));
    }
}
