// Rules for hand-offs that are functions, against the real program.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connect, ConflictError } from "../node.js";
import { fresh, Server } from "./server.mjs";

/** @type {Server} */
let server;
before(async () => {
    server = await Server.start();
});
after(async () => {
    await server.end();
});

/** A client of its own: rules that are functions apply to all workspaces of a client. */
async function working(body) {
    const client = await connect(server.url);
    try {
        await body(client.workspace(fresh(), { agent: "ada" }), client);
    } finally {
        await client.close();
    }
}

/** The errors with which an offer is refused. */
async function refused(offering) {
    let errors;
    await assert.rejects(offering, (error) => {
        errors = error.facts.errors;
        return error instanceof ConflictError && error.code === "handoff.invalid";
    });
    return errors;
}

test("rules that are functions block and warn", () =>
    working(async (ada) => {
        ada.rules.callback(
            "tests-first",
            ({ state }) => ("tests" in state ? undefined : "run the tests first"),
            { to: "bob" },
        );
        ada.rules.callback("tone", ({ state }) => "tone" in state, { severity: "warning" });
        assert.deepEqual(await refused(ada.handoffs.offer("bob")), [
            { rule: "tests-first", detail: "run the tests first" },
        ]);
        assert.deepEqual((await ada.handoffs.list()).handoffs, [], "nothing was offered");
        await ada.rules.add("named", { required_keys: ["name"] });
        const verdict = await ada.handoffs.validate("bob");
        assert.equal(verdict.valid, false);
        const rules = verdict.errors.map(({ rule }) => rule).sort();
        assert.deepEqual(rules, ["named", "tests-first"]);
        assert.ok(verdict.warnings.some(({ rule }) => rule === "tone"));
        await ada.rules.remove("named");
        const { status } = await ada.handoffs.offer("bob", { state: { tests: 1 } });
        assert.equal(status, "offered");
        assert.equal((await ada.handoffs.offer("eve")).status, "offered", "it is not for eve");
        assert.equal((await ada.handoffs.validate("eve", { state: { tone: 1 } })).valid, true);
    }));

test("a rule that throws blocks, whatever its severity", () =>
    working(async (ada) => {
        const crash = () => {
            throw new RangeError("too far");
        };
        ada.rules.callback("crash", crash, { severity: "warning" });
        assert.deepEqual(await refused(ada.handoffs.offer("eve")), [
            { rule: "crash", detail: "the rule threw RangeError: too far", broken: true },
        ]);
        ada.rules.callback("crash", () => Promise.reject("later"), { severity: "warning" });
        const [{ detail }] = await refused(ada.handoffs.execute("eve"));
        assert.equal(detail, "the rule threw later");
        ada.rules.removeCallback("crash");
        await ada.handoffs.offer("eve");
        assert.throws(() => ada.rules.callback("none"), TypeError);
    }));

test("a rule is asked about every hand-off of its client", () =>
    working(async (ada, client) => {
        const seen = [];
        ada.rules.callback("slow", async (proposal) => {
            await new Promise((resolve) => setTimeout(resolve, 1));
            seen.push(proposal);
            return proposal.reason === "please" || "say please";
        });
        ada.rules.callback("not-from-ada", () => false, { from: "b*b" });
        await ada.tasks.create("write", { id: "t" });
        const job = await ada.claim();
        await refused(job.handoff("bob"));
        assert.equal(job.isSettled, false);
        await job.handoff("bob", { reason: "please", notes: 1 });
        assert.equal(job.outcome, "handed_over");
        const [, { from, to, task, reason, notes, fields }] = seen;
        assert.deepEqual([from, to, task, reason, notes], ["ada", "bob", "t", "please", 1]);
        assert.equal(fields.token, job.token);
        assert.equal((await refused(ada.as("bob").handoffs.offer({ capability: "x" }))).length, 2);
        const other = client.workspace(fresh(), { agent: "cem" });
        await refused(other.handoffs.offer("dan"));
        const controller = new AbortController();
        const offering = other.handoffs.offer("dan", {
            reason: "please",
            signal: controller.signal,
        });
        controller.abort(new Error("enough"));
        await assert.rejects(offering, { message: "enough" });
        assert.deepEqual((await other.handoffs.list()).handoffs, []);
    }));

test("the content of an imported context is checked", () =>
    working(async (ada) => {
        const { id } = await ada.handoffs.offer("bob", { state: { tests: 1 }, reason: "because" });
        const context = await ada.handoffs.export(id);
        const seen = [];
        ada.rules.callback("look", ({ state, reason }) => void seen.push([state, reason]));
        await ada.handoffs.importContext(context, "eve");
        assert.deepEqual(seen, [[{ tests: 1 }, "because"]]);
    }));
