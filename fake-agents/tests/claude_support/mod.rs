//! One `fake-claude` on the simulated kernel, with the ends of its streams in the test's hands.

#![allow(dead_code, reason = "each test target uses its own part")]

use rehang_fakes::Plan;
use rehang_fakes::os::{Exit, Read, Sig};
use rehang_judge::Fact;
use rehang_scenario::turns::Turn;
use rehang_scenario::{Agent, Canon, Claude, ClaudeMode, Fault, Terminal, VTime};
use rehang_stage::sim::Kernel;
use rehang_stage::world::{Change, Handle, Launch, Proc, Streams, World};
use serde_json::Value;

/// What to start.
pub struct Setup {
    pub version: &'static str,
    pub args: Vec<String>,
    pub turns: Vec<Turn>,
    pub faults: Vec<Fault>,
    pub inside: Vec<String>,
    pub terminal: Terminal,
    pub model_port: Option<u16>,
    pub start: VTime,
}

impl Setup {
    /// A run of this release with these arguments, separated by spaces.
    pub fn new(version: &'static str, args: &str, turns: Vec<Turn>, terminal: Terminal) -> Setup {
        let args = args.split_whitespace().map(str::to_owned).collect();
        let (faults, inside) = (Vec::new(), Vec::new());
        Setup { version, args, turns, faults, inside, terminal, model_port: None, start: VTime::ZERO }
    }

    pub fn launch(&self) -> Launch {
        let plan = Plan {
            agent: Agent::Claude(Claude { release: self.version.to_owned(), mode: ClaudeMode::Print }),
            turns: self.turns.clone(),
            faults: self.faults.clone(),
            inside: self.inside.clone(),
            model_port: self.model_port,
            stored: None,
        };
        let argv = std::iter::once("fake-claude".to_owned()).chain(self.args.iter().cloned()).collect();
        Launch { role: "agent".to_owned(), argv, env: Vec::new(), plan, terminal: self.terminal }
    }

    pub fn run(self) -> Session {
        Session::start(Kernel::new(), &self)
    }
}

pub struct Session {
    pub kernel: Kernel,
    pub now: VTime,
    pub agent: Proc,
    pub streams: Streams,
    pub out: String,
    pub err: String,
    pub facts: Vec<Fact>,
    pub exit: Option<Exit>,
    pub spawned: Vec<String>,
}

impl Session {
    pub fn start(mut kernel: Kernel, setup: &Setup) -> Session {
        let (agent, streams) = kernel.start(&setup.launch()).unwrap();
        let (out, err, facts, exit, spawned) = Default::default();
        let mut session = Session { kernel, now: setup.start, agent, streams, out, err, facts, exit, spawned };
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

    /// Goes to the next deadline, where there is one.
    pub fn tick(&mut self) -> bool {
        let Some(at) = self.kernel.deadline() else { return false };
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

    pub fn write(&mut self, text: &str) {
        let to = self.streams.stdin.or(self.streams.tty).unwrap();
        self.kernel.write(to, text.as_bytes()).unwrap();
        self.took();
        self.rest();
    }

    pub fn send(&mut self, message: &Value) {
        self.write(&format!("{message}\n"));
    }

    /// Closes stdin, or hangs the terminal up.
    pub fn close(&mut self) {
        let stdin = self.streams.stdin.or(self.streams.tty).unwrap();
        self.kernel.close(stdin, false).unwrap();
        self.rest();
    }

    pub fn kill(&mut self, sig: Sig) {
        self.kernel.kill(self.agent, false, sig).unwrap();
        self.rest();
    }

    pub fn canon(&mut self) -> Vec<u8> {
        let mut canon = Canon::new(self.now);
        self.kernel.canon(&mut canon).unwrap();
        canon.into_bytes()
    }

    /// What each process waits for.
    pub fn waits(&self) -> Vec<(String, String)> {
        self.kernel.waits()
    }

    pub fn waits_for(&self, on: &str) -> bool {
        self.waits().first().is_some_and(|(role, word)| role == "agent" && word == on)
    }

    /// The messages on stdout.
    pub fn messages(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| Value::from(line))).collect()
    }

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
                Change::Fact(fact) => self.facts.push(fact),
                Change::Spawned { argv, .. } => self.spawned.push(argv.join(" ")),
                _ => {}
            }
        }
    }
}

fn read_all(kernel: &mut Kernel, handle: Option<Handle>, to: &mut String) {
    let Some(handle) = handle else { return };
    while let Ok(Read::Data(bytes)) = kernel.read(handle, 65_536) {
        to.push_str(&String::from_utf8_lossy(&bytes));
    }
}
