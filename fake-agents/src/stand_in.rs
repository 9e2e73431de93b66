//! A folder to put in front of `PATH`: it says what a fake plays that is started from there, under an agent's own name.
//!
//! Invariant: only the folder decides. If a caller clears the environment, it gets the same hang, and `REHANG_PLAN` of
//! an outer fake has no effect.

use crate::model_server;
use rehang_os::alone::Setup;
use rehang_scenario::plan::{Plan, Tools};
use rehang_scenario::{AgentKind, Place, Scenario, Transport, agents};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{CStr, OsStr};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name of the file beside the links.
pub const FILE: &str = "rehang-plan.json";
/// The longest file, in bytes: a plan is smaller than the scenario file that it came from.
const FILE_BYTES: u64 = 8 * 1_024 * 1_024;

/// The names under which a folder offers the fakes: those of every agent that has a model.
pub fn offered() -> impl Iterator<Item = &'static str> {
    let agents = agents::ALL.into_iter().filter(|kind| kind.has_model);
    agents.flat_map(|kind| kind.programs).copied()
}

/// The content of a folder's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StandIn {
    /// The plan. Agents that it does not name play the same turns as their default releases.
    pub plan: Plan,
    /// Variables that the scenario gives its agent; a variable that the caller has set is kept.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Arguments that the scenario gives its agent, added if the caller has not given them.
    #[serde(default)]
    pub args: Vec<String>,
    /// Where the fakes record what happens (see [`rehang_os::alone::journal`]).
    #[serde(default)]
    pub journal: Option<PathBuf>,
    /// How many times as fast as the wall clock the fakes' own clock runs.
    #[serde(default = "one")]
    pub speed: u32,
}

fn one() -> u32 {
    1
}

impl StandIn {
    /// The file of a folder for a scenario.
    ///
    /// # Errors
    /// What a fake that runs alone cannot play of it, in words for a summary of what was left out.
    pub fn of(scenario: &Scenario) -> Result<StandIn, &'static str> {
        for fault in &scenario.faults {
            match fault.place() {
                Place::Process => return Err("its fault strikes a process from outside, and a fake runs alone"),
                Place::Wrapper | Place::Companion => {
                    return Err("its fault is the wrapper's, and the wrapper is the user's own");
                }
                // the fake starts a model server of its own
                Place::Wire | Place::Agent | Place::Model => {}
            }
        }
        let tools = scenario.tool_server.as_ref();
        if tools.is_some_and(|server| server.over == Transport::Http) {
            return Err("its tool server is a process of the stage's own, and a fake runs alone");
        }
        Ok(StandIn {
            plan: Plan {
                agent: scenario.agent.clone(),
                turns: scenario.turns.clone(),
                faults: scenario.faults.clone(),
                inside: Vec::new(),
                model_port: None,
                tools: tools.cloned().map(|server| Tools { server, port: None }),
                stored: None,
            },
            env: scenario.env.clone(),
            args: scenario.args.clone(),
            journal: None,
            speed: 1,
        })
    }

    /// Creates the folder: the file, and a link to the fakes under each of their names. If its content is the same
    /// already, it is left as it is for those who use it meanwhile.
    ///
    /// # Errors
    /// A folder that cannot be written; an entry in it that has the name of a fake and is no link.
    pub fn lay_out(&self, folder: &Path, fakes: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        for name in offered() {
            let link = folder.join(name);
            match std::fs::read_link(&link) {
                Ok(to) if to == fakes => continue,
                Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                    let text = format!("{} is there and no link; name another folder", link.display());
                    return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
                }
                _ => {}
            }
            replace(&link, |new| std::os::unix::fs::symlink(fakes, new))?;
        }
        let text = serde_json::to_vec_pretty(self)?;
        let file = folder.join(FILE);
        if std::fs::read(&file).is_ok_and(|there| there == text) {
            return Ok(());
        }
        replace(&file, |new| std::fs::write(new, &text))
    }

    /// The plan for a fake of this name: an agent other than the scenario's plays the same turns as its default
    /// release.
    pub fn plan_for(&self, name: &str) -> Plan {
        let mut plan = self.plan.clone();
        let own = plan.agent.kind();
        let named = AgentKind::of_program(name).filter(|kind| own.has_model && kind.has_model && *kind != own);
        if let Some(kind) = named {
            plan.agent = kind.default_agent();
        }
        plan
    }

    /// The stand-in in the folder of this file; `None` if the folder has none.
    ///
    /// # Errors
    /// The file exists but cannot be read.
    pub fn beside(path: &Path) -> io::Result<Option<StandIn>> {
        let path = path.with_file_name(FILE);
        let file = match std::fs::File::open(&path) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(FILE_BYTES).read_to_end(&mut bytes)?;
        let read = serde_json::from_slice(&bytes);
        read.map(Some)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {error}", path.display())))
    }

    /// The command line that a fake of this folder plays in place of the one that it was given.
    pub fn argv(&self, argv: &[String]) -> Vec<String> {
        if let Some(steps) = self.plan.agent.steps() {
            return crate::tool::argv(steps, "program");
        }
        let mut all = argv.to_vec();
        if !self.args.is_empty() && self.args.iter().any(|arg| !argv.contains(arg)) {
            all.extend(self.args.iter().cloned());
        }
        all
    }

    /// The environment that the fake then has.
    pub fn env(&self, mut given: Vec<(String, String)>) -> Vec<(String, String)> {
        for (key, value) in &self.env {
            if !given.iter().any(|(k, _)| k == key) {
                given.push((key.clone(), value.clone()));
            }
        }
        given
    }
}

