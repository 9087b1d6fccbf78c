//! `baton pipeline`: stages of work that run in order.

use baton_client::Pipelines;
use baton_core::pipeline::{
    Design, List, Moved, Pipeline as Record, Stage, StageStatus, Status, Summary,
};
use baton_core::task::Verdict;
use baton_core::{AgentId, Json, PipelineName, StageName};
use clap::{ArgGroup, Args, Subcommand};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::{Source, words};
use crate::output::Output;
use crate::trace::Trace;

const AFTER_HELP: &str = "\
Examples:
  baton pipeline create article --stage research:ada --stage write:bob --stage check
  baton pipeline create article --automatic --input tides --stage research --stage write
  baton pipeline create article -f stages.json         parallel stages, fan-out and more
  baton pipeline start article research                print the input of the stage
  baton pipeline complete article research '{\"found\":3}'
  baton pipeline review article write retry --note 'too long'
                                                       for stages with \"review\": true
  baton pipeline fail article write 'no model' && baton pipeline retry article write
  baton pipeline output article research
  baton pipeline show article

Stages run in the given order, unless the file says otherwise. In an automatic pipeline, each stage
that becomes ready creates a task: `baton task work` processes it, and its result is the output of
the stage.";

/// Rows shown in a table by default.
const SHOWN: usize = 100;

