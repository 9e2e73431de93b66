//! What two snapshots mean: one sentence, what would end it, how sure, and the evidence.
//!
//! Every process gets one finding by the rules; a process that waits for others is explained by theirs, and of several
//! findings the one with the highest rank is reported for the tree.
//!
//! Invariant: pure. The same snapshots and limits give the same diagnosis.

mod evidence;
mod finding;
mod gate;
pub mod graph;
mod rules;
mod smallest;
#[cfg(test)]
pub(crate) mod tests;
mod view;
mod waits;
pub(crate) mod ways;

use crate::data::{Lack, Pid, Snapshot};
use rehang_hangs::{Mechanism, Signature};
use serde::Serialize;

/// How long something must be quiet before it counts as silent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Limits {
    /// A connection on which nothing has come for this many milliseconds is silent.
    pub silent_ms: u64,
}

impl Default for Limits {
    /// One minute. Slow models have been seen to think for minutes before the first byte; once a stream flows, a pause
    /// of a minute has no healthy cause.
    fn default() -> Limits {
        Limits { silent_ms: 60_000 }
    }
}

/// What a process tree does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It waits for something that nothing in sight will bring.
    Hung,
    /// It waits for something that goes on by itself or has a time limit.
    Waiting,
    /// It moves.
    Working,
    /// There is nothing to explain: it has ended.
    Ended,
    /// What could be read does not decide it.
    Unknown,
}

/// How sure a diagnosis is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Sure {
    Guess,
    Likely,
    Certain,
}

rehang_words::listed!(Verdict: Hung, Waiting, Working, Ended, Unknown);
rehang_words::listed!(Sure: Guess, Likely, Certain);

/// Why a process tree does not move, or that it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// What it does.
    pub verdict: Verdict,
    /// The signature that fits, such as `stdin-open`.
    pub signature: Signature,
    /// The mechanism in the catalogue, such as `S1`.
    pub mechanism: Option<Mechanism>,
    /// The process that it is about.
    pub pid: Pid,
    /// Whether that is one of the processes that were asked about, rather than one below them.
    pub is_root: bool,
    /// It is hung, and each of those that were asked about is closed in: nobody who is alive or out of sight can end what
    /// it waits for ([`Graph::is_closed_in`]).
    pub closed_in: bool,
    /// It is hung below those that were asked about, and waits for the stdin that it has from them, of which only processes
    /// above them hold the other end: who started them, with a pipe and without a word.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_at_callers_stdin: bool,
    /// What a process has written that owes an answer, in bytes since it began: one that tells of its progress is at work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// The processes below the agent of which the end, each with all processes below it, would let the agent go on; empty
    /// if it is not hung, or if only the end of the whole run would do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Pid>,
    /// It waits, and counts as hung if it still does after so many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hung_in_ms: Option<u64>,
    /// For how many milliseconds this has been so, if the kernel tells: since a connection's last byte, or since a stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasted_ms: Option<u64>,
    /// It is hung, below an agent that could go on: the agent, which may end it by a time limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_above: Option<String>,
    /// What could end it and cannot be seen; empty if it is closed in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub out_of_sight: Vec<String>,
    /// One sentence.
    pub sentence: String,
    /// What would end it.
    pub ends: String,
    /// How sure that is.
    pub sure: Sure,
    /// Why the diagnosis is this sure and not surer.
    pub because: String,
    /// Milliseconds between the two snapshots.
    pub window_ms: u64,
    /// The evidence.
    pub evidence: Vec<Evidence>,
    /// What could not be read, and what would make it readable.
    pub lacks: Vec<Lack>,
}

impl Diagnosis {
    /// Whether it is hung, or in a state that counts as hung if it lasts.
    pub fn may_be_hung(&self) -> bool {
        self.verdict == Verdict::Hung || self.hung_in_ms.is_some()
    }

    /// How sure the diagnosis is, in words.
    pub fn sure_in_words(&self) -> &'static str {
        match self.sure {
            Sure::Certain if self.closed_in => "proved",
            Sure::Certain if self.agent_above.is_some() => "nothing in sight but its agent can end it",
            Sure::Certain if self.verdict == Verdict::Hung => "nothing in sight can end it",
            Sure::Certain => "certain",
            Sure::Likely => "likely",
            Sure::Guess => "a guess",
        }
    }
}

/// A line of evidence, and what belongs to it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs)]
pub struct Evidence {
    pub text: String,
    pub below: Vec<Evidence>,
}

/// Says why the tree does not move.
pub fn diagnose(before: &Snapshot, after: &Snapshot, limits: &Limits) -> Diagnosis {
    let view = view::View::new(before, after, *limits);
    let diagnosis = of(&view);
    Diagnosis { evidence: evidence::tree(&view, diagnosis.pid), ..diagnosis }
}

/// The same without the lines of evidence, for who acts on it and shows it to nobody.
pub fn diagnose_only(before: &Snapshot, after: &Snapshot, limits: &Limits) -> Diagnosis {
    of(&view::View::new(before, after, *limits))
}

fn of(view: &view::View<'_>) -> Diagnosis {
    let after = view.after;
    let best = after.roots.iter().map(|root| rules::explain(view, *root)).max_by_key(|finding| finding.rank);
    let best = best.unwrap_or_else(|| finding::Finding::unknown(0, "nothing is left to look at"));
    let graph = graph::of(view);
    let best = gate::check(view, &graph, best);
    let closed_in = best.verdict == Verdict::Hung && graph.are_closed_in(&after.roots);
    let is_of = |mechanism| best.signature.facts().mechanisms.contains(mechanism);
    debug_assert!(best.mechanism.as_ref().is_none_or(is_of), "{} names {:?}", best.signature, best.mechanism);
    let may_be_hung = best.verdict == Verdict::Hung || best.hung_in_ms.is_some();
    let parts = if may_be_hung { smallest::parts(view, &best) } else { Vec::new() };
    let is_less = after.unread > 0 && best.verdict == Verdict::Hung && best.sure == Sure::Certain;
    let best = if is_less { finding::Finding { sure: Sure::Likely, ..best } } else { best };
    Diagnosis {
        parts,
        verdict: best.verdict,
        signature: best.signature,
        mechanism: best.mechanism,
        pid: best.pid,
        is_root: after.roots.contains(&best.pid),
        closed_in,
        is_at_callers_stdin: gate::is_at_callers_stdin(view, &best),
        written_bytes: gate::written(view, &best),
        agent_above: gate::agent_above(view, &graph, &best),
        hung_in_ms: best.hung_in_ms.filter(|_| best.verdict == Verdict::Waiting),
        lasted_ms: best.lasted_ms,
        out_of_sight: gate::out_of_sight(view, &graph, &best),
        evidence: Vec::new(),
        sentence: best.sentence,
        ends: best.ends,
        sure: best.sure,
        because: best.because,
        window_ms: view.window_ns / 1_000_000,
        lacks: after.lacks.clone(),
    }
}

/// The evidence for every process of the tree, not only for those on the way to the answer.
pub fn whole_tree(before: &Snapshot, after: &Snapshot, limits: &Limits) -> Vec<Evidence> {
    evidence::whole(&view::View::new(before, after, *limits))
}
