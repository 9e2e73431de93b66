//! The accessibility tree of a page, as Chromium gives it to screen readers.
//!
//! Invariant: what can be used or read as a whole has a name, headings go down one step at a time, a table has heads.

use serde_json::Value;
use std::collections::BTreeMap;

/// Roles that say nothing to a listener without a name.
const NAMED: [&str; 11] = [
    "link",
    "button",
    "image",
    "checkbox",
    "combobox",
    "textbox",
    "searchbox",
    "table",
    "heading",
    "DisclosureTriangle",
    "slider",
];

/// What is wrong with the nodes of `Accessibility.getFullAXTree`, a line each.
pub(super) fn complaints(nodes: &[Value]) -> Vec<String> {
    let by_id: BTreeMap<&str, &Value> =
        nodes.iter().filter_map(|node| Some((node["nodeId"].as_str()?, node))).collect();
    let mut found = Vec::new();
    let mut level = 0;
    let mut tables: Vec<(String, bool)> = Vec::new();
    let mut todo: Vec<&Value> = nodes.first().into_iter().collect();
    // in the order in which it is read
    while let Some(node) = todo.pop() {
        let below = node["childIds"].as_array().into_iter().flatten().filter_map(|id| by_id.get(id.as_str()?).copied());
        todo.extend(below.collect::<Vec<_>>().into_iter().rev());
        if node["ignored"] == true {
            continue;
        }
        let role = node["role"]["value"].as_str().unwrap_or_default();
        let name = node["name"]["value"].as_str().unwrap_or_default().trim();
        if NAMED.contains(&role) && name.is_empty() {
            found.push(format!("a {role} without a name"));
        }
        match role {
            "heading" => {
                let own = node["properties"].as_array().into_iter().flatten().find(|of| of["name"] == "level");
                let own = own.and_then(|of| of["value"]["value"].as_u64()).unwrap_or(0);
                if own > level + 1 {
                    found.push(format!("the heading {name:?} of level {own} comes after one of level {level}"));
                }
                level = own;
            }
            "table" => tables.push((name.to_owned(), false)),
            "columnheader" | "rowheader" => tables.iter_mut().rev().take(1).for_each(|(_, heads)| *heads = true),
            _ => {}
        }
    }
    if nodes.len() < 10 {
        found.push(format!("hardly a node: {}", nodes.len()));
    }
    found.extend(tables.iter().filter(|(_, heads)| !heads).map(|(name, _)| format!("the table {name:?} has no heads")));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn node(id: u32, role: &str, name: &str, children: &[u32]) -> Value {
        let children: Vec<String> = children.iter().map(u32::to_string).collect();
        json!({ "nodeId": id.to_string(), "role": { "value": role }, "name": { "value": name }, "childIds": children })
    }

    fn heading(id: u32, level: u32) -> Value {
        let mut node = node(id, "heading", &format!("h{level}"), &[]);
        node["properties"] = json!([{ "name": "level", "value": { "value": level } }]);
        node
    }

    fn page(more: Vec<Value>) -> Vec<String> {
        let ids: Vec<u32> = (2..more.len() as u32 + 2).collect();
        let filler = (100..110).map(|id| node(id, "StaticText", "x", &[]));
        let root = node(1, "RootWebArea", "page", &ids);
        complaints(&std::iter::once(root).chain(more).chain(filler).collect::<Vec<_>>())
    }

    #[test]
    fn what_a_listener_cannot_follow_is_named() {
        assert_eq!(page(vec![heading(2, 1), heading(3, 2), heading(4, 2), heading(5, 3)]), [""; 0]);
        assert_eq!(
            page(vec![heading(2, 1), heading(3, 3)]),
            ["the heading \"h3\" of level 3 comes after one of level 1"]
        );
        assert_eq!(page(vec![node(2, "button", " ", &[]), node(3, "link", "go", &[])]), ["a button without a name"]);
        let table = |head: &str| vec![node(2, "table", "t", &[3]), node(3, head, "a", &[])];
        assert_eq!(page(table("columnheader")), [""; 0]);
        assert_eq!(page(table("cell")), ["the table \"t\" has no heads"]);
        let mut hidden = node(2, "image", "", &[]);
        hidden["ignored"] = json!(true);
        assert_eq!(page(vec![hidden]), [""; 0]);
        assert_eq!(complaints(&[]), ["hardly a node: 0"]);
    }
}
