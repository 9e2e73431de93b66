//! Hostile files: each limit has its error, and no file exhausts the stack or the time.
//!
//! Invariant: there is no clock in these tests; what would be quadratic or endless shows as a test that does not end.

use expect_test::{Expect, expect};
use rehang_scenario::sample::Sample;
use rehang_scenario::turns::steps_json;
use rehang_scenario::{Style, check, limits, load};

const HEAD: &str = "title = \"T\"\nmechanism = \"Q1\"\nagent = { opencode = {} }\n";

/// The first problem and its line, and how many there are.
fn first(file: impl AsRef<[u8]>) -> String {
    let problems = check(&load("x.toml", file.as_ref()), &Sample);
    assert!(!problems.render(Style::Plain).is_empty(), "it must not load");
    let first = &problems.list[0];
    format!("{}: {} ({})", problems.source.line(first.span.start), first.message, problems.list.len() + problems.more)
}

fn says(file: impl AsRef<[u8]>, expected: Expect) {
    expected.assert_eq(&first(file));
}

#[test]
fn sizes() {
    says(vec![b'\n'; 2 << 20], expect!["1048577: the file has 2097152 bytes, more than 1 MiB (1)"]);
    says(
        format!("{HEAD}about = \"{}\"", "x".repeat(limits::TEXT_BYTES + 1)),
        expect!["4: `about` has 262145 bytes, more than 256 KiB (1)"],
    );
    says(
        format!("{HEAD}turns = [{}]", "{ say = \"x\" },".repeat(1_001)),
        expect!["4: `turns` has 1001 elements, more than 1000 (1)"],
    );
    let nested = format!("{{ task = {{ description = \"x\", turns = [{}] }} }},", "{ say = \"x\" },\n".repeat(600));
    says(format!("{HEAD}turns = [{}]", nested.repeat(2)), expect!["1002: more than 1000 turns (1)"]);
    says(
        format!("{HEAD}faults = [{}]", "{ queue = \"holds\" },\n".repeat(101)),
        expect!["104: `faults` has 101 elements, more than 100 (1)"],
    );
    says(format!("{HEAD}args = [{}]", "\"x\",".repeat(101)), expect!["4: `args` has 101 elements, more than 100 (1)"]);
    says(format!("{HEAD}x = [{}]", "1,".repeat(60_000)), expect!["4: more than 50000 values (1)"]);
    let expects = "[[expect]]\noutcome = \"completed\"\n".repeat(201);
    says(format!("{HEAD}{expects}"), expect!["404: `expect` has 201 elements, more than 200 (1)"]);
    let vary: String = (0..129).map(|i| format!("[[vary]]\nname = \"v{i}\"\n")).collect();
    says(format!("{HEAD}{vary}"), expect!["261: 129 variants of a file of 3 KiB are too many (1)"]);
    let seeds: Vec<String> = (0..100).map(|i| i.to_string()).collect();
    let vary: String = (0..128).map(|i| format!("[[vary]]\nname = \"v{i}\"\n")).collect();
    let rest = "[[expect]]\noutcome = \"completed\"\n";
    says(
        format!("{HEAD}seeds = [{}]\n{vary}{rest}", seeds.join(",")),
        expect!["76: the file has 100800 cells, more than 100000 (1)"],
    );
    let left = "{ background = { does = [\"hold\"] } },".repeat(101);
    says(
        format!("title = \"T\"\nmechanism = \"Q1\"\nagent = {{ program = [{left}] }}\nruns = 10\n{rest}"),
        expect!["3: 1010 processes in the background over all runs, more than 1000 (1)"],
    );
    let env: String = (0..1_001).map(|i| format!("E{i} = \"\"\n")).collect();
    says(format!("{HEAD}[env]\n{env}"), expect!["1005: `env` has 1001 keys, more than 1000 (1)"]);
    let big = "x".repeat(200_000);
    let vary: String = (0..100).map(|i| format!("[[vary]]\nname = \"v{i}\"\n")).collect();
    says(
        format!("{HEAD}about = \"{big}\"\n{vary}"),
        expect!["204: 100 variants of a file of 198 KiB are too many (1)"],
    );
}

