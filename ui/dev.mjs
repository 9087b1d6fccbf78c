// Serves the dashboard from disk in front of a running server: edit, reload, no build.
//
//   node ui/dev.mjs [port] [http://127.0.0.1:4747]

import { readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const [port = "4750", target = "http://127.0.0.1:4747"] = process.argv.slice(2);
const root = fileURLToPath(new URL("..", import.meta.url));
const { hostname, port: targetPort } = new URL(target);
/** @type {Record<string, string>} */
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The file of a path, if the dashboard has it. @param {string} path */
function fileOf(path) {
  if (path === "/") return join(root, "ui/index.html");
  if (!path.startsWith("/ui/")) return undefined;
  const name = normalize(path.slice("/ui/".length));
  if (name.startsWith("..")) return undefined;
  return name.startsWith("sdk/") ? join(root, "sdk/js", name.slice(4)) : join(root, "ui", name);
}

/** @param {import("node:http").IncomingMessage} incoming */
const forwarded = ({ method, url, headers }) => ({
  ...{ hostname, port: targetPort, method, path: url },
  headers: {
    ...headers,
    host: `${hostname}:${targetPort}`,
    ...(headers.origin && { origin: target }),
  },
});

const server = createServer(async (incoming, response) => {
  const file = fileOf((incoming.url ?? "/").split("?")[0] ?? "/");
  if (file) {
    const bytes = await readFile(file).catch(() => undefined);
    const type = TYPES[extname(file)] ?? "text/plain; charset=utf-8";
    response.writeHead(bytes ? 200 : 404, {
      "content-type": type,
      "cache-control": "no-store",
    });
    response.end(bytes);
    return;
  }
  const onward = request(forwarded(incoming), (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on("error", () => response.writeHead(502).end());
  response.on("close", () => onward.destroy());
  incoming.pipe(onward);
});

server.on("upgrade", (incoming, socket, head) => {
  const onward = request(forwarded(incoming));
  onward.on("upgrade", (answer, other, first) => {
    const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${value}`);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines.join("\r\n")}\r\n\r\n`);
    if (first.length > 0) socket.write(first);
    if (head.length > 0) other.write(head);
    socket.pipe(other).pipe(socket);
    socket.on("error", () => other.destroy());
    other.on("error", () => socket.destroy());
  });
  onward.on("response", () => socket.destroy());
  onward.on("error", () => socket.destroy());
  onward.end();
});

server.listen(Number(port), "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`));
