//! Scenarios that are made to break the claims of a stage.
//!
//! A fresh scenario gets a few twists: times at a limit and a tick before or after it, counters that end late, texts of
//! the lengths at which a kernel's buffers end, every control character that somebody can type, many people, many runs,
//! stops and hang-ups, full pipes, large responses, queues that refuse, errors that are answered with patience.
//!
//! Invariant: the result is playable; a twist that would make it unplayable is left out. Nothing here is aimed at a
//! known defect.

use crate::case::{Case, NONE};
use crate::limits::LIMITS;
use crate::mutate::fresh;
use rehang_scenario::playable::SIGNALS;
use rehang_scenario::random::vocabulary::{LINES, ROLES, STATUSES};
use rehang_scenario::random::{Kind, Rng};
use rehang_scenario::turns::*;
use rehang_scenario::*;

/// The most twists of one scenario.
const TWISTS: usize = 4;
/// Counts at which a counter ends: small ones, and those around which repeating states are looked for (within an
/// instant after 2,000 steps, across material events from the 6,000th instant to the 6,500th).
const COUNTS: [u32; 16] = [0, 1, 2, 3, 5, 17, 33, 100, 999, 1_000, 1_001, 2_001, 3_100, 6_001, 6_600, 10_000];
/// Runs of a caller's loop, up to the limit of the format.
const RUNS: [u32; 14] = [2, 3, 5, 15, 16, 17, 32, 33, 34, 36, 64, 98, 99, 100];
/// Lengths in bytes: those of a terminal's queue, a page, a pipe, an argument and a text, and one less and more.
const LENGTHS: [usize; 28] = [
    0, 1, 79, 127, 128, 129, 255, 256, 257, 1_023, 2_047, 2_049, 4_094, 4_095, 4_096, 4_097, 5_000, 8_191, 8_192,
    12_289, 16_384, 20_481, 32_769, 65_535, 65_536, 65_537, 120_000, 250_000,
];
/// Bytes that fill a pipe, or nearly.
const FILLS: [u32; 14] =
    [1, 4_095, 4_096, 4_097, 15_360, 20_480, 61_440, 65_535, 65_536, 65_537, 69_632, 131_072, 262_144, 1_048_576];
/// What long texts are made of: characters that are escaped, characters of more than a byte, and plain letters.
const FILLERS: [&str; 7] = ["x", "\"", "\\", "é", "🦀", "a b\n", "\t"];
/// How many people there are: the format takes 100.
const CROWDS: [usize; 8] = [3, 10, 40, 64, 97, 98, 99, 100];
/// Steps of one instant are taken this far apart.
const PACES: [Span; 4] = [Span::ZERO, Span::ms(1), Span::secs(1), Span::secs(10)];

/// Draws one twist.
type Twist = fn(&mut Rng, &mut Scenario);
/// All twists.
const ALL: [Twist; 13] =
    [at_a_limit, counts, runs, nth, long_text, typed, crowd, stops, pipes, large_response, refuses, backs_off, late];
/// The twists that count: states that repeat except for a number.
const COUNTING: [Twist; 7] = [counts, runs, nth, refuses, backs_off, late, crowd];

/// A scenario made to break something.
pub fn hostile(rng: &mut Rng) -> Case {
    twisted(rng, &ALL)
}

/// A scenario in which something counts: runs, faults of the Nth event, people who come late, growing back-off.
pub fn counting(rng: &mut Rng) -> Case {
    twisted(rng, &COUNTING)
}

fn twisted(rng: &mut Rng, twists: &[Twist]) -> Case {
    // a program shows the kernel directly, and in a server most things can go wrong
    let kinds = [&Kind::all()[..], &[Kind::PROGRAM, Kind::PROGRAM, Kind::OPENCODE_SERVER]].concat();
    let kind = rng.pick(&kinds);
    let mut case = fresh(rng, kind);
    for _ in 0..=rng.below(TWISTS) {
        let twist = rng.pick(twists);
        let mut scenario = case.scenario.clone();
        twist(rng, &mut scenario);
        scenario.title = "hostile".to_owned();
        let changed = Case::of(scenario, NONE);
        if changed.is_playable() {
            case = changed;
        }
    }
    case
}