/// What the folder that this process was started from says about a command line: see
/// [`Folder`](rehang_os::alone::Folder).
///
/// # Errors
/// The file exists but cannot be read.
pub fn setup(argv: &[String], env: &[(String, String)]) -> io::Result<Option<Setup>> {
    let Some(path) = started_from() else { return Ok(None) };
    let Some(folder) = StandIn::beside(&path)? else { return Ok(None) };
    let mut plan = folder.plan_for(rehang_os::os::program_name(argv));
    let is_asked = plan.agent.kind().has_model && plan.faults.iter().any(|fault| fault.place() == Place::Model);
    if is_asked && plan.model_port.is_none() {
        plan.model_port = Some(model_server::start(&std::path::absolute(path)?)?);
    }
    Ok(Some(Setup {
        argv: folder.argv(argv),
        env: folder.env(env.to_vec()),
        plan,
        journal: folder.journal,
        speed: folder.speed,
    }))
}

/// Puts a new file or link in the place of a possible old one, in one step.
fn replace(path: &Path, make: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let _ = std::fs::remove_file(&new);
    make(&new)?;
    std::fs::rename(&new, path)
}

/// The path by which this process was started, with its links unresolved: the kernel gives it to each program
/// (`AT_EXECFN`).
fn started_from() -> Option<PathBuf> {
    // SAFETY: the kernel's vector outlives the process; the value is 0 or the address of a NUL-terminated string.
    let path = unsafe {
        let at = libc::getauxval(libc::AT_EXECFN) as *const libc::c_char;
        if at.is_null() {
            return None;
        }
        CStr::from_ptr(at)
    };
    Some(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::{
        Agent,
        turns::{Step, Turn},
    };

    fn stand_in(agent: Agent, args: &[&str]) -> StandIn {
        let plan = Plan {
            agent,
            turns: vec![Turn::Say("hi".to_owned())],
            faults: Vec::new(),
            inside: Vec::new(),
            model_port: None,
            tools: None,
            stored: None,
        };
        let args = args.iter().map(|&arg| arg.to_owned()).collect();
        StandIn { plan, env: [("A".to_owned(), "1".to_owned())].into(), args, journal: None, speed: 1 }
    }

    #[test]
    fn arguments_are_added_once_and_what_the_caller_sets_stands() {
        let claude = stand_in(agents::CLAUDE.default_agent(), &["--permission-mode", "plan"]);
        let argv = |words: &[&str]| claude.argv(&words.iter().map(|&w| w.to_owned()).collect::<Vec<_>>());
        assert_eq!(argv(&["claude", "-p", "go"]), ["claude", "-p", "go", "--permission-mode", "plan"]);
        let given = ["claude", "--permission-mode", "plan", "-p", "go"];
        assert_eq!(argv(&given), given);
        let pair = |k: &str, v: &str| (k.to_owned(), v.to_owned());
        assert_eq!(claude.env(vec![pair("A", "2")]), [pair("A", "2")]);
        assert_eq!(claude.env(Vec::new()), [pair("A", "1")]);
    }

    #[test]
    fn a_program_stands_where_any_agent_would() {
        let program = stand_in(Agent::program(vec![Step::Hold]), &[]);
        let argv = program.argv(&["claude".to_owned(), "-p".to_owned()]);
        assert_eq!(argv[0], "fake-tool");
    }
}
