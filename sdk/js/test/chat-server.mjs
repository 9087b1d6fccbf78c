// A server that answers as an endpoint of the OpenAI chat completions API does, or otherwise.

import { once } from "node:events";
import { createServer } from "node:http";

export const COMPLETION = {
    id: "x",
    model: "small-1",
    choices: [{ index: 0, message: { role: "assistant", content: "Done." } }],
    usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
};

export class ChatServer {
    /** The requests: path, headers and body. */
    requests = [];
    #server;
    #onAsked;
    /** Resolves when the first request was received. */
    asked = new Promise((resolve) => (this.#onAsked = resolve));

    /**
     * @param {object} [answer]
     * @param {unknown} [answer.body] - A text, or a value as JSON.
     * @param {number} [answer.status]
     * @param {number} [answer.pauseMs] - How long it takes until the response.
     * @param {string} [answer.location] - Where it redirects to.
     * @param {boolean} [answer.drips] - Sends the body byte by byte, and never ends.
     */
    static async start({ body = COMPLETION, status = 200, pauseMs = 0, location, drips } = {}) {
        const server = new ChatServer();
        const text = typeof body === "string" ? body : JSON.stringify(body);
        server.#server = createServer(async (request, response) => {
            let received = "";
            for await (const part of request) received += part;
            const { url: path, headers } = request;
            server.requests.push({ path, headers, body: received && JSON.parse(received) });
            server.#onAsked();
            const answer = () => {
                response.writeHead(status, location ? { location } : {});
                if (!drips) return response.end(text);
                const dripping = setInterval(() => response.write(" "), 20);
                response.on("close", () => clearInterval(dripping));
            };
            const timer = setTimeout(answer, pauseMs);
            response.on("close", () => clearTimeout(timer));
        });
        server.#server.listen(0, "127.0.0.1");
        await once(server.#server, "listening");
        return server;
    }

    get port() {
        return this.#server.address().port;
    }

    /** The base URL. */
    get url() {
        return `http://127.0.0.1:${this.port}/v1`;
    }

    async end() {
        const ended = once(this.#server, "close");
        this.#server.close();
        this.#server.closeAllConnections();
        await ended;
    }
}
