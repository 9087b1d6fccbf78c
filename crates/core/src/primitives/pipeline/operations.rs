//! The operations on pipelines.

use super::{Command, Query};
use crate::wire::operations;

operations! {
    Command::Create = "pipeline.create" -> "pipeline", Post "/pipelines" Body, Work:
        "Have stages done one after the other",
        {"pipeline": "article", "automatic": true, "input": {"topic": "tides"},
            "stages": [{"name": "research", "agent": "ada"}, {"name": "write",
            "capabilities": ["prose"], "max_retries": 2}, {"name": "check", "type": "review",
            "after": ["write"]}]};
    Command::StartStage = "pipeline.start_stage" -> "stage",
        Post "/pipelines/{pipeline}/stages/{stage}/start" Body, Work:
        "Begin to work on a stage", {"pipeline": "article", "stage": "write"};
    Command::CompleteStage = "pipeline.complete_stage" -> "moved",
        Post "/pipelines/{pipeline}/stages/{stage}/complete" Body, Work:
        "Say that a stage is done",
        {"pipeline": "article", "stage": "write", "output": {"words": 900}};
    Command::FailStage = "pipeline.fail_stage" -> "stage",
        Post "/pipelines/{pipeline}/stages/{stage}/fail" Body, Work:
        "Say that a stage could not be done",
        {"pipeline": "article", "stage": "write", "error": {"code": "model_overloaded"}};
    Command::RetryStage = "pipeline.retry_stage" -> "stage",
        Post "/pipelines/{pipeline}/stages/{stage}/retry" Body, Work:
        "Have a failed stage done again", {"pipeline": "article", "stage": "write"};
    Command::SkipStage = "pipeline.skip_stage" -> "moved",
        Post "/pipelines/{pipeline}/stages/{stage}/skip" Body, Work:
        "Leave a stage out", {"pipeline": "article", "stage": "check", "reason": "it is short"};
    Command::Abort = "pipeline.abort" -> "pipeline", Post "/pipelines/{pipeline}/abort" Body, Work:
        "End a pipeline with all that runs in it",
        {"pipeline": "article", "reason": "no longer wanted"};
    Command::Delete = "pipeline.delete" -> "pipeline", Delete "/pipelines/{pipeline}" Query, Work:
        "Forget a finished pipeline", {"pipeline": "article"};
    Query::Get = "pipeline.get" -> "pipeline", Get "/pipelines/{pipeline}" Query, Read:
        "Read a pipeline", {"pipeline": "article"};
    Query::Output = "pipeline.output" -> "output",
        Get "/pipelines/{pipeline}/stages/{stage}/output" Query, Read:
        "What came of a stage", {"pipeline": "article", "stage": "write"};
    Query::List = "pipeline.list" -> "pipelines", Get "/pipelines" Query, Read:
        "List pipelines", {"status": "running", "limit": 10};
}
