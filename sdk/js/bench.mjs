// Sequential requests a second: through the SDK, with the same frames over the same socket without
// it, and by a compiled client, which is that of `baton bench` with one connection.
//
//   BATON_PROGRAM=baton BATON_URL=http://127.0.0.1:4747 node sdk/js/bench.mjs [REQUESTS]

import { spawnSync } from "node:child_process";
import { connect } from "./node.js";
import { parseAddress } from "./src/address.js";
import { settingsOf } from "./src/options.js";
import { dialNodeSocket } from "./src/sockets/node-socket.js";

const requests = Number(process.argv[2] ?? 10_000);
const url = process.env.BATON_URL ?? "http://127.0.0.1:4747";
const workspace = `bench-${Date.now()}`;

/** Both ways take turns in short slices, so that other work on the machine affects them equally. */
const SLICES = 100;

/** The requests a second of one slice. @param {() => Promise<unknown>} call */
async function rateOf(call) {
    const count = requests / SLICES;
    const begun = performance.now();
    for (let index = 0; index < count; index += 1) await call();
    return (count * 1_000) / (performance.now() - begun);
}

/** The third quartile of the slices. @param {number[]} rates */
const upperQuartile = (rates) => rates.sort((a, b) => a - b)[Math.floor((rates.length * 3) / 4)];

const client = await connect(url);
const { state } = client.workspace(workspace);
await state.set("plan", { step: 1 });

let heard = () => {};
const socket = await dialNodeSocket(parseAddress(url), settingsOf({}), {
    onMessage: (text) => heard(JSON.parse(text)),
    onClose: () => {},
});
let id = 0;
const raw = () =>
    new Promise((resolve) => {
        heard = resolve;
        const frame = {
            id: (id += 1),
            workspace,
            command: "state.get",
            namespace: "shared",
            key: "plan",
        };
        socket.send(JSON.stringify(frame));
    });

const rates = { without: [], through: [] };
for (let slice = 0; slice < SLICES; slice += 1) {
    rates.without.push(await rateOf(raw));
    rates.through.push(await rateOf(() => state.get("plan")));
}
const [without, through] = [upperQuartile(rates.without), upperQuartile(rates.through)];
console.log(`${through.toFixed(0)} requests/s through the SDK, ${without.toFixed(0)} without it`);
console.log(`ratio ${(through / without).toFixed(2)}`);
socket.close();
await client.close();

const program = process.env.BATON_PROGRAM;
if (program) {
    const options = ["bench", "--concurrency", "1", "--seconds", "6", "--json"];
    const env = { ...process.env, BATON_URL: url };
    const said = JSON.parse(spawnSync(program, options, { env, encoding: "utf8" }).stdout);
    const compiled = said.find(({ load }) => load === "get").per_second;
    console.log(`${compiled} requests/s by a compiled client`);
    console.log(`ratio ${(through / compiled).toFixed(2)}`);
}
