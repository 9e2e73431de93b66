//! What a look means for a program that acts on it: one of five states, who is to act next, since when.
//!
//! `rehang why --json` prints a [`Report`], and so does each call from another language (`docs/embed.md`, and
//! `docs/embed.schema.json` for each field).
//!
//! Invariant: a state follows from the diagnosis and the catalogue alone, so that no rule is written twice.

use crate::data::Pid;
use crate::diagnosis::graph::{Graph, To, graph};
use crate::diagnosis::{Diagnosis, Limits, Sure, Verdict};
use crate::look::Look;
use rehang_hangs::Owed;
use serde::Serialize;

/// The version of the format. A new field does not change it; a change that may break a reader raises it.
pub const VERSION: u32 = 1;

/// What a process does, for who has to decide about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It computes, moves data, or goes on by itself after a time.
    Working,
    /// A person is to act next: to answer, to press a key, to log in, or to let it go on.
    WaitsForPerson,
    /// Another process is to act next, of this machine or another one.
    WaitsForPeer,
    /// Nobody in sight can let it go on.
    CannotGoOn,
    /// What can be read does not decide it, or the process has ended.
    Unknown,
}

rehang_words::listed!(State: Working, WaitsForPerson, WaitsForPeer, CannotGoOn, Unknown);

impl State {
    /// The state that a diagnosis means.
    pub fn of(diagnosis: &Diagnosis) -> State {
        let owed = diagnosis.signature.facts().owed;
        match (diagnosis.verdict, diagnosis.sure, owed) {
            (Verdict::Working, ..) | (Verdict::Waiting, _, Owed::Itself) => State::Working,
            (Verdict::Unknown | Verdict::Ended, ..) => State::Unknown,
            // a healthy process looks the same, or something may still end a wait that nobody answers
            (Verdict::Hung, Sure::Guess, _) | (Verdict::Waiting, _, Owed::Nobody) => State::Unknown,
            (Verdict::Hung, Sure::Certain, _) | (Verdict::Hung, _, Owed::Itself | Owed::Nobody) => State::CannotGoOn,
            (Verdict::Hung | Verdict::Waiting, _, Owed::Person) => State::WaitsForPerson,
            (Verdict::Hung | Verdict::Waiting, _, Owed::Peer) => State::WaitsForPeer,
        }
    }
}

/// Who is to act next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Owes {
    /// Its process; `None` if that is out of sight.
    pub pid: Option<Pid>,
    /// Its name with its id, or who it is in words.
    pub name: String,
}

/// What a look means.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// [`VERSION`].
    pub v: u32,
    /// What the process does.
    pub state: State,
    /// Who is to act next; `None` if the process goes on by itself, or if that is not known.
    pub owes: Option<Owes>,
    /// For how long that has been so, in milliseconds: at least the time between the two snapshots, and more if the kernel
    /// tells more. `None` if the process works, or if its state is not known.
    pub for_ms: Option<u64>,
    /// All that is known.
    #[serde(flatten)]
    pub diagnosis: Diagnosis,
    /// Who waits for whom.
    pub graph: Graph,
}

impl Report {
    /// What a look means, under the limits that it was taken with.
    pub fn of(look: &Look, limits: &Limits) -> Report {
        let (diagnosis, graph) = (look.diagnosis.clone(), graph(&look.before, &look.after, limits));
        let state = State::of(&diagnosis);
        let stands = !matches!(state, State::Working | State::Unknown);
        let owes = stands.then(|| owes(&diagnosis, &graph, state)).flatten();
        let for_ms = stands.then(|| diagnosis.lasted_ms.unwrap_or(0).max(diagnosis.window_ms));
        Report { v: VERSION, state, owes, for_ms, diagnosis, graph }
    }
}

