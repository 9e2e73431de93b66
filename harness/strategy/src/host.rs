//! Hosts strategies wherever they sit: tells them what is seen, and records which act is whose.
//!
//! Three adapters carry the acts out: the personas' (`AgentHost`: inside an agent), the scheduler's (`WrapperHost`: in
//! the place of the program that runs the agent) and `rehang supervise`'s (`SuperviseHost`: around a real command).
//!
//! Invariant: strategies are told in the order of the stack, and only a strategy whose deadline has come gets a tick.

use crate::{Act, Member, ProcessSeen, Seen, Strategy, Stream};
use rehang_words::{Canon, Terminal, VTime};

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
#[derive(Debug, Clone, PartialEq, Hash)]
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
pub fn started(terminal: Terminal, prompt: &str, one_stream: bool) -> Vec<ProcessSeen> {
    let begun =
        [ProcessSeen::Terminal(terminal), ProcessSeen::Started { session: String::new(), prompt: prompt.to_owned() }];
    begun.into_iter().chain(one_stream.then_some(ProcessSeen::OutputEnd(Stream::Stderr))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProcessAct, member};

    fn host(specs: &[&str]) -> Host {
        Host::new(specs.iter().map(|spec| member(spec).expect("a strategy")))
    }

    fn who(acts: &[Acting]) -> Vec<(&str, bool)> {
        acts.iter()
            .map(|acting| (acting.by.as_str(), matches!(acting.act, Act::Process(ProcessAct::Settle(_)))))
            .collect()
    }

    fn canon(host: &Host) -> Vec<u8> {
        let mut canon = Canon::new(VTime(1));
        host.canon(&mut canon);
        canon.into_bytes()
    }

    #[test]
    fn strategies_are_told_in_order_and_ticked_when_they_are_due() {
        let mut host = host(&["wall(cap=10s)", "none", "wall(cap=5s)"]);
        assert_eq!(host.names().collect::<Vec<_>>(), ["wall(cap=10s)", "none", "wall(cap=5s)"]);
        assert_eq!((host.strategies().count(), host.is_empty(), host.deadline()), (3, false, None));
        for seen in started(Terminal::Pipe, "go", false) {
            assert_eq!(host.see(VTime::ZERO, &Seen::Process(seen)), []);
        }
        assert_eq!(host.deadline(), Some(VTime(5_000)), "the earliest");
        assert_eq!(host.tick(VTime(4_999)), []);
        let due = host.tick(VTime(5_000));
        assert_eq!(who(&due), [("wall(cap=5s)", false), ("wall(cap=5s)", false), ("wall(cap=5s)", true)]);
        assert_eq!(host.deadline(), Some(VTime(10_000)));
        assert_eq!(who(&host.tick(VTime(10_000))).last(), Some(&("wall(cap=10s)", true)));
        assert_eq!((host.deadline(), host.tick(VTime(20_000))), (None, Vec::new()));
    }

    #[test]
    fn its_state_is_that_of_all_strategies_under_their_names() {
        assert!(host(&[]).is_empty() && !host(&["none"]).is_empty());
        let named = |name: &str| Host::of_one(name, member("none").expect("a strategy").strategy);
        assert_eq!(named("a").names().collect::<Vec<_>>(), ["a"]);
        assert_ne!(canon(&named("a")), canon(&named("b")));
        assert_ne!(canon(&host(&["none"])), canon(&host(&["none", "none"])));
        let (rests, mut runs) = (host(&["wall"]), host(&["wall"]));
        runs.see(VTime::ZERO, &Seen::Process(started(Terminal::Pipe, "", false).remove(1)));
        assert_ne!(canon(&rests), canon(&runs));
    }

    #[test]
    fn on_one_stream_there_is_no_stderr() {
        let begun = |one_stream| started(Terminal::Tty, "go", one_stream);
        let start = ProcessSeen::Started { session: String::new(), prompt: "go".to_owned() };
        assert_eq!(begun(false), [ProcessSeen::Terminal(Terminal::Tty), start.clone()]);
        assert_eq!(begun(true), [ProcessSeen::Terminal(Terminal::Tty), start, ProcessSeen::OutputEnd(Stream::Stderr)]);
    }
}
