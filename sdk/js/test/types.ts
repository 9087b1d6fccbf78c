// The types as a strict program in TypeScript sees them. It is compiled, never run.

import { connect, ConflictError, Endpoint, type Job, type Proposal, type Watch } from "@baton/sdk";
import type { BatonEvent, EmittedEvent, Entry, Task } from "@baton/sdk/types";

const baton = await connect("http://127.0.0.1:4747", { agent: "ada" });
const ada = baton.workspace("w");

const entry: Entry = await ada.state.set(
  "a",
  { step: 1 },
  { ttl_ms: 1, signal: new AbortController().signal },
);
const plan: number = (await ada.state.get<{ step: number }>("a")).value.step;
const updated: number = (await ada.state.update<number>("n", (n = 0) => n + 1)).value;
// @ts-expect-error There is no such option.
await ada.state.set("a", 1, { ttl: 1 });
// @ts-expect-error A patch says what to do.
await ada.state.patch("a", {});
// @ts-expect-error The token is a number.
await ada.tasks.complete("t", "1");

// Options may be `undefined`, also with `exactOptionalPropertyTypes`.
const [signal, n, text, list] = [undefined, undefined, undefined, undefined] as [
  AbortSignal | undefined,
  number | undefined,
  string | undefined,
  string[] | undefined,
];
const exact = (await connect(text, { token: text, requestTimeoutMs: n })).workspace("w", { agent: text });
await exact.state.set("a", 1, { ttl_ms: n, signal, timeoutMs: n, idempotencyKey: text });
await exact.lock("a", { ttl_ms: n, wait_ms: n, signal });
await exact.worker({ concurrency: n, lease_ms: n, capabilities: list }).run({ signal });
await exact.service({ concurrency: n, ttl_ms: n, capabilities: list }).run({ signal });
exact.watch("**", { from: n, signal });

const claimed: Task | null = await ada.tasks.claim({ types: ["write"], wait_ms: 10 });
const job: Job<{ url: string }> | undefined = await ada.claim<{ url: string }>();
ada.worker().task<{ url: string }>("read", async ({ url }, { signal }) => fetch(url, { signal }));

const endpoint = Endpoint.fromEnvironment("small", { timeoutMs: 1_000 });
const answered: Task = await ada.runWithContext(job!, endpoint, { token_budget: 1_000 });
await ada.runWithContext(claimed!, new Endpoint("http://localhost/v1", "small", { key: "k" }));
// @ts-expect-error It needs an endpoint.
await ada.runWithContext(job!, "small");
ada.rules.callback("polite", ({ reason }: Proposal) => (reason ? undefined : "say why"));
ada.rules.callback("slow", async ({ to }) => to === "bob", { severity: "warning", to: "b*" });
// @ts-expect-error A verdict is a text or a boolean.
ada.rules.callback("count", () => 7);

const { results } = await ada.transaction([
  { command: "state.set", namespace: "shared", key: "a", value: 1 },
  { command: "task.create", type: "write" },
]);
const [written, created] = results;
const version: number = written.version;
const status: Task["status"] = created.status;
// @ts-expect-error A query is not part of a transaction.
await ada.transaction([{ command: "state.get", namespace: "shared", key: "a" }]);

const [stored, found] = await ada.batch([
  { command: "state.set", namespace: "shared", key: "a", value: 1 },
  { command: "agent.get", agent: "ada" },
]);
if (stored.status === "fulfilled") stored.value.result.version.toFixed();
if (found.status === "fulfilled") found.value.result.capabilities.join();
// @ts-expect-error A task has no version.
if (found.status === "fulfilled") found.value.result.version;

const minimal = await ada.executeMinimal({ command: "task.create", type: "write" });
const id: string | undefined | null = minimal.result.id;
// @ts-expect-error What it receives is its answer.
await ada.executeMinimal({ command: "task.claim" });

for await (const event of ada.watch("**")) {
  const any: BatonEvent = event;
  if (event.type === "task.completed") {
    const task: string = event.task;
    // @ts-expect-error Another event has that.
    event.holder;
  }
}
for await (const event of ada.watch("tasks/**", { types: ["task.created", "task.claimed"] })) {
  const type: "task.created" | "task.claimed" = event.type;
}
const emitted: Watch<EmittedEvent> = ada.watch("events/**", { types: ["deploy.finished"] });
for await (const item of ada.watch("state/**", { snapshot: true })) {
  if (item.type === "snapshot") {
    const entries: Entry[] = item.entries;
  }
}

try {
  await using lock = await ada.lock("door", { wait_ms: 10 });
  await ada.under(lock.token).state.delete("a", { signal: lock.signal });
} catch (error) {
  if (error instanceof ConflictError) {
    const code: string = error.code;
  }
}
