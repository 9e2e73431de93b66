//! The commands of `rehang`, and which module runs each.
//!
//! Invariant: every way out of the command is an exit code of [`crate::error::Code`], except those of `supervise` and `warp`.

use crate::commands::{
    agents, bisect, check, conform, explain, explore, import, list, merge, new, path, report, report_upstream,
    reproduce, run, score, select, show, supervise, upstream, warp, why, wrapper,
};
use crate::error::{Code, CommandError};
use crate::moved;
use crate::program::{self, Program};
use crate::terminal::Said;
use clap::{CommandFactory, Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// Makes AI coding agents hang again, on purpose and the same way every time, and judges what anyone does about it.
///
/// Exit codes: 0 as expected · 1 not as expected · 2 usage or a bad file · 3 a hang where none was expected · 4 not
/// deterministic · 5 rehang itself left something behind · 70 internal error; where several hold, the highest. If
/// the reader of the output stops early (`| head`), the exit code is the same.
#[derive(Parser)]
#[command(name = "rehang", version, arg_required_else_help = true)]
#[command(after_help = "Examples:
  rehang run                                     every scenario under every strategy, in lockstep
  rehang run question/ --strategy idle           one folder under all versions of one strategy
  rehang show question/row-diff::none::null      both arms of a cell as timelines
  rehang check my-hang.toml                      all errors of a file
  rehang upstream opencode@latest                which scenarios the newest release hangs in
  rehang why 4711                                why a process on this machine does not move")]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run cells and say whether they are as expected.
    Run(run::Run),
    /// Name the cells of the matrix.
    List(list::List),
    /// Show one cell as a timeline.
    Show(show::Show),
    /// Write a first scenario for an agent of your choice: it hangs, and runs.
    New(new::New),
    /// Show every error of scenario files, with file, line and caret.
    Check(check::Check),
    /// Make a hang happen again, small: from a log, a process, or a file.
    Reproduce(reproduce::Reproduce),
    /// Search random scenarios and faults for what breaks an invariant.
    Explore(explore::Explore),
    /// Say how the log of an agent or a wrapper ended, and make a scenario of it.
    Import(import::Import),
    Score(score::Score),
    Merge(merge::Merge),
    Path(path::Path),
    Report(report::Report),
    Upstream(upstream::Upstream),
    Bisect(bisect::Bisect),
    Agents(agents::Agents),
    ReportUpstream(report_upstream::ReportUpstream),
    Why(why::Why),
    Explain(explain::Explain),
    Supervise(supervise::Supervise),
    Warp(warp::Warp),
    Wrapper(wrapper::Wrapper),
    Conform(conform::Conform),
    /// Print the manual page, or write those of all commands into a folder.
    ///
    /// Example: `rehang man --dir ~/.local/share/man/man1`, then `man rehang-why`.
    Man {
        /// The folder.
        #[arg(long, value_name = "DIR")]
        dir: Option<std::path::PathBuf>,
    },
    /// Print shell completions: of commands, options, scenarios, strategies and terminals.
    #[command(after_help = "Examples:
  rehang completions bash > ~/.local/share/bash-completion/completions/rehang
  rehang completions zsh > ~/.zfunc/_rehang
  rehang completions fish > ~/.config/fish/completions/rehang.fish")]
    Completions {
        /// For which shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// The cells that it is about.
    fn select(&mut self) -> Option<&mut select::Select> {
        Some(match self {
            Command::Run(run) => &mut run.select,
            Command::List(list) => &mut list.select,
            Command::Show(show) => &mut show.select,
            Command::Score(score) => &mut score.select,
            _ => return None,
        })
    }
}

/// The whole command: plays a fake or a worker if it was started as one, else does what the arguments say.
pub fn main() -> ExitCode {
    crate::dispatch();
    match moved::moved(std::env::args_os().skip(1)) {
        Some(text) => {
            complain!("{text}");
            Code::Usage.into()
        }
        None => program::main::<Args>(),
    }
}

impl Program for Args {
    const GROUPS: &[(&str, &[&str])] = &[
        ("Hung now", &["why", "supervise"]),
        ("Test", &["run", "show", "list", "score", "merge", "report", "wrapper", "conform", "path", "warp"]),
        ("Write", &["new", "check", "import", "reproduce", "explore", "explain"]),
        ("Releases", &["upstream", "bisect", "agents", "report-upstream"]),
        ("Shell", &["completions", "man", "help"]),
    ];

    fn run(mut self) -> Result<ExitCode, CommandError> {
        if let Some(select) = self.command.select() {
            select.take_paths()?;
        }
        let out = &mut Said(anstream::stdout());
        let code = match self.command {
            // their exit codes are their commands'
            Command::Supervise(supervise) => return Ok(supervise.run()),
            Command::Warp(warp) => return Ok(warp.run()),
            Command::Run(run) => run.run(),
            Command::Merge(merge) => merge.run(out),
            Command::List(list) => list.run(out),
            Command::Show(show) => show.run(out),
            Command::New(new) => new.run(out),
            Command::Check(check) => check.run(out),
            Command::Explore(explore) => explore.run(out),
            Command::Import(import) => import.run(out),
            Command::Reproduce(reproduce) => reproduce.run(out),
            Command::Man { dir } => man(dir.as_deref(), out),
            Command::Score(score) => score.run(out),
            Command::Upstream(upstream) => upstream.run(out),
            Command::Bisect(bisect) => bisect.run(out),
            Command::Agents(agents) => agents.run(out),
            Command::ReportUpstream(report) => report.run(out),
            Command::Path(path) => path.run(out),
            Command::Report(report) => report.run(out),
            Command::Wrapper(wrapper) => wrapper.run(out),
            Command::Conform(conform) => conform.run(out),
            Command::Why(why) => why.run(out),
            Command::Explain(explain) => explain.run(out),
            Command::Completions { shell } => {
                // it panics if it cannot write
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut completed(Args::command()), "rehang", &mut script);
                out.write_all(&script)?;
                Ok(Code::Expected)
            }
        };
        Ok(code?.into())
    }
}

