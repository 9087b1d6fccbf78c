//! The routes that stand for an operation, as a table. `http/` serves them.

/// Where the fields come from that are not in the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// The query.
    Query,
    /// The members of the body, which may be left out if none is needed.
    Body,
    /// The body is this field as a whole; the others are in the query.
    Whole(&'static str),
    /// The body is a patch in one of several forms.
    Patch,
}

/// A route.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) operation: &'static str,
    pub(super) rest: Rest,
    pub(super) summary: &'static str,
}

const fn route(
    method: &'static str,
    path: &'static str,
    operation: &'static str,
    rest: Rest,
    summary: &'static str,
) -> Route {
    Route { method, path, operation, rest, summary }
}

const ENTRY: &str = "/v1/{workspace}/state/{namespace}/{key}";
const NAMESPACES: &str = "/v1/{workspace}/namespaces";
const NAMESPACE: &str = "/v1/{workspace}/namespaces/{name}";
const AGENTS: &str = "/v1/{workspace}/agents";
const AGENT: &str = "/v1/{workspace}/agents/{agent}";
const RULE: &str = "/v1/{workspace}/rules/{name}";
const SEMAPHORE: &str = "/v1/{workspace}/semaphores/{name}";
const TASK: &str = "/v1/{workspace}/tasks/{task}";
const BARRIER: &str = "/v1/{workspace}/barriers/{name}";
const JOIN: &str = "/v1/{workspace}/joins/{join}";
const PIPELINE: &str = "/v1/{workspace}/pipelines/{pipeline}";
const CHECKPOINT: &str = "/v1/{workspace}/checkpoints/{checkpoint}";
const LOCK: &str = "/v1/{workspace}/locks/{name}";

