//! The baseline wrapper: reads the agent's streams, waits for their end and for its exit, as `communicate()` does.
//!
//! Invariant: it never ends an agent by itself.

use super::Job;
use super::hub::{Actor, Hub};
use super::inbox::Input;
use rehang_os::{kernel::InternalError, os::Exit};
use rehang_scenario::{Canon, Fault, Span, Terminal, VTime, WrapperFault};
use rehang_trace::{RunEnd, What};
use std::collections::VecDeque;

/// How many bytes a slow reader takes each second ([`Terminal::StdoutSlow`]).
const SLOW_BYTES: usize = 4_096;

/// The baseline wrapper of a cell.
pub struct Wrapper {
    waits: bool,
    reads_next: Option<VTime>,
    vanishes: Option<VTime>,
    gone: bool,
    out: String,
}

impl Wrapper {
    /// The wrapper of this cell.
    pub fn new(job: &Job<'_>) -> Wrapper {
        let vanishes = job.scenario.faults.iter().find_map(|fault| match fault {
            Fault::Wrapper(WrapperFault::Vanishes(after)) => Some(job.begin + *after),
            _ => None,
        });
        let slow = job.terminal == Terminal::StdoutSlow;
        let agent = &job.scenario.agent;
        Wrapper {
            waits: !agent.serves() && !agent.is_driven(),
            reads_next: slow.then(|| job.begin + Span::secs(1)),
            vanishes,
            gone: false,
            out: String::new(),
        }
    }

    fn vanish(&mut self, hub: &mut Hub<'_>, name: &str) -> Result<(), InternalError> {
        self.vanishes = None;
        self.gone = true;
        hub.record(name, What::Fault("wrapper vanishes".to_owned()));
        hub.close_streams()
    }
}

impl Actor for Wrapper {
    fn deadline(&self) -> Option<VTime> {
        [self.reads_next, self.vanishes].into_iter().flatten().min()
    }

    fn act(&mut self, hub: &mut Hub<'_>, name: &str, inbox: VecDeque<Input>) -> Result<(), InternalError> {
        if self.reads_next.is_some_and(|t| t <= hub.now) {
            hub.read_stream(0, SLOW_BYTES)?;
            self.reads_next = hub.stream_open[0].then(|| hub.now + Span::secs(1));
        }
        if self.vanishes.is_some_and(|t| t <= hub.now) {
            self.vanish(hub, name)?;
        }
        for input in inbox {
            if let Input::Output(rehang_strategy::Stream::Stdout, bytes) = input {
                self.out.push_str(&String::from_utf8_lossy(&bytes));
            }
        }
        if !hub.inboxes[hub.actor].is_empty() {
            // What it has just read itself comes first.
            return Ok(());
        }
        // It does not wait for a stream that it never reads.
        let ignores =
            [WrapperFault::IgnoresStdout, WrapperFault::IgnoresStderr].map(|w| hub.has_fault(&Fault::Wrapper(w)));
        let over = hub.stream_open.iter().zip(ignores).all(|(open, ignored)| !open || ignored);
        if let Some(exit) = hub.exit.filter(|_| over && self.waits) {
            match exit {
                _ if self.gone => hub.settle(name, RunEnd::Stopped, "parent-gone", ""),
                Exit::Code(0) => hub.settle(name, RunEnd::Completed, "", self.out.trim_end()),
                Exit::Code(code) => hub.settle(name, RunEnd::Failed, &format!("exit code {code}"), self.out.trim_end()),
                Exit::Signal(sig) => {
                    hub.settle(name, RunEnd::Failed, &format!("SIG{}", sig.name()), self.out.trim_end())
                }
            }
        }
        Ok(())
    }

    fn canon(&self, _: &Hub<'_>, canon: &mut Canon) {
        let Wrapper {
            waits: _, // not compared: it never changes
            reads_next,
            vanishes,
            gone,
            out: _, // not compared: it goes into the text of the end, and no end is part of a cycle
        } = self;
        canon.deadline(*reads_next).deadline(*vanishes).flag(*gone);
    }

    fn waits_for(&self) -> Option<&'static str> {
        (self.waits && !self.gone).then_some("exit")
    }
}
