//! A cell as a shell script: the scripted model, the release's files, the commands, and the release itself.
//!
//! Invariants: it has no more than [`LINES_MAX`] lines; files, arguments, variables and commands are those of the order that
//! the live stage runs ([`rehang_live::order`]), but for the places.

use crate::refused::Refused;
use crate::shell::{PORT, RELEASE, file, quoted, word};
use crate::{model, steps};
use rehang_agents::{Form, Installed, Recipe, Source};
use rehang_live::sandbox::BIN;
use rehang_live::{Cell, CellSpec, order};
use rehang_scenario::turns::{Step, Turn};
use rehang_scenario::{Does, Scenario, Sees, Terminal, ToolServer, Transport, Via};
use std::collections::BTreeSet;
use std::time::Duration;

/// The most lines of a script: what a maintainer reads before running it.
pub const LINES_MAX: usize = 30;
/// How long what the script itself starts lives beyond the release, in seconds.
const LONGER: u64 = 10;
/// Variables of the sandbox that a script leaves to their defaults.
const DEFAULTS: [&str; 9] = [
    "USER",
    "LOGNAME",
    "PWD",
    "LANG",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_CACHE_HOME",
];
/// Runs its arguments on a terminal of the sandbox's size, at which nobody types.
const ON_A_TERMINAL: &str =
    "import pty, sys; pty.spawn([\"sh\", \"-c\", \"stty rows 40 cols 120; exec \\\"$@\\\"\", \"sh\"] + sys.argv[1:])";

/// The script of a cell: it watches the release for this many seconds. `what` is a sentence about it.
///
/// # Errors
/// Why the cell cannot be told by such a script.
pub fn script(
    recipe: &Recipe,
    scenario: &Scenario,
    terminal: Terminal,
    seconds: u64,
    what: &str,
) -> Result<String, Refused> {
    let spec = ordered(recipe, scenario, terminal)?;
    let mut fewest = 0;
    for is_short in [false, true] {
        let lines = lines(&spec, scenario, seconds, what, is_short)?;
        fewest = lines.len();
        if fewest <= LINES_MAX {
            return Ok(lines.join("\n") + "\n");
        }
    }
    Err(Refused::Long(fewest, LINES_MAX))
}

fn ordered(recipe: &Recipe, scenario: &Scenario, terminal: Terminal) -> Result<CellSpec, Refused> {
    let installed = Installed {
        root: RELEASE.into(),
        program: recipe.program.clone(),
        needs: Vec::new(),
        packages: Default::default(),
    };
    let cell = Cell {
        scenario,
        recipe,
        installed: &installed,
        terminal,
        deadline: Duration::ZERO,
        rehang: Default::default(),
        fakes: Default::default(),
        supervised: None,
        signal: None,
        counts_left: false,
    };
    order(&cell).map_err(|error| Refused::Cannot(error.to_string()))
}

fn lines(
    spec: &CellSpec,
    scenario: &Scenario,
    seconds: u64,
    what: &str,
    is_short: bool,
) -> Result<Vec<String>, Refused> {
    let ever = seconds + LONGER;
    match spec.form {
        Form::Interactive => return Err(Refused::Interactive),
        Form::Serve => return Err(Refused::Serves),
        Form::Run | Form::Stdin => {}
    }
    let over_http = |server: &&ToolServer| server.over == Transport::Http;
    if scenario.tool_server.as_ref().filter(over_http).is_some() {
        return Err(Refused::ToolServer("over HTTP".to_owned()));
    }
    let written = stdin(spec, scenario, ever)?;
    let mut lines = vec![
        "#!/bin/bash".to_owned(),
        format!("# {what} Needs bash, python3 and {}.", installer(spec)),
        made(spec),
        install(spec),
        "python3 - 2>\"$W\"/model.log <<'EOF' &".to_owned(),
    ];
    lines.extend(model::program(&spec.recipe, &spec.scenario, is_short)?);
    lines.push("EOF".to_owned());
    lines.push(format!(
        "M=$!; trap 'kill $M; pkill -f \"$W\"' EXIT; until (: </dev/tcp/127.0.0.1/{PORT}) 2>/dev/null; do sleep 0.1; done"
    ));
    for own in &spec.sandbox.files {
        let path = own.path.to_string_lossy();
        if !own.executable {
            lines.push(file(&path, &text(&own.text, ever)?));
        }
    }
    for (name, steps) in commands(scenario, &spec.scenario.turns) {
        let body = steps::shell(&steps, ever)?;
        let path = word(&format!("{BIN}/{name}"));
        lines.push(format!("printf '#!/bin/sh\\n%s\\n' {} > {path}; chmod +x {path}", quoted(&body)));
    }
    if let Some(server) = &scenario.tool_server {
        let path = word(&format!("{BIN}/tool-server"));
        lines.push(format!("cat > {path} <<'EOF'; chmod +x {path}"));
        lines.extend(steps::tool_server(server)?);
        lines.push("EOF".to_owned());
    }
    lines.extend(started(spec, &written, seconds, ever)?);
    Ok(lines)
}

/// What installs the release.
fn installer(spec: &CellSpec) -> &'static str {
    match spec.recipe.source {
        Source::Npm(_) => "npm",
        Source::Pypi(_) => "pip",
    }
}

/// The line that makes the folders.
fn made(spec: &CellSpec) -> String {
    let folder = |path: &std::path::Path| path.parent().map(|parent| word(&parent.to_string_lossy()));
    let own: BTreeSet<String> = spec.sandbox.files.iter().filter_map(|file| folder(&file.path)).collect();
    let all = own.into_iter().chain(["bin", "home", "project"].map(|folder| format!("\"$W\"/{folder}")));
    let all: Vec<String> = all.collect::<BTreeSet<_>>().into_iter().collect();
    format!("W=$(mktemp -d); mkdir -p {}; cd \"$W\"/project || exit", all.join(" "))
}

