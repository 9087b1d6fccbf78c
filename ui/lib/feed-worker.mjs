// Receives the events of a workspace beside the page, so that a busy server does not delay its frames:
// each event is a message of the WebSocket, and the page gets as many as there are ten times a second.

/** @typedef {{ sdk: string, url: string, settings: any, workspace: string, from: number }} Order */

const GAP_MS = 100;

const page = /** @type {any} */ (self);
/** @type {any[]} */
let batch = [];
let sentAt = -Infinity;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

function send() {
  timer = undefined;
  sentAt = performance.now();
  page.postMessage({ events: batch });
  batch = [];
}

/** @param {Order} order */
async function follow({ sdk, url, settings, workspace, from }) {
  const { connect } = await import(sdk);
  const client = await connect(url, settings);
  for await (const event of client.workspace(workspace).watch("**", { from, waits: true })) {
    batch.push(event);
    timer ??= setTimeout(send, Math.max(0, sentAt + GAP_MS - performance.now()));
  }
}

page.onmessage = (/** @type {{ data: Order }} */ { data }) =>
  void follow(data).catch((error) => {
    const { kind, code, message, hint } = error;
    page.postMessage({ error: { kind, code, message, hint } });
  });