/// Run stages of work in order
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Pipeline {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create(Create),
    /// Start a stage and print its input
    Start {
        #[command(flatten)]
        stage: StageRef,
        /// Input: JSON or text, @FILE, or - for stdin [default: the output of the previous stages]
        #[arg(value_name = "INPUT")]
        input: Option<Source>,
    },
    /// Complete a stage
    Complete {
        #[command(flatten)]
        stage: StageRef,
        /// Output: JSON or text, @FILE, or - for stdin
        #[arg(value_name = "OUTPUT")]
        made: Option<Source>,
    },
    Review(Review),
    /// Fail a stage
    Fail {
        #[command(flatten)]
        stage: StageRef,
        /// Error: JSON or text, @FILE, or - for stdin
        #[arg(value_name = "ERROR")]
        error: Source,
    },
    /// Retry a failed stage
    Retry {
        #[command(flatten)]
        stage: StageRef,
    },
    /// Skip a stage
    Skip {
        #[command(flatten)]
        stage: StageRef,
        /// Reason
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Abort a pipeline and everything that runs in it
    Abort {
        /// Pipeline name
        pipeline: String,
        /// Reason
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Print the output of a stage
    Output {
        #[command(flatten)]
        stage: StageRef,
    },
    /// Show a pipeline and its stages
    #[command(visible_alias = "get")]
    Show {
        /// Pipeline name
        pipeline: String,
    },
    Ls(Ls),
    /// Delete a finished pipeline
    Rm {
        /// Pipeline name
        pipeline: String,
    },
}

#[derive(Args)]
struct StageRef {
    /// Pipeline name
    pipeline: String,
    /// Stage name
    stage: String,
}

/// Decide on the output of a stage that is waiting for review
#[derive(Args)]
struct Review {
    #[command(flatten)]
    stage: StageRef,
    /// Verdict
    #[arg(value_parser = words::<Verdict>())]
    verdict: Verdict,
    /// Attempt that was reviewed; the verdict is refused if another one waits for review
    #[arg(long, value_name = "NUMBER")]
    attempt: Option<u64>,
    /// Reason
    #[arg(long)]
    note: Option<String>,
    /// Output to accept instead of the submitted one: JSON or text, @FILE, or - for stdin
    #[arg(long, value_name = "VALUE")]
    output: Option<Source>,
}

/// Create a pipeline
#[derive(Args)]
#[command(group(ArgGroup::new("stages").required(true).args(["stage", "file"])))]
struct Create {
    /// Name
    name: String,
    /// Stage, optionally with the agent that runs it; repeatable
    #[arg(long, value_name = "STAGE[:AGENT]")]
    stage: Vec<String>,
    /// File with the stages, or the whole pipeline, as JSON; - for stdin
    #[arg(short, long, value_name = "FILE")]
    file: Option<String>,
    /// Create a task for each stage that becomes ready
    #[arg(long)]
    automatic: bool,
    /// Input of the first stages: JSON or text, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    input: Option<Source>,
    /// Additional metadata: a JSON object, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    #[command(flatten)]
    trace: Trace,
}

/// The contents of a pipeline file. The name of the pipeline is an argument.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Definition {
    stages: Vec<Design>,
    automatic: bool,
    input: Option<Json>,
    metadata: Option<Json>,
}

/// List pipelines, ordered by name
#[derive(Args)]
struct Ls {
    /// Only pipelines with this status
    #[arg(long, value_parser = words::<Status>())]
    status: Option<Status>,
    /// Maximum number of pipelines [default: 100 in a table, otherwise all]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

impl Pipeline {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let pipelines = context.workspace().await?.pipelines();
        match self.verb {
            Verb::Create(create) => create.run(&pipelines, output).await,
            Verb::Start { stage: StageRef { pipeline, stage }, input } => {
                let input = input.map(|input| input.json_or_text()).transpose()?;
                let stage = pipelines.start(&pipeline, &stage, input).await?;
                output.one(&stage)
            }
            Verb::Complete { stage: StageRef { pipeline, stage }, made } => {
                let made = made.map(|made| made.json_or_text()).transpose()?;
                report_progress(
                    output,
                    &pipeline,
                    &pipelines.complete(&pipeline, &stage, made).await?,
                )
            }
            Verb::Review(review) => review.run(&pipelines, output).await,
            Verb::Fail { stage: StageRef { pipeline, stage }, error } => {
                let stage = pipelines.fail(&pipeline, &stage, error.json_or_text()?).await?;
                report_stage(output, &pipeline, &stage)
            }
            Verb::Retry { stage: StageRef { pipeline, stage } } => {
                report_stage(output, &pipeline, &pipelines.retry(&pipeline, &stage).await?)
            }
            Verb::Skip { stage: StageRef { pipeline, stage }, reason } => report_progress(
                output,
                &pipeline,
                &pipelines.skip(&pipeline, &stage, reason).await?,
            ),
            Verb::Abort { pipeline, reason } => {
                let aborted = pipelines.abort(&pipeline, reason).await?;
                output.said(&aborted, &format!("pipeline {pipeline} aborted"))
            }
            Verb::Output { stage: StageRef { pipeline, stage } } => {
                let found = pipelines.output(&pipeline, &stage).await?;
                let text = found.output.as_ref().map_or("", |made| made.as_str());
                output.show(&found, |_| format!("{text}\n"))
            }
            Verb::Show { pipeline } => {
                let found = pipelines.get(&pipeline).await?;
                output.show(&found, |output| text(output, &found))
            }
            Verb::Ls(ls) => ls.run(&pipelines, output).await,
            Verb::Rm { pipeline } => {
                let gone = pipelines.delete(&pipeline).await?;
                output.said(&gone, &format!("pipeline {pipeline} deleted"))
            }
        }
    }
}

impl Review {
    async fn run(self, pipelines: &Pipelines, output: &mut Output) -> Result<(), Failure> {
        let StageRef { pipeline, stage } = &self.stage;
        let mut reviewing = pipelines.review(pipeline, stage, self.verdict);
        if let Some(attempt) = self.attempt {
            reviewing = reviewing.attempt(attempt);
        }
        if let Some(note) = &self.note {
            reviewing = reviewing.note(note);
        }
        if let Some(made) = &self.output {
            reviewing = reviewing.output(made.json_or_text()?);
        }
        report_progress(output, pipeline, &reviewing.await?)
    }
}

fn report_stage(output: &mut Output, pipeline: &str, stage: &Stage) -> Result<(), Failure> {
    let (name, status) = (&stage.name, stage.status.clause());
    output.said(stage, &format!("stage {name} of pipeline {pipeline} {status}"))
}

fn report_progress(output: &mut Output, pipeline: &str, moved: &Moved) -> Result<(), Failure> {
    let (name, status) = (&moved.stage.name, moved.stage.status.clause());
    let next = match moved.ready.as_slice() {
        [] => format!("the pipeline {}", moved.status.clause()),
        ready => format!("ready: {}", listed(ready)),
    };
    output.said(moved, &format!("stage {name} of pipeline {pipeline} {status}; {next}"))
}

/// A stage as a table row.
#[derive(Serialize)]
struct Row<'a> {
    stage: &'a StageName,
    status: &'static str,
    after: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tasks: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
}

const COLUMNS: [&str; 7] = ["stage", "status", "after", "agent", "attempts", "tasks", "result"];

