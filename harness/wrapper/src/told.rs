//! Makes the trace that the judge reads, from the fakes' journals and the wrapper's end.
//!
//! Invariant: the wrapper is the strategy. Its exit code is its claim: 0 says that the run was completed, anything else
//! that it was not. The judge decides whether that is true, from the facts that the agents report.

use super::cell::Ran;
use rehang_judge::{Breach, Outcome, Verdict, score::TRUTHS};
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

/// The trace of one run of the wrapper `name`.
pub fn trace(lines: &[Line], ran: &Ran, name: &str) -> Trace {
    let at = |ms: u64| VTime(ms.saturating_sub(ran.began_ms));
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
                events.push(Event { t: at(line.ms), who: child.into(), what: What::Killed(sig.clone()) });
                continue;
            }
            // who ended whom is asked of the journal: see [`acted`]
            Said::Signals { .. } | Said::Wrote | Said::StdinOpen => continue,
            Said::What(what) => {
                if let What::Fact(Fact::Result { text, .. }) = what {
                    result.clone_from(text);
                }
                what.clone()
            }
        };
        events.push(Event { t: at(line.ms), who: who.into(), what });
    }
    let t = at(ran.ended_ms);
    let left: Vec<(String, String)> = ran
        .left
        .iter()
        .map(|(pid, program)| (pids.get(pid).cloned().unwrap_or_else(|| format!("process {program}")), program.clone()))
        .collect();
    let Some(exit) = ran.exit else {
        let what = What::Ended(Ended::Horizon { reason: Horizon::Deadline, waits: Vec::new() });
        events.push(Event { t, who: SCHEDULER.into(), what });
        return Trace { events };
    };
    // a fake that is gone without a reported end was ended by somebody: here, by the wrapper
    let mut killed = false;
    for who in alive.into_iter().filter(|who| !left.iter().any(|(role, _)| role == who)) {
        if !who.contains('.') {
            killed = true;
            let what = What::Signal { sig: "KILL".to_owned(), to: who.clone() };
            events.push(Event { t, who: name.into(), what });
        }
        events.push(Event { t, who: who.into(), what: What::Killed("KILL".to_owned()) });
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
    events.push(Event { t, who: name.into(), what });
    events.push(Event { t, who: SCHEDULER.into(), what: What::Ended(Ended::Settled) });
    for (who, program) in left {
        events.push(Event { t, who: who.into(), what: What::Left { what: format!("process {program}") } });
    }
    Trace { events }
}

/// Whether the wrapper did anything to a run of its one agent but start it and pass its exit code on: it ended the agent
/// or a process of it, started another, or says something else than the agent. What a process of the agent was ended by
/// without a signal of its parent came from outside.
pub fn acted(lines: &[Line], ran: &Ran) -> bool {
    let is_start = |line: &&Line| line.is_of_an_agent() && matches!(line.said, Said::Began { .. });
    let began = lines.iter().filter(is_start).count();
    let ended = lines.iter().find_map(Line::agents_end).map(i32::from);
    let signalled = |place: &str, child: u32| {
        let own = format!("{place}.{child}");
        lines.iter().any(|line| match line.said {
            Said::Signals { child: Some(to) } => line.place == place && to == child,
            Said::Signals { child: None } => line.place == own || line.place == place,
            _ => false,
        })
    };
    let from_outside = lines.iter().any(|line| match &line.said {
        Said::Killed { child, sig } => {
            matches!(sig.as_str(), "KILL" | "TERM" | "INT" | "HUP") && !signalled(&line.place, *child)
        }
        _ => false,
    });
    began != 1 || ended.is_none() || ended != ran.exit || from_outside
}

/// Leaves of a verdict what the wrapper is to answer for: not what the agent says without it too, and nothing that its
/// agent did while the wrapper did nothing.
pub fn charged(verdict: &mut Verdict, baseline: &Verdict, acted: bool) {
    let known = baseline.broken();
    verdict.breaches.retain(|breach| {
        let of_truth = TRUTHS.contains(&breach.invariant);
        let of_agent = of_truth && known.contains(&breach.invariant);
        let of_nobody = !acted && (of_truth || breach.invariant == Invariant::Harm);
        !of_agent && !of_nobody
    });
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

#[cfg(test)]
mod tests {
    use super::*;

    fn line(place: &str, said: Said) -> Line {
        Line { ms: 1, place: place.to_owned(), said }
    }

    fn began(place: &str) -> Line {
        let word = |word: &str| word.to_owned();
        let said =
            Said::Began { pid: 7, argv: vec![word("claude")], stdin: word("null"), file: word(""), stdout: word("") };
        line(place, said)
    }

    fn ran(exit: i32) -> Ran {
        Ran { ended_ms: 9, exit: Some(exit), ..Ran::default() }
    }

    #[test]
    fn who_passes_on_what_its_agent_says_did_nothing() {
        let whole = [began("7"), line("7", Said::Ended(3))];
        assert!(!acted(&whole, &ran(3)));
        assert!(acted(&whole, &ran(0)), "it says something else");
        assert!(acted(&whole[..1], &ran(137)), "its agent did not end by itself");
        let again = [began("7"), line("7", Said::Ended(0)), began("8"), line("8", Said::Ended(0))];
        assert!(acted(&again, &ran(0)), "it started it again");
    }

    #[test]
    fn a_tool_that_its_agent_ends_is_the_agent_s() {
        let killed = || line("7", Said::Killed { child: 1, sig: "KILL".to_owned() });
        let limit = || line("7", Said::Signals { child: Some(1) });
        let end = || line("7", Said::Ended(0));
        assert!(!acted(&[began("7"), limit(), killed(), end()], &ran(0)));
        assert!(acted(&[began("7"), killed(), end()], &ran(0)), "nobody of the agent sent it a signal");
        let other = line("7", Said::Signals { child: Some(2) });
        assert!(acted(&[began("7"), other, killed(), end()], &ran(0)));
    }
}