#[test]
fn what_no_process_can_be_given() {
    let rest = "[[expect]]\noutcome = \"completed\"\n";
    let big = "x".repeat(200_000);
    says(
        format!("{HEAD}args = [\"-v\", \"{big}\"]\n{rest}"),
        expect!["4: this argument has 200000 bytes, more than 64 KiB (1)"],
    );
    says(
        format!("{HEAD}env = {{ TOKEN = \"{big}\" }}\n{rest}"),
        expect!["4: this variable has 200006 bytes, more than 64 KiB (1)"],
    );
    let program = HEAD.replace("{ opencode = {} }", &format!("{{ program = [{{ print = \"{big}\" }}] }}"));
    says(
        format!("{program}{rest}"),
        expect!["3: these steps are 200014 bytes of JSON; Linux takes at most 131071 as one argument (1)"],
    );
}

/// Makes a string that a process is given exactly as long as it may be, and then a byte longer: returns the error for
/// the longer one. `file` makes the file of the text, `bytes` says how long the string is with a text of one byte.
fn at_most(most: usize, bytes: usize, file: impl Fn(&str) -> String, expected: Expect) {
    let text = |more: usize| "x".repeat(most + 1 - bytes + more);
    let fits = check(&load("x.toml", file(&text(0)).as_bytes()), &Sample);
    assert!(fits.is_empty(), "{}", fits.render(Style::Plain));
    says(file(&text(1)), expected);
}

/// The steps of a file's text, as JSON.
fn json_of(steps: &str) -> usize {
    let toml = format!("title = \"T\"\nmechanism = \"F1\"\nagent = {{ program = {steps} }}\n");
    let family = load("x.toml", toml.as_bytes()).family.expect("steps");
    family.variants[0].scenario.agent.steps().map_or(0, |steps| steps_json(steps).len())
}

