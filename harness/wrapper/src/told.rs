//! Makes the trace that the judge reads, from the fakes' journals and the wrapper's end.
//!
//! Invariant: the wrapper is the strategy. Its exit code is its claim: 0 says that the run was completed, anything else
//! that it was not. The judge decides whether that is true, from the facts that the agents report.

use super::cell::Ran;
use rehang_judge::{Breach, Outcome, Verdict};
use rehang_os::alone::journal::{Line, Said};
use rehang_scenario::{Invariant, VTime};
use rehang_trace::{
    Ended, Event, Fact, Horizon, RunEnd, Trace, What,
    role::{self, Role, SCHEDULER},
};
use std::collections::BTreeMap;

/// The participants of a journal, by their place in it.
struct Roles {
    roots: Vec<String>,
}

impl Roles {
    fn of(&mut self, place: &str) -> String {
        let (root, rest) = place.split_once('.').map_or((place, ""), |(root, rest)| (root, rest));
        let at = match self.roots.iter().position(|known| known == root) {
            Some(at) => at,
            None => {
                self.roots.push(root.to_owned());
                self.roots.len() - 1
            }
        };
        // a wrapper that starts its agent again is seen like a server that was restarted
        let agent = role::agent(u32::try_from(at + 1).unwrap_or(u32::MAX));
        if rest.is_empty() { agent } else { format!("{agent}.{rest}") }
    }
}

/// The trace of one run of the wrapper `name`; `speed` is that of the fakes' clock.
pub fn trace(lines: &[Line], ran: &Ran, name: &str, speed: u32) -> Trace {
    let at = |ms: u64| VTime(ms.saturating_sub(ran.began_ms).saturating_mul(u64::from(speed)));
    let mut roles = Roles { roots: Vec::new() };
    let mut events = Vec::new();
    let mut pids: BTreeMap<i32, String> = BTreeMap::new();
    let mut alive: Vec<String> = Vec::new();
    let mut result = String::new();
    let mut before: Vec<&Line> = lines.iter().filter(|line| line.ms <= ran.ended_ms).collect();
    before.sort_by_key(|line| line.ms);
    for line in before {
        let who = roles.of(&line.place);
        let what = match &line.said {
            Said::Began { pid, argv, .. } => {
                pids.insert(pid.cast_signed(), who.clone());
                alive.push(who.clone());
                let parent = who.rsplit_once('.').map_or(String::new(), |(parent, _)| parent.to_owned());
                What::Spawn { parent, argv: argv.clone() }
            }
            Said::Ended(code) => {
                alive.retain(|other| *other != who);
                What::Exit(*code)
            }
            Said::Killed { child, sig } => {
                let child = format!("{who}.{child}");
                alive.retain(|other| *other != child);
                events.push(Event { t: at(line.ms), who: child, what: What::Killed(sig.clone()) });
                continue;
            }
            Said::What(what) => {
                if let What::Fact(Fact::Result { text, .. }) = what {
                    result.clone_from(text);
                }
                what.clone()
            }
        };
        events.push(Event { t: at(line.ms), who, what });
    }
    let t = at(ran.ended_ms);
    let left: Vec<(String, String)> = ran
        .left
        .iter()
        .map(|(pid, program)| (pids.get(pid).cloned().unwrap_or_else(|| format!("process {program}")), program.clone()))
        .collect();
    let Some(exit) = ran.exit else {
        let what = What::Ended(Ended::Horizon { reason: Horizon::Deadline, waits: Vec::new() });
        events.push(Event { t, who: SCHEDULER.to_owned(), what });
        return Trace { events };
    };
    // a fake that is gone without a reported end was ended by somebody: here, by the wrapper
    let mut killed = false;
    for who in alive.into_iter().filter(|who| !left.iter().any(|(role, _)| role == who)) {
        if !who.contains('.') {
            killed = true;
            let what = What::Signal { sig: "KILL".to_owned(), to: who.clone() };
            events.push(Event { t, who: name.to_owned(), what });
        }
        events.push(Event { t, who, what: What::Killed("KILL".to_owned()) });
    }
    let outcome = match exit {
        0 => RunEnd::Completed,
        _ if killed => RunEnd::Stopped,
        _ => RunEnd::Failed,
    };
    let cause = match exit {
        0 => String::new(),
        _ if killed => "killed".to_owned(),
        code if code < 0 => format!("signal {}", -code),
        code => format!("exit code {code}"),
    };
    // what a wrapper does with the result does not matter here: it had the result that the agent gave
    let what = What::Settled { outcome, cause, text: result };
    events.push(Event { t, who: name.to_owned(), what });
    events.push(Event { t, who: SCHEDULER.to_owned(), what: What::Ended(Ended::Settled) });
    for (who, program) in left {
        events.push(Event { t, who, what: What::Left { what: format!("process {program}") } });
    }
    Trace { events }
}

/// The breach of a claim of completion although no agent came to a good end of its own. The judge reads steps of
/// sessions, and so misses this if an agent was ended before it began.
pub fn unfinished(trace: &Trace, verdict: &Verdict, server: bool) -> Option<Breach> {
    let root = |who: &str| Role::of(who).is_some_and(Role::is_agent);
    let ended_well = trace.events.iter().any(|event| {
        let well = matches!(&event.what, What::Exit(0) | What::Fact(Fact::Result { ok: true, .. }));
        well && root(&event.who)
    });
    let known = verdict.broken().contains(&Invariant::Unfinished);
    (verdict.outcome == Outcome::Completed && !ended_well && !server && !known).then(|| Breach {
        invariant: Invariant::Unfinished,
        at: verdict.ended,
        why: "the wrapper says completed, and no agent came to an end of its own".to_owned(),
    })
}
