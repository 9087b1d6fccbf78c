"""Two agents, one hand-off: a tutorial that runs.

    python examples/python/two_agents.py                              # in a folder of its own
    python examples/python/two_agents.py http://127.0.0.1:4747        # with a server

Ada researches, and hands her task to Bob when it is time to write. Nothing is copied by hand: the
task, her notes and the state move to Bob in one commit, and Ada's token is worth nothing after it.
"""

from __future__ import annotations

import sys
import tempfile
import threading

import baton


def ada(b: baton.Baton) -> None:
    """Claims the task, does her part, and offers the rest to Bob."""
    # 1. A worker claims tasks and renews their leases while its handlers run.
    worker = b.worker(lease=30)

    @worker.task("article")
    def research(job: baton.Job) -> None:
        print(f"ada   has {job.id}: {job.input['topic']}")
        job.progress(0.3, "reading")
        # 2. Writes through `job.baton` are refused once the lease is lost.
        job.baton.state.set("outline", ["the moon pulls", "the sun helps"])
        # 3. The hand-off carries state, keys and notes. This ends Ada's part.
        job.handoff(
            "bob",
            reason="the research is done",
            state={"tone": "dry", "words": 120},
            keys=["shared/outline"],
            notes="Source 7 is doubtful.",
        )

    worker.run(until=lambda worked: worked.handed_over == 1)
    print("ada   has offered it to bob")


def bob(b: baton.Baton) -> None:
    """Waits for what is offered to him, accepts it, and completes the task."""
    for offer in b.handoffs.offers():
        print(f"bob   is offered {offer.handoff.task} by {offer.handoff.from_}")
        # 4. To accept is to hold the task, with a lease and a token of one's own.
        with offer.work() as job:
            outline = job.accepted.values["shared/outline"]
            print(f"bob   knows the outline {outline} and the note {job.accepted.handoff.notes!r}")
            # 5. The context for a model, within a budget, as one text.
            prompt = b.context.build(task=job.id, token_budget=2000).text
            assert "doubtful" in prompt
            job.result = {"text": " and ".join(outline), "words": 6}
        return


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = sys.argv[1] if len(sys.argv) > 1 else None
        client = baton.connect(url) if url else baton.open(folder)
        with client as b:
            agents = [
                threading.Thread(target=ada, args=(b.as_agent("ada"),)),
                threading.Thread(target=bob, args=(b.as_agent("bob"),)),
            ]
            for agent in agents:
                agent.start()
            # 6. The requester creates the task and waits for its result.
            eve = b.as_agent("eve")
            article = eve.run_task("article", {"topic": "tides"}, wait=60)
            print(f"eve   gets {article['text']!r}")
            for agent in agents:
                agent.join()
            # 7. The history records the author of every action.
            for event in eve.events.history(order="oldest").events:
                print(f"{event['revision']:4}  {event['agent']:6} {event['type']}")
            assert article["words"] == 6


if __name__ == "__main__":
    main()