/// The first that the process of a diagnosis waits for, apart from itself.
fn owes(diagnosis: &Diagnosis, graph: &Graph, state: State) -> Option<Owes> {
    let edges = graph.edges.iter().filter(|edge| edge.from == diagnosis.pid);
    let found = edges.filter_map(|edge| match &edge.to {
        To::Process(pid) if *pid == diagnosis.pid => None,
        To::Process(pid) => {
            let name = graph.node(*pid).map_or_else(|| format!("process {pid}"), |node| node.name.clone());
            Some(Owes { pid: Some(*pid), name })
        }
        To::Outside(who) => Some(Owes { pid: None, name: who.clone() }),
        To::Nobody => None,
    });
    let (in_sight, outside): (Vec<Owes>, Vec<Owes>) = found.partition(|owes| owes.pid.is_some());
    // a person is never a process
    let order = if state == State::WaitsForPerson { [outside, in_sight] } else { [in_sight, outside] };
    let somebody = || (state == State::WaitsForPerson).then(|| Owes { pid: None, name: "a person".to_owned() });
    order.into_iter().flatten().next().or_else(somebody)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::diagnose;
    use crate::diagnosis::graph::{Edge, Over};
    use crate::read::staged::Staged;
    use crate::{Options, Snapshot};
    use rehang_hangs::Signature;
    use std::process::Stdio;
    use std::time::Duration;

    fn diagnosis(verdict: Verdict, signature: Signature, sure: Sure) -> Diagnosis {
        let none = Snapshot::default();
        Diagnosis { verdict, signature, sure, pid: 7, ..diagnose(&none, &none, &Limits::default()) }
    }

    #[test]
    fn a_state_follows_from_the_verdict_and_from_who_is_to_act() {
        let of = |verdict, signature, sure| State::of(&diagnosis(verdict, signature, sure));
        use Verdict::{Ended, Hung, Unknown, Waiting, Working};
        for (verdict, signature, sure, state) in [
            (Working, Signature::Computing, Sure::Certain, State::Working),
            (Waiting, Signature::Sleep, Sure::Likely, State::Working),
            (Waiting, Signature::TerminalPerson, Sure::Guess, State::WaitsForPerson),
            (Hung, Signature::QuestionOpen, Sure::Likely, State::WaitsForPerson),
            (Hung, Signature::QuestionOpen, Sure::Certain, State::CannotGoOn),
            (Waiting, Signature::ModelSilent, Sure::Likely, State::WaitsForPeer),
            (Hung, Signature::StdinOpen, Sure::Likely, State::WaitsForPeer),
            (Hung, Signature::StdinOpen, Sure::Certain, State::CannotGoOn),
            (Hung, Signature::ThreadDeadlock, Sure::Likely, State::CannotGoOn),
            (Hung, Signature::CpuSpin, Sure::Guess, State::Unknown),
            (Waiting, Signature::MutualWait, Sure::Likely, State::Unknown),
            (Unknown, Signature::LiveChild, Sure::Guess, State::Unknown),
            (Ended, Signature::Unreaped, Sure::Certain, State::Unknown),
        ] {
            assert_eq!(of(verdict, signature, sure), state, "{verdict:?} {signature} {sure:?}");
        }
    }

    #[test]
    fn a_person_is_out_of_sight_and_a_peer_is_in_sight_first() {
        let edge = |to| Edge { from: 7, to, over: Over::Ask, which: String::new() };
        let edges = [To::Process(7), To::Process(8), To::Outside("somebody".to_owned()), To::Nobody];
        let all = Graph { edges: edges.map(edge).to_vec(), ..Graph::default() };
        let diagnosis = diagnosis(Verdict::Hung, Signature::QuestionOpen, Sure::Likely);
        let of = |graph: &Graph, state| owes(&diagnosis, graph, state).map(|owes| (owes.pid, owes.name));
        assert_eq!(of(&all, State::WaitsForPerson), Some((None, "somebody".to_owned())));
        assert_eq!(of(&all, State::WaitsForPeer), Some((Some(8), "process 8".to_owned())));
        assert_eq!(of(&Graph::default(), State::WaitsForPerson), Some((None, "a person".to_owned())));
        assert_eq!(of(&Graph::default(), State::CannotGoOn), None);
    }

    #[test]
    fn what_hangs_is_reported_with_who_owes_it_something() {
        let cat = Staged::cat(Stdio::piped());
        let limits = Limits::default();
        let look = crate::look(&[cat.pid()], &Options::default(), &limits, Duration::ZERO).unwrap();
        let report = Report::of(&look, &limits);
        assert_eq!(report.diagnosis, look.diagnosis);
        assert_eq!((report.state, report.for_ms), (State::WaitsForPeer, Some(look.diagnosis.window_ms)));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(
            (&json["v"], &json["state"], &json["pid"]),
            (&1.into(), &"waits-for-peer".into(), &cat.pid().into())
        );
        assert!(json["owes"]["name"].as_str().is_some_and(|name| !name.is_empty()), "{json}");
    }
}
