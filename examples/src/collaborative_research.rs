//! Three researchers share their findings, and an editor summarises them at the same time.
//!
//! Findings go into one stream, whose order is the same for all readers. No two researchers work on
//! the same question: the first one to write its name to a key has it. The editor asks back where a
//! finding is unclear, and its author answers.

use baton_client::Workspace;
use baton_client::core::message::Message;
use baton_client::{Service, Setback};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{Ending, Story, WAIT_MS, tell};

const QUESTIONS: [&str; 6] = ["moon", "sun", "wind", "shore", "depth", "ice"];

/// The researchers.
pub struct CollaborativeResearch;

impl Story for CollaborativeResearch {
    const NAME: &str = "collaborative-research";

    async fn happens(workspace: Workspace) -> Ending {
        workspace.streams().create("findings").await?;
        let (notifier, notified) = watch::channel(false);
        let summing = async {
            let summary = sum_up(workspace.as_agent("summer")?).await;
            notifier.send_replace(true);
            summary
        };
        let (summary, a, b, c) = tokio::try_join!(
            summing,
            researcher(workspace.as_agent("ada")?, notified.clone()),
            researcher(workspace.as_agent("bob")?, notified.clone()),
            researcher(workspace.as_agent("cyd")?, notified.clone()),
        )?;
        assert_eq!(a + b + c, QUESTIONS.len(), "every question was looked into once");
        let mut known: Vec<&str> = summary.iter().map(String::as_str).collect();
        known.sort_unstable();
        let mut asked = QUESTIONS;
        asked.sort_unstable();
        assert_eq!(known, asked, "and no finding was lost");
        Ok(())
    }
}

/// Takes free questions, publishes its findings, and answers requests.
async fn researcher(
    me: Workspace,
    mut stop: watch::Receiver<bool>,
) -> Result<usize, Box<dyn std::error::Error>> {
    let looking = async {
        let mut found = 0;
        for question in QUESTIONS {
            let key = format!("questions/{question}");
            match me.state("shared").set(&key, me.agent().as_str()).if_absent().await {
                Ok(_) => {}
                Err(error) if error.code() == "state.exists" => continue,
                Err(error) => return Err(error),
            }
            tell(me.agent().as_str(), &format!("looks into the {question}"));
            let finding = json!({"by": me.agent().as_str(), "question": question});
            me.streams().send("findings", finding).await?;
            found += 1;
        }
        Ok(found)
    };
    let stopped = async move { drop(stop.wait_for(|notified| *notified).await) };
    let answering = Service::new(me.clone()).run(answer, stopped);
    let (found, _) = tokio::try_join!(looking, answering)?;
    Ok(found)
}

async fn answer(request: Message) -> Result<Value, Setback> {
    let question: String = request.body.to()?;
    Ok(json!(format!("I am sure about the {question}")))
}

/// Reads findings as they arrive, and asks back about one of them.
async fn sum_up(me: Workspace) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let mut known: Vec<String> = Vec::new();
    while known.len() < QUESTIONS.len() {
        let reading = me.streams().receive("findings").from(known.len() as u64);
        for frame in reading.wait_ms(WAIT_MS).await?.frames {
            let finding: Value = frame.data.to()?;
            let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
            let (by, question) = (text("by"), text("question"));
            tell("summer", &format!("reads what {by} found about the {question}"));
            if question == "ice" {
                let asking = me.messages().request(&by, &question).timeout_ms(WAIT_MS);
                let answered = asking.await?;
                tell(&by, &format!("is asked back, and answers: {}", answered.body.as_str()));
                assert!(answered.body.as_str().contains("I am sure"));
            }
            known.push(question);
        }
    }
    me.streams().close("findings", Some("all questions are answered")).await?;
    tell("summer", &format!("sums up: {}", known.join(", ")));
    Ok(known)
}
