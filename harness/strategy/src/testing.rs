//! A bench for one strategy: it owns time, feeds what is seen and ticks when a deadline has come.
//!
//! Invariant: time never goes back, and a strategy that asks for one instant over and over is a failure, not a hang.

use crate::{Act, Ask, InsideAct, ProcessAct, ProcessSeen, ProtocolAct, Seen, Settled, Strategy, Stream, Whom, member};
use rehang_evidence::{Diagnosis, Sure, Verdict};
use rehang_hangs::Signature;
use rehang_words::{Canon, Policy, VTime};
use rehang_words::{Choice, Question};

/// How often a strategy may be told of the same instant.
const TICKS_MAX: usize = 64;

/// How long a failing case of a law is reduced, in milliseconds: a case plays all strategies, so that each try takes
/// long.
pub(crate) const SHRINK_MAX_MS: u32 = 5_000;

/// How many ticks a test gives a strategy before it fails: one that asks for them without end is not to hang the test.
pub(crate) struct Patience(u32);

impl Patience {
    pub fn new() -> Patience {
        Patience(100_000)
    }

    pub fn spend(&mut self) {
        self.0 = self.0.checked_sub(1).expect("it asks for ticks without end");
    }
}

pub(crate) struct Bench {
    pub strategy: Box<dyn Strategy>,
    pub now: VTime,
}

impl Bench {
    pub fn of(spec: &str) -> Bench {
        let member = member(spec).unwrap_or_else(|e| panic!("{spec}: {e}"));
        Bench { strategy: member.strategy, now: VTime::ZERO }
    }

    /// A process that was just started.
    pub fn started(spec: &str) -> Bench {
        let mut bench = Bench::of(spec);
        assert_eq!(
            bench.see(Seen::Process(ProcessSeen::Started { session: String::new(), prompt: "go".to_owned() })),
            []
        );
        bench
    }

    pub fn see(&mut self, seen: Seen) -> Vec<Act> {
        self.see_all(&[seen])
    }

    /// Several things at one instant, and after them a tick if one is due, as the host does it.
    pub fn see_all(&mut self, all: &[Seen]) -> Vec<Act> {
        let mut acts = Vec::new();
        all.iter().for_each(|seen| self.strategy.on(self.now, seen, &mut acts));
        if *all != [Seen::Tick] && self.strategy.deadline().is_some_and(|at| at <= self.now) {
            self.strategy.on(self.now, &Seen::Tick, &mut acts);
        }
        acts
    }

    /// Bytes arrive on stdout.
    pub fn out(&mut self, text: &str) -> Vec<Act> {
        self.see(Seen::Process(ProcessSeen::Output(Stream::Stdout, text.as_bytes().to_vec())))
    }

    /// Lets time pass up to and including `ms`; returns what is done on the way, with its instant.
    pub fn until(&mut self, ms: u64) -> Vec<(u64, Act)> {
        let mut all = Vec::new();
        let mut ticks = 0;
        let mut patience = Patience::new();
        while let Some(at) = self.strategy.deadline().map(|at| at.max(self.now)).filter(|at| at.0 <= ms) {
            patience.spend();
            ticks = if at == self.now { ticks + 1 } else { 0 };
            assert!(ticks < TICKS_MAX, "asks for {at} over and over");
            self.now = at;
            all.extend(self.see(Seen::Tick).into_iter().map(|act| (at.0, act)));
        }
        self.now = VTime(ms);
        all
    }

    pub fn canon(&self) -> Vec<u8> {
        let mut canon = Canon::new(self.now);
        self.strategy.canon(&mut canon);
        canon.into_bytes()
    }
}

/// The signals, settlements and so on, without the reports.
pub(crate) fn deeds(acts: &[(u64, Act)]) -> Vec<(u64, String)> {
    acts.iter().filter_map(|(at, act)| deed(act).map(|deed| (*at, deed))).collect()
}

/// An act in one word.
pub(crate) fn deed(act: &Act) -> Option<String> {
    Some(match act {
        Act::Process(ProcessAct::Kill { sig, whom }) => match whom {
            Whom::Process => (*sig).to_owned(),
            Whom::Group => format!("{sig} group"),
            Whom::Tree => format!("{sig} tree"),
            Whom::Holders => format!("{sig} holders"),
            Whom::Part(pid) => format!("{sig} part {pid}"),
        },
        Act::Process(ProcessAct::Settle(Settled::Completed(text))) => format!("completed: {text}"),
        Act::Process(ProcessAct::Settle(Settled::Stopped(cause, _))) => format!("stopped: {cause}"),
        Act::Process(ProcessAct::Settle(Settled::Failed(text))) => format!("failed: {text}"),
        Act::Process(ProcessAct::CloseStdin) => "close stdin".to_owned(),
        Act::Protocol(ProtocolAct::Request { method, path, .. }) => format!("{method} {path}"),
        Act::Protocol(ProtocolAct::Write(bytes)) => format!("write {}", String::from_utf8_lossy(bytes).trim_end()),
        Act::Inside(InsideAct::Reject { id, policy, .. }) => format!("reject {id} policy={policy}"),
        Act::Inside(InsideAct::AbortStream { session, fail, reject_asks, .. }) => {
            format!("abort {session} fail={fail} asks={reject_asks}")
        }
        Act::Protocol(ProtocolAct::CountChildren) => "count children".to_owned(),
        _ => return None,
    })
}

pub(crate) fn report(acts: &[Act]) -> Policy {
    let report = acts.iter().find_map(|act| if let Act::Report(policy) = act { Some(policy.clone()) } else { None });
    report.expect("a report")
}

pub(crate) fn question(text: &str, options: &[(&str, &str)]) -> Question {
    let choice =
        |&(label, description): &(&str, &str)| Choice { label: label.to_owned(), description: description.to_owned() };
    Question {
        question: text.to_owned(),
        header: String::new(),
        options: options.iter().map(choice).collect(),
        multiple: false,
        custom: None,
    }
}

pub(crate) fn ask(questions: Vec<Question>) -> Ask {
    let permission = if questions.is_empty() { "bash" } else { "" };
    Ask {
        id: "que_1".to_owned(),
        session: "ses_1".to_owned(),
        child: false,
        questions,
        permission: permission.to_owned(),
    }
}

/// What a look at the agent's processes found.
pub(crate) fn looked(signature: Signature, is_root: bool, sure: Sure) -> Seen {
    Seen::Process(ProcessSeen::Looked(Box::new(Diagnosis {
        verdict: Verdict::Hung,
        signature,
        mechanism: None,
        pid: 100,
        is_root,
        closed_in: false,
        is_at_callers_stdin: false,
        written_bytes: None,
        parts: Vec::new(),
        hung_in_ms: None,
        lasted_ms: None,
        agent_above: None,
        out_of_sight: Vec::new(),
        sentence: String::new(),
        ends: String::new(),
        sure,
        because: String::new(),
        window_ms: 1_000,
        evidence: Vec::new(),
        lacks: Vec::new(),
    })))
}
