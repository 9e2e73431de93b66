//! Each case of the checks in one line: what is said of a short file, for every kind of value, limit and operand.
//!
//! Invariant: a row is one change to a file that has no problem, so what it says is about that change.

use expect_test::{Expect, expect};
use rehang_scenario::sample::Sample;
use rehang_scenario::{Style, check, limits, load};

/// The problems of a file: `line:column-length message | label | help`.
fn said(file: &str) -> Vec<String> {
    let loaded = load("q/x.toml", file.as_bytes());
    let problems = check(&loaded, &Sample);
    assert_eq!(problems.is_empty(), problems.render(Style::Plain).is_empty());
    let one = |problem: &rehang_scenario::Problem| {
        let start = problem.span.start.min(file.len());
        let column = start - file[..start].rfind('\n').map_or(0, |at| at + 1);
        let length = problem.span.end - problem.span.start;
        let mut line = format!("{}:{column}-{length} {}", problems.source.line(start), problem.message);
        for more in [&problem.label].into_iter().chain(&problem.help).filter(|more| !more.is_empty()) {
            line += &format!(" | {more}");
        }
        line
    };
    problems.list.iter().map(one).collect()
}

/// For each row, the row itself and what is said of the file with it.
fn table(rows: &[&str], file: impl Fn(&str) -> String, expected: Expect) {
    let mut out = String::new();
    for row in rows {
        out += &format!("{row}\n");
        said(&file(row)).iter().for_each(|line| out += &format!("    {line}\n"));
    }
    expected.assert_eq(&out);
}

const HEAD: &str = "title = \"T\"\nmechanism = \"F1\"\n";
const REST: &str = "\n[[expect]]\noutcome = \"completed\"\n";

/// A file of an agent with further keys.
fn of(agent: &str, keys: &str) -> String {
    format!("{HEAD}agent = {{ {agent} }}\n{keys}\n{REST}")
}

