//! `baton pipeline`: stages of work that come after one another.

use baton_client::Pipelines;
use baton_core::pipeline::{Design, List, Moved, Pipeline as Record, Stage, Status, Summary};
use baton_core::{AgentId, Json, PipelineName, StageName};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use crate::context::Context;
use crate::failure::Failure;
use crate::input::Source;
use crate::output::Output;
use crate::trace::Trace;

const AFTER_HELP: &str = "\
Examples:
  baton pipeline create article --stage research:ada --stage write:bob --stage check
  baton pipeline create article --automatic --input '\"tides\"' --stage research --stage write
  baton pipeline create article -f stages.json         stages side by side, one for each element …
  baton pipeline start article research                prints what the stage is given
  baton pipeline complete article research '{\"found\":3}'
  baton pipeline fail article write '\"no model\"' && baton pipeline retry article write
  baton pipeline output article research
  baton pipeline show article

A stage comes after the one before it, unless the file says otherwise. In an automatic pipeline
every stage that becomes ready is a task: `baton task work` does it, and its result is the output.";

/// As many as fit onto a screen.
const SHOWN: usize = 100;

/// Have stages of work done one after the other
#[derive(Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Pipeline {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Create(Create),
    /// Begin to work on a stage
    Start {
        #[command(flatten)]
        stage: Which,
        /// What it is given, as JSON, `@file` or `-`; the output of the stages before unless given
        #[arg(value_name = "INPUT")]
        input: Option<Source>,
    },
    /// Say that a stage is done
    Complete {
        #[command(flatten)]
        stage: Which,
        /// What came of it, as JSON, `@file` or `-`
        #[arg(value_name = "OUTPUT")]
        made: Option<Source>,
    },
    /// Say that a stage could not be done
    Fail {
        #[command(flatten)]
        stage: Which,
        /// Why, as JSON, `@file` or `-`
        #[arg(value_name = "ERROR")]
        error: Source,
    },
    /// Have a failed stage done again
    Retry {
        #[command(flatten)]
        stage: Which,
    },
    /// Leave a stage out
    Skip {
        #[command(flatten)]
        stage: Which,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// End one with all that runs in it
    Abort {
        /// Which pipeline
        pipeline: String,
        /// Why
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
    },
    /// Print what came of a stage
    Output {
        #[command(flatten)]
        stage: Which,
    },
    /// Show one with its stages
    #[command(visible_alias = "get")]
    Show {
        /// Which pipeline
        pipeline: String,
    },
    Ls(Ls),
    /// Forget one that is finished
    Rm {
        /// Which pipeline
        pipeline: String,
    },
}

#[derive(Args)]
struct Which {
    /// Which pipeline
    pipeline: String,
    /// Which stage
    stage: String,
}

/// Create one
#[derive(Args)]
struct Create {
    /// Its name
    name: String,
    /// A stage, and the agent it is for if that matters; may be given several times
    #[arg(long, value_name = "STAGE[:AGENT]", required_unless_present = "file")]
    stage: Vec<String>,
    /// The stages as JSON, or the whole pipeline: a file, or `-`
    #[arg(short, long, value_name = "FILE", conflicts_with = "stage")]
    file: Option<String>,
    /// Make a task for every stage that becomes ready
    #[arg(long)]
    automatic: bool,
    /// What the first stages are given, as JSON, `@file` or `-`
    #[arg(long, value_name = "JSON")]
    input: Option<Source>,
    /// Whatever else is worth knowing, as a JSON object
    #[arg(long, value_name = "JSON")]
    metadata: Option<Source>,
    #[command(flatten)]
    trace: Trace,
}

/// What a file may say. Its name stands on the command line.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wish {
    stages: Vec<Design>,
    automatic: bool,
    input: Option<Json>,
    metadata: Option<Json>,
}

/// List them, by name
#[derive(Args)]
struct Ls {
    /// Only those: created, running, completed, failed or aborted
    #[arg(long, value_parser = status)]
    status: Option<Status>,
    /// How many at most [default: 100 for people, all for programs]
    #[arg(long, value_name = "COUNT")]
    limit: Option<u64>,
}

fn status(word: &str) -> Result<Status, String> {
    serde_json::from_value(word.into()).map_err(|error| error.to_string())
}

