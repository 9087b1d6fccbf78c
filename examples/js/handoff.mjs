// Work is handed from one agent to another, with what it needs to continue.
//
//   baton serve &
//   node examples/js/handoff.mjs

import { connect } from "@baton/sdk";

const baton = await connect();
const writer = baton.workspace(`handoff-${Date.now()}`, { agent: "writer" });
const reviewer = writer.as("reviewer");
await writer.tasks.create("article", { id: "a-1", definition: { title: "Leases" } });

// The writer works on the task, saves its progress and offers it to the reviewer.
const job = await writer.claim({ types: ["article"] });
await job.checkpoint({ draft: "A lease ends by itself." });
await job.handoff("reviewer", {
    notes: "check the facts",
    work_completed: ["draft"],
    remaining_work: ["review"],
});

// The reviewer accepts: the lease moves to it in the same commit.
for await (const offer of reviewer.handoffs.listen()) {
    console.log(`offered by ${offer.from}: ${offer.notes}`);
    const { task } = await reviewer.handoffs.accept(offer.id);
    const checkpoint = await reviewer.checkpoints.latest(task.id);
    const result = { text: `${checkpoint.state.draft} Unless it is renewed.` };
    await reviewer.tasks.complete(task.id, task.lease.token, { result });
    break;
}

const { text } = await writer.tasks.result("a-1");
console.log(text);

// The writer no longer holds the task.
try {
    await job.progress(0.9);
    throw new Error("a stale token was accepted");
} catch (error) {
    if (error.kind !== "stale") throw error;
    console.log(`the writer is rejected: ${error.code}`);
}
await baton.close();
