//! Every example succeeds, in its own engine and on a server.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and this says where")]

use baton_examples::{
    Story, at_server, collaborative_research, content_pipeline, embedded, hierarchical, long_job,
    peer_to_peer, review_and_approval, supervisor,
};
use baton_server::{Server, Settings};
use tokio::sync::oneshot;

async fn ends_well<S: Story>() {
    embedded::<S>().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let baton = baton::open(folder.path()).await.unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let server = Server::bind(baton, Settings { listen, ..Settings::default() }).await.unwrap();
    let url = format!("http://{}", server.address());
    let (stop, stopped) = oneshot::channel::<()>();
    let job = tokio::spawn(server.run(async move { drop(stopped.await) }));
    // Twice: an example can run again on the same server.
    at_server::<S>(&url).await.unwrap();
    at_server::<S>(&url).await.unwrap();
    stop.send(()).unwrap();
    job.await.unwrap();
}

/// One test for each example.
macro_rules! stories {
    ($($story:ident: $name:ident),* $(,)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                ends_well::<$story::$name>().await;
            }
        )*
    };
}

stories! {
    collaborative_research: CollaborativeResearch,
    content_pipeline: ContentPipeline,
    hierarchical: Hierarchical,
    long_job: LongJob,
    peer_to_peer: PeerToPeer,
    review_and_approval: ReviewAndApproval,
    supervisor: Supervisor,
}
