//! A plain program's faults in an agent's messages, for a wrapper that asks for messages instead of text.
//!
//! Such a scenario is about processes and streams: a child that holds stdout, a stderr that fills, an exit that comes too
//! early. What the program prints matters only as output. So each line becomes a message of the agent that the wrapper
//! calls, as the fake of that agent writes it, and a good end gives a result first; all else is played as it is.
//!
//! Invariant: a program that ends well in text ends well in messages: it gives a whole result before its exit.

use rehang_scenario::turns::{Every, Fill, Final};
use rehang_scenario::{Span, Step};
use serde_json::Value;

/// What the agent says in the template, in place of the program's own words. No part of a message is this by itself.
pub const WORDS: &str = "What the program said.";
/// The most bytes of one text: a step that writes more is played as it is.
const TEXT_BYTES: u32 = 1 << 20;

/// The messages of one short run of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// What it says before its text.
    begin: Vec<String>,
    /// The message with its text; `None` if the result alone has it.
    text: Option<String>,
    /// The rest, the result last.
    end: Vec<String>,
}

impl Template {
    /// From the output of an agent that said [`WORDS`] and ended; `None` if that are no messages with this text.
    pub fn of(output: &str) -> Option<Template> {
        let lines: Vec<String> = output.lines().map(str::to_owned).collect();
        let has_words = |line: &&String| line.contains(WORDS);
        let last = lines.len().checked_sub(1)?;
        let is_message = |line: &String| serde_json::from_str::<Value>(line).is_ok();
        // a whole object over several lines is one message
        if !lines.iter().all(is_message) {
            serde_json::from_str::<Value>(output).ok()?;
            return Some(Template { begin: Vec::new(), text: None, end: lines });
        }
        let at = lines.iter().position(|line| has_words(&line)).unwrap_or(last);
        let (begin, rest) = lines.split_at(at);
        let (text, end) = if at == last { (None, rest) } else { (rest.first().cloned(), &rest[1..]) };
        Some(Template { begin: begin.to_vec(), text, end: end.to_vec() })
    }

    /// A message with other words; they are no JSON yet.
    fn with(message: &str, words: &str) -> Step {
        Step::Print(Template::line(message, words))
    }

    fn line(message: &str, words: &str) -> String {
        let quoted = Value::from(words).to_string();
        message.replace(WORDS, &quoted[1..quoted.len() - 1])
    }

    /// The message with the text.
    fn text(&self, words: &str) -> Option<Step> {
        self.text.as_ref().map(|text| Template::with(text, words))
    }

    /// A program's steps in messages. A result that it states before its end is given then, in the agent's own messages.
    /// Only its own words become messages: what its children print they print.
    pub fn play(&self, steps: &[Step]) -> Vec<Step> {
        let gives = steps.iter().any(|step| matches!(step, Step::Result(_)));
        let words =
            steps.iter().rev().find_map(|step| if let Step::Print(words) = step { Some(&**words) } else { None });
        let end = || self.end.iter().map(|line| Template::with(line, words.unwrap_or_default()));
        let mut has_ended = gives;
        let mut played: Vec<Step> = self.begin.iter().cloned().map(Step::Print).collect();
        for step in steps {
            match step {
                Step::Exit(0) if !has_ended => {
                    played.extend(end());
                    played.push(Step::Exit(0));
                    has_ended = true;
                }
                // the step pads it, however long it is to be
                Step::Result(result) if self.is_claudes() && !result.cut => {
                    played.extend(self.text(&result.text));
                    played.push(step.clone());
                }
                Step::Result(result) => played.push(Step::Result(self.result(result))),
                Step::Print(words) | Step::Prompt(words) => played.extend(self.text(words)),
                Step::Fill(Fill { bytes, stderr: false }) if *bytes <= TEXT_BYTES => {
                    played.extend(self.text(&"x".repeat(*bytes as usize)));
                }
                Step::Every(every) if !every.stderr => match self.text(&every.print) {
                    Some(Step::Print(print)) => played.push(Step::Every(Every { print, ..every.clone() })),
                    // one that says all at its end is silent meanwhile
                    _ if every.times > 0 => {
                        let ms = every.every.as_ms().saturating_mul(u64::from(every.times));
                        played.push(Step::Sleep(Span::ms(ms)));
                    }
                    _ => played.push(Step::Hold),
                },
                other => played.push(other.clone()),
            }
        }
        if !has_ended {
            played.extend(end());
        }
        played
    }

