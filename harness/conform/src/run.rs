//! One run: the client and the agent in virtual time.

use crate::client::{self, CLIENT_ARG, Event, Job, What};
use crate::fault::{Fault, Seen};
use crate::message::{Answer, Message};
use crate::model::Model;
use rehang_agents::Recipe;
use rehang_processes::{machine, memory};
use rehang_warp::{Ending, Error as WarpError, Verdict as End, Warp};
use std::io::{self, Read, Seek};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// An agent that is to be tested.
#[derive(Debug, Clone)]
pub struct Conform {
    /// Its command.
    pub command: Vec<String>,
    /// The program that plays the client if its only argument is [`CLIENT_ARG`].
    pub client: PathBuf,
    /// The text of each prompt.
    pub prompt: String,
    /// How much virtual time a run has.
    pub until: Duration,
    /// How much real time a run has.
    pub within: Duration,
    /// How long the waits of tickers last, if they are to be skipped; see [`Warp::skip_tickers`].
    pub skip_tickers: Option<Duration>,
    /// Whether the agent has this machine's network, and not loopback alone.
    pub network: bool,
    /// The recipe of the agent, if it is to have a scripted model; not with `network`.
    pub model: Option<Recipe>,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Run {
    /// What happened.
    pub events: Vec<Event>,
    /// How it ended.
    pub ending: Ending,
}

/// Why an agent was not tested.
#[derive(Debug, thiserror::Error)]
pub enum ConformError {
    /// Its command cannot be started.
    #[error("{0}")]
    Start(String),
    /// The machine does not provide what a run needs.
    #[error("{0}")]
    Machine(String),
    /// A file or a pipe.
    #[error("{}", machine::open(.0))]
    Io(#[from] io::Error),
}

impl Conform {
    /// Plays a fault.
    ///
    /// # Errors
    /// The agent cannot be started, or the machine refuses something.
    pub fn play(&self, fault: &Fault) -> Result<Run, ConformError> {
        let folder = tempfile::Builder::new().prefix("rehang-conform-").tempdir()?;
        let path = folder.path().canonicalize()?;
        std::fs::create_dir(path.join("project"))?;
        let job = Job {
            command: self.command.clone(),
            folder: path.join("project"),
            prompt: self.prompt.clone(),
            plan: fault.plan.clone(),
            network: self.network,
            model: self.model.as_ref().map(|recipe| Model::lay_out(recipe, &path)).transpose()?,
        };
        // files, since nobody outside of the tree acts while it runs
        let input = memory::holding("job", &serde_json::to_vec(&job).map_err(io::Error::other)?)?;
        let [mut output, mut errors] = [memory::file("events")?, memory::file("errors")?];
        let mut command = Command::new(&self.client);
        command.arg(CLIENT_ARG).stdin(input).stdout(output.try_clone()?).stderr(errors.try_clone()?);
        let mut warp = Warp::new(command).until(self.until).within(self.within);
        if let Some(span) = self.skip_tickers {
            warp = warp.skip_tickers(span);
        }
        let ending = warp.run().map_err(|error| match error {
            WarpError::Io(error) => ConformError::Io(error),
            error => ConformError::Machine(error.to_string()),
        })?;
        let [mut lines, mut why] = [String::new(), String::new()];
        for (file, text) in [(&mut output, &mut lines), (&mut errors, &mut why)] {
            file.rewind()?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            *text = String::from_utf8_lossy(&bytes).into_owned();
        }
        let why = why.trim().to_owned();
        match ending.verdict {
            End::Exited { code: client::NO_COMMAND } => return Err(ConformError::Start(why)),
            End::Exited { code } if code != 0 => return Err(ConformError::Machine(why)),
            End::Signalled { signal } => {
                return Err(ConformError::Machine(format!("the client was ended by signal {signal}: {why}")));
            }
            _ => {}
        }
        // the last line is half if the tracer ended the client while it wrote
        let whole = lines.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let events = whole.map(serde_json::from_str::<Event>).collect::<Result<Vec<Event>, _>>();
        let events = events.map_err(|error| ConformError::Machine(format!("the record of the run: {error}")))?;
        if events.is_empty() {
            return Err(ConformError::Machine(format!("the client said nothing: {:?} {why}", ending.verdict)));
        }
        Ok(Run { events, ending })
    }
}

impl Run {
    /// What the agent did, which decides which faults fit it.
    pub fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for event in &self.events {
            match &event.what {
                What::Heard(Message::Request { method, .. }) => drop(seen.methods.insert(method.clone())),
                What::Heard(Message::Notification { method, params }) if method == "session/update" => {
                    seen.updates = true;
                    seen.tools |= params["update"]["status"] == "in_progress";
                }
                What::Heard(Message::Reply { answer: Answer::Result(result), .. }) => {
                    seen.loads |= result["agentCapabilities"]["loadSession"] == true;
                }
                _ => {}
            }
        }
        seen
    }
}
