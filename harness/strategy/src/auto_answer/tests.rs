use super::{AUTO_ANSWER, FORCE_INTERACTIVE, NON_INTERACTIVE, PREFIX_R3};
use crate::testing::{Bench, ask, question, report};
use crate::{Act, InsideAct, InsideSeen, Seen};
use rehang_words::Question;

fn boot(env: &[(&str, &str)], stdin_tty: bool, run: bool) -> Seen {
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Seen::Inside(InsideSeen::Boot { env, stdin_tty, run, listens: false })
}

/// What the model is told, and the answers; `None` if the question is asked.
fn told(spec: &str, seen: &Seen, questions: Vec<Question>) -> Option<(String, Vec<Vec<String>>)> {
    let mut bench = Bench::of(spec);
    bench.see(seen.clone());
    let acts = bench.see(Seen::Inside(InsideSeen::ToolAsks(ask(questions))));
    acts.into_iter().find_map(|act| match act {
        Act::Inside(InsideAct::AnswerTool { answers, text }) => Some((text, answers)),
        _ => None,
    })
}

fn label(spec: &str, mode: &str, options: &[(&str, &str)]) -> Vec<String> {
    let seen = boot(&[(NON_INTERACTIVE, "1"), (AUTO_ANSWER, mode)], true, false);
    told(spec, &seen, vec![question("q", options)]).expect("an answer").1.remove(0)
}

fn row_diff() -> Question {
    question("May I run row-level hashdiff comparisons?", &[("Approve row diff", ""), ("Profile only", "")])
}

#[test]
fn r1_takes_the_first_option_with_a_keyword() {
    let mut bench = Bench::of("auto-answer@r1");
    bench.see(boot(&[], false, true));
    let acts = bench.see(Seen::Inside(InsideSeen::ToolAsks(ask(vec![row_diff()]))));
    let policy = report(&acts);
    assert_eq!(policy.detected.as_deref(), Some("no-tty"));
    assert_eq!(policy.rule.as_deref(), Some("keyword: profile only"));
    assert_eq!(policy.answered, Some(vec![vec!["Profile only".to_owned()]]));
    assert_eq!(
        policy.text.as_deref(),
        Some(
            "Running in non-interactive mode (no TTY). Auto-answered with safe defaults: \
             \"May I run row-level hashdiff comparisons?\"=\"Profile only\". You can now continue with the user's answers in mind."
        )
    );
}

#[test]
fn r1_finds_no_in_snowflake() {
    let options = [("Snowflake", "warehouse"), ("Cancel", "")];
    assert_eq!(label("auto-answer@r1", "", &options), ["Snowflake"]);
    let mut bench = Bench::of("auto-answer@r1");
    bench.see(boot(&[], false, true));
    let acts = bench.see(Seen::Inside(InsideSeen::ToolAsks(ask(vec![question("Which?", &options)]))));
    assert_eq!(report(&acts).rule.as_deref(), Some("keyword: no"));
    for spec in ["auto-answer@r2", "auto-answer@r3"] {
        let (text, answers) =
            told(spec, &boot(&[(NON_INTERACTIVE, "1")], true, false), vec![question("Which?", &options)])
                .expect("an answer");
        assert_eq!(answers, [Vec::<String>::new()], "{spec}");
        assert!(!text.contains("Snowflake") && !text.contains("Cancel"), "{spec}: {text}");
    }
}

#[test]
fn r1_reads_descriptions_and_falls_back_to_the_last() {
    assert_eq!(label("auto-answer@r1", "", &[("Red", "cannot be undone"), ("Blue", "")]), ["Red"]);
    assert_eq!(label("auto-answer@r1", "", &[("Red", ""), ("Blue", "")]), ["Blue"]);
    assert_eq!(label("auto-answer@r1", "skip", &[("Red", ""), ("Skip", "")]), Vec::<String>::new());
    assert_eq!(label("auto-answer@r1", "first", &[("Red", ""), ("Skip", "")]), ["Red"]);
    assert_eq!(label("auto-answer@r1", "RED", &[("Red", ""), ("Skip", "")]), ["Red"]);
}

#[test]
fn r2_and_r3_answer_what_they_are_told() {
    let options = [("Alpha", ""), ("Last", ""), ("first", ""), ("Omega", "")];
    for spec in ["auto-answer@r2", "auto-answer@r3"] {
        for (mode, want) in [("first", "Alpha"), ("LAST", "Omega"), ("alpha", "Alpha"), ("omega", "Omega")] {
            assert_eq!(label(spec, mode, &options), [want], "{spec} {mode}: reserved words go before labels");
        }
        for mode in ["", " alpha", "alpha ", "skip", "nope"] {
            assert_eq!(label(spec, mode, &options), Vec::<String>::new(), "{spec} {mode:?}");
        }
        for mode in ["", "first", "last", "label"] {
            assert_eq!(label(spec, mode, &[]), Vec::<String>::new(), "{spec} {mode}: no options");
        }
    }
    assert_eq!(label("auto-answer@r3", "skip", &[("Go", ""), ("Skip", "")]), ["Skip"], "a label like any other");
}

