//! Prints a snapshot of process trees as JSON: `cargo run -p rehang-evidence --example snapshot -- PID…`

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let pids: Vec<rehang_evidence::Pid> = std::env::args().skip(1).map(|arg| arg.parse()).collect::<Result<_, _>>()?;
    let snapshot = rehang_evidence::take(&pids, &rehang_evidence::Options::default())?;
    println!("{}", serde_json::to_string_pretty(&snapshot)?);
    Ok(())
}
