//! What a person reads when a file is wrong: every error of the file, each with line, caret and a suggestion.
//!
//! Invariant: the text is part of this crate's interface, so it is compared word for word.

use expect_test::{Expect, expect};
use rehang_scenario::sample::Sample;
use rehang_scenario::{Style, check, load};

/// The lines above and below the part that a test is about.
const HEAD: &str = "title = \"T\"\nmechanism = \"Q1\"\nagent = { opencode = {} }\n";
const TAIL: &str = "\n[[expect]]\noutcome = \"completed\"\n";

fn rendered(file: &str) -> String {
    check(&load("q/x.toml", file.as_bytes()), &Sample).render(Style::Plain)
}

fn says(file: &str, expected: Expect) {
    expected.assert_eq(&rendered(file));
}

#[test]
fn the_sample_has_no_problem() {
    assert_eq!(rendered(include_str!("row-diff.toml")), "");
}

#[test]
fn all_errors_of_a_file_at_once() {
    let file = r#"title = "Asks, and nobody is there"
mechanism = "Q99"
agent = { opencode = { as = "1.2.15", mod = "run" } }
terminals = "tty"
turns = [
  { say = "Looking." },
  { think = 90 },
  { ask = [{ options = [{ label = "Yes" }] }] },
  { bash = { command = "make", does = ["sleeep", { sleep = "9e99y" }] } },
]
tilte = "again"

[[expect]]
strategies = ["auto-anser@r1"]
outcome = { hang = "question" }
within = "1 hour"
breaks = ["harm", "Unfinished"]
"#;
    says(
        file,
        expect![[r#"
        error: unknown mechanism `Q99`
         --> q/x.toml:2:13
          |
        2 | mechanism = "Q99"
          |             ^^^^^
          |
          = help: the hang catalogue has Q1–Q5, P1–P4, S1–S3, B1–B13, C1–C7, T1–T7, E1–E9, M1–M10, X1–X8, R1–R2, H1–H7; F1–F12 are healthy runs

        error: unknown key `mod` in `agent.opencode`
         --> q/x.toml:3:39
          |
        3 | agent = { opencode = { as = "1.2.15", mod = "run" } }
          |                                       ^^^ did you mean `mode`?

        error: `terminals` must be a list
         --> q/x.toml:4:13
          |
        4 | terminals = "tty"
          |             ^^^^^ this is a text
          |
          = help: what can be a list is always a list: `["tty"]`

        error: `turns.1.think` is a duration
         --> q/x.toml:7:13
          |
        7 |   { think = 90 },
          |             ^^ a duration needs a unit
          |
          = help: write `"90s"` or `"90ms"`

        error: `question` is missing in `turns.2.ask.0`
         --> q/x.toml:8:12
          |
        8 |   { ask = [{ options = [{ label = "Yes" }] }] },
          |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ it belongs here
          |
          = help: add `question = …`: The question

        error: `turns.3.bash.does.0` cannot be `sleeep`
         --> q/x.toml:9:40
          |
        9 |   { bash = { command = "make", does = ["sleeep", { sleep = "9e99y" }] } },
          |                                        ^^^^^^^^ did you mean `sleep`?

        error: `9e99y` is no duration
         --> q/x.toml:9:60
          |
        9 |   { bash = { command = "make", does = ["sleeep", { sleep = "9e99y" }] } },
          |                                                            ^^^^^^^ no unit of time: `e99y`; use ms, s, m or h after a whole number

        error: unknown key `tilte`
          --> q/x.toml:11:1
           |
        11 | tilte = "again"
           | ^^^^^ did you mean `title`?

        error: unknown strategy `auto-anser@r1`
          --> q/x.toml:14:15
           |
        14 | strategies = ["auto-anser@r1"]
           |               ^^^^^^^^^^^^^^^ did you mean `auto-answer@r1`?

        error: `expect.0.outcome` cannot be `hang`
          --> q/x.toml:15:13
           |
        15 | outcome = { hang = "question" }
           |             ^^^^ did you mean `hung`?

        error: `1 hour` is no duration
          --> q/x.toml:16:10
           |
        16 | within = "1 hour"
           |          ^^^^^^^^ no unit of time: ` hour`; use ms, s, m or h after a whole number

        error: `expect.0.breaks.1` cannot be `Unfinished`
          --> q/x.toml:17:19
           |
        17 | breaks = ["harm", "Unfinished"]
           |                   ^^^^^^^^^^^^ did you mean `unfinished`?

    "#]],
    );
}

#[test]
fn a_broken_line_does_not_hide_the_others() {
    says(
        &format!("{HEAD}cites = [\"a\" \"b\"]\nterminal = [\"tty\"]\n{TAIL}"),
        expect![[r#"
        error: this is no TOML: missing comma between array elements, expected `,`
         --> q/x.toml:4:14
          |
        4 | cites = ["a" "b"]
          |              ^

        error: unknown key `terminal`
         --> q/x.toml:5:1
          |
        5 | terminal = ["tty"]
          | ^^^^^^^^ did you mean `terminals`?

    "#]],
    );
}

#[test]
fn a_truncated_file() {
    let whole = include_str!("row-diff.toml");
    let cut = &whole[..whole.find("Approve row").unwrap_or_default()];
    says(
        cut,
        expect![[r#"
        error: this is no TOML: unclosed inline table, expected `}`
          --> q/x.toml:10:92
           |
        10 |   { ask = [{ question = "May I run row-level hashdiff comparisons?", options = [{ label = "
           |                                                                                            ^ the file ends here
           |
           = help: is the file cut off? something that was opened is not closed

    "#]],
    );
}

#[test]
fn signals_that_nobody_can_ignore() {
    let file = format!(
        "{HEAD}turns = [{{ bash = {{ command = \"x\", does = [{{ ignore = [\"TERM\", \"KILL\"] }}] }} }}]\n{TAIL}"
    );
    says(
        &file,
        expect![[r#"
        error: nobody can ignore KILL
         --> q/x.toml:4:64
          |
        4 | turns = [{ bash = { command = "x", does = [{ ignore = ["TERM", "KILL"] }] } }]
          |                                                                ^^^^^^
          |
          = help: leave it out (signal(7))

    "#]],
    );
}

#[test]
fn a_step_whose_process_was_not_started_before_it() {
    let head = "title = \"T\"\nmechanism = \"X1\"\nterminals = [\"null\"]\n";
    let steps = r#"agent = { program = [
  { send = { to = "server", line = "ping" } },
  { start = { name = "server", stdin = "null", does = [{ receive = { from = "server" } }] } },
  { send = { to = "server", line = "ping" } },
  { start = { name = "server" } },
  { end = "sever" },
] }
faults = [{ process = { at = "1s", does = "mute" } }]"#;
    says(
        &format!("{head}{steps}\n{TAIL}"),
        expect![[r#"
        error: nothing called `server` was started before this step
         --> q/x.toml:5:19
          |
        5 |   { send = { to = "server", line = "ping" } },
          |                   ^^^^^^^^
          |
          = help: `{ start = { name = "…", does = […] } }` comes before it in the same list

        error: nothing called `server` was started before this step
         --> q/x.toml:6:77
          |
        6 |   { start = { name = "server", stdin = "null", does = [{ receive = { from = "server" } }] } },
          |                                                                             ^^^^^^^^
          |
          = help: `{ start = { name = "…", does = […] } }` comes before it in the same list

        error: there is no pipe to `server` for this step
         --> q/x.toml:7:19
          |
        7 |   { send = { to = "server", line = "ping" } },
          |                   ^^^^^^^^
          |
          = help: leave its `stdin`, `stdout` or `missing` out: a pipe is what a started process has by itself

        error: something called `server` was started before
         --> q/x.toml:8:22
          |
        8 |   { start = { name = "server" } },
          |                      ^^^^^^^^
          |
          = help: give each its own name

        error: nothing called `sever` was started before this step
         --> q/x.toml:9:11
          |
        9 |   { end = "sever" },
          |           ^^^^^^^
          |
          = help: `{ start = { name = "…", does = […] } }` comes before it in the same list

        error: only a server's event loop can be stuck
          --> q/x.toml:11:43
           |
        11 | faults = [{ process = { at = "1s", does = "mute" } }]
           |                                           ^^^^^^
           |
           = help: `agent = { opencode = { mode = "serve" } }`, and no other `role` than `agent`

    "#]],
    );
}

#[test]
fn names_that_name_nothing() {
    let file = format!(
        "{HEAD}turns = [{{ bash = {{ command = \"x\", does = [{{ raise = \"TREM\" }}] }} }}, {{ together = [{{ say = \"x\" }}] }}]\npeople = [{{ via = \"companion\", does = {{ run = \"heel\" }} }}]\n{TAIL}"
    );
    says(
        &file,
        expect![[r#"
        error: unknown signal `TREM`
         --> q/x.toml:4:54
          |
        4 | turns = [{ bash = { command = "x", does = [{ raise = "TREM" }] } }, { together = [{ say = "x" }] }]
          |                                                      ^^^^^^
          |
          = help: did you mean `TERM`?

        error: only tool calls go together
         --> q/x.toml:4:83
          |
        4 | turns = [{ bash = { command = "x", does = [{ raise = "TREM" }] } }, { together = [{ say = "x" }] }]
          |                                                                                   ^^^^^^^^^^^^^
          |
          = help: tool calls are `ask`, `permit`, `bash`, `task`

        error: unknown command of the companion `heel`
         --> q/x.toml:5:47
          |
        5 | people = [{ via = "companion", does = { run = "heel" } }]
          |                                               ^^^^^^
          |
          = help: did you mean `heal`?

    "#]],
    );
}

#[test]
fn rules_and_cells() {
    let file = r#"title = "T"
mechanism = "Q1"
agent = { claude = {} }
terminals = ["tty", "null", "null"]

[[expect]]
strategies = ["none", "watcher@pr5", "none"]
terminals = ["tty", "pipe"]
outcome = { hung = "question" }

[[expect]]
strategies = ["idle"]
outcome = "completed"

[[expect]]
strategies = ["idle@f54b32f"]
outcome = "completed"

[[skip]]
strategies = ["auto-approve@v1"]
terminals = ["closed"]
because = "no"
"#;
    says(
        file,
        expect![[r#"
        error: `null` stands twice in this list
         --> q/x.toml:4:29
          |
        4 | terminals = ["tty", "null", "null"]
          |                             ^^^^^^ the second

        error: no cell of this file runs `watcher@pr5`
         --> q/x.toml:7:23
          |
        7 | strategies = ["none", "watcher@pr5", "none"]
          |                       ^^^^^^^^^^^^^ it needs an opencode server

        error: `none` stands twice in this list
         --> q/x.toml:7:38
          |
        7 | strategies = ["none", "watcher@pr5", "none"]
          |                                      ^^^^^^ the second

        error: no cell of this file has the terminal `pipe`
         --> q/x.toml:8:21
          |
        8 | terminals = ["tty", "pipe"]
          |                     ^^^^^^ not among `terminals`

        error: a hang without a control arm
         --> q/x.toml:9:11
          |
        9 | outcome = { hung = "question" }
          |           ^^^^^^^^^^^^^^^^^^^^^ nothing shows what makes it hang
          |
          = help: add `[control]` with the one change under which it completes

        error: 5 cells match no rule
          --> q/x.toml:15:1
           |
        15 | [[expect]]
           | ^^^^^^^^^^ the first is `…::none::null::1`
           |
           = help: if the rest has nothing to do here, end with a rule for it: `[[expect]]` and `outcome = "as none"`

        error: no cell reaches this rule
          --> q/x.toml:15:1
           |
        15 | [[expect]]
           | ^^^^^^^^^^ the rules above it take all of its cells

        error: no cell is skipped by this
          --> q/x.toml:19:1
           |
        19 | [[skip]]
           | ^^^^^^^^ it leaves nothing out

    "#]],
    );
}

#[test]
fn a_rule_for_the_rest_says_nothing_of_none() {
    says(
        &format!("{HEAD}\n[[expect]]\noutcome = \"as none\"\n"),
        expect![[r#"
        error: what `none` does is not said
         --> q/x.toml:6:11
          |
        6 | outcome = "as none"
          |           ^^^^^^^^^ `as none` for `none` itself
          |
          = help: add a rule with `strategies = ["none"]` above it

    "#]],
    );
}

#[test]
fn a_control_arm_that_changes_more_than_it_says() {
    let file = format!("{HEAD}\n[control]\nturns = [{{ say = \"x\" }}]\nenv = {{ CI = \"1\" }}\nexpect = []\n{TAIL}");
    says(
        &file,
        expect![[r#"
        error: `expect` cannot stand in `control`
         --> q/x.toml:8:1
          |
        8 | expect = []
          | ^^^^^^ a key behind `[control]` falls into that table
          |
          = help: move it above `[control]`

    "#]],
    );
    let file = format!("{HEAD}\n[control]\nturns = [{{ say = \"x\" }}]\nargs = [\"-x\"]\n{TAIL}");
    says(
        &file,
        expect![[r#"
        error: this control arm changes more than one thing: `args`, `turns`
         --> q/x.toml:7:1
          |
        7 | args = ["-x"]
          | ^^^^ the second
          |
          = help: if it takes all of them, say so: `changes = ["args", "turns"]`
          = help: a key behind `[control]` falls into that table: what is the file's own belongs above it

    "#]],
    );
    let file = format!(
        "{HEAD}\n[control]\nchanges = [\"turns\", \"people\"]\nturns = [{{ say = \"x\" }}]\nargs = [\"-x\"]\n{TAIL}"
    );
    says(
        &file,
        expect![[r#"
        error: this control arm changes more than it says: `args`
         --> q/x.toml:6:11
          |
        6 | changes = ["turns", "people"]
          |           ^^^^^^^^^^^^^^^^^^^ not named here

        error: this control arm does not change `people`
         --> q/x.toml:6:21
          |
        6 | changes = ["turns", "people"]
          |                     ^^^^^^^^ it changes `args`, `turns`

    "#]],
    );
    says(
        &format!("{HEAD}\n[control]\nterminals = [\"tty\", \"null\", \"pipe\", \"closed\"]\n{TAIL}"),
        expect![[r#"
        error: `terminals` changes nothing
         --> q/x.toml:6:1
          |
        6 | terminals = ["tty", "null", "pipe", "closed"]
          | ^^^^^^^^^ it has this value without the control arm

    "#]],
    );
    says(
        &format!("{HEAD}\n[control]\n{TAIL}"),
        expect![[r#"
        error: `control` changes nothing
         --> q/x.toml:5:1
          |
        5 | [control]
          | ^^^^^^^^^ it is empty

    "#]],
    );
}

#[test]
fn variants() {
    let file = r#"title = "T"
mechanism = "Q1"
agent = { opencode = {} }
turns = [{ think = "1s" }, { say = "x" }]

[[vary]]
name = "late"
set = { "turns.0.think" = "2x", "turns.7" = { say = "y" }, people.0.after = "2s" }

[[vary]]
name = "late"
set = { "turns.1.say.x" = 1, "expect" = [], "titel" = "x" }

[[vary]]
name = "a b"
sets = {}

[[expect]]
outcome = "completed"
"#;
    says(
        file,
        expect![[r#"
        error: `2x` is no duration
         --> q/x.toml:8:27
          |
        8 | set = { "turns.0.think" = "2x", "turns.7" = { say = "y" }, people.0.after = "2s" }
          |                           ^^^^ no unit of time: `x`; use ms, s, m or h after a whole number

        error: `turns.7` leads nowhere
         --> q/x.toml:8:33
          |
        8 | set = { "turns.0.think" = "2x", "turns.7" = { say = "y" }, people.0.after = "2s" }
          |                                 ^^^^^^^^^ `turns` has 2 elements: the next one is `turns.2`

        error: `people` must be a list
         --> q/x.toml:8:60
          |
        8 | set = { "turns.0.think" = "2x", "turns.7" = { say = "y" }, people.0.after = "2s" }
          |                                                            ^^^^^^ this is a table
          |
          = help: a path is one key, in quotes: `"people.0.after" = …`

        error: two variants are called `late`
          --> q/x.toml:11:8
           |
        11 | name = "late"
           |        ^^^^^^ this is the second

        error: `turns.1.say.x` leads nowhere
          --> q/x.toml:12:9
           |
        12 | set = { "turns.1.say.x" = 1, "expect" = [], "titel" = "x" }
           |         ^^^^^^^^^^^^^^^ `turns.1.say` is a text: there is nothing below it

        error: `expect` cannot stand in `set`
          --> q/x.toml:12:30
           |
        12 | set = { "turns.1.say.x" = 1, "expect" = [], "titel" = "x" }
           |                              ^^^^^^^^ a variant has its own `expect` beside `set`

        error: `titel` cannot stand in `set`
          --> q/x.toml:12:45
           |
        12 | set = { "turns.1.say.x" = 1, "expect" = [], "titel" = "x" }
           |                                             ^^^^^^^ did you mean `title`?

        error: `a b` is no name for a variant
          --> q/x.toml:15:8
           |
        15 | name = "a b"
           |        ^^^^^
           |
           = help: a cell is called by it: letters, digits, `-`, `_`, `.`, `=`, `+`

        error: unknown key `sets` in `vary.2`
          --> q/x.toml:16:1
           |
        16 | sets = {}
           | ^^^^ did you mean `set`?

    "#]],
    );
}

#[test]
fn a_family_whose_variant_has_nothing_to_control() {
    let file = r#"title = "T"
mechanism = "Q1"
agent = { opencode = {} }
terminals = ["null"]
turns = [{ ask = [{ question = "Q" }] }]

[control]
terminals = ["tty"]

[[vary]]
name = "hangs"
expect = [{ outcome = { hung = "question" } }]

[[vary]]
name = "on-a-tty"
set = { terminals = ["tty"] }
expect = [{ outcome = "completed" }]

[[vary]]
name = "alone"
control = {}
expect = [{ outcome = { hung = "question" } }]
"#;
    says(
        file,
        expect![[r#"
        error: `terminals` changes nothing in the variant `on-a-tty`
         --> q/x.toml:8:1
          |
        8 | terminals = ["tty"]
          | ^^^^^^^^^ it has this value without the control arm
          |
          = help: give the variant its own `control`; an empty one says that it has none

    "#]],
    );
}

#[test]
fn control_characters_have_a_place_or_none() {
    let file = format!(
        "{HEAD}about = \"a\\u001b[2Jb\"\nturns = [{{ bash = {{ command = \"x\", does = [{{ print = \"\\u001b[31mred\\u0000\" }}] }} }}]\npeople = [{{ via = \"tty\", does = {{ type = \"\\u0003\" }} }}]\n# \u{202e}\n{TAIL}"
    );
    says(
        &file,
        expect![[r#"
        error: control character U+001B in `about`
         --> q/x.toml:4:9
          |
        4 | about = "a\u001b[2Jb"
          |         ^^^^^^^^^^^^^ not in this text
          |
          = help: escape sequences belong into what a program prints (`print`, `prompt`, …); keys into `type`

        error: control character U+0000 in `turns.0.bash.does.0.print`
         --> q/x.toml:5:54
          |
        5 | turns = [{ bash = { command = "x", does = [{ print = "\u001b[31mred\u0000" }] } }]
          |                                                      ^^^^^^^^^^^^^^^^^^^^^ not in this text
          |
          = help: a program prints escape, return, bell and backspace, and no other

        error: control character U+202E
         --> q/x.toml:7:3
          |
        7 | # �
          |   ^ cannot be seen
          |
          = help: remove it, or write it as `\u202E` in a text that may hold it

    "#]],
    );
}

#[test]
fn rules_that_nothing_can_meet() {
    let rule = "strategies = [\"none\"]\nwithin = \"1s\"\nnot-before = \"2s\"\nproof = \"lasso\"\nbreaks = [\"harm\", \"harm\"]\n";
    says(
        &format!("{HEAD}\n[[expect]]\noutcome = \"completed\"\n{rule}{TAIL}"),
        expect![[r#"
        error: no end is within 1s and not before 2s
         --> q/x.toml:8:10
          |
        8 | within = "1s"
          |          ^^^^ too early

        error: only a hang has a proof
          --> q/x.toml:10:9
           |
        10 | proof = "lasso"
           |         ^^^^^^^
           |
           = help: leave `proof` out

        error: `harm` stands twice in this list
          --> q/x.toml:11:19
           |
        11 | breaks = ["harm", "harm"]
           |                   ^^^^^^ the second

    "#]],
    );
}

#[test]
fn what_is_undecided_may_be_expected_and_has_no_proof() {
    let none = |outcome: &str| format!("{HEAD}\n[[expect]]\nstrategies = [\"none\"]\n{outcome}\n{TAIL}");
    assert_eq!(rendered(&none("outcome = \"undecided\"")), "");
    says(
        &none("outcome = \"undecided\"\nproof = \"lasso\""),
        expect![[r#"
        error: only a hang has a proof
         --> q/x.toml:8:9
          |
        8 | proof = "lasso"
          |         ^^^^^^^
          |
          = help: leave `proof` out

    "#]],
    );
    says(
        &none("outcome = { hung = \"question\" }\nproof = \"horizon\""),
        expect![[r#"
        error: `expect.0.proof` cannot be `horizon`
         --> q/x.toml:8:9
          |
        8 | proof = "horizon"
          |         ^^^^^^^^^ no such word here
          |
          = help: it can be `deadlock`, `lasso`

    "#]],
    );
    let control = "[control]\nterminals = [\"tty\"]\n\n[[expect]]\narm = \"control\"\nstrategies = [\"none\"]\noutcome = \"undecided\"\n";
    says(
        &format!("{HEAD}{TAIL}\n{control}"),
        expect![[r#"
        error: a control arm completes where nobody acts
          --> q/x.toml:14:11
           |
        14 | outcome = "undecided"
           |           ^^^^^^^^^^^ this one is undecided

    "#]],
    );
}

#[test]
fn colour_is_an_argument() {
    let problems = check(&load("q/x.toml", b"tilte = 1"), &Sample);
    assert!(problems.render(Style::Colour).contains("\u{1b}["));
    assert!(!problems.render(Style::Plain).contains('\u{1b}'));
}

#[test]
fn what_a_file_says_does_not_reach_the_terminal() {
    says(
        "\"a\\u001b[2Jb\" = 1 # \u{9b}31m\n[control]\n\"turns.\\u001b[2J\" = 1\n",
        expect![[r#"
            error: unknown key `a\u{1b}[2Jb`
             --> q/x.toml:1:1
              |
            1 | "a\u001b[2Jb" = 1 # ·31m
              | ^^^^^^^^^^^^^ no such key here
              |
              = help: there are `title`, `about`, `mechanism`, `cites`, `agent`, `terminals`, `turns`, `tool-server`, `hook`, `faults`, `people`, `editor`, `runs`, `afterwards`, `env`, `args`, `seeds`, `stages`, `survives`, `skip`, `expect`, `control`, `vary`

            error: `title` is missing
             --> q/x.toml:1:1
              |
            1 | "a\u001b[2Jb" = 1 # ·31m
              | ^^^^^^^^^^^^^^^^^^^^^^^^ it belongs here
              |
              = help: add `title = …`: One line: what happens

            error: `mechanism` is missing
             --> q/x.toml:1:1
              |
            1 | "a\u001b[2Jb" = 1 # ·31m
              | ^^^^^^^^^^^^^^^^^^^^^^^^ it belongs here
              |
              = help: add `mechanism = …`: The mechanism in the hang catalogue (`Q1`, `B6`, …) or the benign look-alike (`F1`, …)

            error: `agent` is missing
             --> q/x.toml:1:1
              |
            1 | "a\u001b[2Jb" = 1 # ·31m
              | ^^^^^^^^^^^^^^^^^^^^^^^^ it belongs here
              |
              = help: add `agent = …`: Who plays the agent

            error: control character U+009B
             --> q/x.toml:1:21
              |
            1 | "a\u001b[2Jb" = 1 # ·31m
              |                     ^ cannot be seen
              |
              = help: remove it, or write it as `\u009B` in a text that may hold it

            error: `turns` must be a list
             --> q/x.toml:3:1
              |
            3 | "turns.\u001b[2J" = 1
              | ^^^^^^^^^^^^^^^^^ this is a table

        "#]],
    );
}

#[test]
fn what_an_agent_cannot_play() {
    let file = r#"title = "T"
mechanism = "question-no-answerer"
agent = { program = ["hold"] }
turns = [{ say = "x" }]
faults = [{ model = { does = "stall" } }, { event = { type = "question.asked", does = "drop" } }]
people = [{ via = "http", sees = "blocker", does = "stop" }]

[[expect]]
outcome = "completed"
"#;
    says(
        file,
        expect![[r#"
        error: unknown mechanism `question-no-answerer`
         --> q/x.toml:2:13
          |
        2 | mechanism = "question-no-answerer"
          |             ^^^^^^^^^^^^^^^^^^^^^^ did you mean `Q1`, question-no-answerer?

        error: a plain program has no model, so it plays no turns
         --> q/x.toml:4:9
          |
        4 | turns = [{ say = "x" }]
          |         ^^^^^^^^^^^^^^^
          |
          = help: what it does are the steps of `agent = { program = […] }`

        error: a plain program has no model and no tools for this fault
         --> q/x.toml:5:11
          |
        5 | faults = [{ model = { does = "stall" } }, { event = { type = "question.asked", does = "drop" } }]
          |           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        error: a plain program has no server for this fault
         --> q/x.toml:5:43
          |
        5 | faults = [{ model = { does = "stall" } }, { event = { type = "question.asked", does = "drop" } }]
          |                                           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^

        error: a plain program has no server to reach
         --> q/x.toml:6:19
          |
        6 | people = [{ via = "http", sees = "blocker", does = "stop" }]
          |                   ^^^^^^

        error: only PawWork lists blockers
         --> q/x.toml:6:34
          |
        6 | people = [{ via = "http", sees = "blocker", does = "stop" }]
          |                                  ^^^^^^^^^

    "#]],
    );
    says(
        &format!("title = \"T\"\nmechanism = \"q1\"\nagent = {{ opencode = {{ as = \"1.2.51\" }} }}\n{TAIL}"),
        expect![[r#"
            error: unknown mechanism `q1`
             --> q/x.toml:2:13
              |
            2 | mechanism = "q1"
              |             ^^^^ did you mean `Q1`, question-no-answerer?

            error: `agent.opencode.as` cannot be `1.2.51`
             --> q/x.toml:3:29
              |
            3 | agent = { opencode = { as = "1.2.51" } }
              |                             ^^^^^^^^ did you mean `1.2.15`?

        "#]],
    );
}

#[test]
fn what_a_rule_waits_to_hear_from_nobody() {
    let rule = |keys: &str| {
        format!(
            "{HEAD}runs = 0\nafterwards = 5\n\n[[expect]]\nstrategies = [\"none\"]\noutcome = \"completed\"\n{keys}{TAIL}"
        )
    };
    says(
        &rule("says = [\"TERMINAL=failed\"]\ngets = [200, 600]\n"),
        expect![[r#"
        error: `runs` is 0, out of range
         --> q/x.toml:4:8
          |
        4 | runs = 0
          |        ^ a whole number from 1 to 100

        error: `afterwards` is a duration
         --> q/x.toml:5:14
          |
        5 | afterwards = 5
          |              ^ a duration needs a unit
          |
          = help: write `"5s"` or `"5ms"`

        error: `expect.0.gets.1` is 600, out of range
          --> q/x.toml:11:14
           |
        11 | gets = [200, 600]
           |              ^^^ a whole number from 0 to 599

    "#]],
    );
    let rule = rule("says = [\"TERMINAL=failed\"]\ngets = [200, 404]\n");
    says(
        &rule.replace("runs = 0\nafterwards = 5", "runs = 2\nafterwards = \"5m\""),
        expect![[r#"
        error: `none` says nothing to anybody
          --> q/x.toml:10:8
           |
        10 | says = ["TERMINAL=failed"]
           |        ^^^^^^^^^^^^^^^^^^^
           |
           = help: leave `says` out

        error: nobody acts over HTTP here
          --> q/x.toml:11:8
           |
        11 | gets = [200, 404]
           |        ^^^^^^^^^^
           |
           = help: `gets` speaks of people with `via = "http"`

    "#]],
    );
    let once = format!("{HEAD}runs = 1\nfaults = [{{ wrapper = {{ vanishes = \"1s\" }} }}]\n{TAIL}");
    says(&once, expect![""]);
    let vanishes = "runs = 2\nfaults = [{ wrapper = { vanishes = \"1s\" } }]\n";
    says(
        &format!("{HEAD}{vanishes}{TAIL}"),
        expect![[r#"
        error: a wrapper that vanishes runs nothing again
         --> q/x.toml:4:8
          |
        4 | runs = 2
          |        ^
          |
          = help: leave `runs` out

    "#]],
    );
}

#[test]
fn a_variable_that_would_run_code_of_the_files() {
    let file = format!("{HEAD}turns = [{{ say = \"x\" }}]\nenv = {{ CI = \"1\", LD_PRELOAD = \"./evil.so\" }}\n{TAIL}");
    says(
        &file,
        expect![[r#"
            error: `LD_PRELOAD` is read before an agent's first instruction, or by rehang itself
             --> q/x.toml:5:32
              |
            5 | env = { CI = "1", LD_PRELOAD = "./evil.so" }
              |                                ^^^^^^^^^^^
              |
              = help: a scenario sets what its agent reads

        "#]],
    );
}

#[test]
fn words_that_only_look_known() {
    let file = format!(
        "{HEAD}turns = [\n  {{ say = \"Done: {{answr}}.\" }},\n  {{ say = \"Got {{answer}}, {{\\\"a\\\": {{x}}}}, {{another}}.\" }},\n]\n\n[control]\nturns = []\n\n[[expect]]\nstrategies = [\"none\"]\noutcome = {{ hung = \"questoin\" }}\n{TAIL}"
    );
    says(
        &file,
        expect![[r#"
        error: `{answr}` stands for nothing
         --> q/x.toml:5:11
          |
        5 |   { say = "Done: {answr}." },
          |           ^^^^^^^^^^^^^^^^
          |
          = help: did you mean `{answer}`?

        error: no hang is on `questoin`
          --> q/x.toml:14:20
           |
        14 | outcome = { hung = "questoin" }
           |                    ^^^^^^^^^^ did you mean `question`?

    "#]],
    );
}

#[test]
fn a_control_arm_that_only_says_that_it_changes_nothing() {
    says(
        &format!("{HEAD}turns = [{{ say = \"x\" }}]\n{TAIL}\n[control]\nchanges = []\n"),
        expect![[r#"
            error: `control` changes nothing
              --> q/x.toml:10:11
               |
            10 | changes = []
               |           ^^ it names no key

        "#]],
    );
}

#[test]
fn keys_that_no_terminal_here_knows() {
    let person = |key| format!("  {{ via = \"tty\", sees = \"clock\", does = {{ type = \"a\\u00{key}\" }} }},\n");
    let people = [person("13"), person("11"), person("16")].concat();
    let file = format!("{HEAD}terminals = [\"tty\"]\npeople = [\n{people}]\n{TAIL}");
    says(
        &file,
        expect![[r#"
        error: Ctrl-S stops or starts a terminal's output, which no stage models
         --> q/x.toml:6:50
          |
        6 |   { via = "tty", sees = "clock", does = { type = "a\u0013" } },
          |                                                  ^^^^^^^^^
          |
          = help: leave the key out; where a reader of the output is to stop, there are the terminal `stdout-stopped` and the fault `{ wrapper = "ignores-stdout" }`

        error: Ctrl-Q stops or starts a terminal's output, which no stage models
         --> q/x.toml:7:50
          |
        7 |   { via = "tty", sees = "clock", does = { type = "a\u0011" } },
          |                                                  ^^^^^^^^^
          |
          = help: leave the key out; where a reader of the output is to stop, there are the terminal `stdout-stopped` and the fault `{ wrapper = "ignores-stdout" }`

    "#]],
    );
    // a pipe has no keys
    assert_eq!(rendered(&file.replace("[\"tty\"]", "[\"pipe\"]")), "");
}
