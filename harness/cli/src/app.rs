//! The commands of `rehang`, and which module runs each.
//!
//! Invariant: every way out of the command is an exit code of [`crate::error::Code`].

use crate::commands::{
    agents, bench, bisect, check, conform, drift, explain, explore, import, list, measure, merge, new, path, record,
    report, reproduce, run, score, select, show, site, supervise, torture, upstream, warp, why, wrapper,
};
use crate::error::{Code, CommandError};
use crate::moved;
use crate::terminal::{self, Said};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::io::Write;
use std::process::ExitCode;

/// Makes AI coding agents hang again, on purpose and the same way every time, and judges what anyone does about it.
///
/// Exit codes: 0 as expected · 1 not as expected · 2 usage or a bad file · 3 a hang where none was expected · 4 not
/// deterministic · 5 rehang itself left something behind · 70 internal error; where several hold, the highest. If
/// nobody reads the output to its end, the exit code is the same.
#[derive(Parser)]
#[command(name = "rehang", version, arg_required_else_help = true)]
#[command(after_help = "Examples:
  rehang run                                     every scenario under every strategy, in lockstep
  rehang run question/ --strategy idle           one folder under all versions of one strategy
  rehang show question/row-diff::none::null      both arms of a cell as timelines
  rehang check my-hang.toml                      all errors of a file
  rehang upstream opencode@latest                which scenarios the newest release hangs in
  rehang why 4711                                why a process on this machine does not move")]
struct Args {
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
    Site(site::Site),
    Bisect(bisect::Bisect),
    Agents(agents::Agents),
    Drift(drift::Drift),
    Record(record::Record),
    Why(why::Why),
    Explain(explain::Explain),
    Supervise(supervise::Supervise),
    Warp(warp::Warp),
    Wrapper(wrapper::Wrapper),
    Conform(conform::Conform),
    /// Run the matrix again and again: one digest a cell.
    #[command(hide = true)]
    Determinism(measure::Determinism),
    /// Measure what the design gives budgets for.
    #[command(hide = true)]
    Bench(bench::Bench),
    /// Feed random input to a parser.
    #[command(hide = true)]
    Fuzz(measure::Fuzz),
    #[command(hide = true)]
    Torture(torture::Torture),
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
            Command::Site(site) => &mut site.select,
            Command::Determinism(determinism) => &mut determinism.select,
            _ => return None,
        })
    }
}

/// The whole command: plays a fake or a worker if it was started as one, else does what the arguments say.
pub fn main() -> ExitCode {
    crate::dispatch();
    if let Some(text) = moved::moved(std::env::args_os().skip(1)) {
        complain!("{text}");
        return ExitCode::from(Code::Usage as u8);
    }
    let mut face = fitted(grouped(Args::command()), terminal::width(terminal::REPORT).min(terminal::REPORT));
    let read = face.try_get_matches_from_mut(std::env::args_os());
    let args = read.and_then(|mut read| Args::from_arg_matches_mut(&mut read).map_err(|error| error.format(&mut face)));
    let args = match args {
        Ok(args) => args,
        Err(error) if error.use_stderr() => return refused(&error, &face),
        Err(error) => error.exit(),
    };
    let command = match args.command {
        // its exit codes are its command's
        Command::Supervise(supervise) => return supervise.run(),
        Command::Warp(warp) => return warp.run(),
        command => command,
    };
    match self::command(command) {
        Ok(code) => ExitCode::from(code as u8),
        Err(error) => {
            complain!("error: {error}");
            ExitCode::from(error.code() as u8)
        }
    }
}

/// Says what is wrong with the arguments, in a few lines; of one that is missing, with an example.
fn refused(error: &clap::Error, face: &clap::Command) -> ExitCode {
    let text = error.render().ansi().to_string();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.contains("For more information")) {
        complain!("{line}");
    }
    let name = std::env::args_os().nth(1).unwrap_or_default().to_string_lossy().into_owned();
    let examples = face.find_subcommand(&name).and_then(|command| command.get_after_help()).map(ToString::to_string);
    let example = examples.as_deref().unwrap_or_default().lines().find(|line| line.starts_with("  rehang "));
    match (error.kind(), example) {
        (clap::error::ErrorKind::MissingRequiredArgument, Some(example)) => {
            complain!("for example: {}", example.trim().split("   ").next().unwrap_or_default());
        }
        _ if face.find_subcommand(&name).is_some() => {
            complain!("`rehang {name} --help` has all options, with examples")
        }
        _ => complain!("`rehang --help` has all commands"),
    }
    ExitCode::from(Code::Usage as u8)
}

