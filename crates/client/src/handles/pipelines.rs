//! The pipelines of a workspace.

use baton_core::pipeline::{
    Command, Create, Design, List, Moved, Output, Pipeline, Query, ReviewStage, Stage, Summary,
};
use baton_core::task::Verdict;
use baton_core::{AgentId, Json, PipelineName, StageName, Traceparent};

use crate::request::{Prepared, request};
use crate::{Error, Pipelines};

impl Pipelines {
    /// Creates a pipeline.
    pub fn create(&self, name: &str) -> CreatePipeline {
        let create = PipelineName::parse(name).map_err(Into::into).map(|pipeline| {
            let (stages, automatic) = (Vec::new(), false);
            let (input, metadata, traceparent) = (None, None, None);
            Create { pipeline, stages, automatic, input, metadata, traceparent }
        });
        CreatePipeline::new(&self.workspace, create)
    }

    /// Starts a stage with the outputs of the stages before it, or with another input.
    pub async fn start(
        &self,
        pipeline: &str,
        stage: &str,
        input: Option<Json>,
    ) -> Result<Stage, Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.workspace.run(Command::StartStage { pipeline, stage, input }).await
    }

    /// Completes a stage with its output, or submits that if it must be reviewed.
    pub async fn complete(
        &self,
        pipeline: &str,
        stage: &str,
        output: Option<Json>,
    ) -> Result<Moved, Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.workspace.run(Command::CompleteStage { pipeline, stage, output }).await
    }

    /// Decides about a stage whose output waits for review.
    pub fn review(&self, pipeline: &str, stage: &str, verdict: Verdict) -> ReviewingStage {
        let review = names(pipeline, stage).map(|(pipeline, stage)| {
            let (attempt, note, output) = (None, None, None);
            ReviewStage { pipeline, stage, verdict, attempt, note, output }
        });
        ReviewingStage::new(&self.workspace, review)
    }

    /// Reports that a stage has failed.
    pub async fn fail(&self, pipeline: &str, stage: &str, error: Json) -> Result<Stage, Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.workspace.run(Command::FailStage { pipeline, stage, error }).await
    }

    /// Retries a stage that has failed.
    pub async fn retry(&self, pipeline: &str, stage: &str) -> Result<Stage, Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.workspace.run(Command::RetryStage { pipeline, stage }).await
    }

    /// Skips a stage.
    pub async fn skip(
        &self,
        pipeline: &str,
        stage: &str,
        reason: Option<String>,
    ) -> Result<Moved, Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.workspace.run(Command::SkipStage { pipeline, stage, reason }).await
    }

    /// Aborts a pipeline with everything that runs in it.
    pub async fn abort(&self, pipeline: &str, reason: Option<String>) -> Result<Pipeline, Error> {
        let pipeline = PipelineName::parse(pipeline)?;
        self.workspace.run(Command::Abort { pipeline, reason }).await
    }

    /// Deletes a pipeline that has finished.
    pub async fn delete(&self, pipeline: &str) -> Result<Pipeline, Error> {
        self.workspace.run(Command::Delete { pipeline: PipelineName::parse(pipeline)? }).await
    }

    /// Reads a pipeline.
    pub async fn get(&self, pipeline: &str) -> Result<Pipeline, Error> {
        self.workspace.query(Query::Get { pipeline: PipelineName::parse(pipeline)? }).await
    }

    /// Reads the output of a stage.
    pub async fn output(&self, pipeline: &str, stage: &str) -> Result<Output, Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.workspace.query(Query::Output { pipeline, stage }).await
    }

    /// Lists all pipelines that match, by name; at most as many as the limit, if there is one.
    pub async fn list(&self, list: List) -> Result<Vec<Summary>, Error> {
        let page = |cursor: Option<_>| {
            let cursor = cursor.or_else(|| list.cursor.clone());
            Query::List(List { cursor, ..list.clone() })
        };
        self.workspace.pages(list.limit, page).await
    }
}

fn names(pipeline: &str, stage: &str) -> Prepared<(PipelineName, StageName)> {
    Ok((PipelineName::parse(pipeline)?, StageName::parse(stage)?))
}

request! {
    /// Creates a pipeline when it is awaited.
    CreatePipeline(Create) -> Pipeline: |workspace, create|
        workspace.run(Command::Create(Box::new(create)));
    /// Adds a stage for any agent, after the one before.
    stage(name: &str) |create| create.stages.push(Design::new(StageName::parse(name)?));
    /// Adds a stage for one agent, after the one before.
    stage_for(name: &str, agent: &str) |create| {
        let agent = Some(AgentId::parse(agent)?);
        create.stages.push(Design { agent, ..Design::new(StageName::parse(name)?) });
    };
    /// Adds a stage with any of its fields.
    design(stage: Design) |create| create.stages.push(stage);
    /// Creates a task for every stage that becomes ready.
    automatic() |create| create.automatic = true;
    /// Sets the input of the first stages.
    input(input: Json) |create| create.input = Some(input);
    /// Attaches metadata: an object.
    metadata(metadata: Json) |create| create.metadata = Some(metadata);
    /// Sets the trace that it and the tasks of its stages belong to, as W3C Trace Context.
    traceparent(traceparent: &str) |create|
        create.traceparent = Some(Traceparent::parse(traceparent)?);
}

request! {
    /// Decides a review when it is awaited.
    ReviewingStage(ReviewStage) -> Moved: |workspace, review|
        workspace.run(Command::ReviewStage(review));
    /// Refuses the verdict unless this attempt waits for review.
    attempt(attempt: u64) |review| review.attempt = Some(attempt);
    /// Attaches a note.
    note(note: &str) |review| review.note = Some(note.to_owned());
    /// Accepts this output instead of the submitted one.
    output(output: Json) |review| review.output = Some(output);
}
