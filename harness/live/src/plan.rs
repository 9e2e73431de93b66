//! From a scenario and a release to an order: what is put into the sandbox, what is started, what the model says.
//!
//! Invariant: what a release cannot play is refused here, before anything runs.

use crate::relay::{HOST_ARG, RELAY_ARG};
use crate::sandbox::{BIN, CWD, HOME, RoomFile, Sandbox};
use crate::spec::{Cell, CellSpec, LiveError, MODEL_PORT, SERVE_PORT};
use crate::terminal::ScreenSize;
use rehang_actors::PROMPT;
use rehang_agents::{Feature, Form, Installed, Recipe, Start, Wish, Words};
use rehang_fakes::{mcp, tool};
use rehang_model_server::TOOL_SERVER;
use rehang_scenario::turns::{Bash, Turn};
use rehang_scenario::{Agent, Does, Fault, Place, ProcessDoes, Scenario, Terminal, ToolServer, Transport, Via, Wire};
use std::collections::BTreeMap;
use std::path::Path;

/// A text in place of an API key; it is not a real one.
const KEY: &str = "test-key";

/// Why this release cannot play this scenario on this terminal; `None` if it can.
pub fn cannot(scenario: &Scenario, recipe: &Recipe, terminal: Terminal) -> Option<String> {
    if terminal.is_background() {
        return Some(format!("the live stage has no terminal `{}`", terminal.name()));
    }
    let form = match form(&scenario.agent, &scenario.args) {
        Ok(form) => form,
        Err(why) => return Some(why.to_string()),
    };
    let agent = scenario.agent.kind().word;
    if is_configured(scenario) && !own(scenario, recipe) {
        return Some(format!("its arguments and variables are those of {agent}"));
    }
    let mut needed = vec![match form {
        Form::Run => Feature::Run,
        Form::Stdin => Feature::Stdin,
        Form::Serve => Feature::Serve,
        Form::Interactive => Feature::Interactive,
    }];
    needed.extend(own_server(scenario).map(|_| Feature::Server));
    needed.extend((!scenario.hook.is_empty()).then_some(Feature::Hook));
    if let Err(why) = features(&scenario.turns, false, &mut needed) {
        return Some(why.to_string());
    }
    if !scenario.agent.is_prompted() && own(scenario, recipe) && bare(recipe, form).is_none() {
        return Some("its command line always has a prompt".to_owned());
    }
    let lacks = needed.into_iter().find_map(|feature| recipe.cannot(feature).map(str::to_owned));
    let unplayed = || scenario.faults.iter().find_map(|fault| fault_cannot(fault, form));
    let unable = || {
        let people = scenario.people.iter();
        people.map(|person| (person.via, &person.does)).find_map(|(via, does)| person_cannot(via, does, form, terminal))
    };
    lacks.or_else(unplayed).or_else(unable)
}

/// Why no real release plays a scenario's agent or turns.
#[derive(Debug, thiserror::Error)]
enum Unplayed {
    /// It has no releases.
    #[error("a plain program has no release")]
    Program,
    /// A permission for no command, of this tool.
    #[error("no real release is told how to play `permit` of the tool `{0}`")]
    Permit(String),
    /// A client cannot make a real release compact its context.
    #[error("a real release compacts when it likes")]
    Compact,
}

/// Whether the scenario's people hold the agent's stdin, instead of a host.
fn is_held(agent: &Agent, args: &[String]) -> bool {
    let streams = args.windows(2).any(|pair| pair == ["--input-format", "stream-json"]);
    !agent.is_driven() && agent.wires().contains(&Wire::InClaude) && streams
}

/// How an agent of a scenario is started.
fn form(agent: &Agent, args: &[String]) -> Result<Form, Unplayed> {
    match agent.form() {
        _ if !agent.kind().has_model => Err(Unplayed::Program),
        Form::Run if is_held(agent, args) => Ok(Form::Stdin),
        form => Ok(form),
    }
}

