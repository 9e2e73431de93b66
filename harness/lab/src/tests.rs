//! What holds for the commands of `rehang` and of `rehang-lab` alike, and where one names the other.

use super::Args as Lab;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use rehang::app::Args as Rehang;
use rehang::moved::{self, MOVED};
use rehang::program::{self, Program};
use std::path::Path;

/// Reads a command line of either program.
fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<(), clap::Error> {
    let words: Vec<&str> = words.into_iter().collect();
    match words[0] {
        "rehang-lab" => Lab::try_parse_from(words).map(drop),
        _ => Rehang::try_parse_from(words).map(drop),
    }
}

/// The command lines of a page: lines of code, and code in a line, that begin with the name of a program.
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
    lines.retain(|line| line.starts_with("rehang ") || line.starts_with("rehang-lab "));
    lines
}

#[test]
fn every_command_of_the_readme_and_the_book_is_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let (mut wrong, mut count, mut of_lab) = (Vec::new(), 0, 0);
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
            of_lab += usize::from(words[0] == "rehang-lab");
            let is_name = words.len() == 2;
            if let Err(error) = read(words.iter().map(String::as_str))
                && error.use_stderr()
                && !(is_name && error.kind() == ErrorKind::MissingRequiredArgument)
            {
                let why = error.to_string();
                wrong.push(format!("{}: {line}: {}", path.display(), why.lines().next().unwrap_or_default()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60 && of_lab > 3, "only {count} commands were found, {of_lab} of rehang-lab");
}

#[test]
fn what_has_moved_is_no_command_and_is_where_it_is_said_to_be() {
    let command = Rehang::command();
    let all = [helps(&command), helps(&Lab::command())].concat();
    for (old, new) in MOVED {
        assert!(command.find_subcommand(old).is_none(), "{old} is still a command");
        // with its value, if the option takes one
        let others = [&[][..], &["x"], &["--out", "x"], &["x", "--strategy", "guard", "--param", "quiet"]];
        let is_read = |more: &&[&str]| read(new.split(' ').chain(more.iter().copied())).is_ok();
        assert!(others.iter().any(is_read), "{new}");
        let told = |args: &[&str]| moved::moved(args.iter().map(|&arg| arg.into()));
        let text = told(&[old, "x"]).unwrap_or_default();
        assert!(text.starts_with(&format!("`rehang {old}` is now `{new}`")), "{text}");
        assert_eq!(text.contains("cargo install --git"), new.starts_with("rehang-lab"), "{text}");
        assert_eq!(told(&["help", old]), Some(text));
        assert_eq!(told(&["list", old]), None);
        let no_text = std::os::unix::ffi::OsStringExt::from_vec(b"\xff".to_vec());
        assert_eq!(moved::moved([no_text, old.into()].into_iter()), None, "a word may be no text");
        let named = format!("rehang {old}");
        assert!(!all.iter().any(|help| help.contains(&named)), "a help names {named}");
    }
}

/// The help of a command and of all that are shown below it.
fn helps(command: &clap::Command) -> Vec<String> {
    let own = command.clone().render_long_help().to_string();
    let below = command.get_subcommands().filter(|command| command.get_name() != "help");
    std::iter::once(own).chain(below.flat_map(helps)).collect()
}

#[test]
fn every_command_is_in_one_group() {
    fn check<P: Program>() {
        let mut command = P::command();
        command.build();
        let mut shown: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut grouped: Vec<&str> = P::GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
        let wide = grouped.iter().filter_map(|name| Some(command.find_subcommand(name)?.get_about()?.to_string()));
        let wide: Vec<String> = wide.filter(|about| about.chars().count() > 86).collect();
        assert_eq!(wide, [""; 0], "wider than a line of the help");
    }
    check::<Rehang>();
    check::<Lab>();
}

#[test]
fn the_examples_of_every_help_keep_to_the_terminal() {
    fn all(command: &clap::Command, width: usize, shown: &mut usize) {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in help.lines() {
            // a command alone in its line is left as it is
            let alone = line.starts_with("  rehang") && !line.trim_start().contains("  ");
            assert!(line.chars().count() <= width || alone, "{}: {line}", command.get_name());
            *shown += 1;
        }
        command.get_subcommands().for_each(|command| all(command, width, shown));
    }
    for width in [60, 80, 100] {
        for (command, least) in [(Rehang::command(), 20), (Lab::command(), 10)] {
            let mut shown = 0;
            all(&program::fitted(command, width), width, &mut shown);
            assert!(shown > least, "{shown}");
        }
    }
    let narrow = program::fitted(Rehang::command(), 80);
    let examples = narrow.get_after_help().map(ToString::to_string).unwrap_or_default();
    assert!(examples.contains("  rehang run\n      every scenario under every strategy, in lockstep\n"), "{examples}");
}
