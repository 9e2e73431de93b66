//! The scripted model of an agent that needs one, on loopback inside of the run's tree.
//!
//! In each turn it calls a command that takes a minute, then the tool that writes a file, and then says a word. The agent
//! has the variables and files by which rehang's recipes lead a release to such a model, in a home of its own.

use rehang_agents::{Recipe, Words};
use rehang_model_server::{Script, serve};
use rehang_scenario::Span;
use rehang_scenario::turns::{Bash, BashTool, Permit, Turn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The server's port, in the network namespace of the run.
const PORT: u16 = 4_000;
/// The name of the command that the model calls: no agent has a rule of its own for it.
const COMMAND: &str = "rehang-step";
/// What that does.
const TEXT: &str = "#!/bin/sh\necho begun\nsleep 60\necho done\n";
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
            if !path.starts_with(folder) {
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
        let script = Script::new(&self.recipe, &turns(), &[]);
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

fn turns() -> Vec<Turn> {
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
    let turn = [Turn::Bash(bash), Turn::Permit(permit), Turn::Say("Done.".to_owned())];
    std::iter::repeat_n(turn, TURNS).flatten().collect()
}