#[test]
fn strings_that_a_process_is_just_given() {
    let rest = "[[expect]]\noutcome = \"completed\"\n";
    let file = |turn: &str| format!("{HEAD}turns = [\n{turn}]\n{rest}");
    let most = limits::EXEC_STRING_BYTES;
    assert_eq!((most, limits::STEPS_BYTES), (131_071, 131_071));
    at_most(
        most,
        1,
        |text| file(&format!("{{ bash = {{ command = \"{text}\", does = [] }} }}")),
        expect!["5: this command has 131072 bytes; Linux takes at most 131071 as one argument (1)"],
    );
    let does = |text: &str| format!("[{{ print = \"{text}\" }}]");
    at_most(
        most,
        json_of(&does("x")),
        |text| file(&format!("{{ bash = {{ command = \"x\", does =\n{} }} }}", does(text))),
        expect!["6: these steps are 131072 bytes of JSON; Linux takes at most 131071 as one argument (1)"],
    );
    // what JSON escapes counts as it is passed on
    let quotes = |count: usize| {
        file(&format!("{{ bash = {{ command = \"x\", does = {} }} }}", {
            format!("[{{ print = '{}' }}]", "\"".repeat(count))
        }))
    };
    let fit = (most - json_of(&does(""))) / 2;
    assert!(check(&load("x.toml", quotes(fit).as_bytes()), &Sample).is_empty());
    says(
        quotes(fit + 1),
        expect!["5: these steps are 131072 bytes of JSON; Linux takes at most 131071 as one argument (1)"],
    );
    // a process that another one starts: the string that is too long is named, not what contains it
    let ran = |text: &str| format!("[\n{{ run = [{{ print = \"{text}\" }}] }}]");
    at_most(
        most,
        json_of(&ran("x")),
        |text| file(&format!("{{ bash = {{ command = \"x\", does = {} }} }}", ran(text))),
        expect!["5: these steps are 131072 bytes of JSON; Linux takes at most 131071 as one argument (1)"],
    );
    says(
        file(&format!("{{ bash = {{ command = \"x\", does = {} }} }}", ran(&"x".repeat(most)))),
        expect!["6: these steps are 131085 bytes of JSON; Linux takes at most 131071 as one argument (1)"],
    );
    let named = |text: &str| format!("[{{ background = {{ name =\n\"{text}\", does = [] }} }}]");
    says(
        file(&format!("{{ bash = {{ command = \"x\", does = {} }} }}", named(&"x".repeat(most + 1)))),
        expect!["6: this name has 131072 bytes; Linux takes at most 131071 as one argument (1)"],
    );
    // the process in the middle of a double fork has one more step, which is not in the file
    let forked =
        |text: &str| format!("[{{ background = {{ double-fork = true, does =\n[{{ print = \"{text}\" }}] }} }}]");
    at_most(
        most,
        json_of(&forked("x")) + "false".len() - "true".len(),
        |text| file(&format!("{{ bash = {{ command = \"x\", does = {} }} }}", forked(text))),
        expect!["6: these steps are 131072 bytes of JSON; Linux takes at most 131071 as one argument (1)"],
    );
    // an agent that another one's tool starts is in a variable, with its turns and a name
    let nested =
        |text: &str| format!("[{{ agent = {{ agent = {{ opencode = {{}} }}, turns =\n[{{ say = \"{text}\" }}] }} }}]");
    let around = json_of("[{ agent = { agent = { opencode = {} }, turns = [] } }]");
    let agent = load("x.toml", HEAD.as_bytes()).family.expect("an agent").variants[0].scenario.agent.clone();
    let opencode = serde_json::to_string(&agent).expect("JSON").len() + "[]".len();
    let inner = |text: &str| json_of(&nested(text)) - around + opencode;
    at_most(
        limits::NESTED_BYTES,
        inner("x"),
        |text| file(&format!("{{ bash = {{ command = \"x\", does = {} }} }}", nested(text))),
        expect!["6: this agent and its turns are 130048 bytes of JSON, more than 130047 (1)"],
    );
    at_most(
        limits::ARG_BYTES,
        1,
        |text| format!("{HEAD}args = [\"{text}\"]\n{rest}"),
        expect!["4: this argument has 65537 bytes, more than 64 KiB (1)"],
    );
    at_most(
        limits::ARG_BYTES,
        "TOKEN=x".len(),
        |text| format!("{HEAD}env = {{ TOKEN = \"{text}\" }}\n{rest}"),
        expect!["4: this variable has 65537 bytes, more than 64 KiB (1)"],
    );
}

#[test]
fn a_string_that_is_too_long_has_its_place_and_a_remedy() {
    let command = "x".repeat(131_072);
    let rest = "[[expect]]\noutcome = \"completed\"\n";
    let file = format!("{HEAD}turns = [{{ bash = {{ does = [], command = \"{command}\" }} }}]\n{rest}");
    let said = check(&load("x.toml", file.as_bytes()), &Sample).render(Style::Plain);
    let head = |text: &str| text.chars().take(400).collect::<String>();
    assert!(said.contains(" --> x.toml:4:42\n") && said.contains("^^^^"), "{}", head(&said));
    assert!(said.contains("= help: the start of it says as much: what runs is in `does`"), "{}", head(&said));
}