#[test]
fn r3_says_that_nobody_was_there() {
    let seen = boot(&[(NON_INTERACTIVE, "1"), (AUTO_ANSWER, "garbage-value")], true, false);
    let (text, answers) =
        told("auto-answer@r3", &seen, vec![row_diff(), question("And?", &[("A", "secret text")])]).expect("an answer");
    assert_eq!(
        text,
        format!("{PREFIX_R3}\"May I run row-level hashdiff comparisons?\"=\"Unanswered\", \"And?\"=\"Unanswered\".")
    );
    assert_eq!(answers, [Vec::<String>::new(), Vec::new()]);
    assert!(text.starts_with("Running in non-interactive mode"));
    assert!(!text.contains("continue with the user's answers in mind"));
    assert!(!text.contains("garbage-value") && !text.contains("secret text"));
    let (text, _) = told("auto-answer@r3", &seen, Vec::new()).expect("an answer");
    assert!(text.ends_with("Result: ."), "no question at all");
}

#[test]
fn two_questions_map_by_place_and_one_label_is_given_where_several_may_be() {
    let seen = boot(&[(NON_INTERACTIVE, "1"), (AUTO_ANSWER, "b")], true, false);
    let several = Question { multiple: true, ..question("two", &[("A", ""), ("B", "")]) };
    let (_, answers) = told("auto-answer@r3", &seen, vec![question("one", &[("A", "")]), several]).expect("an answer");
    assert_eq!(answers, [vec![], vec!["B".to_owned()]]);
}

/// Seed research 1.7: the matrix of environment and terminal; `run` only if it is named.
#[test]
fn who_is_asked() {
    let asks =
        |spec: &str, env: &[(&str, &str)], tty, run| told(spec, &boot(env, tty, run), vec![row_diff()]).is_none();
    let non = |value: &'static str| [(NON_INTERACTIVE, value)];
    assert!(asks("auto-answer@r1", &[], true, false));
    assert!(!asks("auto-answer@r1", &[], false, false), "an IDE's server is no TTY either");
    assert!(asks("auto-answer@r3", &[], false, false) && asks("auto-answer@r3", &[], true, false));
    assert!(!asks("auto-answer@r3", &[], true, true), "run opts in by itself");
    for spec in ["auto-answer@r1", "auto-answer@r2", "auto-answer@r3"] {
        assert!(!asks(spec, &non("1"), true, false), "{spec}");
        let both = [(NON_INTERACTIVE, "1"), (FORCE_INTERACTIVE, "1")];
        assert!(asks(spec, &both, false, true), "{spec}: FORCE goes before NON");
    }
    for value in ["", "0", "true", "yes", " 1 "] {
        assert!(asks("auto-answer@r3", &non(value), true, false), "{value:?} is not 1");
        assert!(
            !asks("auto-answer@r3", &[(NON_INTERACTIVE, "1"), (FORCE_INTERACTIVE, value)], true, false),
            "{value:?} is not 1"
        );
    }
    assert!(asks("auto-answer@r3", &non("0"), false, true), "an opt-out that stays");
    assert!(!asks("auto-answer@r3", &non(" "), false, true), "34438295e");
    assert!(asks("auto-answer@r3(unset=undefined)", &non(" "), false, true), "9644a009b");
    assert!(!asks("auto-answer@r3(unset=undefined)", &[], false, true), "9644a009b");
}

#[test]
fn only_r3_keeps_the_variable_from_children() {
    for (spec, want) in [("auto-answer@r1", false), ("auto-answer@r2", false), ("auto-answer@r3", true)] {
        let acts = Bench::of(spec).see(boot(&[(NON_INTERACTIVE, "1")], true, false));
        assert_eq!(acts.contains(&Act::Inside(InsideAct::StripEnv(NON_INTERACTIVE))), want, "{spec}");
    }
}

#[test]
fn at_the_ask_layer_it_replies_to_questions_alone() {
    let mut bench = Bench::of("auto-answer@r3(at=ask)");
    bench.see(boot(&[(AUTO_ANSWER, "last")], false, true));
    assert_eq!(bench.see(Seen::Inside(InsideSeen::ToolAsks(ask(vec![row_diff()])))), []);
    let acts = bench.see(Seen::Inside(InsideSeen::Pending(ask(vec![row_diff()]))));
    let reply =
        Act::Inside(InsideAct::Reply { id: "que_1".to_owned(), answers: vec![vec!["Profile only".to_owned()]] });
    assert!(acts.contains(&reply), "{acts:?}");
    assert_eq!(bench.see(Seen::Inside(InsideSeen::Pending(ask(Vec::new())))), [], "a permission is no question");
}

/// v0.8.8's adversarial test: as many questions as a model may send, and each as long as is allowed.
#[test]
fn twenty_long_questions_are_told_whole() {
    let long = |at: usize| format!("{at}{}", "?".repeat(50_000));
    let seen = boot(&[(NON_INTERACTIVE, "1")], true, false);
    let (text, answers) =
        told("auto-answer@r3", &seen, (0..20).map(|at| question(&long(at), &[])).collect()).expect("an answer");
    assert_eq!(answers.len(), 20);
    assert!((0..20).all(|at| text.contains(&format!("\"{}\"=\"Unanswered\"", long(at)))));
}
