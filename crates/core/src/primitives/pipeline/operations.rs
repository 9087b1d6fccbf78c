//! The operations on pipelines.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "pipeline.create" -> "pipeline", Post "/pipelines" Body, Work,
        side_effects(
            "With `automatic`, tasks are created for the first stages in the same commit."
        ):
        "Create a pipeline",
        {"pipeline": "article", "automatic": true, "input": {"topic": "tides"},
            "stages": [{"name": "research", "agent": "ada"}, {"name": "write",
            "capabilities": ["prose"], "max_retries": 2}, {"name": "check", "type": "review",
            "after": ["write"]}]};
    Command::StartStage = "pipeline.start_stage" -> "stage",
        Post "/pipelines/{pipeline}/stages/{stage}/start" Body, Work:
        "Start a stage", {"pipeline": "article", "stage": "write"};
    Command::CompleteStage = "pipeline.complete_stage" -> "moved",
        Post "/pipelines/{pipeline}/stages/{stage}/complete" Body, Work,
        side_effects(
            "Stages that follow become ready. The pipeline is completed with its last stage. If \
                the stage has `review`, its output only waits for review."
        ):
        "Complete a stage",
        {"pipeline": "article", "stage": "write", "output": {"words": 900}};
    Command::ReviewStage = "pipeline.review_stage" -> "moved",
        Post "/pipelines/{pipeline}/stages/{stage}/review" Body, Work,
        side_effects(
            "With `complete` stages that follow become ready, with `retry` the stage is ready \
                again."
        ):
        "Decide on a stage that waits for review",
        {"pipeline": "article", "stage": "write", "verdict": "retry", "note": "too long"};
    Command::FailStage = "pipeline.fail_stage" -> "stage",
        Post "/pipelines/{pipeline}/stages/{stage}/fail" Body, Work,
        side_effects("The pipeline fails when no other stage is running."):
        "Fail a stage",
        {"pipeline": "article", "stage": "write", "error": {"code": "model_overloaded"}};
    Command::RetryStage = "pipeline.retry_stage" -> "stage",
        Post "/pipelines/{pipeline}/stages/{stage}/retry" Body, Work,
        side_effects(
            "A failed pipeline runs again. With `automatic`, new tasks are created for the stage."
        ):
        "Retry a failed stage", {"pipeline": "article", "stage": "write"};
    Command::SkipStage = "pipeline.skip_stage" -> "moved",
        Post "/pipelines/{pipeline}/stages/{stage}/skip" Body, Work,
        side_effects("Cancels the open tasks of the stage. Stages that follow become ready."):
        "Skip a stage", {"pipeline": "article", "stage": "check", "reason": "it is short"};
    Command::Abort = "pipeline.abort" -> "pipeline", Post "/pipelines/{pipeline}/abort" Body, Work,
        side_effects(
            "Running stages fail, pending ones are skipped, and their open tasks are cancelled."
        ):
        "Abort a pipeline",
        {"pipeline": "article", "reason": "no longer wanted"};
    Command::Delete = "pipeline.delete" -> "pipeline", Delete "/pipelines/{pipeline}" Query, Work:
        "Delete a finished pipeline", {"pipeline": "article"};
    Query::Get = "pipeline.get" -> "pipeline", Get "/pipelines/{pipeline}" Query, Read:
        "Get a pipeline", {"pipeline": "article"};
    Query::Output = "pipeline.output" -> "output",
        Get "/pipelines/{pipeline}/stages/{stage}/output" Query, Read:
        "Get the output of a stage", {"pipeline": "article", "stage": "write"};
    Query::List = "pipeline.list" -> "pipelines", Get "/pipelines" Query, Read:
        "List pipelines", {"status": "running", "limit": 10};
}
