//! The scoreboard over cells that are written by hand.

use super::*;
use crate::testing::*;
use crate::{judge, verdict};
use expect_test::expect;
use rehang_scenario::Policy;
use rehang_scenario::attribution::ANSWERED;
use rehang_trace::{Ended, What};

fn hung() -> Cell {
    Cell::new().started().step("", "tool-calls").tool("call_1", "bash").deadlock(&[("agent", "bash")])
}

fn hung_with(what: impl Fn(Cell) -> Cell) -> Cell {
    let cell = Cell::new().started().step("", "tool-calls").tool("call_1", "bash").busy("ses_1", true);
    what(cell).deadlock(&[("agent", "bash")])
}

fn given_up() -> Cell {
    Cell::new()
        .started()
        .at(9)
        .add("", What::Ended(Ended::Horizon { reason: rehang_trace::Horizon::Time, waits: Vec::new() }))
}

fn healthy() -> Cell {
    Cell::new().started().step("Hi", "stop").at(60_000).done("Hi")
}

fn stopped(ms: u64) -> Cell {
    let cell = Cell::new().started().step("", "tool-calls").tool("call_1", "bash").at(ms);
    let cell = cell.signal("idle@off", "TERM", "agent*").settle("idle@off", "stopped", "idle", "");
    cell.at(ms + 200).killed("agent", "TERM")
}

fn scored(none: Cell, cell: Cell) -> Score {
    let none = verdict(&none.trace(), &facts("none"));
    classify(&judge(&cell.trace(), &facts("idle@off"), Some(&none)).unwrap(), &none)
}

#[test]
fn what_is_untrue_without_the_strategy_too_is_no_lie_of_its_own() {
    let lies = || Cell::new().started().at(5).tool("call_1", "question").tool_end("call_1", ANSWERED);
    let (healthy, hung) = (|| lies().done("Hi"), || lies().deadlock(&[("agent", "bash")]));
    for (cell, score) in [(healthy(), Score::Untouched), (hung(), Score::Missed)] {
        let trace = cell.trace();
        let none = judge(&trace, &facts("none"), None).unwrap();
        assert!(!none.breaches.is_empty());
        assert_eq!(classify(&judge(&trace, &facts("idle@off"), Some(&none)).unwrap(), &none), score);
    }
}

#[test]
fn every_pair_has_its_score() {
    let failed = || Cell::new().started().at(5).exit("agent", 1).settle("wrapper", "failed", "exit 1", "");
    assert_eq!(scored(hung(), hung()), Score::Missed);
    assert_eq!(scored(hung(), healthy()), Score::Resolved);
    assert_eq!(scored(hung(), stopped(5)), Score::Stopped);
    assert_eq!(scored(hung(), failed()), Score::Stopped);
    assert_eq!(scored(healthy(), healthy()), Score::Untouched);
    assert_eq!(scored(healthy(), stopped(5)), Score::Harmed);
    assert_eq!(scored(healthy(), hung()), Score::Harmed);
    assert_eq!(scored(failed(), failed()), Score::Untouched);
    assert_eq!(scored(failed(), hung()), Score::Harmed);
    let early = Cell::new().started().step("part", "tool-calls").settle("idle@off", "completed", "", "part");
    assert_eq!(scored(hung(), early), Score::Wrongly);
    let caused = |word: &str| Policy { cause: Some(word.into()), ..Policy::default() };
    let lied = |cell: Cell, word: &str| cell.report("idle@off", caused(word));
    assert_eq!(scored(stopped(5), lied(stopped(5), "idle")), Score::Untouched);
    let untrue = || {
        let cell = Cell::new().started().step("", "tool-calls").tool("call_1", "bash").at(5);
        lied(cell, "wall").settle("idle@off", "stopped", "idle", "")
    };
    assert_eq!(scored(stopped(5), untrue()), Score::Wrongly, "a lie counts where it is stopped with and without it");
    let said = |cell: Cell| cell.says("idle@off", "TERMINAL=completed");
    assert_eq!(scored(failed(), failed()), Score::Untouched);
    let failing = || Cell::new().started().busy("ses_1", true).at(5);
    let fails = |cell: Cell| cell.settle("wrapper", "failed", "exit 1", "");
    assert_eq!(scored(fails(failing()), fails(said(failing()))), Score::Wrongly, "and where it fails");
    assert_eq!(scored(hung(), hung_with(said)), Score::Wrongly, "and where it hangs");
    for other in [hung(), healthy(), failed(), given_up()] {
        assert_eq!(scored(given_up(), other.clone()), Score::Undecided);
        assert_eq!(scored(other, given_up()), Score::Undecided);
    }
}

