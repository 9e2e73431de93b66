//! Texts and tables in lines of a given width.
//!
//! Invariant: no line is wider than asked, except in a table whose numbers alone are wider.

use crate::timeline::{columns, cut};
use std::fmt::Write as _;

/// The least number of columns of a name.
pub(crate) const NAME_MIN: usize = 8;

/// Texts in lines of at most `width` columns, with `between` between those of one line; a wider text is cut.
pub fn flow(texts: &[String], between: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for text in texts.iter().map(|text| cut(text, width)) {
        let more = columns(&text);
        if used > 0 && used + columns(between) + more <= width {
            out.push_str(between);
            used += columns(between) + more;
        } else {
            out.push_str(if used > 0 { "\n" } else { "" });
            used = more;
        }
        out.push_str(&text);
    }
    out + "\n"
}

/// The first column left-aligned, the others right-aligned, in lines of at most `width` columns: two blanks between
/// columns, or else one, or else names are cut.
pub(crate) fn aligned(table: &[Vec<String>], width: usize) -> String {
    let len = table.first().map_or(0, Vec::len);
    let widest = |n: usize| table.iter().map(|row| columns(&row[n])).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..len).map(widest).collect();
    let gap = if widths.iter().sum::<usize>() + 2 * len.saturating_sub(1) <= width { 2 } else { 1 };
    let others: usize = widths.iter().skip(1).map(|width| width + gap).sum();
    if let Some(first) = widths.first_mut() {
        *first = (*first).min(width.saturating_sub(others)).max(NAME_MIN.min(*first));
    }
    let mut out = String::new();
    for row in table {
        for (n, cell) in row.iter().enumerate() {
            let cell = if n == 0 { &shortened(cell, widths[0]) } else { cell };
            let blanks = widths[n].saturating_sub(columns(cell));
            let _ = match n {
                0 => write!(out, "{cell}{:blanks$}", ""),
                _ => write!(out, "{:1$}{cell}", "", gap + blanks),
            };
        }
        out.truncate(out.trim_end().len());
        out.push('\n');
    }
    out
}

/// A name in at most `width` columns: both the start and the end of a stack's name tell it from others. Names consist
/// of narrow characters.
pub(crate) fn shortened(name: &str, width: usize) -> String {
    let count = name.chars().count();
    if count <= width {
        return name.to_owned();
    }
    let tail = width.saturating_sub(1) / 2;
    let head = width.saturating_sub(1) - tail;
    name.chars().take(head).chain(['…']).chain(name.chars().skip(count - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_flows_fits_and_is_all_there() {
        let texts = ["r resolved", "· untouched", "m missed"].map(str::to_owned);
        assert_eq!(flow(&texts, " · ", 80), "r resolved · · untouched · m missed\n");
        assert_eq!(flow(&texts, " · ", 24), "r resolved · · untouched\nm missed\n");
        assert_eq!(flow(&texts, " · ", 23), "r resolved\n· untouched · m missed\n");
        assert_eq!(flow(&texts, " · ", 8), "r resol…\n· untou…\nm missed\n");
        assert_eq!(flow(&[], " · ", 8), "\n");
    }

    #[test]
    fn a_table_narrows_its_gaps_first_and_then_its_names() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = [row(["outside", "cells", "missed"]), row(["auto-answer@r1", "7", ""])];
        // 14 + 5 + 6 columns of text, and two gaps
        assert_eq!(aligned(&table, 29), "outside         cells  missed\nauto-answer@r1      7\n");
        assert_eq!(aligned(&table, 28), "outside        cells missed\nauto-answer@r1     7\n");
        assert_eq!(aligned(&table, 27), "outside        cells missed\nauto-answer@r1     7\n");
        assert_eq!(
            aligned(&table, 26),
            "outside       cells missed\nauto-a…swer@r1     7\n".replace("a…swer", "a…wer")
        );
        // a name keeps 8 columns, even if the line gets too wide
        assert_eq!(aligned(&table, 5), "outside  cells missed\nauto…@r1     7\n");
        assert_eq!(aligned(&[], 5), "");
    }

    #[test]
    fn a_name_keeps_its_begin_and_its_end() {
        let short = |width| shortened("watcher@pr5", width);
        assert_eq!(
            [12, 11, 10, 9, 2, 1].map(short),
            ["watcher@pr5", "watcher@pr5", "watch…@pr5", "watc…@pr5", "w…", "…"]
        );
    }
}