/// A limit of some strategy, or a tick before or after it.
fn limit(rng: &mut Rng) -> Span {
    let place = rng.below(LIMITS.len());
    let ms = LIMITS[place].as_ms();
    Span::ms(rng.pick(&[ms.saturating_sub(1), ms, ms + 1]))
}

/// A text of one of the lengths that repeats one piece.
fn long(rng: &mut Rng) -> String {
    let (filler, bytes) = (rng.pick(&FILLERS), rng.pick(&LENGTHS));
    let text = filler.repeat(bytes / filler.len());
    if rng.one_in(3) { format!("{text}x") } else { text }
}

/// What somebody types: words and control characters in any order, sometimes a long line before them.
fn keys(rng: &mut Rng) -> String {
    let mut typed = String::new();
    for _ in 0..=rng.below(5) {
        match rng.below(6) {
            0 => typed.push('\n'),
            1 => typed.push_str(rng.pick(&["abc", "foo bar", "é", "\u{a0}", "1", "y"])),
            2 if rng.one_in(4) => typed.push_str(&long(rng)),
            3 => typed.push_str(rng.pick(&LINES)),
            // every control character, and DEL
            _ => typed.push(char::from(rng.pick(&[(0..32).collect::<Vec<u8>>(), vec![127]].concat()))),
        }
    }
    if rng.one_in(2) {
        typed.push('\n');
    }
    typed
}

/// Somebody who acts by the clock.
fn by_the_clock(rng: &mut Rng, via: Via, does: Does) -> Person {
    let after = if rng.one_in(3) { limit(rng) } else { rng.span() };
    Person { via, sees: Some(Sees::Clock), directory: None, ask: 0, after, does }
}

/// A way by which a person who acts by the clock can reach the agent.
fn way(rng: &mut Rng, agent: &Agent) -> Via {
    rng.pick(if agent.kind().has_server { &[Via::Http, Via::Tty] } else { &[Via::Tty, Via::Stdin] })
}

/// Adds a step to what some process of the scenario does.
fn adds(rng: &mut Rng, scenario: &mut Scenario, step: Step) {
    let steps = match scenario.agent.steps_mut() {
        Some(steps) => steps,
        None => {
            let calls = scenario.turns.iter_mut().filter_map(|turn| match turn {
                Turn::Bash(bash) => Some(&mut bash.does),
                _ => None,
            });
            match calls.last() {
                Some(does) => does,
                None => {
                    let tool = BashTool::default();
                    let (command, asks, timeout) = ("make".to_owned(), None, rng.maybe(&[Span::hours(10)]));
                    scenario.turns.insert(0, Turn::Bash(Bash { command, asks, does: vec![step], timeout, tool }));
                    return;
                }
            }
        }
    };
    let place = rng.below(steps.len() + 1);
    steps.insert(place, step);
}

/// Something takes as long as a strategy's limit, or a tick less or more.
fn at_a_limit(source: &mut Rng, scenario: &mut Scenario) {
    let limit = limit(source);
    match source.below(5) {
        0 => adds(source, scenario, Step::Sleep(limit)),
        1 => scenario.turns.push(Turn::Think(limit)),
        2 => scenario.people.iter_mut().for_each(|person| person.after = limit),
        3 => scenario.afterwards = Some(limit),
        _ => {
            let does = source.pick(&[ProcessDoes::Freeze, ProcessDoes::Crash, ProcessDoes::Restart]);
            scenario.faults.push(Fault::Process(ProcessFault { role: "agent".to_owned(), at: limit, does }));
        }
    }
}

/// A process says the same many times.
fn counts(source: &mut Rng, scenario: &mut Scenario) {
    let (every, times) = (source.pick(&PACES), source.pick(&COUNTS));
    let print = if source.one_in(2) { String::new() } else { source.text() };
    let stderr = source.one_in(3);
    adds(source, scenario, Step::Every(Every { every, print, times, stderr }));
}

/// The caller runs it again and again.
fn runs(source: &mut Rng, scenario: &mut Scenario) {
    scenario.runs = source.pick(&RUNS);
    if source.one_in(2) {
        scenario.turns.truncate(1);
    }
}

