//! One fake on the simulated kernel, with the ends of its streams in the caller's hands.
//!
//! Invariant: it runs whenever it can; what it wrote is taken before anything is written to it. A simulated kernel that
//! fails is an internal error and panics, since this serves only comparisons and tests.

use rehang_fakes::mcp;
use rehang_os::kernel::{Change, Handle, Kernel, Launch, Proc, Streams};
use rehang_os::os::{Exit, Read, Sig};
use rehang_os::sim::SimKernel;
use rehang_scenario::plan::{Plan, Tools};
use rehang_scenario::{Agent, Canon, Fault, Terminal, ToolServer, VTime, agents::CLAUDE, turns::Turn};
use rehang_trace::{Fact, role};
use serde_json::Value;

/// What to start.
pub struct Setup {
    /// Who is played, and as which release.
    pub agent: Agent,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment.
    pub env: Vec<(String, String)>,
    /// What the model does.
    pub turns: Vec<Turn>,
    /// What goes wrong.
    pub faults: Vec<Fault>,
    /// Strategies inside the agent.
    pub inside: Vec<String>,
    /// How its streams are connected.
    pub terminal: Terminal,
    /// The model server's port; `None`: the session plays the model itself.
    pub model_port: Option<u16>,
    /// The tool server that it is configured to use.
    pub tools: Option<ToolServer>,
    /// The instant of its start.
    pub start: VTime,
}

impl Setup {
    /// A run of this release of Claude Code with these arguments, separated by spaces.
    pub fn new(version: &str, args: &str, turns: Vec<Turn>, terminal: Terminal) -> Setup {
        let args = args.split_whitespace().map(str::to_owned).collect();
        let mut agent = CLAUDE.default_agent();
        agent.set_release(version);
        Setup { args, ..Setup::of(agent, turns, terminal) }
    }

    /// A run of this agent, without arguments.
    pub fn of(agent: Agent, turns: Vec<Turn>, terminal: Terminal) -> Setup {
        let (args, env, faults, inside) = Default::default();
        Setup { agent, args, env, turns, faults, inside, terminal, model_port: None, tools: None, start: VTime::ZERO }
    }

    /// What the kernel is asked to start.
    pub fn launch(&self) -> Launch {
        let plan = Plan {
            agent: self.agent.clone(),
            turns: self.turns.clone(),
            faults: self.faults.clone(),
            inside: self.inside.clone(),
            model_port: self.model_port,
            tools: self.tools.clone().map(|server| Tools { server, port: None }),
            stored: None,
        };
        let program = self.agent.kind().fake();
        let argv = std::iter::once(program.to_owned()).chain(self.args.iter().cloned()).collect();
        Launch { role: "agent".to_owned(), argv, env: self.env.clone(), plan, terminal: self.terminal }
    }

    /// Starts it on a kernel of its own.
    pub fn run(self) -> Session {
        Session::start(SimKernel::new(rehang_fakes::program), &self)
    }
}

/// A running fake.
pub struct Session {
    /// Its kernel.
    pub kernel: SimKernel,
    /// The current instant of virtual time.
    pub now: VTime,
    /// The fake itself.
    pub agent: Proc,
    /// The other ends of its streams.
    pub streams: Streams,
    /// What it wrote to stdout.
    pub out: String,
    /// What it wrote to stderr.
    pub err: String,
    /// The facts that the fake reported.
    pub facts: Vec<Fact>,
    /// When it asked its model.
    pub asked: Vec<VTime>,
    /// How it ended.
    pub exit: Option<Exit>,
    /// The command lines of its children.
    pub spawned: Vec<String>,
}

impl Session {
    /// Starts it on this kernel.
    pub fn start(mut kernel: SimKernel, setup: &Setup) -> Session {
        let mut launch = setup.launch();
        mcp::start(&mut kernel, role::TOOLS, &mut launch.plan, setup.start).unwrap();
        kernel.happened();
        let (agent, streams) = kernel.start(&launch).unwrap();
        let (out, err, facts, asked, exit, spawned) = Default::default();
        let mut session = Session { kernel, now: setup.start, agent, streams, out, err, facts, asked, exit, spawned };
        session.rest();
        session
    }