#[test]
fn a_value_of_another_kind_is_told_what_belongs_there() {
    let rows = [
        "about = 1",
        "about = 1.5",
        "about = true",
        "about = 1979-05-27",
        "about = []",
        "about = { a = 1 }",
        "about.a = 1",
        "afterwards = \"2s\"",
        "afterwards = 2",
        "afterwards = 2.5",
        "afterwards = []",
        "runs = \"2\"",
        "runs = 1.5",
        "runs = 0",
        "runs = 1",
        "runs = 100",
        "runs = 101",
        "runs = 0x64",
        "runs = -1",
        "runs = 99999999999999999999999999999999999999999",
        "args = \"x\"",
        "args = { 0 = \"x\" }",
        "args = { a = \"x\" }",
        "args.0 = \"x\"",
        "args = 7",
        "args = \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
        "args = \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"",
        "args = \"\"\"x\ny\"\"\"",
        "env = []",
        "env = { A = 1 }",
        "env = { \"\" = \"1\" }",
        "env = { \"A=B\" = \"1\" }",
        "env = { \"A\\u0007\" = \"1\" }",
        "stages = \"sim\"",
        "stages = {}",
        "stages = { only = \"sim\", because = \"x\" }",
        "turns = [7]",
        "turns = [{}]",
        "turns = [\"say\"]",
        "turns = [\"sya\"]",
        "turns = [\"xyzzy\"]",
        "turns = [{ xyzzy = 1 }]",
        "turns = [{ say = \"a\", think = \"1s\" }]",
        "turns = [{ ask = [{ question = \"Q\", multiple = \"yes\" }] }]",
        "turns = [{ finish = { stop = 1 } }]",
        "turns = [{ finish = [] }]",
        "turns = [{ bash = { command = \"x\", does = [{ hold = 1 }] } }]",
        "turns = [{ bash = { command = \"x\", does = [\"sleep\", \"every\", \"exit\", \"run\", \"agent\", \"print\"] } }]",
        "people = [{ via = \"tty\", does = \"type\" }]",
        "xyzzy = 1",
        "expext = 1",
        "contrl = 1",
    ];
    table(
        &rows,
        |row| of("opencode = {}", row),
        expect![[r#"
            about = 1
                4:8-1 `about` must be a text | this is a number | in quotes: `"1"`
            about = 1.5
                4:8-3 `about` must be a text | this is a fraction | in quotes: `"1.5"`
            about = true
                4:8-4 `about` must be a text | this is true or false | in quotes: `"true"`
            about = 1979-05-27
                4:8-10 `about` must be a text | this is a date
            about = []
                4:8-2 `about` must be a text | this is a list
            about = { a = 1 }
                4:8-9 `about` must be a text | this is a table
            about.a = 1
                4:0-5 `about` must be a text | this is a table
            afterwards = "2s"
            afterwards = 2
                4:13-1 `afterwards` is a duration | a duration needs a unit | write `"2s"` or `"2ms"`
            afterwards = 2.5
                4:13-3 `afterwards` must be a duration | this is a fraction | like this: `"250ms"`, `"2s"`, `"15m"`, `"4h"`
            afterwards = []
                4:13-2 `afterwards` must be a duration | this is a list | like this: `"250ms"`, `"2s"`, `"15m"`, `"4h"`
            runs = "2"
                4:7-3 `runs` must be a whole number | this is a text
            runs = 1.5
                4:7-3 `runs` must be a whole number | this is a fraction
            runs = 0
                4:7-1 `runs` is 0, out of range | a whole number from 1 to 100
            runs = 1
            runs = 100
            runs = 101
                4:7-3 `runs` is 101, out of range | a whole number from 1 to 100
            runs = 0x64
            runs = -1
                4:7-2 `runs` is -1, out of range | a whole number from 1 to 100
            runs = 99999999999999999999999999999999999999999
                4:7-41 `runs` is 99999999999999999999999999999999999999999, out of range | a whole number from 1 to 100
            args = "x"
                4:7-3 `args` must be a list | this is a text | what can be a list is always a list: `["x"]`
            args = { 0 = "x" }
                4:7-11 `args` must be a list | this is a table | a path is one key, in quotes: `"people.0.after" = …`
            args = { a = "x" }
                4:7-11 `args` must be a list | this is a table | what can be a list is always a list: `[{ a = "x" }]`
            args.0 = "x"
                4:0-4 `args` must be a list | this is a table | a path is one key, in quotes: `"people.0.after" = …`
            args = 7
                4:7-1 `args` must be a list | this is a number | what can be a list is always a list: `[7]`
            args = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                4:7-60 `args` must be a list | this is a text | what can be a list is always a list: `["xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"]`
            args = "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                4:7-61 `args` must be a list | this is a text
            args = """x
            y"""
                4:7-9 `args` must be a list | this is a text
            env = []
                4:6-2 `env` must be a table | this is a list
            env = { A = 1 }
                4:12-1 `env.A` must be a text | this is a number | in quotes: `"1"`
            env = { "" = "1" }
                4:8-2 `` is no name | empty, or with `=` or a control character in it
            env = { "A=B" = "1" }
                4:8-5 `A=B` is no name | empty, or with `=` or a control character in it
            env = { "A\u0007" = "1" }
                4:8-9 `A\u{7}` is no name | empty, or with `=` or a control character in it
            stages = "sim"
                4:9-5 `stages` must be a table | this is a text | its keys are `only`, `because`
            stages = {}
                4:9-2 `only` is missing in `stages` | it belongs here | add `only = …`: Where it runs
                4:9-2 `because` is missing in `stages` | it belongs here | add `because = …`: The kernel behaviour that the others do not model
            stages = { only = "sim", because = "x" }
                4:18-5 `stages.only` must be a list | this is a text | what can be a list is always a list: `["sim"]`
            turns = [7]
                4:9-1 `turns.0` must be a table with one key | this is a number | it can be `say`, `think`, `ask`, `permit`, `bash`, `task`, `together`, `compact`, `finish`
            turns = [{}]
                4:9-2 `turns.0` is empty | what is it? | it can be `say`, `think`, `ask`, `permit`, `bash`, `task`, `together`, `compact`, `finish`
            turns = ["say"]
                4:9-5 `say` needs a value | a word alone | write `{ say = "…" }`
            turns = ["sya"]
                4:9-5 `turns.0` cannot be `sya` | did you mean `say`?
            turns = ["xyzzy"]
                4:9-7 `turns.0` cannot be `xyzzy` | no such word here | it can be `say`, `think`, `ask`, `permit`, `bash`, `task`, `together`, `compact`, `finish`
            turns = [{ xyzzy = 1 }]
                4:11-5 `turns.0` cannot be `xyzzy` | no such word here | it can be `say`, `think`, `ask`, `permit`, `bash`, `task`, `together`, `compact`, `finish`
            turns = [{ say = "a", think = "1s" }]
                4:22-5 `turns.0` is one thing only | `say` stands there already | put each into a table of its own
            turns = [{ ask = [{ question = "Q", multiple = "yes" }] }]
                4:47-5 `turns.0.ask.0.multiple` must be true or false | this is a text
            turns = [{ finish = { stop = 1 } }]
                4:22-4 `stop` takes no value | write `"stop"` alone
            turns = [{ finish = [] }]
                4:20-2 `turns.0.finish` must be one of its words | this is a list | it can be `stop`, `tool-calls`, `unknown`, `none`
            turns = [{ bash = { command = "x", does = [{ hold = 1 }] } }]
                4:45-4 `hold` takes no value | write `"hold"` alone
            turns = [{ bash = { command = "x", does = ["sleep", "every", "exit", "run", "agent", "print"] } }]
                4:43-7 `sleep` needs a value | a word alone | write `{ sleep = "2s" }`
                4:52-7 `every` needs a value | a word alone | write `{ every = { … } }`
                4:61-6 `exit` needs a value | a word alone | write `{ exit = 1 }`
                4:69-5 `run` needs a value | a word alone | write `{ run = […] }`
                4:76-7 `agent` needs a value | a word alone | write `{ agent = { … } }`
                4:85-7 `print` needs a value | a word alone | write `{ print = "…" }`
            people = [{ via = "tty", does = "type" }]
                4:32-6 `type` needs a value | a word alone | write `{ type = "…" }`
            xyzzy = 1
                4:0-5 unknown key `xyzzy` | no such key here | there are `title`, `about`, `mechanism`, `cites`, `agent`, `terminals`, `turns`, `tool-server`, `hook`, `faults`, `people`, `editor`, `runs`, `afterwards`, `env`, `args`, `seeds`, `stages`, `survives`, `skip`, `expect`, `control`, `vary`
            expext = 1
                4:0-6 unknown key `expext` | did you mean `expect`?
            contrl = 1
                4:0-6 unknown key `contrl` | did you mean `control`?
        "#]],
    );
}

#[test]
fn an_agent_plays_what_it_can_and_nothing_else() {
    let rows = [
        // the agent | further keys
        "program = [{ ignore = [\"HUP\", \"KILL\", \"STOP\", \"XYZ\"] }, { raise = \"KILL\" }, { raise = \"kill\" }] |",
        "program = [{ end = \"x\" }] |",
        "program = [{ start = { name = \"x\", does = [{ raise = \"xx\" }] } }, { background = { does = [{ raise = \"yy\" }] } }, { run = [{ raise = \"zz\" }] }] |",
        "program = [{ agent = { agent = { claude = { as = \"9\" } }, turns = [{ say = \"{anwser}\" }] } }] |",
        "program = [{ agent = { agent = { program = [] }, turns = [{ say = \"x\" }] } }] |",
        "program = [] | turns = []",
        "program = [] | faults = [{ tool = { does = \"never-flips\" } }]",
        "program = [] | faults = [{ tool = { does = { lags = \"1s\" } } }]",
        "claude = {} | faults = [{ tool = { does = { lags = \"1s\" } } }]",
        "claude = {} | faults = [{ tool = { does = \"never-flips\" } }]",
        "opencode = {} | faults = [{ tool = { does = { lags = \"1s\" } } }]",
        "claude = {} | faults = [{ event = { type = \"x\", does = \"drop\" } }, { post = { does = \"ignored\" } }, { get = { path = \"/x\", status = 0 } }, { queue = \"holds\" }, { worker = \"never-starts\" }]",
        "claude = {} | faults = [{ process = { at = \"1s\", does = \"mute\" } }, { process = { at = \"1s\", does = \"restart\" } }]",
        "opencode = {} | faults = [{ process = { at = \"1s\", does = \"mute\" } }]",
        "opencode = { mode = \"serve\" } | faults = [{ process = { at = \"1s\", does = \"mute\" } }, { process = { at = \"1s\", does = \"restart\" } }]",
        "opencode = { mode = \"serve\" } | faults = [{ process = { role = \"agent.1\", at = \"1s\", does = \"mute\" } }]",
        "claude = {} | faults = [{ process = { role = \"agent.1\", at = \"1s\", does = \"crash\" } }]",
        "claude = {} | faults = [{ model = { does = { keep-alive = \"0s\" } } }]",
        "claude = {} | faults = [{ model = { does = { keep-alive = \"1ms\" } } }]",
        "claude = {} | faults = [{ model = { does = \"repeats\" } }]",
        "claude = {} | faults = [{ model = { response = 0, does = \"repeats\" } }]",
        "claude = {} | faults = [{ model = { after = 1, does = \"repeats\" } }]",
        "claude = {} | faults = [{ model = { response = 0, after = 1, does = \"stall\" } }]",
        "claude = {} | people = [{ via = \"companion\", does = { run = \"status\" } }]",
        "claude = {} | people = [{ via = \"tty\", sees = \"screen\", does = \"stop\" }]",
        "opencode = {} | people = [{ via = \"companion\", does = { run = \"heal --dry-run\" } }, { via = \"companion\", does = { run = \"xyzzy\" } }]",
        "opencode = {} | people = [{ via = \"http\", sees = \"blocker\", does = \"stop\" }]",
        "pawwork = {} | people = [{ via = \"http\", sees = \"blocker\", does = \"dispose\" }, { via = \"http\", does = { leave = \"1s\" } }]",
        "pawwork = {} | people = [{ via = \"tty\", does = \"dispose\" }]",
        "opencode = {} | people = [{ via = \"http\", does = \"dispose\" }, { via = \"http\", does = { leave = \"1s\" } }]",
        "claude = {} | terminals = [\"null\", \"ctty-null\"]\npeople = [{ via = \"tty\", does = { type = \"\\u0011\" } }]",
        "claude = {} | terminals = [\"null\", \"tty-background\"]\npeople = [{ via = \"tty\", does = { type = \"\\u0013\" } }]",
        "claude = {} | terminals = [\"null\"]\npeople = [{ via = \"tty\", does = { type = \"\\u0013\" } }]",
        "claude = {} | runs = 2\nfaults = [{ wrapper = \"ignores-stdout\" }]",
        "claude = {} | env = { GLIBC_TUNABLES = \"\", GCONV_PATH = \"\", REHANG_X = \"\", REHANG_FAKE_LIES = \"1\", XLD_ = \"\", LD = \"\" }",
        "claude = {} | turns = [{ say = \"{answer} {answre} {} {anwers} {a} {answerss} {answersss} {question} {answer\" }]",
        "claude = {} | turns = [{ say = \"answer} {\" }, { task = { description = \"x\", turns = [{ say = \"{answr}\" }] } }]",
        "claude = {} | turns = [{ together = [{ task = { description = \"x\", turns = [] } }, { think = \"1s\" }, { ask = [{ question = \"Q\" }] }, { permit = { permission = \"edit\" } }, { bash = { command = \"x\", does = [{ raise = \"xx\" }] } }] }]",
    ];
    let file = |row: &str| {
        let (agent, keys) = row.split_once('|').expect("a row has two parts");
        of(agent.trim(), keys.trim())
    };
    table(
        &rows,
        file,
        expect![[r#"
            program = [{ ignore = ["HUP", "KILL", "STOP", "XYZ"] }, { raise = "KILL" }, { raise = "kill" }] |
                3:40-6 nobody can ignore KILL | leave it out (signal(7))
                3:48-6 nobody can ignore STOP | leave it out (signal(7))
                3:56-5 unknown signal `XYZ` | there are `HUP`, `INT`, `QUIT`, `TERM`, `KILL`, `STOP`, `CONT`, `TSTP`, `TTIN`, `TTOU`, `WINCH`, `USR1`
                3:96-6 unknown signal `kill` | did you mean `KILL`?
            program = [{ end = "x" }] |
                3:29-3 nothing called `x` was started before this step | `{ start = { name = "…", does = […] } }` comes before it in the same list
            program = [{ start = { name = "x", does = [{ raise = "xx" }] } }, { background = { does = [{ raise = "yy" }] } }, { run = [{ raise = "zz" }] }] |
                3:63-4 unknown signal `xx` | there are `HUP`, `INT`, `QUIT`, `TERM`, `KILL`, `STOP`, `CONT`, `TSTP`, `TTIN`, `TTOU`, `WINCH`, `USR1`
                3:111-4 unknown signal `yy` | there are `HUP`, `INT`, `QUIT`, `TERM`, `KILL`, `STOP`, `CONT`, `TSTP`, `TTIN`, `TTOU`, `WINCH`, `USR1`
                3:143-4 unknown signal `zz` | there are `HUP`, `INT`, `QUIT`, `TERM`, `KILL`, `STOP`, `CONT`, `TSTP`, `TTIN`, `TTOU`, `WINCH`, `USR1`
            program = [{ agent = { agent = { claude = { as = "9" } }, turns = [{ say = "{anwser}" }] } }] |
                3:59-3 `agent.program.0.agent.agent.claude.as` cannot be `9` | no such word here | it can be `1.0.128`, `2.0.77`, `2.1.329`
            program = [{ agent = { agent = { program = [] }, turns = [{ say = "x" }] } }] |
                3:67-15 a plain program has no model, so it plays no turns | what it does are the steps of `agent = { program = […] }`
            program = [] | turns = []
            program = [] | faults = [{ tool = { does = "never-flips" } }]
                4:10-35 a plain program has no model and no tools for this fault
            program = [] | faults = [{ tool = { does = { lags = "1s" } } }]
                4:10-37 a plain program has no model and no tools for this fault
            claude = {} | faults = [{ tool = { does = { lags = "1s" } } }]
                4:10-37 only opencode and its forks are known to lag between two steps
            claude = {} | faults = [{ tool = { does = "never-flips" } }]
            opencode = {} | faults = [{ tool = { does = { lags = "1s" } } }]
            claude = {} | faults = [{ event = { type = "x", does = "drop" } }, { post = { does = "ignored" } }, { get = { path = "/x", status = 0 } }, { queue = "holds" }, { worker = "never-starts" }]
                4:10-41 Claude Code has no server for this fault
                4:53-31 Claude Code has no server for this fault
                4:86-37 Claude Code has no server for this fault
                4:125-19 Claude Code has no server for this fault
                4:146-27 Claude Code has no server for this fault
            claude = {} | faults = [{ process = { at = "1s", does = "mute" } }, { process = { at = "1s", does = "restart" } }]
                4:42-6 only a server's event loop can be stuck | `agent = { opencode = { mode = "serve" } }`, and no other `role` than `agent`
                4:86-9 only a server is started again at its address | `agent = { opencode = { mode = "serve" } }`, and no other `role` than `agent`
            opencode = {} | faults = [{ process = { at = "1s", does = "mute" } }]
                4:42-6 only a server's event loop can be stuck | `agent = { opencode = { mode = "serve" } }`, and no other `role` than `agent`
            opencode = { mode = "serve" } | faults = [{ process = { at = "1s", does = "mute" } }, { process = { at = "1s", does = "restart" } }]
            opencode = { mode = "serve" } | faults = [{ process = { role = "agent.1", at = "1s", does = "mute" } }]
                4:60-6 only a server's event loop can be stuck | `agent = { opencode = { mode = "serve" } }`, and no other `role` than `agent`
            claude = {} | faults = [{ process = { role = "agent.1", at = "1s", does = "crash" } }]
            claude = {} | faults = [{ model = { does = { keep-alive = "0s" } } }]
                4:29-21 keep-alives without any time between them | give them a pace: `keep-alive = "15s"`
            claude = {} | faults = [{ model = { does = { keep-alive = "1ms" } } }]
            claude = {} | faults = [{ model = { does = "repeats" } }]
            claude = {} | faults = [{ model = { response = 0, does = "repeats" } }]
                4:43-9 one response is repeated, and all of it | name the response of `turns` that comes again: `response = 1`, without `after`
            claude = {} | faults = [{ model = { after = 1, does = "repeats" } }]
                4:40-9 one response is repeated, and all of it | name the response of `turns` that comes again: `response = 1`, without `after`
            claude = {} | faults = [{ model = { response = 0, after = 1, does = "stall" } }]
            claude = {} | people = [{ via = "companion", does = { run = "status" } }]
                4:18-11 Claude Code has no server to reach
            claude = {} | people = [{ via = "tty", sees = "screen", does = "stop" }]
            opencode = {} | people = [{ via = "companion", does = { run = "heal --dry-run" } }, { via = "companion", does = { run = "xyzzy" } }]
                4:104-7 unknown command of the companion `xyzzy` | there are `heal`, `heal --dry-run`, `heal --all`, `status`, `status --all`, `status task-1`, `status task-2`, `task-resume-candidate`, `result`, `cancel`
            opencode = {} | people = [{ via = "http", sees = "blocker", does = "stop" }]
                4:33-9 only PawWork lists blockers
            pawwork = {} | people = [{ via = "http", sees = "blocker", does = "dispose" }, { via = "http", does = { leave = "1s" } }]
            pawwork = {} | people = [{ via = "tty", does = "dispose" }]
                4:32-9 only PawWork's front end does this, with `via = "http"`
            opencode = {} | people = [{ via = "http", does = "dispose" }, { via = "http", does = { leave = "1s" } }]
                4:33-9 only PawWork's front end does this, with `via = "http"`
                4:69-16 only PawWork's front end does this, with `via = "http"`
            claude = {} | terminals = ["null", "ctty-null"]
            people = [{ via = "tty", does = { type = "\u0011" } }]
                5:41-8 Ctrl-Q stops or starts a terminal's output, which no stage models | leave the key out; where a reader of the output is to stop, there are the terminal `stdout-stopped` and the fault `{ wrapper = "ignores-stdout" }`
            claude = {} | terminals = ["null", "tty-background"]
            people = [{ via = "tty", does = { type = "\u0013" } }]
                5:41-8 Ctrl-S stops or starts a terminal's output, which no stage models | leave the key out; where a reader of the output is to stop, there are the terminal `stdout-stopped` and the fault `{ wrapper = "ignores-stdout" }`
            claude = {} | terminals = ["null"]
            people = [{ via = "tty", does = { type = "\u0013" } }]
            claude = {} | runs = 2
            faults = [{ wrapper = "ignores-stdout" }]
            claude = {} | env = { GLIBC_TUNABLES = "", GCONV_PATH = "", REHANG_X = "", REHANG_FAKE_LIES = "1", XLD_ = "", LD = "" }
                4:25-2 `GLIBC_TUNABLES` is read before an agent's first instruction, or by rehang itself | a scenario sets what its agent reads
                4:42-2 `GCONV_PATH` is read before an agent's first instruction, or by rehang itself | a scenario sets what its agent reads
                4:57-2 `REHANG_X` is read before an agent's first instruction, or by rehang itself | a scenario sets what its agent reads
            claude = {} | turns = [{ say = "{answer} {answre} {} {anwers} {a} {answerss} {answersss} {question} {answer" }]
                4:17-77 `{answre}` stands for nothing | did you mean `{answer}`?
                4:17-77 `{anwers}` stands for nothing | did you mean `{answer}`?
                4:17-77 `{answerss}` stands for nothing | did you mean `{answer}`?
            claude = {} | turns = [{ say = "answer} {" }, { task = { description = "x", turns = [{ say = "{answr}" }] } }]
                4:79-9 `{answr}` stands for nothing | did you mean `{answer}`?
            claude = {} | turns = [{ together = [{ task = { description = "x", turns = [] } }, { think = "1s" }, { ask = [{ question = "Q" }] }, { permit = { permission = "edit" } }, { bash = { command = "x", does = [{ raise = "xx" }] } }] }]
                4:69-16 only tool calls go together | tool calls are `ask`, `permit`, `bash`, `task`
                4:201-4 unknown signal `xx` | there are `HUP`, `INT`, `QUIT`, `TERM`, `KILL`, `STOP`, `CONT`, `TSTP`, `TTIN`, `TTOU`, `WINCH`, `USR1`
        "#]],
    );
}

#[test]
fn a_rule_says_nothing_twice_and_nothing_in_vain() {
    let rows = [
        "[[expect]]\noutcome = \"completed\"\nwithin = \"2s\"\nnot-before = \"2s\"",
        "[[expect]]\noutcome = \"completed\"\nwithin = \"2s\"\nnot-before = \"3s\"",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"\nproof = \"lasso\"",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = { hung = \"xyzzy\" }",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = { hung = \"qestion\" }\nproof = \"lasso\"",
        "[[expect]]\nstrategies = [\"idle@f54b32f\"]\noutcome = \"as none\"\nproof = \"lasso\"",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = \"as none\"",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"\nsays = [\"x\"]",
        "[[expect]]\nstrategies = [\"none\", \"idle\"]\noutcome = \"completed\"\nsays = [\"x\"]",
        "[[expect]]\nstrategies = []\noutcome = \"completed\"\nsays = [\"x\"]",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"\ngets = [200]",
        "[[expect]]\narm = \"control\"\nstrategies = [\"none\"]\noutcome = \"completed\"\ngets = [200]",
        "[[expect]]\narm = \"control\"\nstrategies = [\"none\"]\noutcome = { hung = \"question\" }",
        "[[expect]]\narm = \"control\"\nstrategies = [\"idle\"]\noutcome = { hung = \"question\" }",
        "[[expect]]\nstrategies = [\"xyzzy\"]\nterminals = [\"pipe\"]\noutcome = \"completed\"",
        "[[expect]]\nterminals = [\"null\", \"null\"]\nseeds = [1, 9]\noutcome = \"completed\"",
        "[[expect]]\nseeds = [9]\noutcome = \"completed\"",
        "[[expect]]\nstrategies = [\"auto-answer\", \"auto-answer@r1\", \"none+idle@f54b32f\", \"none+watcher@pr5\"]\noutcome = \"completed\"",
        "[[expect]]\nstrategies = [\"idle@f54b32f(timeout=1s)\", \"watcher\", \"idl\"]\noutcome = \"completed\"",
        "[[skip]]\nstrategies = [\"idle\", \"idle\"]\nbecause = \"x\"",
        "[[skip]]\nstrategies = [\"xyzzy\"]\nbecause = \"x\"",
        "[[skip]]\nterminals = [\"null\"]\nbecause = \"x\"",
        "[[skip]]\nterminals = [\"pipe\"]\nbecause = \"x\"",
        "[[skip]]\nbecause = \"x\"",
    ];
    let claude = "agent = { claude = {} }\nterminals = [\"null\"]\nturns = [{ say = \"x\" }]\n";
    let file = |row: &str| format!("{HEAD}{claude}{row}\n{REST}");
    table(
        &rows,
        file,
        expect![[r#"
        [[expect]]
        outcome = "completed"
        within = "2s"
        not-before = "2s"
            11:0-10 no cell reaches this rule | the rules above it take all of its cells
        [[expect]]
        outcome = "completed"
        within = "2s"
        not-before = "3s"
            8:9-4 no end is within 2s and not before 3s | too early
            11:0-10 no cell reaches this rule | the rules above it take all of its cells
        [[expect]]
        strategies = ["none"]
        outcome = "completed"
        proof = "lasso"
            9:8-7 only a hang has a proof | leave `proof` out
        [[expect]]
        strategies = ["none"]
        outcome = { hung = "xyzzy" }
            8:10-18 a hang without a control arm | nothing shows what makes it hang | add `[control]` with the one change under which it completes
            8:19-7 no hang is on `xyzzy` | a hang is on one of `stopped`, `spin`, `exit`, `question`, `permission`, `stdin`, `tty`, `pipe`, `bash`, `model`, `tool`, `worker`, `post`, `event`, `child`, `nothing`, `timer`, `client`, `peer`, `file`, `message`, `unknown`
        [[expect]]
        strategies = ["none"]
        outcome = { hung = "qestion" }
        proof = "lasso"
            8:10-20 a hang without a control arm | nothing shows what makes it hang | add `[control]` with the one change under which it completes
            8:19-9 no hang is on `qestion` | did you mean `question`?
        [[expect]]
        strategies = ["idle@f54b32f"]
        outcome = "as none"
        proof = "lasso"
        [[expect]]
        strategies = ["none"]
        outcome = "as none"
            8:10-9 what `none` does is not said | `as none` for `none` itself | add a rule with `strategies = ["none"]` above it
        [[expect]]
        strategies = ["none"]
        outcome = "completed"
        says = ["x"]
            9:7-5 `none` says nothing to anybody | leave `says` out
        [[expect]]
        strategies = ["none", "idle"]
        outcome = "completed"
        says = ["x"]
        [[expect]]
        strategies = []
        outcome = "completed"
        says = ["x"]
            11:0-10 no cell reaches this rule | the rules above it take all of its cells
        [[expect]]
        strategies = ["none"]
        outcome = "completed"
        gets = [200]
            9:7-5 nobody acts over HTTP here | `gets` speaks of people with `via = "http"`
        [[expect]]
        arm = "control"
        strategies = ["none"]
        outcome = "completed"
        gets = [200]
            6:0-10 no cell reaches this rule | there is no control arm
        [[expect]]
        arm = "control"
        strategies = ["none"]
        outcome = { hung = "question" }
            6:0-10 no cell reaches this rule | there is no control arm
            9:10-21 a control arm completes where nobody acts | this one hangs
        [[expect]]
        arm = "control"
        strategies = ["idle"]
        outcome = { hung = "question" }
            6:0-10 no cell reaches this rule | there is no control arm
        [[expect]]
        strategies = ["xyzzy"]
        terminals = ["pipe"]
        outcome = "completed"
            7:14-7 unknown strategy `xyzzy`
            8:13-6 no cell of this file has the terminal `pipe` | not among `terminals`
        [[expect]]
        terminals = ["null", "null"]
        seeds = [1, 9]
        outcome = "completed"
            7:21-6 `null` stands twice in this list | the second
            8:12-1 no cell of this file has the seed 9 | not among `seeds`
            11:0-10 no cell reaches this rule | the rules above it take all of its cells
        [[expect]]
        seeds = [9]
        outcome = "completed"
            7:9-1 no cell of this file has the seed 9 | not among `seeds`
        [[expect]]
        strategies = ["auto-answer", "auto-answer@r1", "none+idle@f54b32f", "none+watcher@pr5"]
        outcome = "completed"
            7:14-13 no cell of this file runs `auto-answer` | it needs an opencode server
            7:29-16 no cell of this file runs `auto-answer@r1` | it needs an opencode server
            7:68-18 no cell of this file runs `none+watcher@pr5` | it needs an opencode server
        [[expect]]
        strategies = ["idle@f54b32f(timeout=1s)", "watcher", "idl"]
        outcome = "completed"
            7:42-9 no cell of this file runs `watcher` | it needs an opencode server
            7:53-5 unknown strategy `idl` | did you mean `idle@f54b32f`?
        [[skip]]
        strategies = ["idle", "idle"]
        because = "x"
            7:22-6 `idle` stands twice in this list | the second
        [[skip]]
        strategies = ["xyzzy"]
        because = "x"
            7:14-7 unknown strategy `xyzzy`
        [[skip]]
        terminals = ["null"]
        because = "x"
            10:0-10 no cell reaches this rule | the rules above it take all of its cells
        [[skip]]
        terminals = ["pipe"]
        because = "x"
            6:0-8 no cell is skipped by this | it leaves nothing out
        [[skip]]
        because = "x"
            9:0-10 no cell reaches this rule | the rules above it take all of its cells
    "#]],
    );
    let rows = [
        "terminals = []",
        "seeds = []",
        "seeds = [1, 2, 1]",
        "terminals = [\"tty\", \"tty\"]",
        "mechanism = \"q1\"",
        "mechanism = \"Q11\"",
        "mechanism = \"editor\"",
        "mechanism = \"editr\"",
        "mechanism = \"xyzzy\"",
    ];
    let file = |row: &str| {
        let head = if row.starts_with("mechanism") { "title = \"T\"\n" } else { HEAD };
        format!("{head}agent = {{ claude = {{}} }}\n{row}\n{REST}")
    };
    table(
        &rows,
        file,
        expect![[r#"
        terminals = []
            4:12-2 `terminals` is empty: there would be no cell | leave `terminals` out for its default
            6:0-10 no cell reaches this rule | the rules above it take all of its cells
        seeds = []
            4:8-2 `seeds` is empty: there would be no cell | leave `seeds` out for its default
            6:0-10 no cell reaches this rule | the rules above it take all of its cells
        seeds = [1, 2, 1]
            4:15-1 `1` stands twice in this list | the second
        terminals = ["tty", "tty"]
            4:20-5 `tty` stands twice in this list | the second
        mechanism = "q1"
            3:12-4 unknown mechanism `q1` | did you mean `Q1`, question-no-answerer?
        mechanism = "Q11"
            3:12-5 unknown mechanism `Q11` | the hang catalogue has Q1–Q5, P1–P4, S1–S3, B1–B13, C1–C7, T1–T7, E1–E9, M1–M10, X1–X8, R1–R2, H1–H7; F1–F12 are healthy runs
        mechanism = "editor"
            3:12-8 unknown mechanism `editor` | did you mean `B4`, editor?
        mechanism = "editr"
            3:12-7 unknown mechanism `editr` | did you mean `B4`, editor?
        mechanism = "xyzzy"
            3:12-7 unknown mechanism `xyzzy` | the hang catalogue has Q1–Q5, P1–P4, S1–S3, B1–B13, C1–C7, T1–T7, E1–E9, M1–M10, X1–X8, R1–R2, H1–H7; F1–F12 are healthy runs
    "#]],
    );
}

#[test]
fn what_no_rule_covers_has_its_place_in_the_variant_or_the_file() {
    let rows = [
        "",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"\n\n[[expect]]\nstrategies = [\"idle\"]\nterminals = [\"null\"]\noutcome = \"completed\"",
        "[[vary]]\nname = \"v\"",
        "[[vary]]\nname = \"v\"\n[[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"",
        "[[vary]]\nname = \"v\"\nexpect = [{ strategies = [\"none\"], outcome = { hung = \"question\" } }]\n[[expect]]\noutcome = \"as none\"",
        "[control]\nturns = []\n[[expect]]\nstrategies = [\"none\"]\noutcome = { hung = \"question\" }\n[[expect]]\noutcome = \"as none\"",
        "[[expect]]\nstrategies = [\"idle\"]\noutcome = { hung = \"question\" }\n[[expect]]\noutcome = \"completed\"",
        "[[expect]]\nstrategies = [\"none\"]\noutcome = { stopped = \"x\" }\n[[expect]]\noutcome = \"completed\"",
    ];
    let head = "agent = { claude = {} }\nterminals = [\"null\", \"pipe\"]\nturns = [{ say = \"x\" }]\n";
    table(
        &rows,
        |row| format!("{HEAD}{head}{row}\n"),
        expect![[r#"

            1:8-3 6 cells match no rule | the first is `…::none::null::1` | if the rest has nothing to do here, end with a rule for it: `[[expect]]` and `outcome = "as none"`
        [[expect]]
        strategies = ["none"]
        outcome = "completed"
            6:0-10 4 cells match no rule | the first is `…::idle@f54b32f::null::1` | if the rest has nothing to do here, end with a rule for it: `[[expect]]` and `outcome = "as none"`
        [[expect]]
        strategies = ["none"]
        outcome = "completed"

        [[expect]]
        strategies = ["idle"]
        terminals = ["null"]
        outcome = "completed"
            10:0-10 3 cells match no rule | the first is `…::idle@f54b32f::pipe::1` | if the rest has nothing to do here, end with a rule for it: `[[expect]]` and `outcome = "as none"`
        [[vary]]
        name = "v"
            7:7-3 6 cells of the variant `v` match no rule | the first is `…[v]::none::null::1` | if the rest has nothing to do here, end with a rule for it: `[[expect]]` and `outcome = "as none"`
        [[vary]]
        name = "v"
        [[expect]]
        strategies = ["none"]
        outcome = "completed"
            7:7-3 4 cells of the variant `v` match no rule | the first is `…[v]::idle@f54b32f::null::1` | if the rest has nothing to do here, end with a rule for it: `[[expect]]` and `outcome = "as none"`
        [[vary]]
        name = "v"
        expect = [{ strategies = ["none"], outcome = { hung = "question" } }]
        [[expect]]
        outcome = "as none"
            8:45-21 a hang without a control arm in the variant `v` | nothing shows what makes it hang | add `[control]` with the one change under which it completes
        [control]
        turns = []
        [[expect]]
        strategies = ["none"]
        outcome = { hung = "question" }
        [[expect]]
        outcome = "as none"
        [[expect]]
        strategies = ["idle"]
        outcome = { hung = "question" }
        [[expect]]
        outcome = "completed"
        [[expect]]
        strategies = ["none"]
        outcome = { stopped = "x" }
        [[expect]]
        outcome = "completed"
    "#]],
    );
}

#[test]
fn a_control_arm_or_a_variant_changes_what_it_says() {
    let rows = [
        "control = 7",
        "control = []",
        "vary = []",
        "vary = 7",
        "[control]\nchanges = 7\nargs = []",
        "[control]\nchanges = [\"args\"]\nargs = [\"x\"]",
        "[control]\nchanges = [\"args\", \"runs\"]\nargs = [\"x\"]\nruns = 2",
        "[control]\nchanges = [\"args\"]\nargs = [\"x\"]\nruns = 2",
        "[control]\nargs = [\"x\"]\nruns = 2\n\"turns.0\" = { say = \"y\" }",
        "[control]\n\"turns.0.say\" = \"y\"\n\"turns.1\" = { say = \"z\" }",
        "[control]\nruns = 0x1",
        "[control]\nruns = 1",
        "[control]\ntitle = \"U\"",
        "[control]\nvary = 1",
        "[control]\nxyzzy = 1",
        "[control]\nrnus = 1",
        "[control]\n\"turns.5\" = 1",
        "[control]\nruns = \"x\"",
        "[[vary]]\nset = {}",
        "[[vary]]\nname = 7",
        "[[vary]]\nname = \"\"",
        "[[vary]]\nname = \"a-_.=+9\"",
        "[[vary]]\nname = \"é\"",
        "[[vary]]\nname = \"v\"\nset = { control = 1, vary = 1, skip = [], xyzzy = 1, rnus = 1, \"\" = 1 }",
        "[[vary]]\nname = \"v\"\nset = 7\nexpect = 7\ncontrol = 7",
        "[[vary]]\nname = \"v\"\nset = { runs = 1 }\ncontrol = { runs = 1 }",
        "[[vary]]\nname = \"v\"\ncontrol = { runs = 2, args = [\"x\"] }",
        "[[vary]]\nname = \"v\"\ncontrol = { runs = 2 }\n[[vary]]\nname = \"w\"\n[control]\nargs = [\"x\"]",
    ];
    let head = "agent = { claude = {} }\nturns = [{ say = \"x\" }]\n";
    table(
        &rows,
        |row| format!("{HEAD}{head}{row}\n{REST}"),
        expect![[r#"
            control = 7
                5:10-1 `control` must be a table | this is a number
            control = []
                5:10-2 `control` must be a table | this is a list
            vary = []
                5:7-2 `vary` is empty | a file with `vary` has only its variants
            vary = 7
                5:7-1 `vary` must be a list | this is a number | what can be a list is always a list: `[7]`
            [control]
            changes = 7
            args = []
                6:10-1 `control.changes` must be a list | this is a number | what can be a list is always a list: `[7]`
            [control]
            changes = ["args"]
            args = ["x"]
            [control]
            changes = ["args", "runs"]
            args = ["x"]
            runs = 2
            [control]
            changes = ["args"]
            args = ["x"]
            runs = 2
                6:10-8 this control arm changes more than it says: `runs` | not named here
            [control]
            args = ["x"]
            runs = 2
            "turns.0" = { say = "y" }
                7:0-4 this control arm changes more than one thing: `args`, `runs`, `turns` | the second | if it takes all of them, say so: `changes = ["args", "runs", "turns"]` | a key behind `[control]` falls into that table: what is the file's own belongs above it
            [control]
            "turns.0.say" = "y"
            "turns.1" = { say = "z" }
            [control]
            runs = 0x1
                6:0-4 `runs` changes nothing | it has this value without the control arm
            [control]
            runs = 1
                6:0-4 `runs` changes nothing | it has this value without the control arm
            [control]
            title = "U"
                6:0-5 `title` cannot stand in `control` | a key behind `[control]` falls into that table | move it above `[control]`
            [control]
            vary = 1
                6:0-4 `vary` cannot stand in `control` | a key behind `[control]` falls into that table | move it above `[control]`
            [control]
            xyzzy = 1
                6:0-5 `xyzzy` cannot stand in `control` | no such key | there are `agent`, `terminals`, `turns`, `tool-server`, `hook`, `faults`, `people`, `editor`, `runs`, `afterwards`, `env`, `args`, `seeds`, `stages`, `survives`
            [control]
            rnus = 1
                6:0-4 `rnus` cannot stand in `control` | did you mean `runs`?
            [control]
            "turns.5" = 1
                6:0-9 `turns.5` leads nowhere | `turns` has 1 elements: the next one is `turns.1`
            [control]
            runs = "x"
                6:7-3 `runs` must be a whole number | this is a text
            [[vary]]
            set = {}
                5:0-8 `name` is missing in `vary.0` | it belongs here | add `name = …`: What the variant is called: letters, digits, `-`, `_`, `.`, `=`
                5:0-8 `` is no name for a variant | a cell is called by it: letters, digits, `-`, `_`, `.`, `=`, `+`
            [[vary]]
            name = 7
                6:7-1 `vary.0.name` must be a text | this is a number | in quotes: `"7"`
                6:7-1 `` is no name for a variant | a cell is called by it: letters, digits, `-`, `_`, `.`, `=`, `+`
            [[vary]]
            name = ""
                6:7-2 `` is no name for a variant | a cell is called by it: letters, digits, `-`, `_`, `.`, `=`, `+`
            [[vary]]
            name = "a-_.=+9"
            [[vary]]
            name = "é"
                6:7-4 `é` is no name for a variant | a cell is called by it: letters, digits, `-`, `_`, `.`, `=`, `+`
            [[vary]]
            name = "v"
            set = { control = 1, vary = 1, skip = [], xyzzy = 1, rnus = 1, "" = 1 }
                7:8-7 `control` cannot stand in `set` | a variant has its own `control` beside `set`
                7:21-4 `vary` cannot stand in `set` | a variant has its own `vary` beside `set`
                7:42-5 `xyzzy` cannot stand in `set` | no such key | there are `title`, `about`, `mechanism`, `cites`, `agent`, `terminals`, `turns`, `tool-server`, `hook`, `faults`, `people`, `editor`, `runs`, `afterwards`, `env`, `args`, `seeds`, `stages`, `survives`, `skip`
                7:53-4 `rnus` cannot stand in `set` | did you mean `runs`?
                7:63-2 `` is no name | empty, or with `=` or a control character in it
                7:63-2 `` cannot stand in `set` | no such key | there are `title`, `about`, `mechanism`, `cites`, `agent`, `terminals`, `turns`, `tool-server`, `hook`, `faults`, `people`, `editor`, `runs`, `afterwards`, `env`, `args`, `seeds`, `stages`, `survives`, `skip`
            [[vary]]
            name = "v"
            set = 7
            expect = 7
            control = 7
                7:6-1 `vary.0.set` must be a table | this is a number
                8:9-1 `vary.0.expect` must be a list | this is a number | what can be a list is always a list: `[7]`
                9:10-1 `vary.0.control` must be a table | this is a number
            [[vary]]
            name = "v"
            set = { runs = 1 }
            control = { runs = 1 }
                8:12-4 `runs` changes nothing in the variant `v` | it has this value without the control arm
            [[vary]]
            name = "v"
            control = { runs = 2, args = ["x"] }
                7:22-4 this control arm changes more than one thing: `args`, `runs` | the second | if it takes all of them, say so: `changes = ["args", "runs"]` | a key behind `[control]` falls into that table: what is the file's own belongs above it
            [[vary]]
            name = "v"
            control = { runs = 2 }
            [[vary]]
            name = "w"
            [control]
            args = ["x"]
        "#]],
    );
    let name = |chars: usize| said(&of("claude = {}", &format!("[[vary]]\nname = \"{}\"", "x".repeat(chars)))).len();
    assert_eq!([limits::NAME_CHARS, limits::NAME_CHARS + 1].map(name), [0, 1]);
}

#[test]
fn what_is_no_toml_is_said_once_a_line() {
    let rows = [
        "title = \"U\"",
        "args = [1 2 3]\nruns = \"x\"",
        "args = [1 2 3] \nenv = { A = 1 B = 2 }",
        "args = [\"x\"",
        "about = \"x",
        "about = \"\"\"x",
        "= 1\nmechanisn = 1",
        "\"rehang\u{e9}\" = = 1",
    ];
    table(
        &rows,
        |row| of("claude = {}", row),
        expect![[r#"
        title = "U"
            4:0-5 duplicate key `title` | it stands further up already | a key behind a table header (`[control]`, `[[expect]]`) belongs to that table
        args = [1 2 3]
        runs = "x"
            4:8-5 this is no TOML: string values must be quoted, expected literal string
            5:7-3 `runs` must be a whole number | this is a text
        args = [1 2 3] 
        env = { A = 1 B = 2 }
            4:8-5 this is no TOML: string values must be quoted, expected literal string
            5:16-0 this is no TOML: extra assignment between key-value pairs, expected `,`
        args = ["x"
            6:0-0 this is no TOML: missing comma between array elements, expected `,`
            7:0-0 this is no TOML: missing comma between array elements, expected `,`
        about = "x
            4:10-0 this is no TOML: invalid basic string, expected `"`
        about = """x
            8:0-0 this is no TOML: invalid multi-line basic string, expected `"` | the file ends here | is the file cut off? something that was opened is not closed
        = 1
        mechanisn = 1
            4:0-0 this is no TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
            5:0-9 unknown key `mechanisn` | did you mean `mechanism`?
        "rehangé" = = 1
            4:13-1 this is no TOML: extra `=`, expected nothing
    "#]],
    );
    table(
        &rows,
        |row| format!("{HEAD}agent = {{ claude = {{}} }}\n{row}"),
        expect![[r#"
        title = "U"
            4:0-5 duplicate key `title` | it stands further up already | a key behind a table header (`[control]`, `[[expect]]`) belongs to that table
        args = [1 2 3]
        runs = "x"
            4:8-5 this is no TOML: string values must be quoted, expected literal string
            5:7-3 `runs` must be a whole number | this is a text
        args = [1 2 3] 
        env = { A = 1 B = 2 }
            4:8-5 this is no TOML: string values must be quoted, expected literal string
            5:16-0 this is no TOML: extra assignment between key-value pairs, expected `,`
        args = ["x"
            4:11-0 this is no TOML: unclosed array, expected `]` | the file ends here | is the file cut off? something that was opened is not closed
        about = "x
            4:10-0 this is no TOML: invalid basic string, expected `"` | the file ends here | is the file cut off? something that was opened is not closed
        about = """x
            4:12-0 this is no TOML: invalid multi-line basic string, expected `"` | the file ends here | is the file cut off? something that was opened is not closed
        = 1
        mechanisn = 1
            4:0-0 this is no TOML: unquoted keys cannot be empty, expected letters, numbers, `-`, `_`
            5:0-9 unknown key `mechanisn` | did you mean `mechanism`?
        "rehangé" = = 1
            4:13-1 this is no TOML: extra `=`, expected nothing
    "#]],
    );
}

#[test]
fn each_string_of_a_process_may_be_as_long_as_its_limit() {
    let count = |keys: String| said(&of("claude = {}", &keys)).len();
    let x = |bytes: usize| "x".repeat(bytes);
    let most = limits::ARG_BYTES;
    assert_eq!([most, most + 1].map(|bytes| count(format!("args = [\"{}\"]", x(bytes)))), [0, 1]);
    assert_eq!([most - 3, most - 2].map(|bytes| count(format!("env = {{ AB = \"{}\" }}", x(bytes)))), [0, 1]);
    assert_eq!(
        [limits::TEXT_BYTES, limits::TEXT_BYTES + 1].map(|bytes| count(format!("about = \"{}\"", x(bytes)))),
        [0, 1]
    );
    let list = |many: usize| count(format!("args = [{}]", "\"x\",".repeat(many)));
    assert_eq!([100, 101].map(list), [0, 1]);
    let vars =
        |many: usize| count(format!("env = {{ {} }}", (0..many).map(|n| format!("E{n} = \"\",")).collect::<String>()));
    assert_eq!([limits::LIST, limits::LIST + 1].map(vars), [0, 1]);
    let left = |many: usize, runs: usize| {
        let steps = "{ background = { does = [\"hold\"] } },".repeat(many - 1) + "{ start = { name = \"x\" } }";
        said(&of(&format!("program = [{steps}]"), &format!("runs = {runs}")))
    };
    assert!(left(100, 10).is_empty() && left(1_000, 1).is_empty(), "as many as there may be");
    assert_eq!([left(1_001, 1).len(), left(101, 10).len()], [1, 1]);
    let turn = |many: usize| {
        let task = format!("{{ task = {{ description = \"x\", turns = [{}] }} }}", "{ say = \"x\" },\n".repeat(many));
        count(format!("turns = [{task}]"))
    };
    assert_eq!([limits::TURNS - 1, limits::TURNS].map(turn), [0, 1]);
}

#[test]
fn a_file_that_does_not_load_still_has_its_unknown_names() {
    let rows = [
        "mechanism = \"Q77\"\n[[expect]]\nstrategies = [\"xyzzy\", \"none\", 7]\noutcome = \"completed\"",
        "[[skip]]\nstrategies = [\"plugh\"]\nbecause = \"x\"",
        "[[vary]]\nname = \"v\"\nset = { mechanism = \"Q78\" }\nexpect = [{ strategies = [\"foobar\"] }]",
        "[[vary]]\nname = \"v\"\nset = { mechanism = \"Q1\" }\nexpect = [{ strategies = [\"idle\"], outcome = \"completed\" }]",
    ];
    table(
        &rows,
        |row| format!("title = 7\nagent = {{ claude = {{}} }}\n{row}\n"),
        expect![[r#"
        mechanism = "Q77"
        [[expect]]
        strategies = ["xyzzy", "none", 7]
        outcome = "completed"
            1:8-1 `title` must be a text | this is a number | in quotes: `"7"`
            3:12-5 unknown mechanism `Q77` | the hang catalogue has Q1–Q5, P1–P4, S1–S3, B1–B13, C1–C7, T1–T7, E1–E9, M1–M10, X1–X8, R1–R2, H1–H7; F1–F12 are healthy runs
            5:14-7 unknown strategy `xyzzy`
            5:31-1 `expect.0.strategies.2` must be a text | this is a number | in quotes: `"7"`
        [[skip]]
        strategies = ["plugh"]
        because = "x"
            1:0-9 `mechanism` is missing | it belongs here | add `mechanism = …`: The mechanism in the hang catalogue (`Q1`, `B6`, …) or the benign look-alike (`F1`, …)
            1:8-1 `title` must be a text | this is a number | in quotes: `"7"`
            4:14-7 unknown strategy `plugh`
        [[vary]]
        name = "v"
        set = { mechanism = "Q78" }
        expect = [{ strategies = ["foobar"] }]
            1:0-9 `mechanism` is missing | it belongs here | add `mechanism = …`: The mechanism in the hang catalogue (`Q1`, `B6`, …) or the benign look-alike (`F1`, …)
            1:8-1 `title` must be a text | this is a number | in quotes: `"7"`
            5:20-5 unknown mechanism `Q78` | the hang catalogue has Q1–Q5, P1–P4, S1–S3, B1–B13, C1–C7, T1–T7, E1–E9, M1–M10, X1–X8, R1–R2, H1–H7; F1–F12 are healthy runs
            6:10-27 `outcome` is missing in `vary.0.expect.0` | it belongs here | add `outcome = …`: The outcome
            6:10-27 `outcome` is missing in `expect.0` | it belongs here | add `outcome = …`: The outcome
            6:26-8 unknown strategy `foobar`
        [[vary]]
        name = "v"
        set = { mechanism = "Q1" }
        expect = [{ strategies = ["idle"], outcome = "completed" }]
            1:0-9 `mechanism` is missing | it belongs here | add `mechanism = …`: The mechanism in the hang catalogue (`Q1`, `B6`, …) or the benign look-alike (`F1`, …)
            1:8-1 `title` must be a text | this is a number | in quotes: `"7"`
    "#]],
    );
}

#[test]
fn a_file_may_be_as_large_as_its_limits_and_no_larger() {
    // two stacks, four terminals, a hundred seeds
    let seeds: Vec<String> = (0..100).map(|seed| seed.to_string()).collect();
    let variants = |many: usize| (0..many).map(|n| format!("[[vary]]\nname = \"v{n}\"\n")).collect::<String>();
    let cells = |many: usize| said(&of("program = []", &format!("seeds = [{}]\n{}", seeds.join(","), variants(many))));
    assert_eq!(limits::CELLS, 2 * 4 * 100 * 125);
    assert_eq!((cells(125).len(), cells(126).len()), (0, 1));
    assert!(cells(126)[0].contains("the file has 100800 cells, more than 100000"));
    let many = |many: usize| said(&of("program = []", &variants(many))).len();
    assert_eq!([limits::VARIANTS, limits::VARIANTS + 1].map(many), [0, 1]);
    let bytes = |more: usize| {
        let file = of("program = []", &variants(64));
        let most = limits::FAMILY_BYTES / 2 / 64;
        said(&format!("{file}#{}", "x".repeat(most + more - 1 - file.len())))
    };
    assert!(bytes(0).is_empty());
    assert_eq!(
        bytes(1),
        ["131:7-5 64 variants of a file of 257 KiB are too many | at most 128 variants, and 32 MiB in all"]
    );
}

#[test]
fn problems_beyond_the_limit_are_counted() {
    let file = |many: usize| {
        let names = "\"xyzzy\",".repeat(many);
        of("claude = {}", "") + &format!("[[expect]]\nstrategies = [{names}]\noutcome = \"completed\"\n")
    };
    let counted = |file: &str| {
        let problems = check(&load("x.toml", file.as_bytes()), &Sample);
        (problems.list.len(), problems.more)
    };
    // each is unknown, and each but the first stands twice
    assert_eq!(counted(&file(30)), (59, 0));
    assert_eq!(counted(&file(50)), (99, 0));
    assert_eq!(counted(&file(51)), (100, 1));
    let broken = "x = 1\n".to_owned() + &(0..150).map(|n| format!("k{n} = 1\n")).collect::<String>();
    let (shown, _) = counted(&broken);
    assert_eq!(shown, limits::PROBLEMS);
}
