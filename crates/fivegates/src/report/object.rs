//! The story of a call as one JSON object, for machines: whole, nothing is cut.

use fivegates_core::json::Json;

use super::road::{Row, What};
use super::story::{CallStory, Ended};

/// The story with the same facts as the text; members that are not on record are `null`.
pub(crate) fn object(story: &CallStory) -> Json {
    Json::object([
        ("id", Json::from(story.id.as_str())),
        ("session", Json::from(story.session.as_str())),
        ("seq", Json::from(story.seq.get())),
        ("time", Json::from(story.time_ms)),
        ("tool", Json::from(story.tool.clone())),
        ("arguments", Json::from(story.arguments.clone())),
        ("parentCallId", Json::from(story.parent.clone())),
        ("turn", Json::from(story.turn)),
        ("step", Json::from(story.step)),
        ("verdict", Json::from(story.verdict.clone())),
        ("road", Json::array(story.road().iter().map(stage))),
        ("approvals", approvals(story)),
        ("intent", intent(story)),
        ("result", story.result.as_ref().map_or(Json::Null, result)),
        ("told", Json::from(story.result.as_ref().and_then(Ended::told))),
        ("notes", Json::array(story.notes.iter().map(|note| Json::from(note.as_str())))),
    ])
}

fn stage(row: &Row<'_>) -> Json {
    let mut members = vec![("stage", Json::from(row.stage))];
    match row.what {
        What::Met(met) => {
            members.push(("state", Json::from("met")));
            members.push(("verdict", Json::from(met.verdict.as_str())));
            for (key, value) in [("by", &met.by), ("code", &met.code), ("reason", &met.reason)] {
                members.extend(value.as_ref().map(|value| (key, Json::from(value.as_str()))));
            }
        }
        What::Quiet(_) => members.push(("state", Json::from("quiet"))),
        What::NotReached => members.push(("state", Json::from("not reached"))),
        What::NotOnRecord => members.push(("state", Json::from("not on record"))),
    }
    Json::object(members)
}

fn approvals(story: &CallStory) -> Json {
    Json::array(story.approvals.iter().map(|approval| {
        Json::object([
            ("id", Json::from(approval.id.clone())),
            ("reason", Json::from(approval.reason.clone())),
            ("asked", Json::from(approval.asked_ms)),
            ("decided", Json::from(approval.decided_ms)),
            ("outcome", Json::from(approval.outcome.clone())),
            ("by", Json::from(approval.by.clone())),
        ])
    }))
}

fn intent(story: &CallStory) -> Json {
    story.intent.as_ref().map_or(Json::Null, |intent| {
        Json::object([
            ("seq", Json::from(intent.seq.get())),
            ("time", Json::from(intent.time_ms)),
            ("idempotent", Json::from(intent.idempotent)),
            ("destructive", Json::from(intent.destructive)),
        ])
    })
}

fn result(result: &Ended) -> Json {
    let denial = result.denial.as_ref().map_or(Json::Null, |denial| {
        Json::object([
            ("kind", Json::from(denial.kind.clone())),
            ("by", Json::from(denial.by.clone())),
            ("code", Json::from(denial.code.clone())),
            ("reason", Json::from(denial.reason.clone())),
        ])
    });
    Json::object([
        ("seq", Json::from(result.seq.get())),
        ("time", Json::from(result.time_ms)),
        ("isError", Json::from(result.is_error)),
        ("errorName", Json::from(result.error_name.clone())),
        ("errorCode", Json::from(result.error_code.clone())),
        ("denial", denial),
        ("content", result.content.clone().unwrap_or(Json::Null)),
        ("durationMs", Json::from(result.duration_ms)),
    ])
}