/// Every route that stands for an operation.
#[rustfmt::skip] // Columns.
pub(super) const ROUTES: &[Route] = &[
    route("get",    ENTRY,      "state.get",    Rest::Query,          "Read an entry"),
    route("put",    ENTRY,      "state.set",    Rest::Whole("value"), "Write an entry"),
    route("patch",  ENTRY,      "state.patch",  Rest::Patch,          "Change part of an entry"),
    route("delete", ENTRY,      "state.delete", Rest::Query,          "Remove an entry"),
    route("get",    "/v1/{workspace}/state/{namespace}", "state.list", Rest::Query,
        "List the entries of a namespace"),
    route("get",    "/v1/{workspace}/state",     "state.snapshot", Rest::Query,
        "Everything at one revision"),
    route("get",    "/v1/{workspace}/history",   "state.history",  Rest::Query,
        "Who changed what, newest first"),
    route("get",    "/v1/{workspace}/diff",      "state.diff",     Rest::Query,
        "What differs between two revisions"),
    route("post",   "/v1/{workspace}/transfers", "state.transfer", Rest::Body,
        "Move entries to another namespace"),
    route("get",    NAMESPACES, "namespace.list",      Rest::Query, "List namespaces"),
    route("post",   NAMESPACES, "namespace.create",    Rest::Body,  "Create a namespace"),
    route("get",    NAMESPACE,  "namespace.get",       Rest::Query, "Read a namespace"),
    route("put",    NAMESPACE,  "namespace.configure", Rest::Whole("rules"),
        "Replace the rules of a namespace"),
    route("delete", NAMESPACE,  "namespace.delete",    Rest::Query,
        "Remove a namespace with all its entries"),
    route("get",    AGENTS,     "agent.list",     Rest::Query, "List agents"),
    route("post",   AGENTS,     "agent.register", Rest::Body,  "Begin a session"),
    route("get",    AGENT,      "agent.get",      Rest::Query, "Read an agent"),
    route("delete", AGENT,      "agent.leave",    Rest::Query, "End a session"),
    route("post",   "/v1/{workspace}/agents/{agent}/heartbeat", "agent.heartbeat", Rest::Body,
        "Give a sign of life"),
    route("get",    "/v1/{workspace}/rules", "rule.list", Rest::Query,
        "List the rules for hand-offs"),
    route("put",    RULE,       "rule.add",       Rest::Body,  "Add or replace a rule"),
    route("delete", RULE,       "rule.remove",    Rest::Query, "Remove a rule"),
    route("get",    "/v1/{workspace}/locks", "lock.list", Rest::Query,
        "List the locks that are held, and who waits for them"),
    route("get",    LOCK,       "lock.get",       Rest::Query, "Read a lock"),
    route("post",   "/v1/{workspace}/locks/{name}/acquire", "lock.acquire", Rest::Body,
        "Take a lock, or wait for it"),
    route("post",   "/v1/{workspace}/locks/{name}/renew",   "lock.renew",   Rest::Body,
        "Keep a lock for longer"),
    route("post",   "/v1/{workspace}/locks/{name}/release", "lock.release", Rest::Body,
        "Let go of a lock"),
    route("get",    "/v1/{workspace}/semaphores", "semaphore.list", Rest::Query,
        "List semaphores, who holds their permits, and who waits for one"),
    route("get",    SEMAPHORE,  "semaphore.get",  Rest::Query, "Read a semaphore"),
    route("post",   "/v1/{workspace}/semaphores/{name}/acquire", "semaphore.acquire", Rest::Body,
        "Take a permit, or wait for one"),
    route("post",   "/v1/{workspace}/semaphores/{name}/renew",   "semaphore.renew",   Rest::Body,
        "Keep a permit for longer"),
    route("post",   "/v1/{workspace}/semaphores/{name}/release", "semaphore.release", Rest::Body,
        "Let go of a permit"),
    route("post",   "/v1/{workspace}/joins",      "join.create", Rest::Body,
        "Look after several tasks"),
    route("get",    JOIN,       "join.get",       Rest::Query, "Read a join"),
    route("post",   "/v1/{workspace}/joins/{join}/wait", "join.wait", Rest::Body,
        "Wait until enough of them have finished"),
    route("get",    "/v1/{workspace}/checkpoints", "checkpoint.list", Rest::Query,
        "List checkpoints, newest first, without their states"),
    route("post",   "/v1/{workspace}/checkpoints", "checkpoint.save", Rest::Body,
        "Save the state of a task, or of another thread of work"),
    route("get",    CHECKPOINT, "checkpoint.get", Rest::Query, "Read a checkpoint with its state"),
    route("post",   "/v1/{workspace}/checkpoints/{checkpoint}/restore", "checkpoint.restore",
        Rest::Body, "Go back to a checkpoint"),
    route("post",   "/v1/{workspace}/checkpoints/{checkpoint}/fork",    "checkpoint.fork",
        Rest::Body, "Begin another task with the content of a checkpoint"),
    route("post",   "/v1/{workspace}/checkpoints/{checkpoint}/label",   "checkpoint.label",
        Rest::Body, "Call a checkpoint by a name, which keeps it"),
    route("get",    "/v1/{workspace}/tasks/{task}/checkpoint", "checkpoint.latest", Rest::Query,
        "Read the checkpoint that a task goes on from"),
    route("post",   "/v1/{workspace}/tasks/{task}/prune",      "checkpoint.prune",  Rest::Body,
        "Remove checkpoints of a task"),
    route("get",    "/v1/{workspace}/retention/checkpoints", "checkpoint.retention", Rest::Query,
        "How many checkpoints are kept, and for how long"),
    route("post",   "/v1/{workspace}/retention/checkpoints", "checkpoint.retain",    Rest::Body,
        "Say how many checkpoints are kept, and for how long"),
    route("get",    BARRIER,    "barrier.get",    Rest::Query, "Read a barrier"),
    route("post",   "/v1/{workspace}/barriers/{name}/arrive", "barrier.arrive", Rest::Body,
        "Arrive at a barrier, and wait for the others"),
    route("post",   "/v1/{workspace}/barriers/{name}/reset",  "barrier.reset",  Rest::Body,
        "Whoever has arrived has not"),
    route("get",    "/v1/{workspace}/tasks", "task.list",   Rest::Query, "List tasks"),
    route("post",   "/v1/{workspace}/tasks", "task.create", Rest::Body,  "Want something done"),
    route("post",   "/v1/{workspace}/claims", "task.claim", Rest::Body,
        "Take the next task, or wait for one"),
    route("get",    "/v1/{workspace}/stats/tasks", "task.stats", Rest::Query,
        "How many tasks there are, how long they took, why they failed"),
    route("get",    TASK,       "task.get",       Rest::Query, "Read a task"),
    route("get",    "/v1/{workspace}/tasks/{task}/why",     "task.why",     Rest::Query,
        "Why a task is not running"),
    route("get",    "/v1/{workspace}/tasks/{task}/history", "task.history", Rest::Query,
        "What happened to a task, newest first"),
    route("post",   "/v1/{workspace}/tasks/{task}/heartbeat", "task.heartbeat", Rest::Body,
        "Say that the work goes on"),
    route("post",   "/v1/{workspace}/tasks/{task}/progress", "task.progress", Rest::Body,
        "Say how far the work is"),
    route("post",   "/v1/{workspace}/tasks/{task}/update", "task.update", Rest::Body,
        "Change some fields of a task"),
    route("post",   "/v1/{workspace}/tasks/{task}/release", "task.release", Rest::Body,
        "Let a task go, for others to take"),
    route("post",   "/v1/{workspace}/tasks/{task}/complete", "task.complete", Rest::Body,
        "Say that a task is done"),
    route("post",   "/v1/{workspace}/tasks/{task}/fail", "task.fail", Rest::Body,
        "Say that a try has failed"),
    route("post",   "/v1/{workspace}/tasks/{task}/cancel", "task.cancel", Rest::Body,
        "Cancel a task and everything below it"),
    route("post",   "/v1/{workspace}/tasks/{task}/review", "task.review", Rest::Body,
        "Decide about a task that waits for a person"),
    route("get",    "/v1/{workspace}/pipelines", "pipeline.list", Rest::Query, "List pipelines"),
    route("post",   "/v1/{workspace}/pipelines", "pipeline.create", Rest::Body,
        "Have stages done one after the other"),
    route("get",    PIPELINE,   "pipeline.get",    Rest::Query, "Read a pipeline"),
    route("delete", PIPELINE,   "pipeline.delete", Rest::Query, "Forget a finished pipeline"),
    route("post",   "/v1/{workspace}/pipelines/{pipeline}/abort", "pipeline.abort", Rest::Body,
        "End a pipeline with all that runs in it"),
    route("get",    "/v1/{workspace}/pipelines/{pipeline}/stages/{stage}/output",
        "pipeline.output", Rest::Query, "What came of a stage"),
    route("post",   "/v1/{workspace}/pipelines/{pipeline}/stages/{stage}/start",
        "pipeline.start_stage", Rest::Body, "Begin to work on a stage"),
    route("post",   "/v1/{workspace}/pipelines/{pipeline}/stages/{stage}/complete",
        "pipeline.complete_stage", Rest::Body, "Say that a stage is done"),
    route("post",   "/v1/{workspace}/pipelines/{pipeline}/stages/{stage}/fail",
        "pipeline.fail_stage", Rest::Body, "Say that a stage could not be done"),
    route("post",   "/v1/{workspace}/pipelines/{pipeline}/stages/{stage}/retry",
        "pipeline.retry_stage", Rest::Body, "Have a failed stage done again"),
    route("post",   "/v1/{workspace}/pipelines/{pipeline}/stages/{stage}/skip",
        "pipeline.skip_stage", Rest::Body, "Leave a stage out"),
    route("get",    "/v1/{workspace}", "workspace.get", Rest::Query, "Read the workspace"),
    route("patch",  "/v1/{workspace}", "workspace.configure", Rest::Body,
        "Set up the workspace"),
];