/// The arguments of this form without a prompt.
fn bare(recipe: &Recipe, form: Form) -> Option<&[String]> {
    recipe.forms.get(&form)?.bare.as_deref()
}

fn features(turns: &[Turn], nested: bool, needed: &mut Vec<Feature>) -> Result<(), Unplayed> {
    for turn in turns {
        match turn {
            Turn::Ask(_) => needed.push(Feature::Question),
            Turn::Bash(bash) => {
                needed.push(Feature::Bash);
                if bash.asks.is_some() {
                    needed.push(if nested { Feature::SubagentPermission } else { Feature::Permission });
                }
            }
            Turn::Task(task) => {
                needed.push(Feature::Subagent);
                features(&task.turns, true, needed)?;
            }
            Turn::Together(calls) => {
                needed.push(Feature::Together);
                features(calls, nested, needed)?;
            }
            Turn::Permit(permit) if permit.permission == TOOL_SERVER => {}
            Turn::Permit(permit) => return Err(Unplayed::Permit(permit.tool.clone())),
            Turn::Compact(_) => return Err(Unplayed::Compact),
            Turn::Say(_) | Turn::Think(_) | Turn::Finish(_) => {}
        }
    }
    Ok(())
}

fn fault_cannot(fault: &Fault, form: Form) -> Option<String> {
    let stuck = matches!(fault, Fault::Process(process) if process.does == ProcessDoes::Mute);
    let mutes = matches!(fault, Fault::Process(process) if process.does == ProcessDoes::MuteOutput);
    let cannot = match fault.place() {
        _ if stuck => "no real release's event loop can be stuck from outside",
        _ if mutes => "a fault inside of the agent: a real release is as it is",
        Place::Model | Place::Process => return None,
        Place::Wire if form == Form::Serve => return None,
        Place::Wire => "only a server has clients on a wire",
        Place::Agent => "a fault inside of the agent: a real release is as it is",
        Place::Companion => "there is no companion here",
        Place::Wrapper => "the live stage has no wrapper that could fail",
    };
    Some(cannot.to_owned())
}

fn person_cannot(via: Via, does: &Does, form: Form, terminal: Terminal) -> Option<String> {
    match (via, does) {
        (Via::Companion, _) => Some("there is no companion here".to_owned()),
        (Via::Tty, Does::Type(_) | Does::Stop | Does::HangUp) if terminal == Terminal::Tty => None,
        (Via::Tty, Does::Type(_) | Does::Stop | Does::HangUp) => Some("nobody is at a terminal".to_owned()),
        (Via::Tty, _) => Some("how this release's screen is answered is not known".to_owned()),
        (Via::Http, Does::SoftStop | Does::Dispose | Does::Leave(_)) => Some("that is PawWork's".to_owned()),
        (Via::Http, _) if form == Form::Serve => None,
        (Via::Http, _) => Some("nobody reaches it over HTTP".to_owned()),
        (Via::Stdin, _) if form == Form::Stdin => None,
        (Via::Stdin, Does::HangUp | Does::Prompt(_)) if terminal == Terminal::Pipe => None,
        (Via::Stdin, _) => Some("nobody answers over stdin".to_owned()),
    }
}

