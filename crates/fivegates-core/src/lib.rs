//! The five gates between a model's tool call and its execution: lossless JSON, tools, registry, pipeline and scheduler.
