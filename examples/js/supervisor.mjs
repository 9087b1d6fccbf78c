// One agent creates work, several do it, and a failed attempt is retried by another worker.
//
//   baton serve &
//   node examples/js/supervisor.mjs

import { connect } from "@baton/sdk";

const baton = await connect();
const boss = baton.workspace(`supervisor-${Date.now()}`, { agent: "boss" });

// Workers: each claims one task at a time and keeps its lease while it works.
const stop = new AbortController();
const workers = ["ada", "bob", "cem"].map((agent) =>
    boss
        .as(agent)
        .worker()
        .task("summarise", async ({ paper }, job) => {
            if (paper === 3 && job.attempt === 1) throw new Error("the model is overloaded");
            await job.progress(0.5, "read it");
            return { paper, words: 100 + paper };
        })
        .run({ signal: stop.signal }),
);

// The work, and a join that settles when all of it is done.
const backoff = { initial_ms: 100, multiplier: 2, max_ms: 1_000, jitter: 0 };
for (let paper = 1; paper <= 5; paper += 1) {
    await boss.tasks.create("summarise", { group: "papers", definition: { paper }, backoff });
}
const join = await boss.joins.create({ group: "papers", need: "all" });
const { members } = await boss.joins.settled(join.id);

stop.abort();
const worked = await Promise.all(workers);
const completed = worked.reduce((sum, it) => sum + it.completed, 0);
const failed = worked.reduce((sum, it) => sum + it.failed, 0);
if (members.length !== 5 || completed !== 5 || failed !== 1) throw new Error("something was lost");
console.log(
    `${completed} papers were summarised by ${workers.length} workers, ${failed} attempt was repeated`,
);
await baton.close();