/// The line that installs the release, unless the caller has one.
fn install(spec: &CellSpec) -> String {
    let Recipe { source, version, .. } = &spec.recipe;
    let install = match source {
        Source::Npm(package) => {
            let package = package.replace("{arch}", rehang_agents::install::arch());
            format!("npm install --silent --ignore-scripts --prefix \"$RELEASE\" {package}@{version}")
        }
        Source::Pypi(package) => format!("python3 -m pip install -q --target \"$RELEASE\"/lib {package}=={version}"),
    };
    format!("[ -n \"$RELEASE\" ] || {{ RELEASE=$W/release; {install}; }}  # or RELEASE=/path/of/an/installed/one")
}

/// A text of the order without rehang's own programs.
fn text(text: &str, ever: u64) -> Result<String, Refused> {
    let Some((before, rest)) = text.split_once("fake-tool --plays '") else {
        return if text.contains("fake-") { Err(Refused::Fake) } else { Ok(text.to_owned()) };
    };
    let (steps, after) = rest.split_once("' -- ").ok_or(Refused::Fake)?;
    let steps: Vec<Step> = serde_json::from_str(&steps.replace("\\\"", "\"")).map_err(|_| Refused::Fake)?;
    let after = after.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-');
    let shell = steps::shell(&steps, ever)?;
    let shell = shell.strip_prefix("exec ").unwrap_or(&shell);
    if shell.contains(['\'', '"', '\\', ';']) {
        return Err(Refused::Fake);
    }
    self::text(&format!("{before}{shell}{after}"), ever)
}

/// The commands of the scenario's turns by the names that the order gives them, and its hook.
fn commands(scenario: &Scenario, ordered: &[Turn]) -> Vec<(String, Vec<Step>)> {
    fn collect(turns: &[Turn], all: &mut Vec<(String, Vec<Step>)>) {
        for turn in turns {
            match turn {
                Turn::Bash(bash) => all.push((bash.command.clone(), bash.does.clone())),
                Turn::Task(task) => collect(&task.turns, all),
                Turn::Together(calls) => collect(calls, all),
                _ => {}
            }
        }
    }
    let mut all = Vec::new();
    collect(ordered, &mut all);
    if !scenario.hook.is_empty() {
        all.push(("hook".to_owned(), scenario.hook.clone()));
    }
    all
}

/// What is written to the release's stdin, as commands of a shell; empty if that is no pipe.
fn stdin(spec: &CellSpec, scenario: &Scenario, ever: u64) -> Result<String, Refused> {
    if spec.form == Form::Stdin {
        return Err(if spec.held { Refused::Held } else { Refused::Host });
    }
    let (mut written, mut at) = (Vec::new(), 0);
    let mut people: Vec<_> = scenario.people.iter().collect();
    people.sort_by_key(|person| person.after);
    for person in people {
        let (Via::Stdin, Some(Sees::Clock), Does::Prompt(text)) = (person.via, person.sees, &person.does) else {
            return Err(Refused::People);
        };
        let after = person.after.as_ms().div_ceil(1_000);
        written.extend((after > at).then(|| format!("sleep {}", after - at)));
        at = after;
        written.push(format!("printf '%s\\n' {}", quoted(&rehang_wire::claude::user(text).to_string())));
    }
    if spec.sandbox.terminal != Terminal::Pipe {
        return if written.is_empty() { Ok(String::new()) } else { Err(Refused::People) };
    }
    written.push(format!("sleep {ever}"));
    Ok(match written.as_slice() {
        [one] => format!("{one} | "),
        all => format!("{{ {}; }} | ", all.join("; ")),
    })
}

/// The lines that start the release and say how it ended.
fn started(spec: &CellSpec, written: &str, seconds: u64, ever: u64) -> Result<Vec<String>, Refused> {
    let variables = spec.sandbox.env.iter().filter(|(name, _)| !DEFAULTS.contains(&name.as_str()));
    let mut env = Vec::new();
    for (name, value) in variables {
        env.push(match name.as_str() {
            "PATH" => "PATH=\"$W/bin:$PATH\"".to_owned(),
            "SHELL" => "SHELL=\"$BASH\"".to_owned(),
            "XDG_RUNTIME_DIR" => continue,
            name => format!("{name}={}", word(&text(value, ever)?)),
        });
    }
    let argv = spec.sandbox.argv.iter().map(|argument| Ok(word(&text(argument, ever)?)));
    let argv = argv.collect::<Result<Vec<_>, Refused>>()?.join(" ");
    let terminal = format!("python3 -c {} ", quoted(ON_A_TERMINAL));
    // its stdout and stderr are pipes, as in the sandbox
    let (wrapped, streams, status) = match spec.sandbox.terminal {
        Terminal::Tty => (terminal.as_str(), " </dev/null >\"$W\"/screen", "$?"),
        Terminal::Pipe => ("", " 2>&1 | cat", "${PIPESTATUS[1]}"),
        Terminal::Null => ("", " </dev/null 2>&1 | cat", "${PIPESTATUS[0]}"),
        other => return Err(Refused::Cannot(format!("a terminal `{}`", other.name()))),
    };
    Ok(vec![
        format!("{written}env -i {} \\", env.join(" ")),
        format!("  timeout -k 5 {seconds} {wrapped}{argv}{streams}"),
        format!(
            "echo \"exit {status} (124, or 137 if it ignored SIGTERM: still running after {seconds} s); requests to the model: $(grep -c POST \"$W\"/model.log)\""
        ),
    ])
}
