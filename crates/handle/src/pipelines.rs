//! Pipelines of a workspace.

use std::future::IntoFuture;

use baton_core::pipeline::{
    Command, Create, Design, List, Moved, Output, Pipeline, Query, Reply as PipelineReply, Stage,
    Summary,
};
use baton_core::{AgentId, Json, PipelineName, Reply, StageName, Traceparent};

use crate::carrier::{Carrier, Failure};
use crate::{Prepared, Sent, Workspace};

/// Pipelines of a workspace, as one agent sees them.
#[derive(Clone, Debug)]
pub struct Pipelines<C> {
    workspace: Workspace<C>,
}

impl<C: Carrier> Pipelines<C> {
    pub(crate) fn new(workspace: Workspace<C>) -> Self {
        Self { workspace }
    }

    /// Creates one. Its stages follow before this is awaited.
    pub fn create(&self, name: &str) -> CreatePipeline<C> {
        let name = PipelineName::parse(name).map_err(Into::into);
        let create = name.map(|pipeline| {
            let (stages, automatic) = (Vec::new(), false);
            let (input, metadata, traceparent) = (None, None, None);
            Create { pipeline, stages, automatic, input, metadata, traceparent }
        });
        CreatePipeline { workspace: self.workspace.clone(), create }
    }

    /// Begins to work on a stage, with what came of the stages before, or with this.
    pub async fn start(
        &self,
        pipeline: &str,
        stage: &str,
        input: Option<Json>,
    ) -> Result<Stage, C::Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.stage(Command::StartStage { pipeline, stage, input }).await
    }

    /// Says that a stage is done, and what came of it.
    pub async fn complete(
        &self,
        pipeline: &str,
        stage: &str,
        output: Option<Json>,
    ) -> Result<Moved, C::Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.moved(Command::CompleteStage { pipeline, stage, output }).await
    }

    /// Says that a stage could not be done, and why.
    pub async fn fail(&self, pipeline: &str, stage: &str, error: Json) -> Result<Stage, C::Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.stage(Command::FailStage { pipeline, stage, error }).await
    }

    /// Has a stage that has failed done again.
    pub async fn retry(&self, pipeline: &str, stage: &str) -> Result<Stage, C::Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.stage(Command::RetryStage { pipeline, stage }).await
    }

    /// Leaves a stage out.
    pub async fn skip(
        &self,
        pipeline: &str,
        stage: &str,
        reason: Option<String>,
    ) -> Result<Moved, C::Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        self.moved(Command::SkipStage { pipeline, stage, reason }).await
    }

    /// Ends one that is not wanted any more, with all that runs in it.
    pub async fn abort(
        &self,
        pipeline: &str,
        reason: Option<String>,
    ) -> Result<Pipeline, C::Error> {
        let pipeline = PipelineName::parse(pipeline)?;
        let command = Command::Abort { pipeline, reason };
        record(self.workspace.execute(command).await?.reply)
    }

    /// Forgets one that is finished.
    pub async fn delete(&self, pipeline: &str) -> Result<Pipeline, C::Error> {
        let command = Command::Delete { pipeline: PipelineName::parse(pipeline)? };
        record(self.workspace.execute(command).await?.reply)
    }

    /// One of them.
    pub async fn get(&self, pipeline: &str) -> Result<Pipeline, C::Error> {
        let query = Query::Get { pipeline: PipelineName::parse(pipeline)? };
        record(self.workspace.ask(query).await?.reply)
    }

    /// What came of a stage.
    pub async fn output(&self, pipeline: &str, stage: &str) -> Result<Output, C::Error> {
        let (pipeline, stage) = names(pipeline, stage)?;
        match self.workspace.ask(Query::Output { pipeline, stage }).await?.reply {
            Reply::Pipeline(PipelineReply::Output(output)) => Ok(output),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    /// All that fit, by name. A limit says how many at most.
    pub async fn list(&self, list: List) -> Result<Vec<Summary>, C::Error> {
        let wanted = list.limit.and_then(|limit| usize::try_from(limit).ok());
        let wanted = wanted.unwrap_or(usize::MAX);
        let mut all = Vec::new();
        let mut list = list;
        loop {
            match self.workspace.ask(Query::List(list.clone())).await?.reply {
                Reply::Pipeline(PipelineReply::Pipelines { pipelines, cursor }) => {
                    all.extend(pipelines);
                    match cursor {
                        Some(next) if all.len() < wanted => list.cursor = Some(next),
                        Some(_) | None => {
                            all.truncate(wanted);
                            return Ok(all);
                        }
                    }
                }
                reply => return Err(C::Error::odd(&reply)),
            }
        }
    }

    async fn stage(&self, command: Command) -> Result<Stage, C::Error> {
        match self.workspace.execute(command).await?.reply {
            Reply::Pipeline(PipelineReply::Stage(stage)) => Ok(*stage),
            reply => Err(C::Error::odd(&reply)),
        }
    }

    async fn moved(&self, command: Command) -> Result<Moved, C::Error> {
        match self.workspace.execute(command).await?.reply {
            Reply::Pipeline(PipelineReply::Moved(moved)) => Ok(*moved),
            reply => Err(C::Error::odd(&reply)),
        }
    }
}

fn names(pipeline: &str, stage: &str) -> Prepared<(PipelineName, StageName)> {
    Ok((PipelineName::parse(pipeline)?, StageName::parse(stage)?))
}

fn record<F: Failure>(reply: Reply) -> Result<Pipeline, F> {
    match reply {
        Reply::Pipeline(PipelineReply::Pipeline(pipeline)) => Ok(*pipeline),
        reply => Err(F::odd(&reply)),
    }
}

/// A pipeline that comes to be when this is awaited.
#[must_use = "nothing is created before this is awaited"]
pub struct CreatePipeline<C> {
    workspace: Workspace<C>,
    create: Prepared<Create>,
}

impl<C: Carrier> CreatePipeline<C> {
    fn with(mut self, change: impl FnOnce(&mut Create) -> Prepared<()>) -> Self {
        self.create = self.create.and_then(|mut create| {
            change(&mut create)?;
            Ok(create)
        });
        self
    }

    /// A stage after the one before, for anyone.
    pub fn stage(self, name: &str) -> Self {
        self.with(|create| {
            create.stages.push(Design::new(StageName::parse(name)?));
            Ok(())
        })
    }

    /// A stage after the one before, for this agent.
    pub fn stage_for(self, name: &str, agent: &str) -> Self {
        self.with(|create| {
            let agent = Some(AgentId::parse(agent)?);
            create.stages.push(Design { agent, ..Design::new(StageName::parse(name)?) });
            Ok(())
        })
    }

    /// A stage with whatever can be said about one.
    pub fn design(self, stage: Design) -> Self {
        self.with(|create| {
            create.stages.push(stage);
            Ok(())
        })
    }

    /// Makes a task for every stage that becomes ready.
    pub fn automatic(self) -> Self {
        self.with(|create| {
            create.automatic = true;
            Ok(())
        })
    }

    /// What the first stages are given.
    pub fn input(self, input: Json) -> Self {
        self.with(|create| {
            create.input = Some(input);
            Ok(())
        })
    }

    /// Whatever else is worth knowing: an object.
    pub fn metadata(self, metadata: Json) -> Self {
        self.with(|create| {
            create.metadata = Some(metadata);
            Ok(())
        })
    }

    /// The trace that it and the tasks of its stages are a part of, as W3C Trace Context writes it.
    pub fn traceparent(self, traceparent: &str) -> Self {
        self.with(|create| {
            create.traceparent = Some(Traceparent::parse(traceparent)?);
            Ok(())
        })
    }
}

impl<C: Carrier> IntoFuture for CreatePipeline<C> {
    type Output = Result<Pipeline, C::Error>;
    type IntoFuture = Sent<Pipeline, C>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let command = Command::Create(Box::new(self.create?));
            record(self.workspace.execute(command).await?.reply)
        })
    }
}
