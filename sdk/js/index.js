// The SDK for browsers, Bun and Deno: it uses their WebSocket.

export * from "./src/browser.js";
export { Endpoint } from "./src/model.js";
