//! Hosts strategies wherever they sit: tells them what is seen, and records which act is whose.
//!
//! Three adapters carry the acts out: the personas' (`AgentHost`: inside an agent), the scheduler's (`WrapperHost`: in
//! the place of the program that runs the agent) and `rehang supervise`'s (`SuperviseHost`: around a real command).
//!
//! Invariant: strategies are told in the order of the stack, and only a strategy whose deadline has come gets a tick.

use crate::{Act, Member, Seen, Strategy, Stream};
use rehang_scenario::{Canon, Terminal, VTime};

/// The strategies of one seat, each under its name.
#[derive(Default)]
pub struct Host {
    hosted: Vec<Hosted>,
}

struct Hosted {
    name: String,
    strategy: Box<dyn Strategy>,
}

/// An act, and the strategy that acts.
#[derive(Debug, Clone, PartialEq)]
pub struct Acting {
    /// The strategy's spec (`auto-answer@r1(at=tool)`).
    pub by: String,
    /// The act itself.
    pub act: Act,
}

impl Host {
    /// A host of these strategies.
    pub fn new(members: impl IntoIterator<Item = Member>) -> Host {
        let hosted = |member: Member| Hosted { name: member.spec.to_string(), strategy: member.strategy };
        Host { hosted: members.into_iter().map(hosted).collect() }
    }

    /// A host of one strategy, under this name.
    pub fn of_one(name: &str, strategy: Box<dyn Strategy>) -> Host {
        Host { hosted: vec![Hosted { name: name.to_owned(), strategy }] }
    }

    /// Whether it hosts no strategy; then nothing needs to be told.
    pub fn is_empty(&self) -> bool {
        self.hosted.is_empty()
    }

    /// The strategies' names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.hosted.iter().map(|hosted| hosted.name.as_str())
    }

    /// The strategies, in the order of the stack.
    pub fn strategies(&self) -> impl Iterator<Item = &dyn Strategy> {
        self.hosted.iter().map(|hosted| &*hosted.strategy)
    }

    /// Tells every strategy what is seen; returns what they do, in order.
    pub fn see(&mut self, now: VTime, seen: &Seen) -> Vec<Acting> {
        self.tell(now, seen, |_| true)
    }

    /// Tells the strategies whose deadline has come that time has passed; returns what they do, in order.
    pub fn tick(&mut self, now: VTime) -> Vec<Acting> {
        self.tell(now, &Seen::Tick, |strategy| strategy.deadline().is_some_and(|at| at <= now))
    }

    /// The earliest deadline of all strategies.
    pub fn deadline(&self) -> Option<VTime> {
        self.strategies().filter_map(Strategy::deadline).min()
    }

    /// Writes the state of all strategies.
    pub fn canon(&self, canon: &mut Canon) {
        let Self { hosted } = self;
        canon.list(hosted, |canon, Hosted { name, strategy }| {
            canon.text(name);
            strategy.canon(canon);
        });
    }

    fn tell(&mut self, now: VTime, seen: &Seen, whom: impl Fn(&dyn Strategy) -> bool) -> Vec<Acting> {
        let (mut all, mut acts) = (Vec::new(), Vec::new());
        for hosted in self.hosted.iter_mut().filter(|hosted| whom(&*hosted.strategy)) {
            hosted.strategy.on(now, seen, &mut acts);
            all.extend(acts.drain(..).map(|act| Acting { by: hosted.name.clone(), act }));
        }
        all
    }
}

/// What a strategy outside a process is told when the process has started. With `one_stream` its stderr is its stdout,
/// as on a terminal, and counts as ended for a strategy that reads stderr separately.
pub fn started(terminal: Terminal, prompt: &str, one_stream: bool) -> Vec<Seen> {
    let begun = [Seen::Terminal(terminal), Seen::Started { session: String::new(), prompt: prompt.to_owned() }];
    begun.into_iter().chain(one_stream.then_some(Seen::OutputEnd(Stream::Stderr))).collect()
}
