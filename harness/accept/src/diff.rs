//! Two texts, line by line, as people read a change.
//!
//! Invariant: the lines with ` ` and `-` are those of the first text around its changes, those with ` ` and `+` those of
//! the second.

/// Lines that are shown around a change.
const AROUND: usize = 3;
/// Lines that are compared each with each; of longer changes all old lines come before all new ones.
const COMPARED: usize = 1_500;

/// The changed lines, each after `-` or `+`, and some around them after a blank.
pub fn diff(before: &str, after: &str) -> Vec<String> {
    let (a, b): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a_rest, b_rest) = (&a[head..], &b[head..]);
    let tail = a_rest.iter().rev().zip(b_rest.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&a_rest[..a_rest.len() - tail], &b_rest[..b_rest.len() - tail]);
    let mut all: Vec<(char, &str)> = a[..head].iter().map(|line| (' ', *line)).collect();
    all.extend(middle(old, new));
    all.extend(a[a.len() - tail..].iter().map(|line| (' ', *line)));
    let near = |at: usize| all[at.saturating_sub(AROUND)..(at + AROUND + 1).min(all.len())].iter().any(|l| l.0 != ' ');
    let mut out: Vec<String> = Vec::new();
    let mut gap = true;
    for (at, (sign, line)) in all.iter().enumerate() {
        if near(at) {
            out.push(format!("{sign} {line}").trim_end().to_owned());
            gap = false;
        } else if !gap {
            out.push("…".to_owned());
            gap = true;
        }
    }
    if out.last().is_some_and(|line| line == "…") {
        out.pop();
    }
    out
}

/// The longest common subsequence, by the table.
fn middle<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(char, &'t str)> {
    let mut out = Vec::new();
    if old.len() > COMPARED || new.len() > COMPARED {
        out.extend(old.iter().map(|line| ('-', *line)));
        out.extend(new.iter().map(|line| ('+', *line)));
        return out;
    }
    let mut longest = vec![vec![0_u16; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            longest[i][j] = match old[i] == new[j] {
                true => longest[i + 1][j + 1] + 1,
                false => longest[i + 1][j].max(longest[i][j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if i < old.len() && (j == new.len() || longest[i + 1][j] >= longest[i][j + 1]) {
            out.push(('-', old[i]));
            i += 1;
        } else {
            out.push(('+', new[j]));
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn what_changed_with_three_lines_around() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\n";
        let after = "a\nb\nc\nd\ne\nF\ng\nh\ni\nj\nk\nl\nn\nm\n";
        let shown = diff(before, after).join("\n");
        assert_eq!(shown, "  c\n  d\n  e\n- f\n+ F\n  g\n  h\n  i\n  j\n  k\n  l\n+ n\n  m");
        assert_eq!(diff(before, before), Vec::<String>::new());
    }
}
