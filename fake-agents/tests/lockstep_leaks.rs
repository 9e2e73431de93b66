//! A worker that runs cells for ever holds as much after them as before: descriptors, processes. This test is alone in
//! its process, because it counts what the process has.

mod lockstep;

use lockstep::{Do, cell, drive, kernel};
use rehang_os::os::Sig;
use rehang_scenario::Terminal::{CttyNull, Null, Pipe, Tty, TtyBackground};

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn children() -> String {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    tasks.map(|t| std::fs::read_to_string(t.unwrap().path().join("children")).unwrap()).collect()
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
    let before = descriptors();
    for _ in 0..100 {
        for cell in &cells {
            drive(&mut kernel, cell).unwrap();
        }
    }
    assert_eq!(descriptors(), before);
    assert_eq!(children(), "");
}