/// The order of a cell.
///
/// # Errors
/// The release cannot play it.
pub fn order(cell: &Cell<'_>) -> Result<CellSpec, LiveError> {
    let Cell { scenario, recipe, installed, terminal, .. } = *cell;
    if let Some(why) = cannot(scenario, recipe, terminal) {
        return Err(LiveError::Cannot(why));
    }
    let form = form(&scenario.agent, &scenario.args).map_err(|why| LiveError::Cannot(why.to_string()))?;
    let start = recipe.forms.get(&form).cloned().unwrap_or_default();
    let mut scenario = scenario.clone();
    let mut calls = Calls::default();
    calls.replace(&mut scenario.turns)?;
    let mut sandbox = Sandbox {
        shown: Vec::new(),
        files: calls.files,
        argv: Vec::new(),
        env: Vec::new(),
        terminal,
        size: ScreenSize::DEFAULT,
    };
    let server = own_server(&scenario).and(recipe.server.as_ref());
    let hook = recipe.hook.as_ref().filter(|_| !scenario.hook.is_empty());
    let wishes = [Some(if calls.asks { &recipe.ask } else { &recipe.allow }), server, hook];
    let wishes: Vec<&Wish> = wishes.into_iter().flatten().collect();
    let words = words(cell, wishes.iter().flat_map(|wish| &wish.words));
    let files: BTreeMap<_, _> =
        wishes.iter().map(|wish| &wish.files).rev().chain([&recipe.files]).rev().flatten().collect();
    for (path, text) in files {
        sandbox.files.push(RoomFile { path: words.fill(path).into(), text: words.fill(text), executable: false });
    }
    if let Some(server) = own_server(&scenario) {
        sandbox.shown.push((cell.fakes.clone(), Path::new(BIN).join(mcp::NAME)));
        sandbox.files.push(program("tool-server", mcp::NAME, &mcp::argv(server, 0)));
        if let Some(call) = words.0.get("call") {
            rename(&mut scenario.turns, call);
        }
    }
    if !scenario.hook.is_empty() {
        sandbox.files.push(program("hook", "fake-tool", &tool::argv(&scenario.hook, "hook")));
    }
    let layers = wishes.iter().map(|wish| &wish.env);
    let layers = [&recipe.env].into_iter().chain(layers).chain([&start.env]);
    sandbox.env = env(&words, layers, own(&scenario, recipe).then_some(&scenario));
    let wished: Vec<String> = wishes.iter().flat_map(|wish| wish.args.clone()).collect();
    let program: Vec<String> = installed.program.iter().map(|word| words.fill(word)).collect();
    sandbox.argv = argv(program, &start, &words, &wished, &scenario, recipe);
    let says: Vec<String> = start.says.iter().map(|line| words.fill(line)).collect();
    let held = is_held(&scenario.agent, &scenario.args);
    // a host that nobody can reach is seen to wait for its agent alone
    let is_reached = scenario.people.iter().any(|person| person.via == Via::Stdin);
    let is_inside = cell.supervised.is_some() && form == Form::Stdin && !held && !is_reached;
    if let Some(stack) = &cell.supervised {
        let inside = Path::new(BIN).join("rehang");
        let supervise = ["supervise", "--strategy", stack, "--events", "fd:2", "--"].map(str::to_owned);
        let rehang = || inside.to_string_lossy().into_owned();
        let relay = match is_inside {
            true => vec![rehang(), HOST_ARG.to_owned(), serde_json::Value::from(says.clone()).to_string()],
            false if terminal == Terminal::Pipe => vec![rehang(), RELAY_ARG.to_owned()],
            false => Vec::new(),
        };
        let program = relay.into_iter().chain([rehang()]).chain(supervise);
        sandbox.argv = program.chain(sandbox.argv).collect();
        sandbox.shown.push((cell.rehang.canonicalize()?, inside));
    }
    show_release(&mut sandbox, installed)?;
    sandbox.shown.push((cell.fakes.clone(), Path::new(BIN).join("fake-tool")));
    let client = scenario.agent.client().unwrap_or_default();
    let held = held || is_inside;
    Ok(CellSpec {
        parent: std::process::id(),
        recipe: recipe.clone(),
        form,
        client,
        says: if held { Vec::new() } else { says },
        held,
        listening: start.listening.clone().unwrap_or_else(|| "listening on".to_owned()),
        sandbox,
        deadline_ms: u64::try_from(cell.deadline.as_millis()).unwrap_or(u64::MAX),
        fakes: cell.fakes.clone(),
        looked_at: false,
        look: None,
        supervised: cell.supervised.is_some(),
        asks_routes: false,
        signal: cell.signal,
        counts_left: cell.counts_left,
        is_virtual: false,
        screen: None,
        scenario,
    })
}