#[test]
fn what_would_take_for_ever() {
    let every = |times: &str| {
        let head = HEAD.replace(
            "{ opencode = {} }",
            &format!("{{ program = [{{ every = {{ every = \"1s\", print = \"x\", times = {times} }} }}] }}"),
        );
        format!("{head}[[expect]]\noutcome = \"completed\"\n")
    };
    says(every("10001"), expect!["3: `agent.program.0.every.times` is 10001, out of range (1)"]);
    let faults = "faults = [{ model = { does = { keep-alive = \"0s\" } } }]";
    says(
        format!("{HEAD}{faults}\n[[expect]]\noutcome = \"completed\"\n"),
        expect!["4: keep-alives without any time between them (1)"],
    );
    let repeats = |which: &str| {
        let faults = format!("faults = [{{ model = {{ {which}does = \"repeats\" }} }}]");
        let text = format!("{HEAD}{faults}\n[[expect]]\noutcome = \"completed\"\n");
        check(&load("x.toml", text.as_bytes()), &Sample).list.iter().map(|p| p.message.clone()).collect::<Vec<_>>()
    };
    let refused = ["one response is repeated, and all of it".to_owned()];
    assert_eq!(repeats("response = 0, "), refused);
    assert_eq!(repeats("response = 1, after = 1, "), refused);
    assert!(!repeats("response = 1, ").contains(&refused[0]));
}

#[test]
fn nesting() {
    let deep = |n: usize| format!("{HEAD}turns = {}{}", "[".repeat(n), "]".repeat(n));
    says(deep(17), expect!["4: nested deeper than 16 (1)"]);
    says(deep(100_000), expect!["4: nested deeper than 16 (1)"]);
    says("[".repeat(100_000), expect!["1: nested deeper than 16 (1)"]);
    says("{".repeat(100_000), expect!["1: nested deeper than 16 (1)"]);
    says(format!("x = {}", "{a=".repeat(100_000)), expect!["1: nested deeper than 16 (1)"]);
    says(format!("{}x = 1", "a.".repeat(100_000)), expect!["1: nested deeper than 16 (1)"]);
    says(format!("[{}x]", "a.".repeat(100_000)), expect!["1: nested deeper than 16 (1)"]);
    says(
        format!("{HEAD}\n[control]\n\"{}x\" = 1", "turns.".repeat(100)),
        expect![
            "6: `turns.turns.turns.turns.turns.turns.turns.turns.turns.turns.turns.turns.turns.tu…` leads nowhere (1)"
        ],
    );
    let tasks = "{ task = { description = \"x\", turns = [";
    says(format!("{HEAD}turns = [{}{}]", tasks.repeat(6), "] } }".repeat(6)), expect!["4: nested deeper than 16 (1)"]);
    let set = format!("{HEAD}[[vary]]\nname = \"v\"\nset = {{ turns = {}{} }}\n", "[".repeat(17), "]".repeat(17));
    says(set, expect!["6: nested deeper than 16 (1)"]);
}

#[test]
fn bytes_that_are_no_text() {
    says(b"title = \"\xff\"", expect!["1: byte 9 (0xff) is no UTF-8 (1)"]);
    says(b"title = \"T\"\nabout = \"\xed\xa0\x80\"", expect!["2: byte 21 (0xed) is no UTF-8 (1)"]);
    says(b"\0\0\0", expect!["1: control character U+0000 (4)"]);
    says(b"title = \"a\x1b[2Jb\"", expect!["1: control character U+001B (2)"]);
    says(b"\x7fELF\x02\x01\x01", expect!["1: control character U+007F (5)"]);
    says("title = \"a\u{85}b\"", expect!["1: `mechanism` is missing (4)"]);
    says("", expect!["1: `title` is missing (3)"]);
}

#[test]
fn numbers_and_durations() {
    let think = |text: &str| format!("{HEAD}turns = [{{ think = \"{text}\" }}]");
    says(think("9e99y"), expect!["4: `9e99y` is no duration (1)"]);
    says(think("99999999999999999999999s"), expect!["4: `99999999999999999999999s` is no duration (1)"]);
    says(think("8785h"), expect!["4: `8785h` is no duration (1)"]);
    says(
        format!("{HEAD}seeds = [18446744073709551616]"),
        expect!["4: `seeds.0` is 18446744073709551616, out of range (1)"],
    );
    says(format!("{HEAD}seeds = [-1, 1.5, nan, 0x10, 1979-05-27]"), expect!["4: `seeds.0` is -1, out of range (4)"]);
    let fill = |n: &str| {
        format!("{HEAD}turns = [{{ bash = {{ command = \"x\", does = [{{ fill = {{ bytes = {n} }} }}] }} }}]")
    };
    says(fill("1048577"), expect!["4: `turns.0.bash.does.0.fill.bytes` is 1048577, out of range (1)"]);
    says(fill("99999999999"), expect!["4: `turns.0.bash.does.0.fill.bytes` is 99999999999, out of range (1)"]);
}

