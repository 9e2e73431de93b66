//! A fake as the recipe of its agent starts the release, for tests that hold it to what the release did.

use rehang_drift::session::Setup;
use rehang_scenario::agents::{self, AgentKind, Form};
use rehang_scenario::turns::Turn;
use rehang_scenario::{Scenario, Terminal, load};
use std::path::Path;

/// The fake as the recipe of its agent starts the release (`scenarios/agents`), with the commands of the sandbox.
///
/// `kind`: the agent, if it need not be the scenario's; the scenario's arguments are its own agent's.
pub fn setup(kind: Option<&AgentKind>, version: &str, scenario: &Path) -> Setup {
    let text = std::fs::read(scenario).unwrap_or_else(|error| panic!("{}: {error}", scenario.display()));
    let family = load("scenario", &text).into_result().unwrap_or_else(|e| panic!("{}: {e}", scenario.display()));
    let Scenario { mut agent, mut args, env, faults, mut turns, terminals, tool_server: tools, .. } =
        family.variants.into_iter().next().expect("a variant").scenario;
    if let Some(kind) = kind.filter(|kind| *agent.kind() != **kind) {
        agent = kind.default_agent();
        args.clear();
    }
    let env = env.into_iter().collect();
    agent.set_release(version);
    let mut calls = Calls::default();
    calls.named(&mut turns);
    let terminal = terminals.first().copied().unwrap_or(Terminal::Null);
    let driven = agent.is_driven() || args.iter().any(|arg| arg == "--input-format");
    // the words of a host that drives it are below
    let own = if driven && !agent.is_driven() { settings(&args) } else { args };
    let (kind, prompted) = (*agent.kind(), agent.is_prompted());
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let mut all = match () {
        () if kind == agents::CLAUDE && driven => {
            words("-p --output-format stream-json --verbose --input-format stream-json --permission-prompt-tool stdio")
        }
        () if kind == agents::CLAUDE => words("-p go --output-format stream-json --verbose"),
        () if kind == agents::CODEX => words(
            "exec --skip-git-repo-check --json -c model_providers.fake.request_max_retries=0 \
             -c model_providers.fake.stream_max_retries=0",
        ),
        () if kind == agents::GEMINI && agent.form() == Form::Interactive => Vec::new(),
        () if kind == agents::GEMINI => words("-o stream-json"),
        () => words("run --format json"),
    };
    all.extend(words(match (kind.word, calls.asks) {
        ("claude", true) => "--permission-mode default",
        ("claude", false) => "--permission-mode bypassPermissions",
        ("codex", true) => "--sandbox read-only",
        ("codex", false) => "--dangerously-bypass-approvals-and-sandbox",
        ("gemini", true) => "--approval-mode default",
        ("gemini", false) => "--approval-mode yolo",
        _ => "",
    }));
    all.extend(own);
    all.extend(words(match kind.word {
        "claude" => "",
        _ if !prompted => "",
        "gemini" => "-p go",
        _ => "go",
    }));
    Setup { args: all, env, faults, tools, ..Setup::of(agent, turns, if driven { Terminal::Pipe } else { terminal }) }
}

/// What a command line says of hooks.
fn settings(args: &[String]) -> Vec<String> {
    let at = args.iter().position(|arg| arg == "--settings");
    at.map_or_else(Vec::new, |at| args[at..=at + 1].to_vec())
}

/// The bash calls of a scenario, named as the sandbox names them.
#[derive(Default)]
struct Calls {
    count: u32,
    asks: bool,
}

impl Calls {
    fn named(&mut self, turns: &mut [Turn]) {
        for turn in turns {
            match turn {
                Turn::Bash(bash) => {
                    self.count += 1;
                    self.asks |= bash.asks.is_some();
                    bash.command = format!("step{}", self.count);
                }
                Turn::Task(task) => self.named(&mut task.turns),
                Turn::Together(calls) => self.named(calls),
                // an edit that has to be allowed
                Turn::Permit(permit) => self.asks |= permit.permission == "edit",
                _ => {}
            }
        }
    }
}