/// The tool server that the agent of a scenario starts itself.
fn own_server(scenario: &Scenario) -> Option<&ToolServer> {
    scenario.tool_server.as_ref().filter(|server| server.over == Transport::Stdio)
}

/// Gives the calls of a tool server's tool the name by which this agent offers it.
fn rename(turns: &mut [Turn], call: &str) {
    for turn in turns {
        match turn {
            Turn::Permit(permit) if permit.permission == TOOL_SERVER => call.clone_into(&mut permit.tool),
            Turn::Task(task) => rename(&mut task.turns, call),
            Turn::Together(calls) => rename(calls, call),
            _ => {}
        }
    }
}

/// A program of the sandbox, that is one of the fakes with these arguments.
fn program(name: &str, fake: &str, argv: &[String]) -> RoomFile {
    let quoted: Vec<String> = argv[1..].iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let text = format!("#!/bin/sh\nexec {BIN}/{fake} {}\n", quoted.join(" "));
    RoomFile { path: Path::new(BIN).join(name), text, executable: true }
}

/// Whether the scenario is about this agent: only then its arguments and variables mean anything.
fn own(scenario: &Scenario, recipe: &Recipe) -> bool {
    let kind = scenario.agent.kind();
    kind.has_model && recipe.agent.starts_with(kind.word)
}

/// Whether the scenario gives its agent arguments or variables that a release would miss.
fn is_configured(scenario: &Scenario) -> bool {
    !scenario.env.is_empty() || !scenario.args.is_empty() && !is_held(&scenario.agent, &scenario.args)
}

fn words<'w>(cell: &Cell<'_>, more: impl Iterator<Item = (&'w String, &'w String)>) -> Words {
    let base = Words::default()
        .with("base_url", format!("http://127.0.0.1:{MODEL_PORT}"))
        .with("port", SERVE_PORT.to_string())
        .with("key", KEY)
        .with("home", HOME)
        .with("cwd", CWD)
        .with("prompt", PROMPT)
        .with("prompt_json", format!("\"{PROMPT}\""))
        .with("model", &cell.recipe.model)
        .with("root", cell.installed.root.to_string_lossy())
        .with("arch", rehang_agents::install::arch())
        .with("machine", std::env::consts::ARCH);
    more.fold(base.clone(), |words, (word, value)| words.with(word, base.fill(value)))
}

fn env<'l>(
    words: &Words,
    layers: impl Iterator<Item = &'l BTreeMap<String, String>>,
    own: Option<&Scenario>,
) -> Vec<(String, String)> {
    let mut env: BTreeMap<String, String> = BTreeMap::new();
    for (key, value) in [
        ("PATH", format!("{BIN}:/usr/bin:/bin")),
        ("HOME", HOME.to_owned()),
        ("USER", "agent".to_owned()),
        ("LOGNAME", "agent".to_owned()),
        ("SHELL", if Path::new("/bin/bash").exists() { "/bin/bash" } else { "/bin/sh" }.to_owned()),
        ("LANG", "C.UTF-8".to_owned()),
        ("TERM", "xterm-256color".to_owned()),
        ("TMPDIR", "/tmp".to_owned()),
        ("PWD", CWD.to_owned()),
        ("XDG_CONFIG_HOME", format!("{HOME}/.config")),
        ("XDG_DATA_HOME", format!("{HOME}/.local/share")),
        ("XDG_STATE_HOME", format!("{HOME}/.local/state")),
        ("XDG_CACHE_HOME", format!("{HOME}/.cache")),
        ("XDG_RUNTIME_DIR", "/run".to_owned()),
    ] {
        env.insert(key.to_owned(), value);
    }
    for (key, value) in layers.flatten() {
        env.insert(key.clone(), words.fill(value));
    }
    env.extend(own.into_iter().flat_map(|scenario| scenario.env.clone()));
    env.into_iter().collect()
}

