//! Runs a command in virtual time and prints how it ended: `warp [--log FILE] [--seed N] [--busy S] CMD...`.

use rehang_warp::Warp;
use std::process::Command;
use std::time::Duration;

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut settings: Vec<(String, String)> = Vec::new();
    while let Some(option) = arguments.next_if(|argument| argument.starts_with("--")) {
        settings.push((option, arguments.next().expect("a value")));
    }
    let mut command = Command::new(arguments.next().expect("a command"));
    command.args(arguments);
    let mut warp = Warp::new(command).forward_signals();
    for (option, value) in settings {
        warp = match option.as_str() {
            "--log" => warp.log(std::fs::File::create(value).expect("a file")),
            "--seed" => warp.seed(value.parse().expect("a number")),
            "--busy" => warp.busy(Duration::from_secs_f64(value.parse().expect("a number"))),
            "--until" => warp.until(Duration::from_secs_f64(value.parse().expect("a number"))),
            other => panic!("{other}"),
        };
    }
    match warp.run() {
        Ok(ending) => eprintln!("{ending:#?}"),
        Err(error) => eprintln!("error: {error}"),
    }
}
