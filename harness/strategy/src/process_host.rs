//! The seat around one process: what any wrapper needs to run the strategies that sit outside, `guard` first of all.
//!
//! Tell it what is seen ([`ProcessHost::see`]) and that time has passed ([`ProcessHost::tick`]); carry out the
//! [`Step`]s that it returns. It has no clock and no process of its own: `now` is the caller's time since the start.
//! `docs/library.md` has a wrapper that can be copied.
//!
//! Invariant: these are the state machines of the matrix, told in the order of the stack; the first settlement of the
//! run counts, and after it no strategy is told anything.

use crate::host::{Acting, Host, started};
use crate::{Act, Intent, ProcessAct, ProcessSeen, Seat, Seen, Settled, Stack, Strategy, Whom, Wire};
use rehang_words::{Policy, Terminal, VTime};

/// The strategies around one process.
pub struct ProcessHost {
    /// Each in a host of its own, so that no strategy is told anything after one has settled the run.
    hosts: Vec<Host>,
    report: Option<(String, Policy)>,
    settled: Option<(String, Settled)>,
    retired: bool,
}

/// Why a stack cannot play around a process.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StackError {
    /// This member sits elsewhere.
    #[error(
        "{0} does not sit around a process; `rehang list --strategies` lists those that do as [outside: a process]"
    )]
    Elsewhere(String),
    /// This stack has a part that sits inside of the agent.
    #[error("{stack} needs the agent's source: its part {part} sits inside")]
    Inside {
        /// The stack's name.
        stack: String,
        /// The part.
        part: String,
    },
    /// All members of this stack sit elsewhere.
    #[error("no member of {0} sits around a process")]
    Nobody(String),
}

/// One thing that the caller is to do to the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Send this signal to these processes.
    Signal {
        /// The signal (`TERM`, `KILL`, `INT`), without `SIG`.
        signal: &'static str,
        /// Which processes get it.
        whom: Whom,
    },
    /// Close its stdin, if that is a pipe of the caller's own.
    CloseStdin,
    /// Look at its processes, for example with `rehang_evidence::Glance`; [`ProcessSeen::Looked`] is the answer.
    Look,
    /// Tell the user this.
    Say(String),
}

impl ProcessHost {
    /// The members of these stacks that sit around a process.
    ///
    /// # Errors
    /// A member that sits elsewhere, in a stack without a name of its own; a stack of which no member sits here.
    pub fn new(stacks: impl IntoIterator<Item = Stack>) -> Result<ProcessHost, StackError> {
        let mut members = Vec::new();
        for stack in stacks {
            let (name, named, before) = (stack.name, stack.named, members.len());
            for member in stack.members {
                let entry = member.entry;
                match entry.seat == Seat::Outside && entry.speaks.contains(&Wire::Process) {
                    true => members.push(member),
                    false if named && entry.seat == Seat::Inside => {
                        return Err(StackError::Inside { stack: name, part: member.spec.to_string() });
                    }
                    false if named || entry.seat == Seat::Nowhere => {}
                    false => return Err(StackError::Elsewhere(member.spec.to_string())),
                }
            }
            if members.len() == before && name != "none" {
                return Err(StackError::Nobody(name));
            }
        }
        let hosts = members.into_iter().map(|member| Host::new([member])).collect();
        Ok(ProcessHost { hosts, report: None, settled: None, retired: false })
    }

    /// The process was started, with its standard streams connected like this. With `one_stream` its stderr is its stdout,
    /// as on a terminal.
    pub fn start(&mut self, now: VTime, terminal: Terminal, one_stream: bool) -> Vec<Step> {
        started(terminal, "", one_stream).into_iter().flat_map(|seen| self.see(now, seen)).collect()
    }

    /// Something is seen: output, the end of a stream, what was written to stdin, the exit, the result of a look.
    pub fn see(&mut self, now: VTime, seen: ProcessSeen) -> Vec<Step> {
        let seen = Seen::Process(seen);
        self.tell(|host| host.see(now, &seen))
    }

    /// Tells the strategies whose deadline has come.
    pub fn tick(&mut self, now: VTime) -> Vec<Step> {
        self.tell(|host| host.tick(now))
    }

    /// When [`ProcessHost::tick`] is due; `None` if no strategy waits for time to pass.
    pub fn deadline(&self) -> Option<VTime> {
        self.hosts.iter().filter(|_| !self.retired).filter_map(Host::deadline).min()
    }

    /// What will be done first if nothing changes, and by which strategy.
    pub fn intent(&self) -> Option<(String, Intent)> {
        let hosts = self.hosts.iter().filter(|_| !self.retired && self.settled.is_none());
        let all = hosts.flat_map(|host| host.names().zip(host.strategies().map(Strategy::intent)));
        let first = all.filter_map(|(by, intent)| Some((by, intent?))).min_by_key(|(_, intent)| intent.at)?;
        Some((first.0.to_owned(), first.1))
    }

    /// The last report, and the strategy that made it.
    pub fn report(&self) -> Option<&(String, Policy)> {
        self.report.as_ref()
    }

    /// How the run has ended according to a strategy, and which one; `None` while it goes on.
    pub fn settled(&self) -> Option<&(String, Settled)> {
        self.settled.as_ref()
    }

    /// From here on no strategy is told anything, and nothing is due.
    pub fn retire(&mut self) {
        self.retired = true;
    }