impl Pipeline {
    pub(crate) async fn run(self, context: &Context, output: &mut Output) -> Result<(), Failure> {
        let pipelines = context.workspace().await?.pipelines();
        match self.verb {
            Verb::Create(create) => create.run(&pipelines, output).await,
            Verb::Start { stage: Which { pipeline, stage }, input } => {
                let input = input.map(|input| input.json()).transpose()?;
                let stage = pipelines.start(&pipeline, &stage, input).await?;
                output.one(&stage)
            }
            Verb::Complete { stage: Which { pipeline, stage }, made } => {
                let made = made.map(|made| made.json()).transpose()?;
                moved(output, &pipeline, &pipelines.complete(&pipeline, &stage, made).await?)
            }
            Verb::Fail { stage: Which { pipeline, stage }, error } => {
                let stage = pipelines.fail(&pipeline, &stage, error.json()?).await?;
                turned(output, &pipeline, &stage)
            }
            Verb::Retry { stage: Which { pipeline, stage } } => {
                turned(output, &pipeline, &pipelines.retry(&pipeline, &stage).await?)
            }
            Verb::Skip { stage: Which { pipeline, stage }, reason } => {
                moved(output, &pipeline, &pipelines.skip(&pipeline, &stage, reason).await?)
            }
            Verb::Abort { pipeline, reason } => {
                let aborted = pipelines.abort(&pipeline, reason).await?;
                output.said(&aborted, &format!("pipeline {pipeline} is aborted"))
            }
            Verb::Output { stage: Which { pipeline, stage } } => {
                let found = pipelines.output(&pipeline, &stage).await?;
                let text = found.output.as_ref().map_or("", |made| made.as_str());
                output.show(&found, |_| format!("{text}\n"))
            }
            Verb::Show { pipeline } => {
                let found = pipelines.get(&pipeline).await?;
                output.show(&found, |output| drawn(output, &found))
            }
            Verb::Ls(ls) => ls.run(&pipelines, output).await,
            Verb::Rm { pipeline } => {
                let gone = pipelines.delete(&pipeline).await?;
                output.said(&gone, &format!("pipeline {pipeline} is forgotten"))
            }
        }
    }
}

fn turned(output: &mut Output, pipeline: &str, stage: &Stage) -> Result<(), Failure> {
    let (name, status) = (&stage.name, stage.status.word());
    output.said(stage, &format!("stage {name} of pipeline {pipeline} is {status}"))
}

fn moved(output: &mut Output, pipeline: &str, moved: &Moved) -> Result<(), Failure> {
    let (name, status) = (&moved.stage.name, moved.stage.status.word());
    let next = match moved.ready.as_slice() {
        [] => format!("the pipeline is {}", moved.status.word()),
        ready => format!("next: {}", listed(ready)),
    };
    output.said(moved, &format!("stage {name} of pipeline {pipeline} is {status}; {next}"))
}

/// What people see of a stage.
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
            result: stage.reason.as_deref().or(said.map(Json::as_str)),
        }
    }
}

fn drawn(output: &Output, pipeline: &Record) -> String {
    let rows: Vec<Row<'_>> = pipeline.stages.iter().map(Row::of).collect();
    let by = if pipeline.automatic { "automatic, by" } else { "by" };
    let reason = pipeline.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
    let (name, status) = (&pipeline.name, pipeline.status.word());
    let head = format!("pipeline {name} is {status}{reason} ({by} {})", pipeline.created_by);
    format!("{}\n{}", crate::output::plain(&head), output.table(&rows, &COLUMNS))
}

impl Create {
    async fn run(self, pipelines: &Pipelines, output: &mut Output) -> Result<(), Failure> {
        let wish = self.wish()?;
        let mut creating = pipelines.create(&self.name);
        for stage in wish.stages {
            creating = creating.design(stage);
        }
        if self.automatic || wish.automatic {
            creating = creating.automatic();
        }
        let input = self.input.map(|input| input.json()).transpose()?.or(wish.input);
        if let Some(input) = input {
            creating = creating.input(input);
        }
        let metadata = self.metadata.map(|json| json.json()).transpose()?.or(wish.metadata);
        if let Some(metadata) = metadata {
            creating = creating.metadata(metadata);
        }
        if let Some(traceparent) = self.trace.given() {
            creating = creating.traceparent(&traceparent);
        }
        let created = creating.await?;
        let (name, next) = (&created.name, listed(&created.ready));
        let sentence = format!("pipeline {name} is created; next: {next}");
        output.said(&created, &sentence)
    }

    /// What the file says, or the command line.
    fn wish(&self) -> Result<Wish, Failure> {
        let Some(file) = &self.file else {
            let stages = self.stage.iter().map(|text| design(text));
            return Ok(Wish { stages: stages.collect::<Result<_, _>>()?, ..Wish::default() });
        };
        let source = if file == "-" { Source::Stdin } else { Source::File(file.into()) };
        let json = source.json()?;
        if json.as_str().starts_with('[') {
            return Ok(Wish { stages: source.form(&json)?, ..Wish::default() });
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

/// What people see of a pipeline in a list.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a PipelineName,
    status: &'static str,
    done: String,
    current: String,
    ready: String,
    failed: String,
}

impl<'a> Line<'a> {
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
        output.many_as(&found, |output| {
            let lines: Vec<Line<'_>> = found.iter().map(Line::of).collect();
            output.table(&lines, &["name", "status", "done", "current", "ready", "failed"])
        })?;
        if self.limit.is_none() && found.len() == enough {
            output.note(&format!("these are the first {enough}; --limit shows more"));
        }
        Ok(())
    }
}