/// A fault begins or ends at the Nth of many.
fn nth(source: &mut Rng, scenario: &mut Scenario) {
    let (agent, turns) = (scenario.agent.clone(), scenario.turns.clone());
    let count = source.pick(&COUNTS);
    let mut fault = source.fault(&agent, &turns);
    if let Some(counted) = fault.count_mut() {
        *counted = count;
    }
    match &mut fault {
        Fault::Event(event) if source.one_in(2) => event.kind = "server.heartbeat".to_owned(),
        Fault::Model(model) => model.after = source.pick(&[0, 1, 7]),
        _ => {}
    }
    scenario.faults.push(fault);
}

/// Somebody or something says a lot.
fn long_text(source: &mut Rng, scenario: &mut Scenario) {
    let text = long(source);
    match source.below(9) {
        0 => scenario.turns.insert(0, Turn::Say(text)),
        1 => adds(source, scenario, Step::Print(text)),
        2 => adds(source, scenario, Step::Prompt(text)),
        3 => {
            let question = Question { question: text, ..source.question() };
            scenario.turns.insert(0, Turn::Ask(vec![question]));
        }
        4 => {
            let (tool, permission) = ("write".to_owned(), "edit".to_owned());
            let permit = Permit { tool, permission, patterns: vec![text], output: long(source) };
            scenario.turns.insert(0, Turn::Permit(permit));
        }
        5 => {
            let bash = Bash {
                command: text,
                asks: None,
                does: vec![Step::Print("ok".to_owned())],
                timeout: None,
                tool: BashTool::default(),
            };
            scenario.turns.insert(0, Turn::Bash(bash));
        }
        6 => drop(scenario.env.insert("LANG".to_owned(), text)),
        7 => {
            let via = way(source, &scenario.agent);
            let does = if source.one_in(2) { Does::Answer(vec![text]) } else { Does::Prompt(text) };
            let person = by_the_clock(source, via, does);
            let sees = if source.one_in(2) { None } else { Some(Sees::Clock) };
            scenario.people.push(Person { sees, ..person });
        }
        _ => scenario.args.push(text),
    }
}

/// Somebody types, and somebody may read it.
fn typed(source: &mut Rng, scenario: &mut Scenario) {
    scenario.terminals =
        vec![source.pick(&[Terminal::Tty, Terminal::Tty, Terminal::TtyBackground, Terminal::CttyNull])];
    for _ in 0..=source.below(2) {
        let does = Does::Type(keys(source));
        let person = by_the_clock(source, Via::Tty, does);
        scenario.people.push(person);
    }
    let reads = [Step::ReadStdin, Step::ReadStdinToEnd, Step::AskTty("? ".to_owned()), Step::SetTty];
    for _ in 0..source.below(3) {
        let step = source.pick(&reads);
        adds(source, scenario, step);
    }
    if source.one_in(3) {
        let step = Step::Ignore(vec![source.pick(&["INT", "QUIT", "TSTP", "HUP", "TTIN"]).to_owned()]);
        adds(source, scenario, step);
    }
}

/// Many people, who act at once, or not for long.
fn crowd(source: &mut Rng, scenario: &mut Scenario) {
    let via = way(source, &scenario.agent);
    let does = match via {
        Via::Http => source.pick(&[Does::Stop, Does::SoftStop, Does::Prompt("hi".to_owned()), Does::Dismiss]),
        _ => Does::Type(source.pick(&["y\n", "\u{3}", "", "\u{4}"]).to_owned()),
    };
    let person = by_the_clock(source, via, does);
    let person = if source.one_in(2) { person } else { Person { after: Span::hours(1), ..person } };
    let (crowd, apart) = (source.pick(&CROWDS), source.pick(&PACES));
    scenario.people = (0..crowd as u64)
        .map(|nth| Person { after: person.after + Span::ms(apart.as_ms() * nth), ..person.clone() })
        .collect();
}

/// Somebody is stopped, frozen and thawed, crashed, hung up.
fn stops(source: &mut Rng, scenario: &mut Scenario) {
    match source.below(4) {
        0 => {
            let step = Step::Raise(source.pick(&SIGNALS).to_owned());
            adds(source, scenario, step);
        }
        1 => {
            let (role, at) = (source.pick(&ROLES).to_owned(), source.span());
            let later = at + source.span();
            let of = |at, does| Fault::Process(ProcessFault { role: role.clone(), at, does });
            scenario.faults.extend([of(at, ProcessDoes::Freeze), of(later, ProcessDoes::Thaw)]);
        }
        2 => {
            let via = way(source, &scenario.agent);
            let does = source.pick(&[Does::HangUp, Does::Stop]);
            let person = by_the_clock(source, via, does);
            scenario.people.push(person);
        }
        _ => {
            let does = source.some(1, 2, |source| source.step(1));
            let child = Background {
                name: String::new(),
                does,
                stdout: source.maybe(&[true, false]),
                stderr: source.maybe(&[true, false]),
                piped: source.one_in(4),
                setsid: source.one_in(2),
                double_fork: source.one_in(2),
            };
            adds(source, scenario, Step::Background(child));
        }
    }
}

