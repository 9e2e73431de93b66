//! What all actors of the scheduler share: the world, the clock, the trace, the agent's streams, the network.
//!
//! Invariant: whatever enters the trace goes through [`Hub::record`], which replaces ports by their names.

use super::Job;
use super::asks::OpenAsk;
use super::evidence::records::Records;
use super::inbox::{Inbox, Input};
use super::model_net::Connections;
use super::net::Net;
use super::ports::Ports;
use super::spin::Burned;
use rehang_actors::PROMPT;
use rehang_evidence::Heard;
use rehang_evidence::Pid;
use rehang_os::tables::proc_of;
use rehang_os::{
    kernel::{Also, Handle, InternalError, Kernel, Launch, Proc, Streams},
    os::{Exit, Sig, Write},
};
use rehang_scenario::plan::{Plan, Tools};
use rehang_scenario::{Canon, EditorStep, Fault, PgrepFault, Span, Terminal, VTime, Via, WorkerFault, WrapperFault};
use rehang_trace::{
    Event, Name, RunEnd, What,
    role::{self, Role},
};
use std::collections::{BTreeMap, VecDeque};

/// The client's place among the actors: after the wrapper.
pub const CLIENT_SEAT: usize = 1;

/// The events of most cells: so many have room before the trace must grow.
const EVENTS_USUAL: usize = 128;

/// A party in the scheduler that acts.
pub trait Actor {
    /// When it wants to act by itself.
    fn deadline(&self) -> Option<VTime> {
        None
    }
    /// Acts on what it has been told, or because its deadline has come.
    ///
    /// # Errors
    /// An internal error.
    fn act(&mut self, hub: &mut Hub<'_>, name: &str, inbox: VecDeque<Input>) -> Result<(), InternalError>;
    /// Writes its state. A request of its own is written as [`Net::place`] gives it.
    fn canon(&self, hub: &Hub<'_>, canon: &mut Canon);
    /// What it waits for, if that explains a hang.
    fn waits_for(&self) -> Option<&'static str> {
        None
    }
}

/// The state that all actors share.
pub struct Hub<'w> {
    pub kernel: &'w mut dyn Kernel,
    pub now: VTime,
    pub begin: VTime,
    pub events: Vec<Event>,
    /// How much text is in them and in the requests to the model, in bytes.
    pub text_bytes: usize,
    pub inboxes: Vec<Inbox>,
    /// The actor that acts now.
    pub actor: usize,
    /// The seats of the outside strategies, by index.
    pub strategies: Vec<usize>,
    pub agent: Proc,
    pub launch: Launch,
    pub streams: Streams,
    /// Whether stdout and stderr (or the terminal) are read as they come.
    pub reads: [bool; 2],
    pub stream_open: [bool; 2],
    pub carry: [Vec<u8>; 2],
    pub exit: Option<Exit>,
    /// Whether the agent is a server.
    pub serves: bool,
    /// Whether it is a run that listens too (`--port`): people can reach it.
    pub listens: bool,
    /// What the program that runs the agent waits for beside the agent.
    pub host: Also,
    pub port: Option<u16>,
    /// All ports that the agent and the processes that it started have named.
    pub ports: Ports,
    /// Whether the client is still to be told that the server listens; it is told last, so that people and strategies
    /// have their event streams open before the prompt is sent.
    pub client_waits: bool,
    pub session: String,
    pub net: Net,
    pub model_listener: Option<Handle>,
    pub model: Connections,
    /// What was asked and has not ended.
    pub asks: Vec<OpenAsk>,
    /// What agents have stated, by role: only evidence reads it.
    pub records: BTreeMap<Name, Records>,
    /// What an agent with an editor has said on its stdout: only evidence reads it.
    pub heard: Option<Heard>,
    pub faults: Vec<Fault>,
    /// The processor time of those that went in circles: only evidence reads it.
    pub burned: Burned,
    /// Whether the companion's worker is dead; whoever asks by its pid finds that it is.
    pub worker_dead: bool,
    /// Counts the processes that were started so far: the number of the next one.
    pub spawned: u32,
    /// Counts the material events so far.
    pub material: u64,
    pub settled: Option<VTime>,
    /// How long the cell goes on after its end.
    pub afterwards: Option<Span>,
    /// How many runs of the caller's loop are still to begin.
    pub runs_left: u32,
    /// Whether a run was settled that is not the last.
    pub run_over: bool,
    /// The strategy through which people write to the agent's stdin.
    pub relay: Option<usize>,
    /// What the agent's stdin or terminal has not taken yet.
    unwritten: VecDeque<u8>,
    restarts: u32,
}