/// The commands by what they are for, as the help shows them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Hung now", &["why", "supervise"]),
    ("Test", &["run", "show", "list", "score", "merge", "report", "wrapper", "conform", "path", "warp"]),
    ("Write", &["new", "check", "import", "reproduce", "explore", "explain"]),
    ("Releases", &["upstream", "bisect", "agents", "drift", "record", "site"]),
    ("Shell", &["completions", "man", "help"]),
];

/// The command with its commands shown in groups.
fn grouped(mut command: clap::Command) -> clap::Command {
    command.build();
    let about = |name: &str| command.find_subcommand(name).and_then(|c| c.get_about()).map(ToString::to_string);
    let line = |name: &&str| format!("  {name:<12} {}\n", about(name).unwrap_or_default());
    let group = |(title, names): &(&str, &[&str])| format!("{title}:\n{}", names.iter().map(line).collect::<String>());
    let groups = GROUPS.iter().map(group).collect::<Vec<_>>().join("\n");
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// The command with the examples of its help fit for `width` columns: if one is wider, the explanation of each goes
/// below it. A command itself is not broken.
fn fitted(command: clap::Command, width: usize) -> clap::Command {
    let command = command.term_width(width).mut_subcommands(|command| fitted(command, width));
    let Some(help) = command.get_after_help().map(ToString::to_string) else { return command };
    if help.lines().all(|line| line.chars().count() <= width) {
        return command;
    }
    let mut lines = String::new();
    for line in help.lines() {
        let text = line.trim_start();
        let indent = &line[..line.len() - text.len()];
        match text.split_once("  ").filter(|_| !indent.is_empty()) {
            Some((example, said)) => {
                lines.push_str(&format!("{indent}{example}\n"));
                lines.push_str(&terminal::hanging("      ", said.trim_start(), width));
            }
            None if text.starts_with("rehang ") || text.is_empty() => lines.push_str(&format!("{line}\n")),
            None => lines.push_str(&terminal::hanging(indent, text, width)),
        }
    }
    command.after_help(lines.trim_end().to_owned())
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
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
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

fn command(mut command: Command) -> Result<Code, CommandError> {
    if let Some(select) = command.select() {
        select.take_paths()?;
    }
    let mut out = Said(anstream::stdout().lock());
    match command {
        Command::Run(run) => {
            drop(out);
            run.run()
        }
        Command::Merge(merge) => merge.run(&mut out),
        Command::List(list) => list.run(&mut out),
        Command::Show(show) => show.run(&mut out),
        Command::New(new) => new.run(&mut out),
        Command::Check(check) => check.run(&mut out),
        Command::Explore(explore) => {
            drop(out);
            explore.run(&mut Said(anstream::stdout()))
        }
        Command::Import(import) => import.run(&mut out),
        Command::Reproduce(reproduce) => {
            drop(out);
            reproduce.run(&mut Said(anstream::stdout()))
        }
        Command::Man { dir } => man(dir.as_deref(), &mut out),
        Command::Score(score) => score.run(&mut out),
        Command::Upstream(upstream) => upstream.run(&mut out),
        Command::Site(site) => site.run(&mut out),
        Command::Bisect(bisect) => bisect.run(&mut out),
        Command::Drift(drift) => drift.run(&mut out),
        Command::Record(record) => record.run(&mut out),
        Command::Agents(agents) => agents.run(&mut out),
        Command::Path(path) => path.run(&mut out),
        Command::Report(report) => report.run(&mut out),
        Command::Wrapper(wrapper) => wrapper.run(&mut out),
        Command::Conform(conform) => conform.run(&mut out),
        Command::Warp(_) => Err(CommandError::Fault("warp runs by itself".to_owned())),
        Command::Supervise(_) => Err(CommandError::Fault("supervise runs by itself".to_owned())),
        Command::Determinism(determinism) => determinism.run(&mut out),
        Command::Bench(bench) => bench.run(&mut out),
        Command::Why(why) => why.run(&mut out),
        Command::Explain(explain) => explain.run(&mut out),
        Command::Fuzz(fuzz) => fuzz.run(&mut out),
        Command::Torture(torture) => {
            drop(out);
            torture.run(&mut Said(anstream::stdout()))
        }
        Command::Completions { shell } => {
            // it panics if it cannot write
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut completed(Args::command()), "rehang", &mut script);
            out.write_all(&script)?;
            Ok(Code::Expected)
        }
    }
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

    /// The command lines of a page: lines of code, and code in a line, that begin with `rehang`.
    fn command_lines(page: &str) -> Vec<&str> {
        let (mut lines, mut fenced) = (Vec::new(), false);
        for line in page.lines() {
            fenced ^= line.starts_with("```");
            if fenced || line.starts_with("    ") {
                lines.push(line.trim_start());
            } else {
                lines.extend(line.split('`').skip(1).step_by(2));
            }
        }
        lines.retain(|line| line.starts_with("rehang "));
        lines
    }

    #[test]
    fn every_command_of_the_readme_and_the_book_is_one() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let (mut wrong, mut count) = (Vec::new(), 0);
        for path in docs.chain([root.join("README.md")]) {
            let page = std::fs::read_to_string(&path).unwrap();
            for line in command_lines(&page) {
                let command = line.split(" > ").next().and_then(|line| line.split(" | ").next()).unwrap_or(line);
                let words = shlex::split(command).unwrap_or_default();
                // a placeholder cannot be read
                let stands = |word: &String| word.contains('…') || word.chars().all(|c| c.is_ascii_uppercase());
                if words.iter().any(stands) {
                    continue;
                }
                count += 1;
                let is_name = words.len() == 2;
                if let Err(error) = Args::try_parse_from(&words)
                    && error.use_stderr()
                    && !(is_name && error.kind() == clap::error::ErrorKind::MissingRequiredArgument)
                {
                    let why = error.to_string();
                    wrong.push(format!("{}: {line}: {}", path.display(), why.lines().next().unwrap_or_default()));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(count > 60, "only {count} commands were found");
    }

    #[test]
    fn what_has_moved_is_no_command_and_is_where_it_is_said_to_be() {
        let command = Args::command();
        let all = shown(&command);
        let all: Vec<String> = all.iter().map(|command| (**command).clone().render_long_help().to_string()).collect();
        for (old, new) in moved::MOVED {
            assert!(command.find_subcommand(old).is_none(), "{old} is still a command");
            // with its value, if the option takes one
            let words = ["rehang"].into_iter().chain(new.split(' '));
            let bare = Args::try_parse_from(words.clone()).is_ok();
            let others = [&["x"][..], &["x", "--strategy", "guard", "--param", "quiet"]];
            assert!(
                bare || others
                    .iter()
                    .any(|more| Args::try_parse_from(words.clone().chain(more.iter().copied())).is_ok()),
                "{new}"
            );
            let told = |args: &[&str]| moved::moved(args.iter().map(|&arg| arg.into()));
            let text = format!("`rehang {old}` is now `rehang {new}`");
            assert_eq!(told(&[old, "x"]), Some(text.clone()));
            assert_eq!(told(&["help", old]), Some(text));
            assert_eq!(told(&["list", old]), None);
            let no_text = std::os::unix::ffi::OsStringExt::from_vec(b"\xff".to_vec());
            assert_eq!(moved::moved([no_text, old.into()].into_iter()), None, "a word may be no text");
            let named = format!("rehang {old}");
            assert!(!all.iter().any(|help| help.contains(&named)), "a help names {named}");
        }
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut command = Args::command();
        command.build();
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set()).map(clap::Command::get_name);
        let mut shown: Vec<&str> = shown.collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
        let wide = grouped.iter().filter_map(|name| Some(command.find_subcommand(name)?.get_about()?.to_string()));
        let wide: Vec<String> = wide.filter(|about| about.chars().count() > 86).collect();
        assert_eq!(wide, [""; 0], "wider than a line of the help");
    }

    /// All commands that are shown, with those below them.
    fn shown(command: &clap::Command) -> Vec<&clap::Command> {
        let below = command.get_subcommands().filter(|command| !command.is_hide_set() && command.get_name() != "help");
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
        for word in ["torture", "fuzz", "determinism", "bench", "--begin", "--pace"] {
            assert!(!script.contains(word), "{word} is offered");
        }
    }

    #[test]
    fn what_is_ours_alone_is_never_suggested() {
        let error = refused(&["rehang", "bogus"]);
        assert!(error.contains("unrecognized subcommand 'bogus'") && !error.contains("__"), "{error}");
    }

    #[test]
    fn the_examples_of_every_help_keep_to_the_terminal() {
        fn all(command: &clap::Command, width: usize, shown: &mut usize) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            for line in help.lines() {
                // a command alone in its line is left as it is
                let alone = line.starts_with("  rehang ") && !line.trim_start().contains("  ");
                assert!(line.chars().count() <= width || alone, "{}: {line}", command.get_name());
                *shown += 1;
            }
            command.get_subcommands().for_each(|command| all(command, width, shown));
        }
        for width in [60, 80, 100] {
            let mut shown = 0;
            all(&fitted(Args::command(), width), width, &mut shown);
            assert!(shown > 20, "{shown}");
        }
        let narrow = fitted(Args::command(), 80);
        let examples = narrow.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(
            examples.contains("  rehang run\n      every scenario under every strategy, in lockstep\n"),
            "{examples}"
        );
    }

    #[test]
    fn no_jobs_are_no_way_to_run() {
        let error = refused(&["rehang", "run", "--jobs", "0"]);
        assert!(error.contains("--jobs") && error.contains("give 1 or more"), "{error}");
        assert!(refused(&["rehang", "run", "--jobs", "many"]).contains("a whole number"));
    }
}