#[test]
fn an_error_in_a_long_line_says_at_which_byte() {
    let args = format!("\"{}\", ", "x".repeat(200)).repeat(90);
    let file = format!("{HEAD}args = [{args}7]\n[[expect]]\noutcome = \"completed\"\n");
    let problems = check(&load("x.toml", file.as_bytes()), &Sample);
    let text = problems.to_string();
    assert_eq!(text, problems.render(Style::Plain));
    let column = file.lines().nth(3).and_then(|line| line.find('7')).expect("it is there") + 1;
    assert!(text.contains(&format!("the line is long: this is at its byte {column}")), "{text}");
}

#[test]
fn what_would_be_quadratic() {
    // Each of these once took a parser or a checker time in proportion to the square of the file's size.
    says("]".repeat(1 << 20), expect!["1: this is no TOML: missing table open, expected `[` (1)"]);
    says("\"".repeat(1 << 20), expect!["1: this is no scenario file (1)"]);
    says("a\n".repeat(1 << 19), expect!["1: this is no scenario file (1)"]);
    let titled = |rest: String| format!("title = \"x\"\n{rest}");
    says(titled("a\n".repeat(1 << 18)), expect!["2: this is no TOML: key with no value, expected `=` (100)"]);
    says(titled("a=1\n".repeat(40_000)), expect!["3: duplicate key `a` (101)"]);
    says(titled("\"".repeat(1 << 19)), expect!["2: this is no TOML: key with no value, expected `=` (1)"]);
    says("[a]\n".repeat(1 << 18), expect!["2001: more than 2000 table headers (1)"]);
    let headers = |n: usize| (0..n).map(|n| format!("[k{n}]\n")).collect::<String>();
    says(headers(limits::HEADERS), expect!["1: unknown key `k0` (2003)"]);
    says(headers(limits::HEADERS + 1), expect!["2001: more than 2000 table headers (1)"]);
    says((0..40_000).map(|i| format!("k{i}=1\n")).collect::<String>(), expect!["1: unknown key `k0` (40003)"]);
    says(format!("x = \"{}", "\\u".repeat(500_000)), expect!["1: this is no scenario file (1)"]);
    says(
        format!("{HEAD}about = \"{}\"\n{}", "é".repeat(100_000), "\u{1}".repeat(100_000)),
        expect!["5: control character U+0001 (100001)"],
    );
}

#[test]
fn what_stands_in_texts_and_comments_is_no_nesting() {
    let brackets = "[".repeat(100);
    let texts = [
        format!("\"\"\"\n{brackets}\"\"{brackets}\\\"\"\"\"\"\""),
        format!("'''{brackets}\n''{brackets}'''''"),
        format!("\"{brackets}\\\"{brackets}\\\\\""),
        format!("'{brackets}\\'"),
    ];
    for text in texts {
        let file = format!("{HEAD}about = {text} # {brackets} \"\"\" '\n[[expect]]\noutcome = \"completed\"\n");
        let problems = check(&load("x.toml", file.as_bytes()), &Sample);
        assert!(problems.is_empty(), "{problems}");
    }
}

#[test]
fn line_ends_and_a_byte_order_mark_of_other_systems_are_read() {
    let file = format!("{HEAD}about = \"\"\"\na\n\"\"\"\n[[expect]]\noutcome = \"completed\"\n");
    for file in [file.replace('\n', "\r\n"), format!("\u{feff}{file}")] {
        let problems = check(&load("x.toml", file.as_bytes()), &Sample);
        assert!(problems.is_empty(), "{problems}");
    }
}
