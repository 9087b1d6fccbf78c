// Data for every screen: a demo fleet, and what the fleet does not have.

/** @import { TestServer } from "./server.mjs" */

/** Text that would be markup if it were not shown as text. */
export const MARKUP = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 2</script>';

/** An escape of terminals, a letter that looks like another, and one that turns the direction. */
export const DISGUISED = "\u001b[31mdelete\u001b[0m \u0430da \u202egnp.exe";

/** @param {TestServer} server */
export async function fill(server) {
  server.baton("demo", "--rounds", "6", "--pace", "fast");
  const run = (/** @type {Record<string, unknown>} */ command) => server.command("demo", command);
  for (const agent of ["lin", "joe", "zoe"]) {
    await run({
      command: "agent.register",
      agent,
      capabilities: ["review"],
      ttl_ms: 86_400_000,
    });
  }
  await run({ command: "agent.register", agent: "apprentice", parent: "joe", ttl_ms: 86_400_000 });
  await pipelines(run);
  await run({
    command: "state.set",
    agent: "lin",
    namespace: "shared",
    key: "plan/outline",
    value: { title: "Tides", step: 1, parts: ["a", "b"] },
  });
  await run({
    command: "state.set",
    agent: "joe",
    namespace: "shared",
    key: "plan/outline",
    value: { title: "Tides", step: 2, parts: ["a", "b", "c"] },
  });
  await run({
    command: "contract.declare",
    agent: "zoe",
    name: "outline",
    keys: [{ key: "shared/plan/outline", type: "object", fields: ["title", "parts"] }],
  });
  await run({ command: "message.send", agent: "lin", to: "zoe", body: MARKUP });
  await run({ command: "message.send", agent: "lin", to: "joe", body: DISGUISED });
  await run({
    command: "task.create",
    agent: "lin",
    task: "broken",
    type: "build",
    description: MARKUP,
    max_retries: 0,
  });
  const broken = await run({ command: "task.claim", agent: "joe", types: ["build"] });
  await run({
    command: "task.fail",
    agent: "joe",
    task: broken.id,
    token: broken.lease.token,
    error: { code: "out_of_memory", text: MARKUP },
  });
  await run({
    command: "task.create",
    agent: "lin",
    task: "doubtful",
    type: "check",
    max_retries: 0,
    on_exhausted: "review",
  });
  const doubtful = await run({ command: "task.claim", agent: "joe", types: ["check"] });
  await run({
    command: "task.fail",
    agent: "joe",
    task: doubtful.id,
    token: doubtful.lease.token,
    error: "not sure",
  });
  await run({
    command: "task.create",
    agent: "lin",
    task: "long",
    type: "write",
    description: "write the long report",
  });
  const long = await run({
    command: "task.claim",
    agent: "joe",
    types: ["write"],
    lease_ms: 3_600_000,
  });
  await run({
    command: "task.progress",
    agent: "joe",
    task: "long",
    token: long.lease.token,
    fraction: 0.4,
    note: "chapter two",
  });
  await run({
    command: "handoff.offer",
    agent: "joe",
    to: "zoe",
    task: "long",
    token: long.lease.token,
    approval: true,
    reason: "zoe knows it better",
    state: { tone: "dry" },
    work_completed: ["chapter one"],
    remaining_work: ["chapter two"],
  });
  await run({
    command: "task.create",
    agent: "lin",
    task: "later",
    type: "write",
    depends_on: ["long"],
    capabilities: ["prose"],
  });
  await locks(server, run);
}

/** @param {(command: Record<string, unknown>) => Promise<any>} run */
async function pipelines(run) {
  const stages = [
    { name: "research" },
    { name: "figures", after: [] },
    { name: "write", after: ["research", "figures"] },
    { name: "check", after: ["write"] },
    { name: "translate", after: ["write"] },
    { name: "publish", after: ["check", "translate"] },
  ];
  await run({
    command: "pipeline.create",
    agent: "lin",
    pipeline: "article",
    stages,
    input: { topic: "tides" },
  });
  for (const stage of ["research", "figures"]) {
    await run({ command: "pipeline.start_stage", agent: "joe", pipeline: "article", stage });
    await run({
      command: "pipeline.complete_stage",
      agent: "joe",
      pipeline: "article",
      stage,
      output: { words: 900 },
    });
  }
  await run({
    command: "pipeline.start_stage",
    agent: "zoe",
    pipeline: "article",
    stage: "write",
  });
}

/** Two agents that wait for each other's locks. @param {TestServer} server @param {(command: any) => Promise<any>} run */
async function locks(server, run) {
  await run({ command: "lock.acquire", agent: "lin", name: "repository", ttl_ms: 3_600_000 });
  await run({ command: "lock.acquire", agent: "joe", name: "deploy", ttl_ms: 3_600_000 });
  await run({
    command: "semaphore.acquire",
    agent: "lin",
    name: "models",
    permits: 2,
    ttl_ms: 3_600_000,
  });
  server.beside(
    "--workspace",
    "demo",
    "--agent",
    "joe",
    "lock",
    "acquire",
    "repository",
    "--wait",
    "10m",
  );
  server.beside(
    "--workspace",
    "demo",
    "--agent",
    "lin",
    "lock",
    "acquire",
    "deploy",
    "--wait",
    "10m",
  );
  server.beside(
    "--workspace",
    "demo",
    "--agent",
    "zoe",
    "lock",
    "acquire",
    "deploy",
    "--wait",
    "10m",
  );
}
