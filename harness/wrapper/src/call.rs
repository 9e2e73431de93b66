//! How a wrapper calls its agent, read from the command line with which it called a fake.
//!
//! Invariant: a call names an agent, a mode of that agent and the arguments that its persona keeps; nothing else of the
//! command line is compared.

use crate::messages::Template;
use crate::unfit::Unfit;
use rehang_fakes::registry;
use rehang_scenario::{Agent, AgentKind, Form, Mode, Scenario, agents};

/// How an agent is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Who is called.
    pub agent: &'static AgentKind,
    /// How it is started.
    pub mode: Mode,
    /// The arguments that change what it does.
    pub args: Vec<String>,
    /// Whether the wrapper asks for messages instead of text: `--output-format stream-json`, `--format json`, `--json`.
    pub reads_messages: bool,
}

impl Call {
    /// What a command line does; `None` if it only asks for a version or is refused.
    pub fn of(argv: &[String]) -> Option<Call> {
        let persona = registry::named(argv.first()?.rsplit('/').next()?)?;
        let called = persona.called(argv.get(1..).unwrap_or_default())?;
        Some(Call { agent: persona.kind, mode: called.mode, args: called.args, reads_messages: reads_messages(argv) })
    }

    /// In a few words.
    pub fn describe(&self) -> String {
        let args: String = self.args.iter().map(|arg| format!(" {arg}")).collect();
        format!("{}, {}{args}", self.agent.word, self.mode.title)
    }

    /// Whether messages go both ways.
    pub fn is_spoken_to(&self) -> bool {
        self.mode.form == Form::Stdin
    }

    /// The scenario as this wrapper would meet it: its agent is called as the wrapper calls it, and a plain program speaks
    /// in the messages of `template` if the wrapper reads messages.
    ///
    /// # Errors
    /// Why it does not fit.
    pub fn meets(&self, scenario: &Scenario, template: Option<&Template>) -> Result<Scenario, Unfit> {
        let mut met = scenario.clone();
        let kind = met.agent.kind();
        // a plain program says a line or two: it is played if one prompt is answered by one run; wrappers of
        // altimate-code have never been given one
        let one_run = self.mode.form == Form::Run && self.agent != &agents::ALTIMATE;
        match met.agent.mode() {
            None if one_run => match (template, met.agent.steps()) {
                (Some(template), Some(steps)) => {
                    met.agent = Agent::program(template.play(steps));
                }
                _ if self.reads_messages => return Err(Unfit::Plain),
                _ => {}
            },
            Some(mode) if kind == self.agent => {
                // the wrapper chooses the form of the answers; the scenario decides who can be asked
                if mode.form != self.mode.form {
                    let name =
                        |mode: Mode| kind.modes.iter().find(|m| m.form == mode.form).map_or(mode.title, |m| m.title);
                    return Err(Unfit::Mode { scenario: name(mode), wrapper: name(self.mode) });
                }
                met.agent.set_mode(self.mode);
                met.args.clone_from(&self.args);
            }
            _ => return Err(Unfit::Agent { scenario: kind.short, wrapper: self.agent.short }),
        }
        Ok(met)
    }
}

/// Whether a command line asks for messages instead of text.
fn reads_messages(argv: &[String]) -> bool {
    const FLAGS: [&str; 3] = ["--output-format", "--format", "-o"];
    let is_alone = |word: &String| matches!(word.as_str(), "--json" | "--experimental-json");
    let is_messages = |value: &str| matches!(value, "json" | "stream-json");
    let pairs = argv.windows(2).any(|pair| FLAGS.contains(&pair[0].as_str()) && is_messages(&pair[1]));
    let whole =
        |word: &String| word.split_once('=').is_some_and(|(flag, value)| FLAGS.contains(&flag) && is_messages(value));
    pairs || argv.iter().any(|word| whole(word) || is_alone(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::WORDS;
    use rehang_scenario::agents::{CLAUDE, OPENCODE};
    use rehang_scenario::{ClaudeMode, OpencodeMode, Step};

    fn of(line: &str) -> Option<Call> {
        Call::of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines_are_told_apart_by_what_changes_the_agent() {
        let call = |agent, mode: Mode, args: &[&str]| {
            let args = args.iter().map(|&a| a.to_owned()).collect();
            let reads_messages = matches!(mode.word, "json" | "stream-json");
            Some(Call { agent, mode, args, reads_messages })
        };
        let claude = |mode: ClaudeMode, args: &[&str]| call(&CLAUDE, mode.mode(), args);
        assert_eq!(of("/x/claude --version"), None);
        assert_eq!(
            of("claude --dangerously-skip-permissions -p go"),
            claude(ClaudeMode::Print, &["--permission-mode", "bypassPermissions"])
        );
        let sdk =
            "claude --output-format stream-json --verbose --input-format stream-json --permission-prompt-tool stdio";
        assert_eq!(of(sdk), claude(ClaudeMode::StreamJson, &["--permission-prompt-tool", "stdio"]));
        assert_eq!(of("claude -p go --model x --output-format stream-json --verbose"), claude(ClaudeMode::Json, &[]));
        assert_eq!(of("opencode serve --port 0"), call(&OPENCODE, OpencodeMode::Serve.mode(), &["--port", "0"]));
        assert_eq!(of("something else"), None);
    }

    #[test]
    fn who_reads_messages_is_given_a_plain_program_s_words_as_messages() {
        let text = "title = \"T\"\nmechanism = \"F8\"\nagent = { program = [{ print = \"x\" }] }\n\
                    terminals = [\"null\"]\n\n[[expect]]\noutcome = \"completed\"\n";
        let family = rehang_scenario::file::load("t.toml", text.as_bytes()).family.expect("the file is right");
        let scenario = &family.variants[0].scenario;
        let template = Template::of(&format!("{{\"result\":\"{WORDS}\"}}\n"));
        let meets = |line: &str, template| {
            let met = of(line).expect("a call").meets(scenario, template);
            met.map(|met| met.agent.steps().map(<[_]>::to_vec).unwrap_or_default())
        };
        let prints = |words: &str| Ok(vec![Step::Print(words.to_owned())]);
        assert_eq!(meets("claude -p go", None), prints("x"));
        assert_eq!(meets("opencode run go", None), prints("x"));
        for line in [
            "codex exec --json go",
            "gemini -o stream-json -p go",
            "claude -p go --output-format stream-json --verbose",
            "claude -p go --output-format=json",
            "opencode run --format json go",
        ] {
            assert_eq!(meets(line, template.as_ref()), prints("{\"result\":\"x\"}"), "{line}");
            assert_eq!(meets(line, None), Err(Unfit::Plain), "{line}");
        }
    }
}
