//! Words and lines of a shell script.
//!
//! Invariant: what a word says is passed on as it is; only the places of the sandbox become variables.

use rehang_live::MODEL_PORT;
use rehang_live::sandbox::{BIN, CWD, HOME};

/// The folder of the release in an order that is made for a script. It is below `/usr` since a sandbox shows that anyway,
/// so that nothing is looked for there.
pub const RELEASE: &str = "/usr/lib/the-release";
/// The port of the script's model. Not the one of the sandbox, which is often in use on a real machine.
pub const PORT: u16 = 8_377;

/// The places of the sandbox, and what they are in the script: a variable and the rest of the path.
const PLACES: [(&str, &str, &str); 4] =
    [(RELEASE, "$RELEASE", ""), (CWD, "$W", "/project"), (HOME, "$W", "/home"), (BIN, "$W", "/bin")];

/// A word that the shell passes on as it is.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    match text {
        "" => "''".to_owned(),
        text if text.chars().all(plain) => text.to_owned(),
        text => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A word, with the places of the sandbox replaced by those of the script.
pub fn word(text: &str) -> String {
    let text = text.replace(&format!("127.0.0.1:{MODEL_PORT}"), &format!("127.0.0.1:{PORT}"));
    let (mut out, mut rest) = (String::new(), text.as_str());
    while let Some((at, place, variable, below)) = first_place(rest) {
        if at > 0 {
            out.push_str(&quoted(&rest[..at]));
        }
        out.push_str(&format!("\"{variable}\"{below}"));
        rest = &rest[at + place.len()..];
    }
    if !rest.is_empty() || out.is_empty() {
        out.push_str(&quoted(rest));
    }
    out
}

fn first_place(text: &str) -> Option<(usize, &'static str, &'static str, &'static str)> {
    // of places at the same position the longest, which comes first
    let found =
        PLACES.iter().filter_map(|(place, variable, below)| Some((text.find(place)?, *place, *variable, *below)));
    found.min_by_key(|(at, ..)| *at)
}

/// The line that writes a file. JSON is written without its white space.
pub fn file(path: &str, text: &str) -> String {
    let json = serde_json::from_str::<serde_json::Value>(text).map(|json| json.to_string());
    let text = json.unwrap_or_else(|_| text.to_owned());
    let lines: Vec<String> = text.lines().filter(|line| !line.trim().is_empty()).map(word).collect();
    format!("printf '%s\\n' {} > {}", lines.join(" "), word(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_variables_and_the_rest_stays_as_it_is() {
        assert_eq!(word("/home/agent/project/a"), r#""$W"/project/a"#);
        assert_eq!(word("--x={/home/agent/.y}"), r#"'--x={'"$W"/home'/.y}'"#);
        assert_eq!(word("http://127.0.0.1:8080/v1"), "http://127.0.0.1:8377/v1");
        assert_eq!((word(""), word("it's")), ("''".to_owned(), r"'it'\''s'".to_owned()));
    }

    #[test]
    fn a_file_is_one_line() {
        assert_eq!(file("/home/agent/x.json", "{\n \"a\": 1 }\n"), r#"printf '%s\n' '{"a":1}' > "$W"/home/x.json"#);
        assert_eq!(
            file("/home/agent/x.toml", "\na = 1\n\nb = 2\n"),
            r#"printf '%s\n' 'a = 1' 'b = 2' > "$W"/home/x.toml"#
        );
    }
}
