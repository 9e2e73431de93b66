//! A small site.

use super::*;

fn score(strategy: &str, mechanism: &str, [stopped, missed, harmed]: [u64; 3]) -> ScoreRow {
    ScoreRow {
        strategy: strategy.to_owned(),
        mechanism: mechanism.to_owned(),
        inside: false,
        waited: None,
        cells: stopped + missed + harmed,
        untouched: 0,
        resolved: 0,
        stopped,
        undecided: 0,
        missed,
        wrongly: 0,
        harmed,
        to_kill: None,
        to_gone: None,
    }
}

fn site() -> Site {
    let text = |id: &str, name: &str| Explained {
        id: id.to_owned(),
        name: name.to_owned(),
        lead: vec!["It waits, `0 %` CPU.".to_owned()],
        parts: vec![("Ends with".to_owned(), "`kill PID`".to_owned())],
    };
    let mechanism = |id: &str, name: &str| Mechanism {
        text: text(id, name),
        layer: "question".to_owned(),
        benign: false,
        scenarios: vec![("question/row-diff".to_owned(), "Asks".to_owned())],
    };
    let seen = |outcome: Option<OutcomeKind>, detail: &str| {
        Some(Seen { outcome, detail: detail.to_owned(), ..Seen::default() })
    };
    let line = Line {
        scenario: "question".to_owned(),
        terminal: "null".to_owned(),
        mechanism: Some("Q1".to_owned()),
        cells: vec![
            seen(Some(OutcomeKind::Hung), "question"),
            seen(Some(OutcomeKind::Completed), ""),
            seen(None, "<b>no tool</b>"),
            None,
        ],
        command: "rehang upstream opencode@VERSION question --terminal null".to_owned(),
    };
    let versions = ["1.2.27", "1.3.0", "1.4.0", "1.5.0"].map(str::to_owned).to_vec();
    let sums = [score("guard", "", [2, 0, 0]), score("idle", "", [1, 1, 0]), score("none", "", [0, 2, 0])];
    let of = [score("guard", "Q1", [2, 0, 0]), score("idle", "Q1", [1, 1, 0]), score("idle", "Q2", [1, 0, 1])];
    Site {
        command: "rehang-lab site --out site".to_owned(),
        score: sums.into_iter().chain(of).collect(),
        mechanisms: vec![mechanism("Q1", "question-no-answerer"), mechanism("Q2", "question-nested")],
        agents: vec![Agent { name: "opencode".to_owned(), versions, lines: vec![line] }],
        ..Site::default()
    }
}

fn page(path: &str) -> String {
    let files = site().files();
    files.into_iter().find(|(name, _)| name == path).unwrap_or_else(|| panic!("there is no {path}")).1
}

#[test]
fn only_who_ends_every_hang_and_harms_none_is_named() {
    let home = page("index.html");
    let row = home.split("Q1 question-no-answerer</a>").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(row.contains(">guard</td>") && !row.contains("idle"), "idle missed one: {row}");
    assert!(row.contains("opencode 1 of 2"), "{row}");
    let row = home.split("Q2 question-nested</a>").nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(home.contains(r#"<td class="n k-m" role="cell" data-of="missed">1</td>"#), "{home}");
    assert!(row.contains(r#"data-of="harmed by">idle</td>"#) && row.contains(r#"data-of="ended by"></td>"#), "{row}");
}

#[test]
fn a_release_says_what_it_did_and_why_it_could_not() {
    let releases = page("releases.html");
    let row = releases.split("<tbody>").nth(1).unwrap().split("</tr>").next().unwrap();
    let cells: Vec<&str> = row.split("<td").skip(2).collect();
    assert!(cells[0].contains("k-H") && cells[0].contains("hung") && cells[0].contains("question"), "{row}");
    assert!(cells[1].contains("completed") && cells[2].contains("– (1)") && cells[3].starts_with("></td>"), "{row}");
    assert!(releases.contains("<li>&lt;b&gt;no tool&lt;/b&gt;</li>"), "{releases}");
}

#[test]
fn every_link_has_its_page_and_nothing_is_fetched_from_elsewhere() {
    let files = site().files();
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names.len(), 6);
    for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".html")) {
        let inside = name.starts_with("mechanisms/");
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let target = match (link.strip_prefix("../"), inside) {
                _ if link.starts_with('#') => continue,
                (Some(link), true) => link,
                (None, false) => link,
                _ => panic!("{name}: {link}"),
            };
            assert!(names.contains(&target), "{name}: {link}");
        }
        assert!(!text.contains("<script") && !text.contains("src=") && !text.contains("://"), "{name}");
        assert_eq!(text.matches("<h1>").count(), 1, "{name}");
    }
}

#[test]
fn the_grid_has_the_worst_of_each_place_and_says_what_it_means() {
    let grid = page("grid.html");
    assert!(grid.contains(r#"<td class="k-m"><abbr title="missed">m</abbr> 1</td>"#), "{grid}");
    assert!(grid.contains(r#"<td class="k-H"><abbr title="harmed">H</abbr> 1</td>"#), "{grid}");
}
