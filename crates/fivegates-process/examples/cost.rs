//! What a supervisor and a fence cost: medians of `true`, run in turn in one process.
//!
//! It is its own helper, as an embedder would be.

#[cfg(target_os = "linux")]
#[expect(clippy::print_stdout, reason = "figures for whoever runs it")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use fivegates_process::{Confinement, Program, Runner, Spec};
    use std::time::{Duration, Instant};

    fivegates_process::child_main();
    let alone = Runner::without_supervisor()?;
    let supervised = Runner::new()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let spec = Spec::new(Program::new("true")?, "/");
    let confined = spec.clone().confine(Confinement::read_only());
    let mut times = [("alone", Vec::new()), ("supervised", Vec::new()), ("confined", Vec::new())];
    for _ in 0..200 {
        for (index, (runner, spec)) in
            [(&alone, &spec), (&supervised, &spec), (&supervised, &confined)].into_iter().enumerate()
        {
            let start = Instant::now();
            runtime.block_on(runner.run(spec.clone(), std::future::pending()))?;
            times[index].1.push(start.elapsed());
        }
    }
    for (name, mut times) in times {
        times.sort_unstable();
        let median = times.get(times.len() / 2).copied().unwrap_or(Duration::ZERO);
        println!("{name}: {median:?}");
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
