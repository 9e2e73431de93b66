//! A worker that runs cells for ever holds as much after them as before: descriptors, processes. This test is alone in
//! its process, because it counts what the process has.

mod lockstep;

use lockstep::{Do, arguments, cell, children, drive, kernel};
use rehang_os::os::Sig;
use rehang_scenario::Terminal::{CttyNull, Null, Pipe, Tty, TtyBackground};

fn descriptors(of: &str) -> usize {
    std::fs::read_dir(format!("/proc/{of}/fd")).unwrap().count()
}

#[test]
fn nothing_is_left_after_five_hundred_cells() {
    let mut kernel = kernel();
    let escaped = r#"[{"background":{"name":"d","does":["hold"],"setsid":true,"double-fork":true}},"hold"]"#;
    let cells = [
        cell(Null, r#"[{"print":"hello"}]"#),
        cell(Pipe, escaped),
        cell(Tty, r#"[{"run":["read-stdin"]},"hold"]"#).at(5, Do::Type("x\r")).at(6, Do::Close),
        cell(TtyBackground, r#"["read-stdin"]"#),
        cell(CttyNull, r#"[{"raise":"STOP"}]"#).at(5, Do::Kill("agent", true, Sig::Term)),
    ];
    // what is made once and kept, such as buffers of the standard library, exists after a first round
    for cell in &cells {
        drive(&mut kernel, cell).unwrap();
    }
    // what all participants are forked from stays, and holds nothing of them
    let starter = children();
    assert_eq!(starter.iter().map(|pid| arguments(*pid)).collect::<Vec<_>>(), [["fake-starter"]]);
    let of_starter = starter[0].to_string();
    let before = (descriptors("self"), descriptors(&of_starter));
    for _ in 0..100 {
        for cell in &cells {
            drive(&mut kernel, cell).unwrap();
        }
    }
    assert_eq!((descriptors("self"), descriptors(&of_starter)), before);
    assert_eq!(children(), starter);
}
