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
        compat: Compat::read(COMPAT).unwrap_or_else(|error| panic!("{error}")),
        titles: [("question".to_owned(), "Asks, and nobody is there".to_owned())].into(),
        ..Site::default()
    }
}

/// A measured release, and a claim about the same agent.
const COMPAT: &str = r#"{"version":1,"releases":[],"rows":[
{"agent":"opencode","version":"1.5.0","scenario":"model-silent-once","terminal":"null","outcome":"completed","detail":"",
 "evidence":"exited","exit":0,"ms":302355,"startup_ms":1,"asked":[0,302355],"told":[],"asks":[],"waits":[],"hot_loop":false,
 "problems":[],"links":[],"runs":2,"spread_ms":3,"virtual_time":{"seconds":1,"real_seconds":1,"jumps":1,"repeatable":true},
 "day":"2026-11-28","command":"rehang upstream opencode@1.5.0 model-silent-once --terminal null","of":"h"}
],"claims":[
{"agent":"opencode","claim":"It waits for `question` <for ever>","source":{"repository":"a/b","number":7},"says":{"fixed_in":"1.3.0"},
 "scenario":"question","terminal":"null","matches":true,"before":{"version":"1.2.27","outcome":"hung","seconds":60,"proof":"proved"},
 "after":{"version":"1.3.0","outcome":"completed","seconds":1,"proof":"exited"},"verdict":"confirmed",
 "boundary":{"older":"1.2.27","newer":"1.3.0","seconds":9,"command":"rehang bisect opencode question"},"command":"rehang upstream",
 "remarks":"As it says."}
],"not_tried":[{"agent":"opencode","limit":"hook","because":"its hooks are plugins"}]}"#;

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
    for page in ["agents/opencode.html", "hangs/question.html", "claims/opencode-question-1.html", "limits.html"] {
        assert!(names.contains(&page), "{page} of {names:?}");
    }
    for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".html")) {
        let inside = name.contains('/');
        for link in text.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
            let (link, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = match (link.strip_prefix("../"), inside) {
                _ if link.is_empty() => name,
                (Some(link), true) => link,
                (None, false) => link,
                _ => panic!("{name}: {link}"),
            };
            let page = files.iter().find(|(name, _)| name == target);
            let has_anchor = |text: &str| anchor.is_empty() || text.contains(&format!("id=\"{anchor}\""));
            assert!(page.is_some_and(|(_, text)| has_anchor(text)), "{name}: {link}#{anchor}");
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

#[test]
fn an_agents_page_has_its_limits_and_since_and_until_when_it_hangs() {
    let agent = page("agents/opencode.html");
    assert!(agent.contains("Hangs in 1.2.27, the oldest that was tried, until 1.2.27 (not in 1.3.0)."), "{agent}");
    assert!(agent.contains(">302 s</td>") && agent.contains("exited, 2 runs, 3 ms apart, 2026-11-28"), "{agent}");
    assert!(
        agent.contains("not tried: its hooks are plugins") && agent.contains("not tried: no row has it"),
        "{agent}"
    );
    let squares: Vec<&str> = agent.split("<ol class=\"band\">").nth(1).unwrap().split("<li class=\"").skip(1).collect();
    let classes: Vec<&str> = squares.iter().filter_map(|square| square.split('"').next()).collect();
    assert_eq!(classes, ["k-H", "k-r", "k-u", "none"]);
}

#[test]
fn a_claims_page_has_both_releases_and_the_boundary_and_shows_texts_as_texts() {
    let claim = page("claims/opencode-question-1.html");
    assert!(claim.contains("&lt;for ever&gt;") && !claim.contains("<for ever>"), "{claim}");
    for part in [
        "confirmed",
        "a/b#7",
        "opencode 1.2.27",
        "60.0 s",
        "neighbours in the registry",
        "rehang bisect opencode question",
    ] {
        assert!(claim.contains(part), "{part}: {claim}");
    }
}

#[test]
fn no_name_leads_out_of_the_sites_folder() {
    assert_eq!(file("../../etc/passwd"), "..-..-etc-passwd.html");
    assert_eq!(hangs::file("mcp-init-never[claude]"), "mcp-init-never.html");
}

#[test]
fn since_and_until_name_the_neighbours_that_were_tried() {
    let when = |outcomes: &[Option<OutcomeKind>]| {
        let seen =
            |outcome: &Option<OutcomeKind>| outcome.map(|outcome| Seen { outcome: Some(outcome), ..Seen::default() });
        let line = Line { cells: outcomes.iter().map(seen).collect(), ..Line::default() };
        let versions = (1..=outcomes.len()).map(|minor| format!("1.{minor}")).collect();
        hangs::when(&Agent { versions, ..Agent::default() }, &line)
    };
    let (hung, ended, undecided) =
        (Some(OutcomeKind::Hung), Some(OutcomeKind::Completed), Some(OutcomeKind::Undecided));
    assert_eq!(
        when(&[ended, None, hung, undecided]),
        "Hangs since 1.3 (not in 1.1), still in 1.3, the newest that was tried."
    );
    assert_eq!(
        when(&[hung, ended, Some(OutcomeKind::NoEnd)]),
        "Hangs in 1.1, the oldest that was tried, until 1.1 (not in 1.2); and since 1.3 (not in 1.2), still in 1.3, the newest that was tried."
    );
    assert_eq!(when(&[None, hung]), "Hangs in 1.2, the only one that was tried.");
    assert_eq!(when(&[ended, ended]), "Hangs in none of 2 releases, 1.1 to 1.2.");
    assert_eq!(when(&[undecided]), "Not decided.");
}
