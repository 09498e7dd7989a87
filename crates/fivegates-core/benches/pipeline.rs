//! What the gates cost, against the floor of the same run: a strict parse, a boxed call and printing the result.
#![expect(clippy::unwrap_used, missing_docs, reason = "a bench")]

use std::future::Future;
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use fivegates_core::gates::{Answer, Around, Next, Reply};
use fivegates_core::json::{compact, parse};
use fivegates_core::prelude::*;
use fivegates_core::tool::BodyError;

/// Polls a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("nothing waits in these benches"),
    }
}

struct Passes;

impl Around for Passes {
    fn run<'a>(&'a self, _: &'a Call, next: Next<'a>) -> Reply<'a, Answer> {
        next.pass()
    }
}

fn registry(listeners: usize, guards: usize, tools: usize) -> Registry {
    let registry = Registry::new();
    let open = parse(r#"{"type":"object"}"#).unwrap();
    let any = Json::object::<&str>([]);
    for at in 0..tools.max(1) {
        let name = if at == 0 { "t".to_owned() } else { format!("t{at}") };
        let body = |_: Invocation| async { Ok::<_, BodyError>(Json::from("done")) };
        registry.register(None, Definition::new(name, "", &open, &any, body).unwrap()).unwrap().keep();
    }
    for at in 0..listeners {
        let id = || Listen::as_id(format!("l{at}"));
        registry.pre_execute(id(), pre_fn(|_| None)).keep();
        registry.around(id(), Passes).keep();
        registry.post_execute(id(), post_fn(|_, _| None)).keep();
        registry.observe(id(), observer_fn(|_, _| Ok(()))).keep();
    }
    for at in 0..guards {
        registry.guard(Listen::as_id(format!("g{at}")), guard_fn(|_| None)).keep();
    }
    registry
}

fn call(pipeline: &Pipeline, cancel: &Cancel, text: &std::sync::Arc<str>) -> usize {
    let request = CallRequest::new("c", "t", Arguments::Text(std::sync::Arc::clone(text)), cancel.clone());
    let outcome = now(pipeline.execute(request));
    compact(&outcome.content()[0].to_json()).len()
}

type Body = Box<dyn Fn(&Json) -> Pin<Box<dyn Future<Output = Json> + Send>> + Send + Sync>;

fn floor(body: &Body, text: &str) -> usize {
    let arguments = parse(text).unwrap();
    compact(&now(body(&arguments))).len()
}

fn small() -> std::sync::Arc<str> {
    r#"{"command":"cargo test --workspace","description":"Run all tests","timeoutMs":120000,"workdir":"crates/x"}"#.into()
}

fn gates(c: &mut Criterion) {
    let (_source, cancel) = CancelSource::new();
    let text = small();
    let mut group = c.benchmark_group("call");
    let body: Body = Box::new(|_| Box::pin(async { Json::from("done") }));
    group.bench_function("floor", |b| b.iter(|| floor(black_box(&body), black_box(&text))));
    for (name, listeners, guards, tools) in [
        ("none", 0, 0, 1),
        ("1 on each stage and 1 guard", 1, 1, 1),
        ("10 on each stage and 10 guards", 10, 10, 1),
        ("100 guards", 0, 100, 1),
        ("1000 guards", 0, 1_000, 1),
        ("10000 tools", 0, 0, 10_000),
    ] {
        let pipeline = Pipeline::builder(registry(listeners, guards, tools)).build();
        group.bench_function(name, |b| b.iter(|| call(&pipeline, &cancel, black_box(&text))));
    }
    group.finish();
}

fn arguments(c: &mut Criterion) {
    let (_source, cancel) = CancelSource::new();
    let pipeline = Pipeline::builder(registry(0, 0, 1)).build();
    let mut group = c.benchmark_group("arguments");
    let one = format!(r#"{{"text":"{}"}}"#, "x".repeat(1 << 20));
    let record = r#"{"id":12345,"name":"a name","tags":["a","b"],"ok":true,"ratio":0.25}"#;
    let many = format!(r#"{{"records":[{}]}}"#, vec![record; (1 << 20) / (record.len() + 1)].join(","));
    for (name, text) in [("1 MB in one string", one), ("1 MB of small records", many)] {
        let text: std::sync::Arc<str> = text.into();
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::new("serde_json", name), |b| {
            b.iter(|| serde_json::from_str::<serde_json::Value>(black_box(&text)).unwrap());
        });
        group
            .bench_function(BenchmarkId::new("parse", name), |b| b.iter(|| parse(black_box(&text)).unwrap()));
        group.bench_function(BenchmarkId::new("call", name), |b| b.iter(|| call(&pipeline, &cancel, &text)));
    }
    group.finish();
}

criterion_group!(benches, gates, arguments);
criterion_main!(benches);
