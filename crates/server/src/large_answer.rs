//! Answers that take long to encode, such as a page of large values: another thread encodes them,
//! so that other workspaces are served meanwhile.

use std::io::{ErrorKind, Result, Write};

use baton_core::{Answer, Reply, state};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Larger answers are encoded by another thread: that costs about as much as encoding a tenth of
/// this.
const LARGE_BYTES: usize = 64 << 10;

/// Whether an answer takes long to encode. It takes no longer to find out than to encode one that
/// does not.
pub(crate) fn is_large(answer: &Answer) -> bool {
    match &answer.reply {
        Reply::State(state::Reply::Entries(page)) => {
            let bytes = page.entries.iter().map(|entry| entry.key().len() + entry.value().len());
            bytes.sum::<usize>() > LARGE_BYTES
        }
        // One entry is copied as it is stored, and the others are small.
        Reply::State(state::Reply::Entry(_) | state::Reply::Moved { .. })
        | Reply::Namespace(_)
        | Reply::Agent(_)
        | Reply::Lock(_)
        | Reply::Semaphore(_)
        | Reply::Barrier(_) => false,
        reply => serde_json::to_writer(Measure { left: LARGE_BYTES }, reply).is_err(),
    }
}

/// Counts what is written, up to a limit.
struct Measure {
    left: usize,
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let left = self.left.checked_sub(bytes.len());
        self.left = left.ok_or_else(|| std::io::Error::from(ErrorKind::StorageFull))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Encodes something large on another thread; only so many at once.
pub(crate) async fn encode_apart<T: Send + 'static>(
    slots: &Semaphore,
    encode: impl FnOnce() -> T + Send + 'static,
) -> T {
    let _permit = slots.acquire().await.expect("the places are never closed");
    match spawn_blocking(encode).await {
        Ok(encoded) => encoded,
        // Nothing cancels it, so it has panicked.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

#[cfg(test)]
mod tests {
    use baton_core::state::Page;
    use baton_core::storage::{Entry as Packed, Head};
    use baton_core::{AgentId, Entry, NamespaceName, Revision};

    use super::*;

    fn page(entries: usize, bytes: usize) -> Answer {
        let entry = |number: usize| {
            let head = Head { revision: 1, time_ms: 1, version: 1, author: 0 };
            let value = format!("\"{}\"", "x".repeat(bytes));
            let packed = Packed::new(head, &format!("k{number}"), value.as_bytes());
            Entry::new(packed, NamespaceName::shared(), AgentId::parse("ada").unwrap())
        };
        let entries = (0..entries).map(entry).collect();
        let page = Page { revision: Revision(1), entries, cursor: None };
        let reply = Reply::State(state::Reply::Entries(page));
        Answer { revision: Revision(1), reply }
    }

    #[test]
    fn a_page_is_large_by_its_values_and_by_their_number() {
        assert!(!is_large(&page(8, 100)));
        assert!(is_large(&page(8, 1 << 20)));
        let several = |count: usize| {
            let reply = Reply::Transaction(vec![page(1, 1_000).reply; count]);
            Answer { revision: Revision(1), reply }
        };
        assert!(!is_large(&several(5)));
        assert!(is_large(&several(100)));
    }

    /// While something large is encoded, the serving thread continues.
    #[tokio::test]
    async fn something_large_is_encoded_by_another_thread() {
        let (slots, serving) = (Semaphore::new(1), std::thread::current().id());
        let (go_on, wait) = std::sync::mpsc::channel();
        let encoding = encode_apart(&slots, move || {
            wait.recv().expect("the serving thread continues");
            std::thread::current().id()
        });
        let serve = async {
            tokio::task::yield_now().await;
            go_on.send(()).expect("it is being encoded");
        };
        let (encoded_by, ()) = tokio::join!(encoding, serve);
        assert_ne!(encoded_by, serving);
    }
}
