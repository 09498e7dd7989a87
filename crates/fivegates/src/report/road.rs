//! The stages of a call in the order of the road, with those that were not reached.

use fivegates_core::call::Stage;

use super::story::{CallStory, MetStage};

/// Every stage, first to last.
const ROAD: [Stage; 10] = [
    Stage::Admit,
    Stage::PreExecute,
    Stage::Approval,
    Stage::Guards,
    Stage::Execute,
    Stage::Body,
    Stage::PostExecute,
    Stage::Finalize,
    Stage::Egress,
    Stage::Result,
];

/// One line of the road.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    /// The stage as it is named in the record.
    pub(crate) stage: &'a str,
    /// What came of it.
    pub(crate) what: What<'a>,
}

/// What came of a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What<'a> {
    /// Somebody acted there.
    Met(&'a MetStage),
    /// The call went through and nobody acted.
    Quiet(&'static str),
    /// The call ended before it, or beside it.
    NotReached,
    /// The record does not say.
    NotOnRecord,
}

/// Lists what was met in its order, and the other stages at their places.
pub(super) fn rows(story: &CallStory) -> Vec<Row<'_>> {
    let met = story.met.as_deref().unwrap_or_default();
    let mut rows = Vec::with_capacity(ROAD.len().max(met.len()));
    let mut next = 0;
    for entry in met {
        // A stage can be met twice and out of order (a second attempt, a cancellation): it stands where it happened.
        if let Some(place) = ROAD.iter().position(|stage| stage.as_str() == entry.stage)
            && place >= next
        {
            rows.extend(unmet(story, next, place));
            next = place + 1;
        }
        rows.push(Row { stage: &entry.stage, what: What::Met(entry) });
    }
    rows.extend(unmet(story, next, ROAD.len()));
    rows
}

fn unmet<'a>(story: &'a CallStory, from: usize, to: usize) -> impl Iterator<Item = Row<'a>> {
    let unmet = ROAD[from..to].iter().filter(|stage| !is_met(story, **stage));
    unmet.map(|&stage| Row { stage: stage.as_str(), what: silence(story, stage) })
}

/// What it means that nobody acted at a stage.
fn silence(story: &CallStory, stage: Stage) -> What<'static> {
    let Some(met) = &story.met else {
        return What::NotOnRecord;
    };
    match stage {
        Stage::Approval if is_met(story, Stage::Guards) => What::Quiet("nobody was asked"),
        Stage::Execute if is_met(story, Stage::Body) => What::Quiet("passed"),
        Stage::Finalize if is_met(story, Stage::Result) => What::Quiet("unchanged"),
        Stage::Egress if is_met(story, Stage::Result) => What::Quiet("no filter"),
        // The decision is on record, so it tells of the stages up to the guards; what came later, nobody wrote down.
        _ if story.result.is_none() => {
            let decided = matches!(stage, Stage::PreExecute | Stage::Approval | Stage::Guards);
            if decided && !met.is_empty() { What::NotReached } else { What::NotOnRecord }
        }
        // Whatever is published was published by the last stage: a list without it is not whole.
        _ if !is_met(story, Stage::Result) => What::NotOnRecord,
        _ => What::NotReached,
    }
}

fn is_met(story: &CallStory, stage: Stage) -> bool {
    story.met.iter().flatten().any(|met| met.stage == stage.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_road_lists_every_stage() {
        for (place, stage) in ROAD.into_iter().enumerate() {
            assert_eq!(stage as usize, place, "{stage:?}");
        }
        // A stage that is added to the core does not compile here until it is listed.
        let listed = |stage: Stage| match stage {
            Stage::Admit
            | Stage::PreExecute
            | Stage::Approval
            | Stage::Guards
            | Stage::Execute
            | Stage::Body
            | Stage::PostExecute
            | Stage::Finalize
            | Stage::Egress
            | Stage::Result => ROAD.contains(&stage),
        };
        assert!(listed(Stage::Result));
    }
}
