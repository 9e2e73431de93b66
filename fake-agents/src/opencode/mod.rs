//! The persona `fake-opencode`: it behaves as upstream opencode 1.0.185, 1.2.15, 1.3.2 and 1.18.33, altimate-code and
//! PawWork.
//!
//! The bugs that it plays: a question that nobody can answer hangs `run` before 1.3 (AltimateAI/altimate-code#936); a
//! permission of a subagent that `run` does not look at (#36868); a bash tool that waits for a permission and has no
//! child (#14473, #36804); stdin that never ends (#38723); an idle event that is lost (#39352); an aborted question
//! that stays listed (goldens 08, 09); a stream without a finish reason that is asked again for ever.
//!
//! [`engine`] is the persona itself, pure; [`serve`], [`run`], [`acp`] and [`interactive`] give it streams, connections and
//! children. Invariant: what a release does is recorded (tests/golden) or read from its sources, and [`behaviours`]
//! says which.

mod abort;
mod acp;
mod acts;
mod args;
mod asks;
mod bash;
mod behaviours;
mod bus;
mod called;
mod children;
pub mod engine;
mod history;
mod host;
mod info;
mod interactive;
mod json;
#[cfg(test)]
mod laws;
mod listen;
mod models;
mod others;
mod places;
pub mod release;
mod render;
mod replay;
mod routes;
mod run;
mod says;
mod serve;
mod server;
pub mod state;
mod stdin;
mod stored;
mod task;
mod tools;
mod turn;

pub use args::{Args, Command, argv, parse};
pub use asks::{By, Permit, asked_title, told};
pub use behaviours::{Behaviour, Known, behaviours, known_behaviours};
pub use called::called;
pub use stored::STORE;
pub use tools::{BashEnd, call_of};

use rehang_os::os::{CannotStart, Next, Os, Program, STDERR};
use rehang_scenario::{
    AgentKind, Canon,
    agents::OPENCODE,
    plan::{PLAN_ENV, Plan},
    turns::Turn,
};
use release::Release;

/// The program for this command line. Without a plan it reads one from the environment when it starts; if there is
/// none, it says hello.
///
/// # Errors
/// A release that is not played, a strategy that is not known.
pub fn program(argv: &[String], plan: Option<&Plan>) -> Result<Box<dyn Program>, CannotStart> {
    let args = args::parse(argv.get(1..).unwrap_or_default());
    let name = rehang_os::os::program_name(argv);
    match plan {
        Some(plan) => planned(args, plan),
        None => Ok(Box::new(Unplanned { name: name.to_owned(), args: Some(args), program: None })),
    }
}

fn planned(args: Args, plan: &Plan) -> Result<Box<dyn Program>, CannotStart> {
    let mut release = Release::of(&plan.agent)?;
    if let Some(version) = &args.version {
        release = release.with_version(version)?;
    }
    if let Some(says) = says::of(&release, plan, &args) {
        return Ok(Box::new(says));
    }
    Ok(match args.command {
        Command::Run => Box::new(run::Run::new(release, plan, args)?),
        Command::Acp => Box::new(acp::Acp::new(release, plan)?),
        Command::Serve => Box::new(serve::Serve::new(release, plan, args)?),
        _ => Box::new(interactive::Interactive::new(release, plan, args)?),
    })
}

/// A program whose plan is in its environment.
struct Unplanned {
    name: String,
    args: Option<Args>,
    program: Option<Box<dyn Program>>,
}

impl Unplanned {
    fn plan(&self, os: &dyn Os) -> Result<Plan, CannotStart> {
        if let Some(text) = os.env(PLAN_ENV) {
            return serde_json::from_str(&text).map_err(|error| CannotStart::new(format!("{PLAN_ENV}: {error}")));
        }
        let kind = AgentKind::of_program(&self.name).unwrap_or(&OPENCODE);
        let agent = kind.default_agent();
        let turns = vec![Turn::Say("Hello from a scripted model.".to_owned())];
        Ok(Plan { agent, turns, faults: Vec::new(), inside: Vec::new(), model_port: None, tools: None, stored: None })
    }
}

impl Program for Unplanned {
    fn resume(&mut self, os: &mut dyn Os) -> Next {
        if let Some(args) = self.args.take() {
            match self.plan(os).and_then(|plan| planned(args, &plan)) {
                Ok(program) => self.program = Some(program),
                Err(why) => {
                    let _ = os.write(STDERR, format!("{why}\n").as_bytes());
                    return Next::Exit(1);
                }
            }
        }
        self.program.as_mut().map_or(Next::Exit(1), |program| program.resume(os))
    }

    fn canon(&self, canon: &mut Canon) {
        let Self {
            name: _, // not compared: it never changes
            args,
            program,
        } = self;
        canon.flag(args.is_some()).flag(program.is_some());
        if let Some(program) = program {
            program.canon(canon);
        }
    }
}
