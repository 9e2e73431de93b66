//! Whether a reply fits its questions, and whether questions fit PawWork's limits.
//!
//! Invariant: the same rules in both generations. The ledger destroyed a question over them; external results
//! answer 422 in the same words and keep it.

use rehang_scenario::turns::Question;
use serde_json::Value;

/// Reads `answers`: a list of labels for each question; `None` if the body has no such shape.
pub(super) fn answers(body: &Value) -> Option<Vec<Vec<String>>> {
    let lists = body["answers"].as_array()?;
    let labels = |list: &Value| list.as_array()?.iter().map(|label| label.as_str().map(str::to_owned)).collect();
    lists.iter().map(labels).collect()
}

/// Why a reply does not fit, in the decoder's word (6ab984202). Empty and blank answers always fit: skipped.
pub(super) fn misfit(questions: &[Question], answers: &[Vec<String>]) -> Option<&'static str> {
    if questions.len() != answers.len() {
        return Some("answer_count_mismatch");
    }
    questions.iter().zip(answers).find_map(|(question, answers)| {
        let mut given = answers.iter().map(|label| label.trim()).filter(|label| !label.is_empty());
        if !question.multiple && given.clone().count() > 1 {
            return Some("multi_answer_to_single_select");
        }
        let offered = |label: &str| question.options.iter().any(|choice| choice.label.trim() == label);
        let closed = question.custom == Some(false);
        (closed && !given.all(offered)).then_some("label_not_in_options")
    })
}

/// Why questions cannot be asked (2837fabbb): 1–4 questions of at most 200 characters, header at most 30, 2–4
/// options, label and description at most 50, no label twice.
pub(super) fn unaskable(questions: &[Question]) -> Option<String> {
    if !(1..=4).contains(&questions.len()) {
        return Some(format!("{} questions: 1 to 4 can be asked", questions.len()));
    }
    questions.iter().find_map(|question| {
        let labels: Vec<&str> = question.options.iter().map(|choice| choice.label.trim()).collect();
        let longest = |texts: &mut dyn Iterator<Item = &String>| texts.map(|t| t.chars().count()).max().unwrap_or(0);
        let label = longest(&mut question.options.iter().map(|choice| &choice.label));
        let description = longest(&mut question.options.iter().map(|choice| &choice.description));
        if question.question.chars().count() > 200 {
            Some("a question has at most 200 characters".to_owned())
        } else if question.header.chars().count() > 30 {
            Some("a header has at most 30 characters".to_owned())
        } else if !(2..=4).contains(&labels.len()) {
            Some(format!("{} options: 2 to 4 can be given", labels.len()))
        } else if label > 50 || description > 50 {
            Some("a label or description has at most 50 characters".to_owned())
        } else {
            let twice = labels.iter().enumerate().find(|(i, label)| labels[..*i].contains(label));
            twice.map(|(_, label)| format!("duplicate option label: {label}"))
        }
    })
}