impl<'a> Row<'a> {
    fn of(stage: &'a Stage) -> Self {
        let said = stage.error.as_ref().or(stage.output.as_ref());
        let tasks = match stage.tasks.as_slice() {
            [] => None,
            [task] => Some(task.to_string()),
            [first, rest @ ..] => Some(format!("{first} and {} more", rest.len())),
        };
        Self {
            stage: &stage.name,
            status: stage.status.word(),
            after: listed(&stage.after),
            agent: stage.worker.as_ref().or(stage.agent.as_ref()),
            attempts: Some(stage.attempts).filter(|attempts| *attempts > 0),
            tasks,
            result: match stage.status {
                StageStatus::Completed | StageStatus::WaitingReview => said.map(Json::as_str),
                _ => stage.reason.as_deref().or(said.map(Json::as_str)),
            },
        }
    }
}

fn text(output: &Output, pipeline: &Record) -> String {
    let rows: Vec<Row<'_>> = pipeline.stages.iter().map(Row::of).collect();
    let by = if pipeline.automatic { "automatic, by" } else { "by" };
    let reason = pipeline.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let (name, status) = (&pipeline.name, pipeline.status.clause());
    let head = format!("pipeline {name} {status}{reason} ({by} {})", pipeline.created_by);
    format!("{}\n{}", crate::output::plain(&head), output.table(&rows, &COLUMNS))
}

impl Create {
    async fn run(self, pipelines: &Pipelines, output: &mut Output) -> Result<(), Failure> {
        let definition = self.definition()?;
        let mut creating = pipelines.create(&self.name);
        for stage in definition.stages {
            creating = creating.design(stage);
        }
        if self.automatic || definition.automatic {
            creating = creating.automatic();
        }
        let input = self.input.map(|input| input.json_or_text()).transpose()?.or(definition.input);
        if let Some(input) = input {
            creating = creating.input(input);
        }
        let metadata = self.metadata.map(|json| json.json()).transpose()?.or(definition.metadata);
        if let Some(metadata) = metadata {
            creating = creating.metadata(metadata);
        }
        if let Some(traceparent) = self.trace.given() {
            creating = creating.traceparent(&traceparent);
        }
        let created = creating.await?;
        let (name, ready) = (&created.name, listed(&created.ready));
        let sentence = format!("pipeline {name} created; ready: {ready}");
        output.said(&created, &sentence)
    }

    /// The pipeline as given in the file or on the command line.
    fn definition(&self) -> Result<Definition, Failure> {
        let Some(file) = &self.file else {
            let stages = self.stage.iter().map(|text| design(text));
            return Ok(Definition {
                stages: stages.collect::<Result<_, _>>()?,
                ..Definition::default()
            });
        };
        let source = if file == "-" { Source::Stdin } else { Source::File(file.into()) };
        let json = source.json()?;
        if json.as_str().starts_with('[') {
            return Ok(Definition { stages: source.form(&json)?, ..Definition::default() });
        }
        source.form(&json)
    }
}

/// `write:bob` is the stage `write` for the agent `bob`.
fn design(text: &str) -> Result<Design, Failure> {
    let (stage, agent) = match text.split_once(':') {
        Some((stage, agent)) => (stage, Some(AgentId::parse(agent)?)),
        None => (text, None),
    };
    Ok(Design { agent, ..Design::new(StageName::parse(stage)?) })
}

/// A pipeline as a table row.
#[derive(Serialize)]
struct SummaryRow<'a> {
    name: &'a PipelineName,
    status: &'static str,
    done: String,
    current: String,
    ready: String,
    failed: String,
}

impl<'a> SummaryRow<'a> {
    fn of(pipeline: &'a Summary) -> Self {
        Self {
            name: &pipeline.name,
            status: pipeline.status.word(),
            done: format!("{}/{}", pipeline.done, pipeline.stages),
            current: listed(&pipeline.current),
            ready: listed(&pipeline.ready),
            failed: listed(&pipeline.failed),
        }
    }
}

fn listed(stages: &[StageName]) -> String {
    stages.iter().map(StageName::as_str).collect::<Vec<_>>().join(" ")
}

impl Ls {
    async fn run(self, pipelines: &Pipelines, output: &mut Output) -> Result<(), Failure> {
        let enough = output.enough(SHOWN);
        let limit =
            self.limit.or_else(|| u64::try_from(enough).ok().filter(|_| enough < usize::MAX));
        let list = List { status: self.status, limit, cursor: None };
        let found = pipelines.list(list).await?;
        output.many_as("pipelines", &found, |output| {
            let lines: Vec<SummaryRow<'_>> = found.iter().map(SummaryRow::of).collect();
            output.table(&lines, &["name", "status", "done", "current", "ready", "failed"])
        })?;
        if self.limit.is_none() && found.len() == enough {
            output.note(&format!("showing the first {enough} pipelines; use --limit for more"));
        }
        Ok(())
    }
}