    /// Runs everything until nothing can run at this instant.
    pub fn rest(&mut self) {
        for _ in 0..10_000 {
            let ready = self.kernel.ready(self.now).unwrap();
            let Some(&proc) = ready.first() else { return };
            self.kernel.run(proc, self.now).unwrap();
            self.took();
        }
        panic!("it never rests");
    }

    /// Moves time to the next deadline, and returns whether there was one.
    pub fn tick(&mut self) -> bool {
        let Some(at) = self.kernel.deadline(self.now) else { return false };
        self.now = at.max(self.now);
        self.rest();
        true
    }

    /// Goes on until there is no deadline left.
    pub fn run_out(&mut self) {
        for _ in 0..1_000 {
            if !self.tick() {
                return;
            }
        }
        panic!("deadlines without end");
    }

    /// Writes to its stdin.
    pub fn write(&mut self, text: &str) {
        let to = self.streams.stdin.or(self.streams.tty).unwrap();
        self.kernel.write(to, text.as_bytes()).unwrap();
        self.took();
        self.rest();
    }

    /// Writes a message to its stdin.
    pub fn send(&mut self, message: &Value) {
        self.write(&format!("{message}\n"));
    }

    /// Closes stdin, or hangs the terminal up.
    pub fn close(&mut self) {
        let stdin = self.streams.stdin.or(self.streams.tty).unwrap();
        self.kernel.close(stdin, false).unwrap();
        self.rest();
    }

    /// Sends it a signal.
    pub fn kill(&mut self, sig: Sig) {
        self.kernel.kill(self.agent, false, sig).unwrap();
        // a signal that nobody catches has ended it by now
        self.took();
        self.rest();
    }

    /// The whole state.
    pub fn canon(&mut self) -> Vec<u8> {
        let mut canon = Canon::new(self.now);
        self.kernel.canon(&mut canon).unwrap();
        canon.into_bytes()
    }

    /// What each process waits for.
    pub fn waits(&self) -> Vec<(String, String)> {
        self.kernel.waits()
    }

    /// Whether the fake waits for this.
    pub fn waits_for(&self, on: &str) -> bool {
        self.waits().iter().any(|(role, word)| role == role::AGENT && word == on)
    }

    /// The messages on stdout.
    pub fn messages(&self) -> Vec<Value> {
        self.out.lines().map(crate::message).collect()
    }

    /// The last message on stdout.
    pub fn last(&self) -> Value {
        self.messages().pop().unwrap_or_default()
    }

    /// The id of the last request to the host.
    pub fn asked(&self) -> String {
        let mut requests = self.messages().into_iter().filter(|m| m["type"] == "control_request");
        requests.next_back().unwrap()["request_id"].as_str().unwrap().to_owned()
    }

    /// The texts of all tool results, in order.
    pub fn told(&self) -> Vec<String> {
        let told = |fact: &Fact| match fact {
            Fact::ToolEnded { text, .. } => Some(text.clone()),
            _ => None,
        };
        self.facts.iter().filter_map(told).collect()
    }

    fn took(&mut self) {
        let Streams { stdout, stderr, tty, .. } = self.streams;
        for (handle, to) in [(stdout.or(tty), &mut self.out), (stderr, &mut self.err)] {
            read_all(&mut self.kernel, handle, to);
        }
        for happened in self.kernel.happened() {
            match happened.what {
                Change::Ended(exit) if happened.role == "agent" => self.exit = Some(exit),
                Change::Fact(fact) => {
                    self.asked.extend(matches!(fact, Fact::ModelAsked { .. }).then_some(self.now));
                    self.facts.push(fact);
                }
                Change::Spawned { argv, .. } => self.spawned.push(argv.join(" ")),
                _ => {}
            }
        }
    }
}

fn read_all(kernel: &mut SimKernel, handle: Option<Handle>, to: &mut String) {
    let Some(handle) = handle else { return };
    while let Ok(Read::Data(bytes)) = kernel.read(handle, 65_536) {
        to.push_str(&String::from_utf8_lossy(&bytes));
    }
}
