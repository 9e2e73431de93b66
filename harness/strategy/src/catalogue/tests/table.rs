//! How strategies are written, one row a text: what it is read as, or what is wrong and where.

use crate::entry::{Param, Params, Value};
use crate::spec::{MEMBERS_MAX, PARAMS_MAX, Spec, TEXT_MAX, Why, check_pattern, covers, parse_stack};
use crate::{all, stack};
use expect_test::expect;
use rehang_words::Span;

#[test]
fn each_text_is_read_or_refused_at_its_place() {
    let texts = [
        "wall",
        " wall ",
        "wall()",
        "wall ( )",
        "wall(cap=1h,)",
        "wall(cap = \"1h\" )+none@",
        "wall(cap=1h) + idle@off ( wall = 2h )",
        "pending-ask(policy=label, label=\"a \\\"b\\\" \\\\ +\")",
        "pending-ask(label=\"\")",
        "pending-ask(label=a-b_c.d:e/f0)",
        "pending-ask(label=a b)",
        "pending-ask(label=a",
        "pending-ask(label=\"a",
        "pending-ask(label=\"a\\",
        "pending-ask(label=)",
        "pending-ask(=a)",
        "pending-ask(label)",
        "pending-ask(label=a, label=b)",
        "pending-ask(label=a; after=1s)",
        "wall@",
        "wall@v 1",
        "idle @off",
        "+wall",
        "wall++wall",
        "wall)",
        "ä",
        "none",
        "none+none",
        "wall+none",
        "guard",
        "guard+wall",
        "guard@x",
        "guard()",
        "guard(x=1)",
        "guard(quite=1m)",
        "guard( quiet = 20m, at-work=1h )",
        "guard(quiet=soon)",
        "idle@off+idle@grace",
        "idle@off+idle@off",
        "watcher@pr3(misses=0)",
        "watcher@pr3(misses=07)",
        "watcher@pr3(misses=+7)",
        "watcher@pr3(misses=4294967295)",
        "watcher@pr3(misses=4294967296)",
        "watcher@pr3(misses=\"\")",
        "heal@pr3(worker=watchers)",
        "heal@pr3(workers=watcher)",
        "watcher@pr4",
    ];
    let row = |text: &&str| match stack(text) {
        Ok(stack) => format!("{text:?} is {:?}\n", stack.name),
        Err(error) => format!(
            "{text:?} at {}: {error}{}\n",
            error.at,
            error.mended(text).map_or(String::new(), |mended| format!(" => {mended}"))
        ),
    };
    expect![[r#"
        "wall" is "wall"
        " wall " is "wall"
        "wall()" is "wall"
        "wall ( )" is "wall"
        "wall(cap=1h,)" is "wall(cap=1h)"
        "wall(cap = \"1h\" )+none@" at 23: expected a version after `@`
        "wall(cap=1h) + idle@off ( wall = 2h )" is "wall(cap=1h)+idle@off(wall=2h)"
        "pending-ask(policy=label, label=\"a \\\"b\\\" \\\\ +\")" is "pending-ask(policy=label, label=\"a \\\"b\\\" \\\\ +\")"
        "pending-ask(label=\"\")" is "pending-ask(label=\"\")"
        "pending-ask(label=a-b_c.d:e/f0)" is "pending-ask(label=a-b_c.d:e/f0)"
        "pending-ask(label=a b)" at 20: expected `,` and the next parameter, or `)`
        "pending-ask(label=a" at 19: expected `,` and the next parameter, or `)`
        "pending-ask(label=\"a" at 19: expected the closing `"`
        "pending-ask(label=\"a\\" at 19: expected the closing `"`
        "pending-ask(label=)" at 18: expected a value
        "pending-ask(=a)" at 12: expected a parameter's name, or `)`
        "pending-ask(label)" at 17: expected `=` and the parameter's value
        "pending-ask(label=a, label=b)" at 28: `label` is given twice
        "pending-ask(label=a; after=1s)" at 19: expected `,` and the next parameter, or `)`
        "wall@" at 5: expected a version after `@`
        "wall@v 1" at 7: expected `+` and the next strategy, or the end
        "idle @off" at 5: expected `+` and the next strategy, or the end
        "+wall" at 0: expected a strategy's name
        "wall++wall" at 5: expected a strategy's name
        "wall)" at 4: expected `+` and the next strategy, or the end
        "ä" at 0: expected a strategy's name
        "none" is "none"
        "none+none" at 0: `none` does nothing and stands alone
        "wall+none" at 5: `none` does nothing and stands alone
        "guard" is "guard"
        "guard+wall" at 0: `guard` is a stack of its own and stands alone
        "guard@x" at 0: `guard` is a stack; name one of its members: guard-process+guard-server
        "guard()" is "guard"
        "guard(x=1)" at 0: `guard` has no parameter `x`; it has `quiet`, `at-work`, `person`, `model`, `tool`
        "guard(quite=1m)" at 0: `guard` has no parameter `quite`; did you mean `quiet`? It has `quiet`, `at-work`, `person`, `model`, `tool` => guard(quiet=1m)
        "guard( quiet = 20m, at-work=1h )" is "guard(quiet=20m, at-work=1h)"
        "guard(quiet=soon)" at 0: `quiet=soon`: a duration is a whole number and a unit: `250ms`, `2s`, `15m`, `4h`
        "idle@off+idle@grace" is "idle@off+idle@grace"
        "idle@off+idle@off" at 9: `idle@off` stands twice in the stack
        "watcher@pr3(misses=0)" is "watcher@pr3(misses=0)"
        "watcher@pr3(misses=07)" is "watcher@pr3(misses=07)"
        "watcher@pr3(misses=+7)" at 19: expected a value
        "watcher@pr3(misses=4294967295)" is "watcher@pr3(misses=4294967295)"
        "watcher@pr3(misses=4294967296)" at 0: `misses=4294967296`: a whole number is wanted
        "watcher@pr3(misses=\"\")" at 0: `misses=`: a whole number is wanted
        "heal@pr3(worker=watchers)" at 0: `worker=watchers`: one of `post`, `watcher`
        "heal@pr3(workers=watcher)" at 0: `heal@pr3` has no parameter `workers`; did you mean `worker`? It has `worker`, `prompt_timeout` => heal@pr3(worker=watcher)
        "watcher@pr4" at 0: there is no `watcher@pr4`; did you mean `watcher@pr2`? There is `watcher@pr2`, `watcher@pr3`, `watcher@pr5`, `watcher@desc` => watcher@pr2
    "#]].assert_eq(&texts.iter().map(row).collect::<String>());
}

#[test]
fn one_strategy_is_not_a_stack() {
    let row = |text: &str| match Spec::parse(text) {
        Ok(spec) => format!("{text:?} is {} of {:?}\n", spec.full_name(), spec.version),
        Err(error) => format!("{text:?} at {}: {error}\n", error.at),
    };
    let texts = ["idle", "idle@off", "x@y(z=1)", "a+b", "a+b+c", "", "  ", "a+"];
    expect![[r#"
        "idle" is idle of None
        "idle@off" is idle@off of Some("off")
        "x@y(z=1)" is x@y of Some("y")
        "a+b" at 2: one strategy is wanted here, and this is a stack
        "a+b+c" at 2: one strategy is wanted here, and this is a stack
        "" at 0: no strategy is named; `rehang list --strategies` lists them
        "  " at 2: no strategy is named; `rehang list --strategies` lists them
        "a+" at 2: expected a strategy's name
    "#]]
    .assert_eq(&texts.into_iter().map(row).collect::<String>());
}

#[test]
fn the_limits_themselves_are_allowed() {
    let long =
        |bytes: usize| parse_stack(&format!("{:bytes$}", "wall")).map(|specs| specs.len()).map_err(|error| error.why);
    assert_eq!((long(TEXT_MAX), long(TEXT_MAX + 1)), (Ok(1), Err(Why::TooLong)));
    let many =
        |count: usize| parse_stack(&vec!["a"; count].join("+")).map(|specs| specs.len()).map_err(|error| error.why);
    assert_eq!((many(MEMBERS_MAX), many(MEMBERS_MAX + 1)), (Ok(MEMBERS_MAX), Err(Why::TooMany)));
    let params = |count: usize| {
        let params: Vec<String> = (0..count).map(|n| format!("p{n}=1")).collect();
        Spec::parse(&format!("a({})", params.join(","))).map(|spec| spec.params.len()).map_err(|error| error.why)
    };
    assert_eq!((params(PARAMS_MAX), params(PARAMS_MAX + 1)), (Ok(PARAMS_MAX), Err(Why::TooMany)));
}

#[test]
fn a_spec_is_its_name_version_and_parameters_wherever_it_was_written() {
    let spec = |text: &str| parse_stack(text).expect("a stack").pop().expect("a spec");
    assert_eq!(spec("a@b(c=d)"), spec("x + a@b ( c = \"d\" )"));
    for other in ["b@b(c=d)", "a@c(c=d)", "a(c=d)", "a@b(c=e)", "a@b(d=d)", "a@b"] {
        assert_ne!(spec("a@b(c=d)"), spec(other), "{other}");
    }
}

#[test]
fn a_pattern_covers_what_has_all_that_it_names() {
    let pairs = [
        ("a", "a", true),
        ("a", "b", false),
        ("a", "a@b", true),
        ("a@b", "a", false),
        ("a@b", "a@b", true),
        ("a@b", "a@c", false),
        ("a(x=1)", "a", false),
        ("a(x=1)", "a(x=1, y=2)", true),
        ("a(x=1, y=2)", "a(x=1)", false),
        ("a(x=1)", "a(x=2)", false),
        ("a+b", "a", false),
        ("a", "a+b", false),
        ("a+b", "a@x+b(y=1)", true),
        ("a+b", "b+a", false),
        ("", "a", false),
        ("a", "", false),
    ];
    for (pattern, stack, does) in pairs {
        assert_eq!(covers(pattern, stack), does, "{pattern:?} and {stack:?}");
    }
    let row = |pattern: &str| {
        format!(
            "{pattern:?}: {}\n",
            check_pattern(pattern).map_or_else(|error| error.to_string(), |()| "good".to_owned())
        )
    };
    let patterns = [
        "idle",
        "idle+wall",
        "guard",
        "guard+idle@off",
        "idle(wall=1h)",
        "guard@x",
        "wall@x",
        "idle@off(wall=1h)",
        "idel",
        "wall(x=1)",
    ];
    expect![[r#"
        "idle": good
        "idle+wall": good
        "guard": good
        "guard+idle@off": good
        "idle(wall=1h)": `idle` has several versions; name one of `idle@f54b32f`, `idle@off`, `idle@grace`
        "guard@x": `guard` is a stack; name one of its members: guard-process+guard-server
        "wall@x": there is no `wall@x`; there is `wall`
        "idle@off(wall=1h)": good
        "idel": no strategy is called `idel`; did you mean `idle`? `rehang list --strategies` lists them
        "wall(x=1)": `wall` has no parameter `x`; it has `cap`
    "#]]
    .assert_eq(&patterns.into_iter().map(row).collect::<String>());
}

#[test]
fn parameters_that_were_not_given_have_their_defaults() {
    const ALL: [Param; 6] = [
        Param { name: "span", default: Value::Span(Span::secs(1)), doc: "" },
        Param { name: "span-or", default: Value::SpanOr(Span::secs(2)), doc: "" },
        Param { name: "count", default: Value::Count(3), doc: "" },
        Param { name: "count-or", default: Value::CountOr(4), doc: "" },
        Param { name: "word", default: Value::Word(&["five", "six"]), doc: "" },
        Param { name: "text", default: Value::Text("seven"), doc: "" },
    ];
    let shown: Vec<String> = ALL.iter().map(|param| param.default.to_string()).collect();
    assert_eq!(shown, ["1s", "2s", "3", "4", "five|six", "\"seven\""]);
    let params = Params::defaults(&ALL);
    let read = (params.span("span"), params.span("span-or"), params.count("count"), params.count("count-or"));
    assert_eq!(read, (Span::secs(1), Span::secs(2), 3, 4));
    assert_eq!((params.word("word"), params.text("text")), ("five", "seven"));
    assert_eq!((params.span("x"), params.count("x"), params.word("x"), params.text("x")), (Span::ZERO, 0, "", ""));
}

/// The order of the listing is that of the table in the design.
#[test]
fn the_listing_of_each_strategy() {
    let named: Vec<String> =
        all().into_iter().map(|entry| format!("{} {:?} {:?}", entry.name, entry.family(), entry.version())).collect();
    assert!(
        named.contains(&"idle@off \"idle\" Some(\"off\")".to_owned())
            && named.contains(&"wall \"wall\" None".to_owned())
    );
    let listing =
        |name: &str| all().into_iter().find(|entry| entry.name == name).map(ToString::to_string).unwrap_or_default();
    expect![[r#"
        none  [nowhere]
            detects nothing and does nothing: where the scenario says `hung`, it must hang
            from: the agent alone, as its wrapper or client runs it
        auto-answer@r3  [inside: the inside of an opencode]
            opted in by the environment, which `run` sets: answers nothing unless told to, and says that no user was available
            from: AltimateAI/altimate-code 9644a009b (merged 2026-06-18), 34438295e (v0.8.8)
            at=tool|ask  where it sits: at the question tool's entry, before an ask exists; or at the ask layer, where it replies to one
            unset=blank|undefined  when `run` takes ALTIMATE_NON_INTERACTIVE as not set: also when blank (34438295e), or only when undefined (9644a009b)
        monitor@pr5  [outside: opencode's HTTP]
            as pr3, and gives up with TERMINAL=timeout after 120 polls, while the job runs on
            from: tasict/opencode-plugin-cc PR 5 (180151a6), monitor hook, 2.4
            worker=post|watcher  what the job's worker runs: the prompt's POST alone, or the same revision's watcher with its defaults
            prompt_timeout=4h  the longest prompt (OPENCODE_PROMPT_TIMEOUT_MS, 4 h since PR 3)
            heartbeat=10  unchanged polls before a heartbeat (OPENCODE_MONITOR_HEARTBEAT_POLLS)
            max_polls=120  polls before the monitor gives up (OPENCODE_MONITOR_MAX_POLLS)
            terminal=lenient|strict  strict: a completion without a finish reason is no end (OPENCODE_STRICT_TERMINAL=1)
    "#]].assert_eq(&["none", "auto-answer@r3", "monitor@pr5"].map(listing).concat());
}
