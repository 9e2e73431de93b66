//! The fake's `GET` routes against those of the releases: `fake-agents/tests/golden/opencode-routes`, a file a release.
//!
//! A file is facts of a release (which routes answer with 200, and the kinds of what they answer), recorded by
//! `rehang-lab drift --routes --record DIR`; the same command shows whether a release still answers so.

use crate::golden::files;
use rehang_drift::routes::{Recording, compare, of_fake};
use rehang_wire::opencode::{Called, Shape};
use serde_json::json;

fn recordings() -> Vec<Recording> {
    let paths = files("opencode-routes");
    paths
        .iter()
        .map(|path| {
            let text = std::fs::read_to_string(path).expect("readable");
            let recording: Recording = serde_json::from_str(&text).expect("a recording");
            assert_eq!(path.file_stem().and_then(|stem| stem.to_str()), Some(recording.release.as_str()));
            recording
        })
        .collect()
}

#[test]
fn each_release_and_its_fake_answer_the_same_routes_with_the_same_keys() {
    let all = recordings();
    let routes = [("1.0.185", 72), ("1.18.33", 164), ("1.2.15", 92), ("1.2.27", 96), ("1.3.2", 96)];
    let releases: Vec<&str> = all.iter().map(|recording| recording.release.as_str()).collect();
    assert_eq!(releases, routes.map(|(release, _)| release));
    for (recording, (_, count)) in all.into_iter().zip(routes) {
        let fake = of_fake(&recording.release, &recording.answers.calls).expect("a fake plays it");
        let compared = compare(&recording.answers, &fake);
        let differences: Vec<String> = compared.differences.iter().map(|d| d.at.clone()).collect();
        assert_eq!(differences, [""; 0], "{}", recording.release);
        assert_eq!(compared.events, count, "{}: its routes", recording.release);
    }
}

#[test]
fn a_planted_difference_is_seen() {
    let recording = recordings().into_iter().find(|one| one.release == "1.2.27").expect("1.2.27 is recorded");
    let fake = of_fake("1.2.27", &recording.answers.calls).expect("a fake plays it");
    let with = |path: &str, shape: Option<Shape>| {
        let mut answers = recording.answers.clone();
        match shape {
            Some(shape) => drop(answers.routes.insert(path.to_owned(), shape)),
            None => drop(answers.routes.remove(path)),
        }
        compare(&answers, &fake).differences.len()
    };
    assert_eq!(with("/global/health", None), 1, "a route that the release has not");
    let calls = |name: &str, called: Called| {
        let mut answers = recording.answers.clone();
        answers.calls.insert(name.to_owned(), called);
        compare(&answers, &fake).differences.len()
    };
    let fork = "POST /session/{sessionID}/fork";
    assert_eq!(calls(fork, Called::of(404, "{}")), 1, "another status");
    assert_eq!(calls(fork, Called::of(200, "true")), 1, "another answer");
    let titled = r#"POST /session {"title":"named"}"#;
    assert!(recording.answers.calls.contains_key(titled), "what a client sends is called too");
    assert!(calls(titled, Called::of(200, "{}")) > 1, "other keys with a body");
    assert_eq!(calls("POST /new", Called::of(200, "true")), 1, "a call that the fake does not know");
    assert_eq!(with("/global/new", Some(Shape::of(&json!({})))), 1, "a route that the fake has not");
    assert_eq!(with("/global/health", Some(Shape::of(&json!({ "healthy": true })))), 1, "a key more");
    let healthy = json!({ "healthy": "yes", "version": "1" });
    assert_eq!(with("/global/health", Some(Shape::of(&healthy))), 1, "another kind of value");
}
