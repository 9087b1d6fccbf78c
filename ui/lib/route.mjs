// Addresses of the pages: `#/{workspace}/{view}/{rest}?name=value`. Everything that a person would
// want to send to another is in them, except the token.

/**
 * @typedef {object} Route
 * @property {string} workspace - Empty if the address names none.
 * @property {string} view
 * @property {string[]} path - What follows the view, such as the id of a task.
 * @property {Record<string, string>} query
 */

/** @param {string} part */
function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/**
 * @param {string} hash
 * @returns {Route}
 */
export function parseRoute(hash) {
  const text = hash.replace(/^#?\/?/, "");
  const [place = "", search = ""] = splitOnce(text, "?");
  const [workspace = "", view = "now", ...path] = place.split("/").map(decode);
  const query = Object.fromEntries(new URLSearchParams(search));
  return { workspace, view: view || "now", path: path.filter((part) => part !== ""), query };
}

/** @param {string} text @param {string} mark */
function splitOnce(text, mark) {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

/**
 * @param {{ workspace: string, view: string, path?: string[],
 *   query?: Record<string, string | number | undefined> }} route
 */
export function formatRoute({ workspace, view, path = [], query = {} }) {
  const place = [workspace, view, ...path].map(encodeURIComponent).join("/");
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  return `#/${place}${given.length > 0 ? `?${search}` : ""}`;
}

/** The screen that shows a subject of an event. @type {Record<string, string>} */
const VIEW_OF = {
  tasks: "tasks",
  agents: "agents",
  handoffs: "handoffs",
  pipelines: "pipelines",
  state: "state",
  locks: "locks",
  semaphores: "locks",
  inbox: "messages",
  checkpoints: "checkpoints",
  contracts: "state",
};

/**
 * The view and path of a subject such as `tasks/t-7`, if one shows it.
 * @param {string} subject
 * @returns {{ view: string, path: string[] } | undefined}
 */
export function placeOf(subject) {
  const [kind = "", ...rest] = subject.split("/");
  const view = VIEW_OF[kind];
  if (!view) return undefined;
  const id = rest.join("/");
  if (kind === "state") return { view, path: [rest[0] ?? "", rest.slice(1).join("/")] };
  if (kind === "inbox") return { view, path: rest.slice(1) };
  if (kind === "locks" || kind === "semaphores") return { view, path: [] };
  if (kind === "pipelines") return { view, path: rest.slice(0, 1) };
  if (kind === "checkpoints" || kind === "contracts") return { view, path: [] };
  return { view, path: [id] };
}