#[test]
fn what_is_undecided_has_a_mark_and_a_column() {
    let mut board = Scoreboard::new();
    let mut facts = facts("none");
    facts.mechanism = "M1".to_owned();
    let none = verdict(&given_up().trace(), &facts);
    board.add(&facts, &none, &none);
    facts.mechanism = "M2".to_owned();
    let none = verdict(&hung().trace(), &facts);
    board.add(&facts, &none, &none);
    expect![[r#"
        outside  median  p90  longest  cost  cells  resolved  stopped  missed  wrongly  harmed  untouched  undecided  kill  gone
        none                            720      2                          1                                      1
    "#]]
    .assert_eq(&board.table());
    let grid = board.grid(80);
    assert!(grid.contains("\nnone      ?  m\n"), "{grid}");
}

#[test]
fn the_table_and_the_grid() {
    let mut board = Scoreboard::new();
    let mut add = |strategy: &str, mechanism: &str, none: Cell, cell: Cell| {
        let mut facts = facts(strategy);
        (facts.mechanism, facts.control) = (mechanism.to_owned(), mechanism.is_empty());
        let none = verdict(&none.trace(), &facts);
        board.add(&facts, &verdict(&cell.trace(), &facts), &none);
    };
    for (ms, mechanism) in [(600_001, "B10"), (600_001, "B2"), (14_400_000, "B2")] {
        add("idle@off", mechanism, hung(), stopped(ms));
        add("none", mechanism, hung(), hung());
    }
    add("idle@off", "F1", healthy(), stopped(600_001));
    add("none", "F1", healthy(), healthy());
    add("none", "", healthy(), healthy());
    expect![[r#"
        outside   median  p90  longest  cost  cells  resolved  stopped  missed  wrongly  harmed  untouched    kill    gone
        none                            1080      5                          3                           2
        idle@off     10m   4h       4h  1701      4                  3                        1             10m…4h  10m…4h
    "#]]
    .assert_eq(&board.table());
    expect![[r#"
                  B2 B10  F1
        none       m   m   ·
        idle@off   s   s   H
                 ctl
        none       ·
        idle@off
    "#]]
    .assert_eq(&board.grid(20));
    let ranked: Vec<String> =
        board.ranked().into_iter().map(|row| format!("{} {}", row.strategy, row.mechanism)).collect();
    assert_eq!(
        ranked,
        [
            "none ",
            "none B2",
            "none B10",
            "none F1",
            "none control",
            "idle@off ",
            "idle@off B2",
            "idle@off B10",
            "idle@off F1"
        ]
    );
    expect![[r#"{"strategy":"idle@off","mechanism":"","inside":false,"waited":{"median_ms":600001,"p90_ms":14400000,"max_ms":14400000},"cells":4,"untouched":0,"resolved":0,"stopped":3,"undecided":0,"missed":0,"wrongly":0,"harmed":1,"to_kill":{"median_ms":600001,"max_ms":14400000},"to_gone":{"median_ms":600201,"max_ms":14400200}}"#]].assert_eq(&serde_json::to_string(&board.rows()[0]).unwrap());
}

#[test]
fn where_a_stack_has_no_seat_its_user_has_what_nobody_has() {
    let mut board = Scoreboard::new();
    let mut add = |strategy: &str, none: Cell, cell: Cell| {
        let mut facts = facts(strategy);
        "B2".clone_into(&mut facts.mechanism);
        let none = verdict(&none.trace(), &facts);
        board.add(&facts, &verdict(&cell.trace(), &facts), &none);
    };
    // three cells, in one of which it has a seat
    [hung(), hung(), healthy()].into_iter().for_each(|cell| add("none", cell.clone(), cell));
    add("idle@off", hung(), stopped(600_000));
    let costs: Vec<(String, u64)> = board.costs().into_iter().map(|row| (row.strategy, row.cost_ms)).collect();
    assert_eq!(costs, [("idle@off".to_owned(), 600_000 + MISSED_MS), ("none".to_owned(), 2 * MISSED_MS)]);
}

#[test]
fn a_board_keeps_to_its_width() {
    let mut board = Scoreboard::new();
    for strategy in ["none", "auto-answer@r1(at=ask)+watcher@pr5", "auto-answer@r1(at=ask)+watcher@pr3"] {
        for (mechanism, ms) in [("B10", 600_001), ("B2", 600_001), ("Q1", 14_400_000)] {
            let mut facts = facts(strategy);
            facts.mechanism = mechanism.to_owned();
            let none = verdict(&hung().trace(), &facts);
            let cell = if strategy == "none" { hung() } else { stopped(ms) };
            board.add(&facts, &verdict(&cell.trace(), &facts), &none);
        }
    }
    for width in [70, 80, 100, 160] {
        let shown = board.grid(width) + &board.table_within(width);
        assert!(shown.lines().all(|line| line.chars().count() <= width), "{shown}");
        assert!(shown.contains("pr3") && shown.contains("pr5"), "{shown}");
    }
    expect![[r#"
        outside                             median  p90  longest  cost    kill    gone
        auto-answer@r1(at=ask)+watcher@pr3     10m   4h       4h   261  10m…4h  10m…4h
        auto-answer@r1(at=ask)+watcher@pr5     10m   4h       4h   261  10m…4h  10m…4h
        none                                                      1080

        outside                   cells resolved stopped missed wrongly harmed untouched
        auto-answer@…+watcher@pr3     3                3
        auto-answer@…+watcher@pr5     3                3
        none                          3                       3
    "#]]
    .assert_eq(&board.table_within(80));
    // in one table if it fits, with gaps of two blanks or of one, but no more
    let tables = |width| board.table_within(width).matches("outside").count();
    assert_eq!([160, 80].map(tables), [1, 2]);
}

#[test]
fn a_score_has_one_word_and_a_mark_of_its_own() {
    for score in Score::ALL {
        assert_eq!(serde_json::to_value(score).unwrap(), score.word().to_lowercase());
    }
    // in capitals what a strategy is to blame for
    let loud: Vec<&str> = Score::ALL.map(Score::word).into_iter().filter(|word| word.to_uppercase() == *word).collect();
    assert_eq!(loud, ["MISSED", "WRONGLY", "HARMED"]);
    assert_eq!(String::from_iter(Score::ALL.map(Score::mark)), "·rs?mWH");
}
#[test]
fn costs_are_in_blocks_as_wide_as_asked() {
    let mut board = Scoreboard::new();
    for (layer, ms) in [("question", 600_000), ("process", 60_001), ("stream", 0)] {
        for strategy in ["none", "auto-answer@r1(at=ask)+watcher@pr5"] {
            let mut facts = facts(strategy);
            (facts.mechanism, facts.scenario) = ("B2".to_owned(), format!("{layer}/a"));
            let none = verdict(&hung().trace(), &facts);
            let cell = if strategy == "none" { hung() } else { stopped(ms) };
            board.add(&facts, &verdict(&cell.trace(), &facts), &none);
        }
    }
    expect![[r#"
        cost in minutes                     sum process question stream
        auto-answer@r1(at=ask)+watcher@pr5   12       2       10      0
        none                               1080     360      360    360
    "#]]
    .assert_eq(&board.cost_table(200));
    expect![[r#"
        cost i…inutes  sum process question
        auto-a…er@pr5   12       2       10
        none          1080     360      360
        cost i…inutes stream
        auto-a…er@pr5      0
        none             360
    "#]]
    .assert_eq(&board.cost_table(40));
    for width in [40, 41, 42, 43, 44, 50, 60] {
        let shown = board.cost_table(width);
        assert!(shown.lines().all(|line| line.chars().count() <= width), "{shown}");
        assert!(["sum", "question", "process", "stream"].iter().all(|head| shown.contains(head)), "{shown}");
    }
}

#[test]
fn two_halves_make_a_whole() {
    let count = |cells: &[u64]| {
        let mut board = Scoreboard::new();
        for &ms in cells {
            let none = verdict(&hung().trace(), &facts("none"));
            board.add(&facts("idle@off"), &verdict(&stopped(ms).trace(), &facts("idle@off")), &none);
        }
        board
    };
    let mut halves = count(&[5, 9]);
    halves.merge(&count(&[7]));
    assert_eq!(halves.rows(), count(&[9, 7, 5]).rows());
    assert_eq!(halves.rows()[0].waited, Some(Waits { median_ms: 7, p90_ms: 9, max_ms: 9 }));
    assert_eq!(halves.costs(), count(&[9, 7, 5]).costs());
}