/// The command as completions offer it: nothing that is hidden, and the names of what there is where one is asked for.
fn completed(command: clap::Command) -> clap::Command {
    let mut stacks = rehang_strategy::stacks();
    stacks.extend(rehang_strategy::all().iter().map(|entry| entry.name.to_owned()));
    stacks.sort();
    stacks.dedup();
    let terminals = rehang_scenario::Terminal::ALL.into_iter().map(|terminal| terminal.name().to_owned()).collect();
    let corpus = rehang_runner::corpus::paths(&rehang_runner::corpus::default_folder());
    let corpus = rehang_runner::corpus::Corpus::read(&corpus.unwrap_or_default());
    let scenarios = corpus.families.iter().map(|family| family.name.clone()).collect();
    offered(command, &[("strategy", stacks), ("terminal", terminals), ("filter", scenarios)])
}

/// A word for as long as the program runs: clap keeps no others.
fn kept(word: &str) -> &'static str {
    word.to_owned().leak()
}

/// A command without what is hidden, whose arguments of these names offer these words.
fn offered(command: clap::Command, words: &[(&str, Vec<String>)]) -> clap::Command {
    let mut shown = clap::Command::new(kept(command.get_name()));
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
        let name = arg.get_id().as_str();
        let of = words.iter().find(|(of, _)| *of == name || (*of == "filter" && name == "scenario"));
        let taken = arg.get_possible_values().is_empty();
        shown = shown.arg(match of.filter(|_| taken) {
            Some((_, words)) => {
                arg.clone().value_parser(clap::builder::PossibleValuesParser::new(words.iter().map(|word| kept(word))))
            }
            None => arg.clone(),
        });
    }
    for below in command.get_subcommands() {
        shown = shown.subcommand(offered(below.clone(), words));
    }
    shown
}

fn man(dir: Option<&std::path::Path>, out: &mut dyn Write) -> Result<Code, CommandError> {
    match dir {
        Some(dir) => {
            std::fs::create_dir_all(dir)?;
            clap_mangen::generate_to(Args::command(), dir)?;
        }
        None => clap_mangen::Man::new(Args::command()).render(out)?,
    }
    Ok(Code::Expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(args: &[&str]) -> String {
        match Args::try_parse_from(args) {
            Ok(_) => panic!("{args:?} must be refused"),
            Err(error) => error.to_string(),
        }
    }

    /// All commands that are shown, with those below them.
    fn shown(command: &clap::Command) -> Vec<&clap::Command> {
        let below = command.get_subcommands().filter(|command| command.get_name() != "help");
        std::iter::once(command).chain(below.flat_map(shown)).collect()
    }

    #[test]
    fn every_command_has_an_example_in_its_help() {
        let command = Args::command();
        let commands = shown(&command);
        assert!(commands.len() > 20, "{}", commands.len());
        for command in commands {
            let help = command.clone().render_long_help().to_string();
            let name = command.get_name();
            assert!(help.contains("Example") && help.contains(name), "{name}: {help}");
            assert!(name == "rehang" || help.contains(&format!("rehang {name}")), "{name}: {help}");
        }
    }

    #[test]
    fn helps_say_what_to_do_and_not_what_is_done() {
        let told =
            ["Writes", "Plays", "Shows", "Prints", "Runs", "Keeps", "Names", "Says", "Looks", "Makes", "Appends"];
        let command = Args::command();
        let mut count = 0;
        for command in shown(&command).into_iter().skip(1) {
            let helps = command.get_arguments().filter_map(clap::Arg::get_help).chain(command.get_about());
            for help in helps.map(ToString::to_string) {
                count += 1;
                let first = help.split(' ').next().unwrap_or_default().to_owned();
                assert!(!told.contains(&first.as_str()), "{}: {help}", command.get_name());
            }
        }
        assert!(count > 100, "only {count} helps were found");
    }

    #[test]
    fn completions_offer_names_and_hide_what_is_hidden() {
        let mut script = Vec::new();
        clap_complete::generate(clap_complete::Shell::Bash, &mut completed(Args::command()), "rehang", &mut script);
        let script = String::from_utf8(script).unwrap();
        for word in ["question/row-diff", "idle@f54b32f", "tty-background", "supervise", "--last-failed"] {
            assert!(script.contains(word), "{word} is missing");
        }
        for word in ["--begin", "--pace"] {
            assert!(!script.contains(word), "{word} is offered");
        }
    }

    #[test]
    fn what_is_ours_alone_is_never_suggested() {
        let error = refused(&["rehang", "bogus"]);
        assert!(error.contains("unrecognized subcommand 'bogus'") && !error.contains("__"), "{error}");
    }

    #[test]
    fn no_jobs_are_no_way_to_run() {
        let error = refused(&["rehang", "run", "--jobs", "0"]);
        assert!(error.contains("--jobs") && error.contains("give 1 or more"), "{error}");
        assert!(refused(&["rehang", "run", "--jobs", "many"]).contains("a whole number"));
    }
}
