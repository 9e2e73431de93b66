//! The scripted model of an agent that needs one, on loopback inside of the run's tree.
//!
//! In each turn it calls a command that takes ten seconds, then the tool that writes a file, and then says a word. The agent
//! has the variables and files by which rehang's recipes lead a release to such a model, in a home of its own.

use rehang_agents::{Call, Recipe, ToolShape, Words};
use rehang_model_server::{Script, serve};
use rehang_scenario::Span;
use rehang_scenario::turns::{Bash, BashTool, Finish, Permit, Turn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// The server's port, in the network namespace of the run.
const PORT: u16 = 4_000;
/// The name of the command that the model calls: no agent has a rule of its own for it.
const COMMAND: &str = "rehang-step";
/// What that does.
const TEXT: &str = "#!/bin/sh\necho begun\nsleep 10\necho done\n";
/// How many turns the model has.
const TURNS: usize = 8;
/// A text in place of an API key; it is not a real one.
const KEY: &str = "test-key";

/// A model, and the home of the agent that asks it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Model {
    recipe: Recipe,
    /// The folder that holds the home and the command.
    folder: PathBuf,
}

impl Model {
    /// Makes the agent's home.
    pub fn lay_out(recipe: &Recipe, folder: &Path) -> io::Result<Model> {
        let model = Model { recipe: recipe.clone(), folder: folder.to_owned() };
        let words = model.words();
        std::fs::create_dir_all(folder.join("bin"))?;
        let command = folder.join("bin").join(COMMAND);
        std::fs::write(&command, TEXT)?;
        std::fs::set_permissions(&command, std::fs::Permissions::from_mode(0o755))?;
        std::fs::create_dir_all(folder.join("home"))?;
        for (path, text) in &recipe.files {
            let path = PathBuf::from(words.fill(path));
            if !path.starts_with(folder) || path.components().any(|part| part == Component::ParentDir) {
                let why = format!("a recipe's file {} is outside of the home", path.display());
                return Err(io::Error::other(why));
            }
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
            std::fs::write(&path, words.fill(text))?;
        }
        Ok(model)
    }

    fn words(&self) -> Words {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let base = Words::default()
            .with("base_url", format!("http://127.0.0.1:{PORT}"))
            .with("key", KEY)
            .with("home", text(self.folder.join("home")))
            .with("cwd", text(self.folder.clone()))
            .with("model", &self.recipe.model)
            .with("arch", rehang_agents::install::arch())
            .with("machine", std::env::consts::ARCH);
        let more = &self.recipe.ask.words;
        more.iter().fold(base.clone(), |words, (word, value)| words.with(word, base.fill(value)))
    }

    /// The agent's variables, beside those that it has already.
    pub fn env(&self) -> BTreeMap<String, String> {
        let (words, home) = (self.words(), self.folder.join("home").to_string_lossy().into_owned());
        let path = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let xdg = |name: &str, folder: &str| (format!("XDG_{name}_HOME"), format!("{home}/{folder}"));
        let mut env = BTreeMap::from([
            ("PATH".to_owned(), format!("{}:{path}", self.folder.join("bin").display())),
            ("HOME".to_owned(), home.clone()),
            xdg("CONFIG", ".config"),
            xdg("DATA", ".local/share"),
            xdg("STATE", ".local/state"),
            xdg("CACHE", ".cache"),
        ]);
        for (name, value) in self.recipe.env.iter().chain(&self.recipe.ask.env) {
            env.insert(name.clone(), words.fill(value));
        }
        env
    }

    /// Serves the model from a thread of its own.
    pub fn start(&self) -> io::Result<()> {
        let listener = std::net::TcpListener::bind(("127.0.0.1", PORT))?;
        listener.set_nonblocking(true)?;
        let script = Script::new(&self.recipe, &turns(&self.recipe.tools), &[]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let serves = move || {
            let (events, _) = tokio::sync::mpsc::unbounded_channel();
            runtime.block_on(async {
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    let _ = serve(listener, script, events).await;
                }
            });
        };
        std::thread::Builder::new().spawn(serves).map(drop)
    }
}

/// What the model does; it calls no tool for which the recipe has no shape.
fn turns(tools: &BTreeMap<Call, ToolShape>) -> Vec<Turn> {
    let bash = Bash {
        command: COMMAND.to_owned(),
        asks: Some("bash".to_owned()),
        does: Vec::new(),
        timeout: Some(Span::secs(110)),
        tool: BashTool::default(),
    };
    let permit = Permit {
        tool: "write".to_owned(),
        permission: "edit".to_owned(),
        patterns: vec!["notes.txt".to_owned()],
        output: "three".to_owned(),
    };
    let calls = [(Call::Bash, Turn::Bash(bash)), (Call::Permit, Turn::Permit(permit))];
    let calls = calls.into_iter().filter(|(call, _)| tools.contains_key(call)).map(|(_, turn)| turn);
    let turn: Vec<Turn> = calls.chain([Turn::Say("Done.".to_owned()), Turn::Finish(Finish::Stop)]).collect();
    std::iter::repeat_n(turn, TURNS).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::turns::response_at;

    #[test]
    fn a_turn_is_a_command_a_file_and_a_word() {
        let shape: ToolShape = serde_json::from_str(r#"{"name":"x","arguments":{}}"#).expect("a shape");
        let words = |calls: &[Call]| -> Vec<&str> {
            let turns = turns(&calls.iter().map(|call| (*call, shape.clone())).collect());
            let parts = |at: usize| response_at(&turns, &at.to_string()).map(|response| response.parts.clone());
            let word = |at| match parts(at).unwrap_or_default().as_slice() {
                [Turn::Bash(_)] => "command",
                [Turn::Permit(_)] => "file",
                [Turn::Say(_)] => "word",
                _ => "something else",
            };
            (1..=6).map(word).collect()
        };
        assert_eq!(words(&[Call::Bash, Call::Permit]), ["command", "file", "word", "command", "file", "word"]);
        assert_eq!(words(&[Call::Bash]), ["command", "word", "command", "word", "command", "word"]);
    }

    #[test]
    fn every_shipped_agent_has_its_files_in_its_own_home() {
        let newest = "9999.0.0".parse().expect("a version");
        for agent in rehang_agents::Agent::all(None).expect("the shipped agents") {
            let Ok(recipe) = agent.at(&newest) else { continue };
            let folder = tempfile::tempdir().expect("a folder");
            let model = Model::lay_out(&recipe, folder.path());
            let env = model.unwrap_or_else(|error| panic!("{}: {error}", agent.name())).env();
            assert!(env["HOME"].starts_with(&*folder.path().to_string_lossy()), "{}", agent.name());
        }
    }
}
