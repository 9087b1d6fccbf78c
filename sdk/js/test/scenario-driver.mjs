// Runs scenarios through the SDK: the other side of crates/scenario/src/backends/external.rs.
//
//   baton-scenario node sdk/js/test/scenario-driver.mjs          over a WebSocket
//   baton-scenario node sdk/js/test/scenario-driver.mjs http     over HTTP
//
// A call is made with the generated method of its operation. Only what no method accepts, because
// the scenario is about invalid requests, is sent as it is.

import { createInterface } from "node:readline";
import { BatonError, connect } from "../node.js";
import { Caller } from "../src/caller.js";
import { Workspace } from "../src/workspace.js";
import { invocation } from "./invocation.mjs";

const ANSWER_TIMEOUT_MS = 60_000;
const transport = process.argv[2] ?? "socket";

/**
 * @typedef {{ workspace: string, agent: string, idempotency_key: string | null, command: string,
 *   fields: Record<string, any> }} Call
 */

class Player {
    /** @type {{ agent: string, answer: Promise<any> }[]} */
    #waiting = [];

    async open({ url }) {
        this.#waiting = [];
        // A key adds a receipt to its commit, and scenarios state the places of events in theirs.
        this.client = await connect(url, { transport, automaticKeys: false });
        return {};
    }

    async close() {
        await this.client.close();
        return {};
    }

    async call(call) {
        return { answer: await this.#answer(call) };
    }

    async call_blocking(call) {
        const before = await this.#revision(call);
        const answer = this.#answer(call);
        let settled;
        answer.then((it) => (settled = it));
        while (settled === undefined && (await this.#revision(call)) === before);
        if (settled === undefined) this.#waiting.push({ agent: call.agent, answer });
        return { answer: settled ?? null };
    }

    async receive_answer({ agent }) {
        const index = this.#waiting.findIndex((it) => it.agent === agent);
        if (index < 0) return { answer: null };
        const [{ answer }] = this.#waiting.splice(index, 1);
        const late = new Promise((resolve) => setTimeout(resolve, ANSWER_TIMEOUT_MS, null).unref());
        return { answer: await Promise.race([answer, late]) };
    }

    async events({ workspace, after, up_to: upTo }) {
        const events = [];
        for await (const event of this.client
            .workspace(workspace)
            .watch("**", { from: after + 1, waits: true })) {
            events.push(event);
            // Over HTTP the end of a commit is not a field of the event.
            const isLast = event.last ?? (await this.#isLast(workspace, event));
            if (isLast && event.revision === upTo) break;
        }
        return { events };
    }

    async #isLast(workspace, { revision, index }) {
        const page = await this.client
            .workspace(workspace)
            .events.history({ from: revision, to: revision, limit: 1 });
        return page.events[0]?.index === index;
    }

    async #revision({ workspace }) {
        return await this.client.workspace(workspace).revision();
    }

    /** @param {Call} call */
    async #answer({ workspace, agent, idempotency_key: key, command, fields }) {
        let answer;
        const { caller } = this.client.workspace(workspace, { agent });
        const recording = {
            ...caller.transport,
            call: async (...given) => (answer = await caller.transport.call(...given)),
        };
        const recorded = new Caller(recording, caller.context, caller.nextKey);
        const handle = new Workspace(recorded, { url: "" });
        const options = key === null ? {} : { idempotencyKey: key };
        try {
            if (fields.return === "minimal" && command === "state.set") {
                const { return: _, ...rest } = fields;
                return await handle.executeMinimal({ command, ...rest }, options);
            }
            if (command === "transaction") {
                const { require, commands, ...unknown } = fields;
                if (Object.keys(unknown).length > 0) {
                    const raw = rawRequest({ workspace, agent, command, fields });
                    const { revision, results } = await caller.transport.call(raw);
                    return { revision, results };
                }
                const { revision, results } = await handle.transaction(commands, {
                    require,
                    ...options,
                });
                return { revision, results };
            }
            const call = invocation(handle, command, fields, options);
            const result = call ? await call() : await recorded.call(command, fields, options);
            return { revision: answer.revision, result };
        } catch (error) {
            if (!(error instanceof BatonError)) throw error;
            const { code, kind, message, hint, facts } = error;
            return { error: { ...facts, code, kind, detail: message, hint } };
        }
    }
}

/** A request as it is, for what no method accepts. */
const rawRequest = (request) => ({
    ...request,
    idempotencyKey: undefined,
    effect: "changes",
    waitMs: 0,
});

/**
 * Integers beyond 2^53 are not numbers of JavaScript. A scenario about them is played with the text
 * of its fields, which keeps them.
 */
async function answerAsText(line, { workspace, agent, command }) {
    const [, fields] = /"fields":\{(.*)\},"idempotency_key"/.exec(line);
    const body = `{"command":${JSON.stringify(command)},${fields}}`;
    const headers = { "content-type": "application/json", "baton-agent": agent };
    const response = await fetch(`${player.client.url}/v1/${workspace}/commands`, {
        method: "POST",
        body,
        headers,
    });
    const text = (await response.text()).trimEnd();
    return `{"answer":${response.ok ? text : `{"error":${text}}`}}`;
}

const player = new Player();
for await (const line of createInterface({ input: process.stdin })) {
    const { do: what, ...given } = JSON.parse(line);
    const isBeyond = what === "call" && /[:,[]-?\d{17,}[,\]}]/.test(line);
    const reply = isBeyond
        ? await answerAsText(line, given)
        : JSON.stringify(await player[what](given));
    process.stdout.write(`${reply}\n`);
}
