//! Whether a reply fits its questions, and whether questions fit PawWork's limits.
//!
//! Invariant: the same rules in both generations. The ledger destroyed a question over them; external results
//! answer 422 in the same words and keep it.

use rehang_words::Question;
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

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_words::Choice;
    use serde_json::json;

    fn question(options: &[&str], multiple: bool, custom: Option<bool>) -> Question {
        let choice = |label: &&str| Choice { label: (*label).to_owned(), description: String::new() };
        let options = options.iter().map(choice).collect();
        Question { question: "q".to_owned(), header: "h".to_owned(), options, multiple, custom }
    }

    #[test]
    fn answers_are_lists_of_labels() {
        assert_eq!(answers(&json!({"answers": []})), Some(vec![]));
        assert_eq!(answers(&json!({"answers": [["a", "b"], []]})), Some(vec![vec!["a".into(), "b".into()], vec![]]));
        for body in
            [json!({}), json!([]), json!({"answers": "a"}), json!({"answers": ["a"]}), json!({"answers": [[1]]})]
        {
            assert_eq!(answers(&body), None, "{body}");
        }
    }

    #[test]
    fn a_reply_fits_its_questions() {
        let fits = |question: Question, given: &[&str]| {
            misfit(&[question], &[given.iter().map(|label| (*label).to_owned()).collect()])
        };
        let (count, single, label) = ("answer_count_mismatch", "multi_answer_to_single_select", "label_not_in_options");
        let closed = |multiple| question(&[" A", "B "], multiple, Some(false));
        for none in [&[][..], &[""], &[" ", ""]] {
            assert_eq!((fits(closed(false), none), fits(closed(true), none)), (None, None), "skipped");
        }
        assert_eq!(fits(closed(false), &["A "]), None);
        assert_eq!(fits(closed(false), &["A", " "]), None, "a blank one does not count");
        assert_eq!(fits(closed(false), &["A", "B"]), Some(single));
        assert_eq!(fits(closed(true), &["A", "B"]), None);
        assert_eq!(fits(closed(true), &["A", "C"]), Some(label));
        for open in [None, Some(true)] {
            assert_eq!(fits(question(&["A"], false, open), &["C"]), None);
        }
        assert_eq!(misfit(&[closed(false)], &[]), Some(count));
        assert_eq!(misfit(&[], &[vec![]]), Some(count));
        assert_eq!(misfit(&[], &[]), None);
        assert_eq!(misfit(&[closed(true), closed(true)], &[vec!["A".into()], vec!["C".into()]]), Some(label));
    }

    #[test]
    fn the_limits_of_a_question_can_be_asked_and_one_more_cannot() {
        let good = || question(&["A", "B"], false, None);
        let of = |change: &dyn Fn(&mut Question)| {
            let mut question = good();
            change(&mut question);
            unaskable(&[good(), question])
        };
        assert_eq!([1, 2, 3, 4].map(|n| unaskable(&vec![good(); n])), [const { None }; 4]);
        assert_eq!(unaskable(&[]).as_deref(), Some("0 questions: 1 to 4 can be asked"));
        assert_eq!(unaskable(&vec![good(); 5]).as_deref(), Some("5 questions: 1 to 4 can be asked"));
        type Change = fn(&mut Question, usize);
        // characters, not bytes
        let changes: [(Change, usize, &str); 4] = [
            (|q, n| q.question = "ä".repeat(n), 200, "a question has at most 200 characters"),
            (|q, n| q.header = "ä".repeat(n), 30, "a header has at most 30 characters"),
            (|q, n| q.options[1].label = "ä".repeat(n), 50, "a label or description has at most 50 characters"),
            (|q, n| q.options[0].description = "ä".repeat(n), 50, "a label or description has at most 50 characters"),
        ];
        for (change, most, why) in changes {
            assert_eq!(of(&|q| change(q, most)), None);
            assert_eq!(of(&|q| change(q, most + 1)).as_deref(), Some(why));
        }
        let options = |labels: &[&str]| unaskable(&[question(labels, false, None)]);
        assert_eq!((options(&["A", "B"]), options(&["A", "B", "C", "D"])), (None, None));
        assert_eq!(options(&["A"]).as_deref(), Some("1 options: 2 to 4 can be given"));
        assert_eq!(options(&["A", "B", "C", "D", "E"]).as_deref(), Some("5 options: 2 to 4 can be given"));
        assert_eq!(options(&["A", "B", " A "]).as_deref(), Some("duplicate option label: A"));
    }
}
