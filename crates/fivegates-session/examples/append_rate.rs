//! Measures the record: `cargo run --release -p fivegates-session --example append_rate [EVENTS]`.
//!
//! Prints appends a second for one awaited writer and for 16 and 64 concurrent ones, in both sync modes, the resident
//! memory after each, and the rate of verifying.

#![expect(clippy::print_stdout, reason = "a measuring program prints what it measured")]

use std::error::Error;
use std::time::Instant;

use fivegates_session::{NewEvent, NewSession, OpenOptions, SessionId, Store, Sync};

fn main() -> Result<(), Box<dyn Error>> {
    let events = std::env::args().nth(1).map_or(Ok(50_000), |count| count.parse())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build()?;
    let folder = tempfile::tempdir_in(".")?;
    for (sync, share) in [(Sync::Normal, 1), (Sync::Full, 20)] {
        for writers in [1, 16, 64] {
            let options = OpenOptions { sync, ..OpenOptions::default() };
            let path = folder.path().join(format!("{sync:?}-{writers}.sqlite"));
            let store = Store::open(&path, &options)?;
            let count = events / share;
            let started = Instant::now();
            runtime.block_on(append(&store, writers, count))?;
            let seconds = started.elapsed().as_secs_f64();
            let rate = f64::from(count) / seconds;
            println!(
                "{sync:?}, {writers} writers: {count} appends, {rate:.0}/s, resident {} KiB",
                resident_kib()
            );
            runtime.block_on(store.close())?;
        }
    }
    let reader = Store::open_read_only(folder.path().join("Normal-1.sqlite"))?;
    let session = reader.session("")?;
    let started = Instant::now();
    let verdict = reader.verify(session.id)?;
    let micros = started.elapsed().as_secs_f64() * 1e6;
    println!("verify: {verdict:?}, {:.2} µs an event", micros / f64::from(events));
    Ok(())
}

/// Every writer appends its share to a session of its own, one awaited append after another.
async fn append(store: &Store, writers: u32, count: u32) -> Result<(), Box<dyn Error>> {
    let data = format!("{{\"arguments\":\"{}\"}}", "x".repeat(560));
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..writers {
        let appender = store.begin(NewSession {
            id: SessionId::generate()?,
            created_at_ms: 0,
            kind: "exec".to_owned(),
            cwd: None,
            meta: "{}".to_owned(),
        })?;
        let data = data.clone();
        let share = count / writers + u32::from(writer < count % writers);
        tasks.spawn(async move {
            for number in 0..share {
                let event = NewEvent {
                    event_type: "tool/call".to_owned(),
                    time_ms: i64::from(number),
                    call_id: Some(format!("call_{number}")),
                    data: data.clone(),
                };
                appender.append(event).await?;
            }
            Ok::<_, fivegates_session::AppendError>(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}

fn resident_kib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or("?", |line| line.trim().trim_end_matches(" kB")).to_owned()
}