    /// Whether the step that gives a result writes it as this agent does.
    fn is_claudes(&self) -> bool {
        let own = self.end.last().and_then(|line| serde_json::from_str::<Value>(line).ok());
        own.is_some_and(|own| own["type"] == "result" && own["result"] == WORDS)
    }

    /// A program's own result: the text, padded to as many bytes as the program's, and the messages that end a run.
    fn result(&self, result: &Final) -> Final {
        let lines = |words: &str| -> Vec<String> {
            let all = self.text.iter().chain(&self.end);
            all.map(|line| Template::line(line, words)).collect()
        };
        // the words may be in more than one message
        let length = |words: &str| lines(words).iter().map(|line| line.len() + 1).sum::<usize>();
        let times = lines("").iter().zip(lines("x")).filter(|(without, with)| *without != with).count().max(1);
        let missing = (result.bytes as usize).saturating_sub(length(&result.text));
        let text = format!("{}{}", result.text, "x".repeat(missing.div_ceil(times)));
        Final { lines: lines(&text), text, bytes: 0, cut: result.cut }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rehang_scenario::turns::Background;

    const STREAM: &str = "{\"type\":\"system\"}\n{\"type\":\"assistant\",\"text\":\"What the program said.\"}\n\
                          {\"type\":\"result\",\"result\":\"What the program said.\"}\n";

    fn text(words: &str) -> String {
        format!("{{\"type\":\"assistant\",\"text\":\"{words}\"}}")
    }

    fn result(words: &str) -> String {
        format!("{{\"type\":\"result\",\"result\":\"{words}\"}}")
    }

    fn own_bytes(step: &Step) -> usize {
        let Step::Result(result) = step else { return 0 };
        result.lines.iter().map(|line| line.len() + 1).sum()
    }

    fn print(text: &str) -> Step {
        Step::Print(text.to_owned())
    }

    #[test]
    fn words_become_messages_and_who_ends_well_gives_a_result() {
        let template = Template::of(STREAM).expect("messages");
        let child = Step::Background(Background {
            name: "server".to_owned(),
            does: vec![print("raw"), Step::Hold],
            stdout: None,
            stderr: None,
            piped: false,
            setsid: false,
            double_fork: false,
        });
        let play = |steps: &[Step]| template.play(steps);
        let text = |words: &str| print(&self::text(words));
        let result = |words: &str| print(&self::result(words));
        let system = || print("{\"type\":\"system\"}");
        assert_eq!(
            play(&[print("a \"word\""), child.clone(), print("done"), Step::Exit(0)]),
            [system(), text("a \\\"word\\\""), child, text("done"), result("done"), Step::Exit(0)]
        );
        // one that never ends gives no result, one that ends does
        assert_eq!(play(&[print("on"), Step::Hold])[..3], [system(), text("on"), Step::Hold]);
        let sleep = || Step::Sleep(Span::secs(9));
        assert_eq!(play(&[sleep()]), [system(), sleep(), result("")]);
        assert_eq!(play(&[sleep(), Step::Exit(1)])[..3], [system(), sleep(), Step::Exit(1)]);
        // a result that it states is stated, also before its end
        let stated =
            |text: &str, bytes| Step::Result(Final { text: text.to_owned(), bytes, cut: false, lines: Vec::new() });
        let two = [stated("one", 70_000), sleep(), stated("two", 0)];
        assert_eq!(play(&two), [system(), text("one"), two[0].clone(), sleep(), text("two"), two[2].clone()]);
        // and in other messages too, as long as it is to be
        let ends = "{\"type\":\"turn.completed\"}";
        let other = Template::of(&STREAM.replace(&self::result(WORDS), ends)).expect("messages");
        let own = |text: &str| {
            let lines = vec![self::text(text), ends.to_owned()];
            Step::Result(Final { text: text.to_owned(), bytes: 0, cut: false, lines })
        };
        let padded = format!("one{}", "x".repeat(100 - own_bytes(&own("one"))));
        assert_eq!(other.play(&[stated("one", 100), stated("two", 0)]), [system(), own(&padded), own("two")]);
    }

    #[test]
    fn one_object_at_the_end_is_all_that_is_said() {
        let template = Template::of("{\n \"response\": \"What the program said.\"\n}\n").expect("a message");
        let sleep = || Step::Sleep(Span::secs(9));
        let played = template.play(&[print("one"), sleep(), print("two")]);
        assert_eq!(played, [sleep(), print("{"), print(" \"response\": \"two\""), print("}")]);
        assert_eq!(Template::of("What the program said.\n"), None);
        assert_eq!(Template::of(""), None);
    }
}
