// The validation suite of LangGraph, against the real program.

import { randomUUID } from "node:crypto";
import { connect } from "@baton/sdk";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { Server } from "../../js/test/server.mjs";
import { BatonSaver } from "../index.js";

let server;
let client;

const initializer = {
    checkpointerName: "BatonSaver",
    async beforeAll() {
        server ??= await Server.start();
        client ??= await connect(server.url);
    },
    async afterAll() {},
    // A list without a thread sees everything of a workspace, so each has its own.
    async createCheckpointer() {
        return new BatonSaver(client.workspace(randomUUID(), { agent: "graph" }));
    },
    async destroyCheckpointer() {},
};

validate(initializer);
deltaChannelHistoryTests(initializer);

afterAll(async () => {
    await client?.close();
    await server?.end();
});