impl<'w> Hub<'w> {
    pub fn new(kernel: &'w mut dyn Kernel, job: &Job<'_>, inside: Vec<String>) -> Result<Hub<'w>, InternalError> {
        let scenario = job.scenario;
        let over_http = scenario.faults.iter().any(|f| matches!(f, Fault::Model(_)));
        let listener = if over_http { Some(kernel.listen()?) } else { None };
        let plan = Plan {
            agent: scenario.agent.clone(),
            turns: scenario.turns.clone(),
            faults: scenario.faults.clone(),
            inside,
            model_port: listener.map(|(_, port)| port),
            tools: scenario.tool_server.clone().map(|server| Tools { server, port: None }),
            stored: None,
        };
        let launch = Launch {
            role: "agent".to_owned(),
            argv: rehang_fakes::registry::argv(&scenario.agent, &scenario.args, PROMPT),
            env: scenario.env.clone().into_iter().collect(),
            plan,
            terminal: job.terminal,
        };
        if !rehang_os::exec::fits(&launch.argv, &launch.env) {
            let why = "its arguments and variables are more than a process can be given; `rehang check` says which";
            return Err(InternalError::Fake(format!("agent: {why}")));
        }
        let ignores = |fault| scenario.faults.contains(&Fault::Wrapper(fault));
        let slow = matches!(job.terminal, Terminal::StdoutStopped | Terminal::StdoutSlow);
        let vanishes = scenario.faults.iter().any(|f| matches!(f, Fault::Wrapper(WrapperFault::Vanishes(_))));
        // who answers over stdin or at the terminal does it by way of the host: a window, a socket, a screen
        let is_reached = scenario.people.iter().any(|person| matches!(person.via, Via::Stdin | Via::Tty));
        let pauses = scenario.editor.iter().any(|step| matches!(step, EditorStep::Pause(_)));
        let has_timer = vanishes || job.terminal == Terminal::StdoutSlow || pauses;
        let host = if has_timer || is_reached { Also::Others } else { Also::Nothing };
        let serves = scenario.agent.serves();
        Ok(Hub {
            kernel,
            now: job.begin,
            begin: job.begin,
            events: Vec::with_capacity(EVENTS_USUAL),
            text_bytes: 0,
            inboxes: Vec::new(),
            actor: 0,
            strategies: Vec::new(),
            agent: Proc(0),
            launch,
            streams: Streams::default(),
            reads: [!slow && !ignores(WrapperFault::IgnoresStdout), !ignores(WrapperFault::IgnoresStderr)],
            stream_open: [false; 2],
            carry: [Vec::new(), Vec::new()],
            exit: None,
            serves,
            host,
            listens: scenario.agent.kind().has_server && scenario.args.iter().any(|arg| arg.starts_with("--port")),
            port: None,
            ports: Ports::default(),
            client_waits: false,
            session: String::new(),
            net: Net::default(),
            model_listener: listener.map(|(handle, _)| handle),
            model: Connections::default(),
            asks: Vec::new(),
            records: BTreeMap::new(),
            heard: scenario.agent.has_editor().then(Heard::default),
            faults: scenario.faults.clone(),
            burned: Burned::default(),
            worker_dead: false,
            spawned: 0,
            material: 0,
            settled: None,
            afterwards: scenario.afterwards,
            runs_left: scenario.runs.saturating_sub(1),
            run_over: false,
            relay: None,
            unwritten: VecDeque::new(),
            restarts: 0,
        })
    }

    /// Starts the agent of the cell.
    pub fn launch(&mut self) -> Result<(), InternalError> {
        self.kernel.set_now(self.now);
        let (agent, streams) = self.kernel.start(&self.launch)?;
        self.agent = agent;
        self.streams = streams;
        self.exit = None;
        self.port = None;
        if let Some(heard) = &mut self.heard {
            *heard = Heard::default();
            self.reads[0] = !self.has_fault(&Fault::Wrapper(WrapperFault::IgnoresStdout));
        }
        self.stream_open = [streams.stdout.or(streams.tty).is_some(), streams.stderr.is_some()];
        self.drain()
    }

    /// Tells the client that the server listens, if it is its turn to know.
    pub fn admit_client(&mut self) {
        let others_know = || !self.inboxes.iter().any(|inbox| inbox.holds(&Input::Listening));
        if self.client_waits && others_know() {
            self.client_waits = false;
            self.deliver(CLIENT_SEAT, Input::Listening);
        }
    }

    /// Closes the wrapper's ends of all streams of the agent.
    pub fn close_streams(&mut self) -> Result<(), InternalError> {
        let streams = std::mem::take(&mut self.streams);
        self.stream_open = [false; 2];
        self.unwritten.clear();
        for handle in [streams.stdin, streams.stdout, streams.stderr, streams.tty].into_iter().flatten() {
            self.kernel.close(handle, false)?;
        }
        Ok(())
    }

    /// Starts the agent again; to its clients, its address stays the same.
    pub fn relaunch(&mut self) -> Result<(), InternalError> {
        self.restarts += 1;
        self.launch.role = role::agent(self.restarts + 1);
        self.launch()
    }

    /// Records an event in the trace.
    pub fn record(&mut self, who: &str, mut what: What) {
        self.ports.hide(&mut what);
        self.text_bytes += what.text_bytes();
        self.events.push(Event { t: VTime(self.now.since(self.begin).as_ms()), who: who.into(), what });
    }

    pub fn agent_alive(&self) -> bool {
        self.kernel.alive(self.agent)
    }

    pub fn has_fault(&self, fault: &Fault) -> bool {
        self.faults.contains(fault)
    }

    pub fn pgrep(&self) -> Option<PgrepFault> {
        self.faults.iter().find_map(|f| match f {
            Fault::Pgrep(pgrep) => Some(*pgrep),
            _ => None,
        })
    }

    pub fn worker_alive(&self) -> bool {
        !self.worker_dead && !self.has_fault(&Fault::Worker(WorkerFault::NeverStarts))
    }

    /// Puts an input into the inbox of one actor.
    pub fn deliver(&mut self, seat: usize, input: Input) {
        self.inboxes[seat].push(input);
    }

    /// Puts an input into the inboxes of all actors.
    pub fn deliver_all(&mut self, input: &Input) {
        for inbox in &mut self.inboxes {
            inbox.push(input.clone());
        }
    }

    /// An actor says that the run is over.
    pub fn settle(&mut self, who: &str, outcome: RunEnd, cause: &str, text: &str) {
        if self.settled.is_some() || self.run_over {
            return;
        }
        let (cause, text) = (cause.to_owned(), text.to_owned());
        if self.runs_left > 0 {
            self.runs_left -= 1;
            self.run_over = true;
            return self.record(who, What::RunOver { outcome, cause, text });
        }
        self.settled = Some(self.now);
        self.record(who, What::Settled { outcome, cause, text });
    }

    /// When the cell ends, once it is settled.
    pub fn ends_at(&self) -> Option<VTime> {
        Some(self.settled? + self.afterwards.unwrap_or(Span::ZERO))
    }

    /// Whether the cell is over.
    pub fn is_over(&self) -> bool {
        self.ends_at().is_some_and(|end| self.afterwards.is_none() || end <= self.now)
    }

    /// Whether no actor can act any more: the run is settled, and nothing comes after it.
    pub fn is_closed(&self) -> bool {
        self.run_over || (self.settled.is_some() && self.afterwards.is_none())
    }

    /// Sends a signal to the agent.
    pub fn signal(&mut self, who: &str, group: bool, sig: Sig) -> Result<(), InternalError> {
        let to = format!("{}{}", self.kernel.role(self.agent), if group { "*" } else { "" });
        self.record(who, What::Signal { sig: sig.name().to_owned(), to });
        self.kernel.kill(self.agent, group, sig)
    }

    /// Sends a signal to the agent and to all processes that it started, in the order of starts.
    pub fn signal_tree(&mut self, who: &str, sig: Sig) -> Result<(), InternalError> {
        let instance = Role::of(self.kernel.role(self.agent)).map(Role::instance);
        let roles = self.kernel.waits().into_iter().map(|(role, _)| role);
        let own = roles.filter(|role| Role::of(role).map(Role::instance) == instance);
        let tree = own.filter_map(|role| self.kernel.find(&role)).collect();
        self.signal_each(who, tree, sig)
    }

    /// Sends a signal to each process that holds the agent's output open, in the order of starts.
    pub fn signal_holders(&mut self, who: &str, sig: Sig) -> Result<(), InternalError> {
        let streams = [self.streams.stdout, self.streams.stderr, self.streams.tty];
        let mut holders: Vec<Proc> =
            streams.into_iter().flatten().flat_map(|handle| self.kernel.holders(handle)).collect();
        holders.sort_unstable();
        holders.dedup();
        self.signal_each(who, holders, sig)
    }

    /// Sends a signal to a process of a look and to all processes below it, in the order of starts.
    pub fn signal_part(&mut self, who: &str, pid: Pid, sig: Sig) -> Result<(), InternalError> {
        let snapshot = self.evidence_now();
        let part = snapshot.tree.keys().filter(|member| **member == pid || snapshot.descends(**member, pid));
        let mut part: Vec<Proc> = part.filter_map(|member| proc_of(*member)).collect();
        part.sort_unstable();
        self.signal_each(who, part, sig)
    }

    fn signal_each(&mut self, who: &str, all: Vec<Proc>, sig: Sig) -> Result<(), InternalError> {
        for proc in all {
            // one may have ended with another
            if self.kernel.alive(proc) {
                let to = self.kernel.role(proc).to_owned();
                self.record(who, What::Signal { sig: sig.name().to_owned(), to });
                self.kernel.kill(proc, false, sig)?;
            }
        }
        Ok(())
    }

    /// Writes to the agent's stdin or terminal.
    pub fn write_stdin(&mut self, who: &str, bytes: &[u8]) -> Result<(), InternalError> {
        if self.streams.stdin.or(self.streams.tty).is_none() {
            // It is closed: nothing can be written.
            return Ok(());
        }
        self.record(who, What::In { text: String::from_utf8_lossy(bytes).into_owned() });
        self.material += 1;
        for seat in self.strategies.clone() {
            if seat != self.actor {
                self.deliver(seat, Input::Wrote(bytes.to_vec()));
            }
        }
        self.unwritten.extend(bytes);
        self.flush()
    }

    /// Closes the agent's stdin, or hangs its terminal up.
    pub fn close_stdin(&mut self, who: &str) -> Result<(), InternalError> {
        self.material += 1;
        if let Some(handle) = self.streams.stdin.take() {
            self.record(who, What::InEnd);
            self.kernel.close(handle, false)?;
        } else if let Some(handle) = self.streams.tty.take() {
            self.record(who, What::InEnd);
            self.stream_open[0] = false;
            self.kernel.close(handle, false)?;
        }
        Ok(())
    }

    /// Writes as much as the agent's stdin or terminal takes now.
    pub fn flush(&mut self) -> Result<(), InternalError> {
        let Some(handle) = self.streams.stdin.or(self.streams.tty) else {
            self.unwritten.clear();
            return Ok(());
        };
        while !self.unwritten.is_empty() {
            match self.kernel.write(handle, self.unwritten.make_contiguous())? {
                Write::Took(n) => drop(self.unwritten.drain(..n)),
                Write::Later => break,
                Write::Failed(_) => self.unwritten.clear(),
            }
        }
        Ok(())
    }

    /// Writes the shared state, without the world's.
    pub fn canon(&self, canon: &mut Canon) {
        let Hub {
            kernel: _,     // not compared: it is the other half of the state
            now: _,        // not compared: times are written as what is left of them
            begin: _,      // not compared: it never changes
            events: _,     // not compared: nobody reads the trace before the cell is over
            text_bytes: _, // not compared: a limit of rehang's own, after which a cell is undecided
            inboxes: _,    // not compared: `Scheduler::own_state` writes them
            actor: _,      // not compared: set before each turn of an actor, and read in that turn alone
            strategies: _, // not compared: it never changes
            agent,
            launch,
            streams,
            reads,
            stream_open,
            carry,
            exit,
            serves: _,  // not compared: it never changes
            listens: _, // not compared: it never changes
            host: _,    // not compared: it never changes
            port,
            ports: _, // not compared: they are replaced in the trace, and decide nothing
            client_waits,
            session,
            net,
            model_listener,
            model,
            asks,
            records: _, // not compared: a strategy that looks writes what they show (`Glance::canon`)
            heard: _,   // not compared: for the same reason
            burned: _, // not compared: it only grows, a look shows the difference, and who spins now is written (`Spin`)
            faults: _, // not compared: they never change; those that are still to strike are an actor's state
            worker_dead,
            spawned: _, // not compared: it numbers, and a cycle in which a number decided is no proof (`Place::spawned`)
            material: _, // not compared: it decides which states are looked at, and nothing in the cell
            settled,
            afterwards: _, // not compared: it never changes
            runs_left,
            run_over,
            relay: _, // not compared: it never changes
            unwritten,
            restarts,
        } = self;
        let Launch {
            role,
            argv: _, // not compared: it never changes
            env: _,  // not compared: it never changes
            plan,
            terminal: _, // not compared: it never changes
        } = launch;
        let Plan {
            agent: _,      // not compared: it never changes
            turns: _,      // not compared: they never change
            faults: _,     // not compared: they never change
            inside: _,     // not compared: they never change
            model_port: _, // not compared: it never changes
            tools: _,      // not compared: it never changes once the agent runs
            stored,
        } = plan;
        let Streams { stdin, stdout, stderr, tty } = streams;
        canon.num(u64::from(agent.0)).text(role).num(u64::from(*restarts));
        canon.flag(stored.is_some()).text(stored.as_deref().unwrap_or_default());
        for handle in [stdin, stdout, stderr, tty, model_listener] {
            canon.flag(handle.is_some());
        }
        // a handle's number only names it: what matters is which of the world's open handles it is
        let streams = [stdin, stdout, stderr, tty, model_listener].into_iter().copied().flatten();
        let held: Vec<Handle> = streams.chain(net.handles()).chain(model.handles()).collect();
        for handle in &held {
            canon.num(held.iter().filter(|other| *other < handle).count() as u64);
        }
        for flags in [reads, stream_open] {
            canon.flag(flags[0]).flag(flags[1]);
        }
        canon.bytes(&carry[0]).bytes(&carry[1]);
        let exit = exit.map_or(0, |exit| match exit {
            Exit::Code(code) => 1 + u64::from(code),
            Exit::Signal(sig) => 1_000 + u64::from(sig.number()),
        });
        canon.num(exit).num(port.map_or(0, u64::from)).flag(*client_waits).text(session);
        canon.list(asks, |canon, ask| ask.canon(canon));
        canon.flag(*worker_dead).flag(settled.is_some()).num(u64::from(*runs_left)).flag(*run_over);
        let unwritten: Vec<u8> = unwritten.iter().copied().collect();
        canon.bytes(&unwritten);
        net.canon(canon);
        model.canon(canon);
    }
}