fn argv(
    mut argv: Vec<String>,
    start: &Start,
    words: &Words,
    wish: &[String],
    scenario: &Scenario,
    recipe: &Recipe,
) -> Vec<String> {
    let bare = start.bare.as_ref().filter(|_| own(scenario, recipe) && !scenario.agent.is_prompted());
    for word in bare.unwrap_or(&start.args) {
        if word == "{args}" {
            argv.extend(wish.iter().map(|word| words.fill(word)));
            if own(scenario, recipe) {
                add_options(&mut argv, &scenario.args);
            }
        } else {
            argv.push(words.fill(word));
        }
    }
    argv
}

/// Adds a scenario's own arguments. An option that is there already with the same value is not given twice: a recipe's
/// form for stdin has the options by which a scenario asks for it.
fn add_options(argv: &mut Vec<String>, own: &[String]) {
    for option in own.chunk_by(|_, next| !next.starts_with('-')) {
        let is_there = option[0].starts_with("--") && argv.windows(option.len()).any(|words| words == option);
        if !is_there {
            argv.extend_from_slice(option);
        }
    }
}

/// Shows the release, and what it needs of the machine beside its own programs.
fn show_release(sandbox: &mut Sandbox, installed: &Installed) -> Result<(), LiveError> {
    for path in std::iter::once(&installed.root).chain(&installed.needs) {
        if !path.starts_with("/usr") {
            sandbox.shown.push((path.canonicalize()?, path.clone()));
        }
    }
    Ok(())
}

/// The bash calls of a scenario, as commands of the sandbox.
#[derive(Debug, Default)]
struct Calls {
    files: Vec<RoomFile>,
    asks: bool,
}

