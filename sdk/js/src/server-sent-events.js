// Server-Sent Events, read from the body of a response.

/** @typedef {{ event: string, id: string | undefined, data: string }} ServerSentEvent */

/**
 * @param {ReadableStream<Uint8Array>} body
 * @returns {AsyncGenerator<ServerSentEvent, void, void>}
 */
export async function* serverSentEvents(body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
        const parsed = parse(text.slice(0, end));
        text = text.slice(end + 2);
        if (parsed) yield parsed;
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** @param {string} block @returns {ServerSentEvent | undefined} */
function parse(block) {
  /** @type {Record<string, string>} */
  const fields = {};
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const name = line.slice(0, colon);
    const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    fields[name] =
      name === "data" && fields.data !== undefined ? `${fields.data}\n${value}` : value;
  }
  if (fields.data === undefined) return undefined;
  return { event: fields.event ?? "message", id: fields.id, data: fields.data };
}
