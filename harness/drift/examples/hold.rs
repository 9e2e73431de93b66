use rehang_drift::{mask::Mask, opencode::Pair};
use rehang_fakes::opencode::engine::Setup;
use rehang_model_server::{Limits, Script};
use rehang_scenario::turns::Turn;
use rehang_wire::model::{Api, script::Chunk};
use serde_json::Value;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let (version, root) = (&a[1], &a[2]);
    let ex: Value = serde_json::from_str(&std::fs::read_to_string(format!("{root}/ex.json")).unwrap()).unwrap();
    let tools: std::collections::BTreeMap<_, _> = serde_json::from_value(ex["base"]["tools"].clone()).unwrap();
    let mut all: Vec<Turn> = Vec::new();
    for (_, e) in ex["ex"].as_object().unwrap() {
        all.extend(serde_json::from_value::<Vec<Turn>>(e[0].clone()).unwrap());
    }
    let per = a.get(3).is_some();
    let mut pair =
        Pair::new(version, Setup { turns: all.clone(), question_registered: true, ..Setup::default() }).unwrap();
    let mut mask = Mask::new(&[(&format!("{root}/home/project"), "/home/agent/proj"), (root, "/home/agent")]);
    for (name, e) in ex["ex"].as_object().unwrap() {
        let turns: Vec<Turn> = serde_json::from_value(e[0].clone()).unwrap();
        if per {
            pair = Pair::new(version, Setup { turns: turns.clone(), question_registered: true, ..Setup::default() })
                .unwrap();
        }
        let script = Script {
            api: Api::OpenAiChat,
            model: "m".into(),
            turns: turns.clone(),
            faults: vec![],
            main: vec![],
            side: vec![],
            preload: 0,
            tools: tools.clone(),
            limits: Limits::default(),
        };
        let text = std::fs::read_to_string(format!("{root}/rec/{name}.jsonl")).unwrap();
        let lines: Vec<Value> = text.lines().map(|l| mask.value(&serde_json::from_str(l).unwrap())).collect();
        let mut n = 0;
        let mut said = |path: &str, response: &rehang_scenario::turns::Response, answer: &str| {
            n += 1;
            let r = if per {
                response.clone()
            } else {
                let _ = path;
                response.clone()
            };
            let (chunks, _) = script.chunks(&r, path, n, answer);
            let mut v = vec![rehang_wire::model::ModelEvent::Start];
            v.extend(chunks.into_iter().filter_map(|c| if let Chunk::Event(e) = c { Some(e) } else { None }));
            v
        };
        let c = pair.play(name, &lines, &mut said);
        println!("{name}: {} events, {} differences", c.events, c.differences.len());
        for d in c.differences {
            println!("{d}");
        }
    }
}