/// A pipe or a terminal fills.
fn pipes(source: &mut Rng, scenario: &mut Scenario) {
    let terminals = [
        Terminal::StdoutStopped,
        Terminal::StdoutSlow,
        Terminal::Pipe,
        Terminal::Tty,
        Terminal::Null,
        Terminal::Closed,
    ];
    scenario.terminals = vec![source.pick(&terminals)];
    for _ in 0..=source.below(2) {
        let step = Step::Fill(Fill { bytes: source.pick(&FILLS), stderr: source.one_in(2) });
        adds(source, scenario, step);
    }
    let wrapper = [WrapperFault::IgnoresStdout, WrapperFault::IgnoresStderr, WrapperFault::Vanishes(source.span())];
    if source.one_in(2) {
        scenario.faults.push(Fault::Wrapper(source.pick(&wrapper)));
    }
}

/// The model says a lot at once, over a connection.
fn large_response(source: &mut Rng, scenario: &mut Scenario) {
    let texts = source.some(1, 4, long);
    let permit = |text| {
        let (tool, permission) = ("write".to_owned(), "edit".to_owned());
        Turn::Permit(Permit { tool, permission, patterns: vec![text], output: String::new() })
    };
    let turn = match source.one_in(2) {
        true => Turn::Say(texts.concat()),
        false => Turn::Together(texts.into_iter().map(permit).collect()),
    };
    scenario.turns.insert(0, turn);
    let does = match source.below(3) {
        0 => ModelDoes::Pause(source.span()),
        1 => ModelDoes::Slow(source.pick(&[Span::ms(1), Span::secs(1), Span::secs(10)])),
        _ => ModelDoes::Truncate,
    };
    let after = source.pick(&[0, 1, 2, 7]);
    scenario.faults.push(Fault::Model(ModelFault { response: 1, after, does, retry_after: None }));
}

/// The server's queue takes no prompt, or takes it and waits.
fn refuses(source: &mut Rng, scenario: &mut Scenario) {
    scenario.faults.push(Fault::Queue(source.pick(&[QueueFault::Refuses, QueueFault::Holds])));
    if source.one_in(2) {
        scenario.runs = source.pick(&RUNS);
    }
}

/// The model answers with errors, and the agent waits longer each time.
fn backs_off(source: &mut Rng, scenario: &mut Scenario) {
    let does = match source.below(4) {
        0 => ModelDoes::Reset,
        1 => ModelDoes::Truncate,
        _ => ModelDoes::Status(source.pick(&STATUSES)),
    };
    let retry_after = match does {
        ModelDoes::Status(_) if source.one_in(2) => Some(limit(source)),
        _ => None,
    };
    let responses = if source.one_in(2) { vec![0] } else { (1..=source.pick(&[2, 5, 20, 90])).collect() };
    let fault = |response| Fault::Model(ModelFault { response, after: 0, does, retry_after });
    scenario.faults.extend(responses.into_iter().map(fault));
}

/// A person acts when everything seems to be over.
fn late(source: &mut Rng, scenario: &mut Scenario) {
    let via = way(source, &scenario.agent);
    let does = match via {
        Via::Http => source.pick(&[Does::Stop, Does::Prompt("more".to_owned()), Does::Allow, Does::Skip]),
        _ => Does::Type(source.pick(&["y\n", "1\n", "\u{4}", "\u{3}"]).to_owned()),
    };
    let hours = source.pick(&[1, 5, 12, 25, 47, 48, 49, 100]);
    let person = Person { after: Span::hours(hours), ..by_the_clock(source, via, does) };
    let sees = if source.one_in(2) { None } else { Some(Sees::Clock) };
    scenario.people.push(Person { sees, ..person });
}
