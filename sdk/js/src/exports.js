// Everything that is public and the same on every platform.

export { Client } from "./client.js";
export * from "./errors.js";
export { GiveUp, RetryLater } from "./failures.js";
export { Held } from "./held.js";
export { Job } from "./job.js";
export { Service } from "./service.js";
export { Session } from "./session.js";
export { State } from "./state.js";
export { Watch } from "./watch.js";
export { Worker } from "./worker.js";
export { Workspace } from "./workspace.js";

/** @typedef {import("./caller.js").CallOptions} CallOptions */
/** @typedef {import("./options.js").ClientOptions} ClientOptions */
/** @typedef {import("./held.js").HoldOptions} HoldOptions */
/** @typedef {import("./model.js").EndpointOptions} EndpointOptions */
/** @typedef {import("./model-runs.js").ModelRunOptions} ModelRunOptions */
/** @typedef {import("./rules.js").CallbackOptions} CallbackOptions */
/** @typedef {import("./rules.js").Proposal} Proposal */
/** @typedef {import("./rules.js").RuleCallback} RuleCallback */
/** @typedef {import("./service.js").ServiceOptions} ServiceOptions */
/** @typedef {import("./worker.js").WorkerOptions} WorkerOptions */
/** @typedef {import("./worker.js").Worked} Worked */
/** @typedef {import("./watch.js").Snapshot} Snapshot */
