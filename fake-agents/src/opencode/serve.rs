//! `serve`: the engine with a port, until it is ended.

use super::args::Args;
use super::engine::Out;
use super::host::{Host, Outgoing};
use super::listen::listen;
use super::release::Release;
use super::replay::Replay;
use super::server::Server;
use super::stored::STORE;
use rehang_os::os::{CannotStart, Next, Os, Program, STDERR, STDOUT, Wait};
use rehang_scenario::{Canon, Fault, ProcessDoes, VTime, plan::Plan};
use rehang_trace::Fact;

/// The program `serve`.
pub struct Serve {
    host: Host,
    plan: Plan,
    args: Args,
    server: Option<Server>,
    out: Outgoing,
    /// What the host says; empty between two of its turns, when its memory is used again.
    said: Vec<Out>,
    /// From this time on the event loop is stuck.
    mute_at: Option<VTime>,
    /// Whether a restart is planned: what the next server finds is noted whenever it changes.
    restarts: bool,
    noted: String,
}

impl Serve {
    /// A server of this plan that has not begun.
    ///
    /// # Errors
    /// An unknown strategy.
    pub fn new(release: Release, plan: &Plan, args: Args) -> Result<Serve, CannotStart> {
        let restart = |fault: &Fault| matches!(fault, Fault::Process(fault) if fault.does == ProcessDoes::Restart);
        let mute = |fault: &Fault| match fault {
            Fault::Process(fault) if fault.does == ProcessDoes::Mute => Some(VTime::ZERO + fault.at),
            _ => None,
        };
        Ok(Serve {
            host: Host::new(release, plan, false)?,
            plan: plan.clone(),
            args,
            server: None,
            out: Outgoing::default(),
            said: Vec::new(),
            mute_at: plan.faults.iter().filter_map(mute).min(),
            restarts: plan.faults.iter().any(restart),
            noted: String::new(),
        })
    }

    fn begin(&mut self, os: &mut dyn Os) -> Result<(), Next> {
        let listening = match listen(os, &self.args, &self.host.engine.release) {
            Ok(listening) => listening,
            Err(why) => {
                let _ = os.write(STDERR, why.to_string().as_bytes());
                return Err(Next::Exit(1));
            }
        };
        if let Some(stored) = &self.plan.stored {
            self.host.engine.restore(stored);
        }
        self.host.boot(os, false, true);
        self.host.engine.wants_json = false;
        let engine = &self.host.engine;
        let replays = engine.external || engine.inside.has("ledger");
        let replay = replays.then(|| Replay::new(os.now()));
        self.server = Some(Server::new(listening.socket, &self.plan.faults, replay, &engine.directory));
        self.out.push(listening.warning.as_bytes());
        self.out.push(format!("{}\n", listening.line).as_bytes());
        Ok(())
    }
}

impl Program for Serve {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if self.mute_at.is_some_and(|at| os.now() >= at) {
            return Next::Wait(Wait { on: "nothing", ..Wait::default() });
        }
        if self.server.is_none()
            && let Err(exit) = self.begin(os)
        {
            return exit;
        }
        let Some(server) = &mut self.server else { return Next::Exit(1) };
        self.host.resumed();
        loop {
            let worked = server.poll(os, &mut self.host);
            self.host.pump(os, &mut self.said);
            let silent = self.said.is_empty();
            for out in self.said.drain(..) {
                match out {
                    Out::Event(event) => server.event(os, event),
                    Out::Respond(answer) => server.answer(&answer),
                    Out::Fact(_) | Out::Effect(_) => {}
                }
            }
            server.flush(os);
            if silent && !worked && !self.host.engine.has_news() {
                break;
            }
        }
        server.clock(os, &mut self.host);
        let _ = self.out.flush(os, STDOUT);
        if self.restarts {
            let stored = self.host.engine.snapshot();
            if stored != self.noted {
                self.noted.clone_from(&stored);
                os.note(Fact::Acted { strategy: STORE.to_owned(), act: stored });
            }
        }
        let mut wait = Wait::default();
        server.wait(&mut wait);
        self.host.wait(os.now(), &mut wait);
        if !self.out.is_empty() {
            wait.write.push(STDOUT);
        }
        if wait.on.is_empty() {
            wait.on = "client";
        }
        wait.until = [wait.until, self.mute_at].into_iter().flatten().min();
        Next::Wait(wait)
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            host,
            plan: _, // not compared: it never changes
            args: _, // not compared: they never change
            server,
            out,
            said: _, // not compared: it is empty between resumes
            mute_at,
            restarts: _, // not compared: it never changes
            noted: _,    // not compared: it is the engine's sessions, which are written
        } = self;
        host.canon(canon);
        out.canon(canon);
        let mute_at = mute_at.filter(|at| *at > canon.now());
        canon.flag(server.is_some()).deadline(mute_at);
        if let Some(server) = server {
            server.canon(|ticket| host.engine.place_of_ticket(ticket), canon);
        }
    }
}
