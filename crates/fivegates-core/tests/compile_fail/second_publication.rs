//! An execution ends once: its future is used up by its result.
use fivegates_core::call::CallRequest;
use fivegates_core::pipeline::Pipeline;

async fn twice(pipeline: &Pipeline, request: CallRequest<'static>) {
    let execution = pipeline.execute(request);
    let _ = execution.await;
    let _ = execution.await;
}

fn main() {}