impl Calls {
    fn replace(&mut self, turns: &mut [Turn]) -> Result<(), LiveError> {
        for turn in turns {
            match turn {
                Turn::Bash(bash) => self.replace_one(bash)?,
                Turn::Task(task) => self.replace(&mut task.turns)?,
                Turn::Together(calls) => self.replace(calls)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The command that the model calls is a short name: no agent has a rule of its own for it, as they have for `ls`
    /// or `sleep 600`.
    fn replace_one(&mut self, bash: &mut Bash) -> Result<(), LiveError> {
        self.asks |= bash.asks.is_some();
        let name = format!("step{}", self.files.len() + 1);
        let argv = tool::argv(&bash.does, &name);
        if argv.iter().any(|word| word.len() > tool::PLAYS_MAX_BYTES) {
            return Err(LiveError::Cannot(format!("`{}` has more steps than a command line takes", bash.command)));
        }
        self.files.push(program(&name, "fake-tool", &argv));
        bash.command = name;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order of a scenario for a release of a shipped agent.
    fn ordered(agent: &str, scenario: &str) -> Result<CellSpec, LiveError> {
        let all = rehang_agents::Agent::all(None).expect("the shipped agents");
        let agent = all.iter().find(|known| known.name() == agent).expect("the agent");
        let recipe = agent.at(&"99.0.0".parse().expect("a version")).expect("a recipe");
        let installed =
            Installed { root: "/usr".into(), program: Vec::new(), needs: Vec::new(), packages: Default::default() };
        let family = rehang_scenario::load("t", scenario.as_bytes()).into_result().expect("a scenario");
        order(&Cell {
            scenario: &family.variants[0].scenario,
            recipe: &recipe,
            installed: &installed,
            terminal: Terminal::Null,
            deadline: std::time::Duration::ZERO,
            rehang: "/bin/true".into(),
            fakes: "/bin/true".into(),
            supervised: None,
            signal: None,
            counts_left: false,
        })
    }

    const WITH_SERVER: &str = r#"
title = "t"
mechanism = "X2"
agent = { claude = { as = "2.0.77", mode = "json" } }
terminals = ["null"]
stages = { only = ["live"], because = "b" }
turns = [{ permit = { tool = "mcp__db__query", permission = "mcp" } }]
tool-server = { over = "stdio" }
hook = ["hold"]
[[expect]]
outcome = "completed"
"#;

    #[test]
    fn a_release_is_given_the_server_and_the_hook_as_its_file_says() {
        let order = ordered("gemini", WITH_SERVER).expect("an order");
        let text = |end: &str| {
            let found: Vec<&RoomFile> = order.sandbox.files.iter().filter(|file| file.path.ends_with(end)).collect();
            assert_eq!(found.len(), 1, "{end}");
            found[0].text.clone()
        };
        assert!(text(".gemini/settings.json").contains("\"SessionStart\""), "the last wish's file");
        assert!(text("tool-server").contains("fake-mcp '--plays' '{\"over\":\"stdio\""), "{}", text("tool-server"));
        assert!(text("hook").ends_with("fake-tool '--plays' '[\"hold\"]' '--' 'hook'\n"), "{}", text("hook"));
        let called = |turn: &Turn| matches!(turn, Turn::Permit(permit) if permit.tool == "mcp_db_query");
        assert!(order.scenario.turns.iter().all(called), "by its name for the tool");
        let codex = ordered("codex", WITH_SERVER).expect("an order");
        assert!(codex.sandbox.argv.contains(&"mcp_servers.db.command=\"tool-server\"".to_owned()));
    }

    #[test]
    fn a_file_that_says_nothing_of_a_hook_is_a_reason() {
        let cannot = |agent| ordered(agent, WITH_SERVER).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(cannot("opencode").contains("plugins in JavaScript"), "{}", cannot("opencode"));
        assert!(cannot("cn").contains("its file does not say how it is given a hook"), "{}", cannot("cn"));
    }

    fn strings(words: &str) -> Vec<String> {
        words.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_scenario_that_holds_stdin_keeps_its_own_options() {
        let all = rehang_agents::Agent::all(None).expect("the shipped agents");
        let claude = all.iter().find(|agent| agent.name() == "claude").expect("claude");
        let recipe = claude.at(&"2.1.329".parse().expect("a version")).expect("a recipe");
        let mut scenario: Scenario = serde_json::from_value(serde_json::json!({
            "title": "Held", "mechanism": "H1", "agent": { "claude": { "as": "2.1.329", "mode": "print" } },
            "terminals": ["pipe"], "turns": [{ "say": "Hello." }],
            "expect": [{ "outcome": "completed" }],
        }))
        .expect("a scenario");
        scenario.args = strings("--input-format stream-json --verbose --replay-user-messages --permission-mode plan");
        let form = form(&scenario.agent, &scenario.args).expect("a form");
        assert_eq!(form, Form::Stdin);
        let start = &recipe.forms[&form];
        let argv = argv(vec!["claude".to_owned()], start, &Words::default(), &recipe.allow.args, &scenario, &recipe);
        let line = argv.join(" ");
        assert_eq!(line.matches("--input-format").count(), 1, "{line}");
        assert_eq!(line.matches("--verbose").count(), 1, "{line}");
        assert!(line.ends_with("--replay-user-messages --permission-mode plan"), "{line}");
    }

    #[test]
    fn steps_stand_in_a_command_whole() {
        let mut calls = Calls::default();
        let mut bash: Bash = serde_json::from_str(r#"{"command":"npx x","does":[{"print":"it's 'here'"}]}"#).unwrap();
        calls.replace_one(&mut bash).unwrap();
        assert_eq!(bash.command, "step1");
        let script = &calls.files[0];
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &script.text.replace(&format!("exec {BIN}/fake-tool"), "printf '%s\\n'")])
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(printed, "--plays\n[{\"print\":\"it's 'here'\"}]\n--\nstep1\n");
    }
}