    fn tell(&mut self, tell: impl Fn(&mut Host) -> Vec<Acting>) -> Vec<Step> {
        let mut steps = Vec::new();
        for host in &mut self.hosts {
            if self.settled.is_some() || self.retired {
                break;
            }
            for Acting { by, act } in tell(host) {
                match act {
                    Act::Process(ProcessAct::Kill { sig, whom }) => steps.push(Step::Signal { signal: sig, whom }),
                    Act::Process(ProcessAct::CloseStdin) => steps.push(Step::CloseStdin),
                    Act::Process(ProcessAct::Look) => steps.push(Step::Look),
                    Act::Process(ProcessAct::Settle(settled)) => {
                        self.settled.get_or_insert((by, settled));
                    }
                    Act::Report(policy) => self.report = Some((by, policy)),
                    Act::Say(text) => steps.push(Step::Say(text)),
                    // `new` takes only those that sit around a process, and these do nothing else (`laws`)
                    Act::Protocol(_) | Act::Inside(_) => debug_assert!(false, "{by} does {act:?} around a process"),
                }
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Stream, stack};
    use rehang_words::Span;

    fn host(stacks: &[&str]) -> Result<ProcessHost, StackError> {
        ProcessHost::new(stacks.iter().map(|text| stack(text).expect("a stack")))
    }

    fn started(stacks: &[&str]) -> ProcessHost {
        let mut host = host(stacks).expect("they sit here");
        assert_eq!(host.start(VTime::ZERO, Terminal::Null, false), []);
        host
    }

    fn stopped(host: &ProcessHost) -> Option<(&str, &str)> {
        let (by, settled) = host.settled()?;
        let Settled::Stopped(cause, _) = settled else { panic!("{settled:?}") };
        Some((by, cause))
    }

    #[test]
    fn who_sits_elsewhere_is_told_so() {
        let said = |stacks: &[&str]| host(stacks).err().map(|error| error.to_string());
        assert_eq!(said(&["none"]), None);
        assert_eq!(said(&["idle@off+wall"]), None);
        assert!(
            said(&["auto-answer@r1"])
                .is_some_and(|said| said.starts_with("auto-answer@r1 does not sit around a process"))
        );
        // of a stack with a name of its own, the members that sit here play
        let guard = host(&["guard"]).expect("a part of it sits here");
        assert_eq!(guard.hosts.iter().flat_map(Host::names).collect::<Vec<_>>(), ["guard-process"]);
    }

    #[test]
    fn the_first_deadline_is_due_and_the_first_to_settle_is_believed() {
        let mut host = started(&["wall(cap=10s)", "wall(cap=20s)"]);
        assert_eq!(host.deadline(), Some(VTime(10_000)));
        assert_eq!(
            host.intent().map(|(by, intent)| (by, intent.at)),
            Some(("wall(cap=10s)".to_owned(), VTime(10_000)))
        );
        assert_eq!(host.tick(VTime(9_999)), []);
        assert_eq!(stopped(&host), None);
        assert!(host.tick(VTime(10_000)).iter().any(|step| matches!(step, Step::Signal { .. })));
        assert_eq!(
            host.report().map(|(by, policy)| (by.as_str(), policy.cause.as_deref())),
            Some(("wall(cap=10s)", Some("wall")))
        );
        host.see(VTime(10_001), ProcessSeen::Exited(-15));
        assert_eq!(stopped(&host), Some(("wall(cap=10s)", "wall")));
        // after it no strategy is told anything
        assert_eq!(host.tick(VTime(20_000)), []);
        assert_eq!(stopped(&host), Some(("wall(cap=10s)", "wall")));
        assert!(host.intent().is_none());
    }

    #[test]
    fn who_is_retired_does_nothing_more() {
        let mut host = started(&["wall(cap=10s)"]);
        host.retire();
        assert_eq!(host.deadline(), None);
        assert!(host.intent().is_none());
        assert_eq!(host.tick(VTime(10_000)), []);
        assert_eq!(stopped(&host), None);
    }

    #[test]
    fn output_reaches_those_that_read_it() {
        let mut host = started(&["idle@f54b32f(timeout=10s)"]);
        host.see(VTime(5_500), ProcessSeen::Output(Stream::Stdout, b"x\n".to_vec()));
        host.tick(VTime(5_500));
        assert_eq!(host.deadline(), Some(VTime(5_500) + Span::secs(11)), "idle again, and looked at once a second");
    }

    #[test]
    fn each_act_on_a_process_is_a_step() {
        let mut host = started(&["guard"]);
        assert_eq!(host.tick(VTime(10_000)), [Step::Look]);
        let mut pipe = ProcessHost::new([stack("guard").expect("a stack")]).expect("it sits here");
        assert_eq!(pipe.start(VTime::ZERO, Terminal::Pipe, true), []);
        let mut steps = Vec::new();
        while let Some(at) = pipe.deadline().filter(|at| at.0 <= 60_000) {
            steps.extend(pipe.tick(at));
        }
        assert_eq!(steps, [Step::Look, Step::CloseStdin]);
        assert!(pipe.settled().is_none() && pipe.report().is_some_and(|(by, _)| by == "guard-process"));
    }

    #[test]
    fn a_stack_of_which_nobody_sits_here_is_refused() {
        let named = Stack { name: "inside".to_owned(), named: true, members: Vec::new() };
        let refused = ProcessHost::new([named]).err();
        assert_eq!(refused, Some(StackError::Nobody("inside".to_owned())));
        // it speaks to a server, from outside
        assert_eq!(host(&["heal@pr3"]).err(), Some(StackError::Elsewhere("heal@pr3".to_owned())));
        let inside = host(&["guard-inside"]).err().map(|error| error.to_string());
        assert_eq!(inside.as_deref(), Some("guard-inside needs the agent's source: its part guard-asks sits inside"));
        assert_eq!(host(&["none", "wall"]).map(|host| host.hosts.len()).ok(), Some(1));
        assert_eq!(host(&["wall+idle@off", "wall(cap=1s)"]).map(|host| host.hosts.len()).ok(), Some(3));
    }
}
