// A server of its own for each test file: the program named by BATON_PROGRAM or BATON_BIN, on a
// free
// port, with a temporary data folder.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const program = process.env.BATON_PROGRAM ?? process.env.BATON_BIN;
if (!program) throw new Error("set BATON_PROGRAM to the path of the program `baton`");

export class Server {
    #folder = mkdtempSync(join(tmpdir(), "baton-js-"));
    #arguments;
    #process;
    #listen = "127.0.0.1:0";

    /** @param {string[]} options */
    constructor(options) {
        this.#arguments = options;
    }

    /** @param {string[]} options */
    static async start(...options) {
        const server = new Server(options);
        await server.start();
        return server;
    }

    /** Starts the program; on the same port as before, if it ran before. */
    async start() {
        const options = [
            "serve",
            "--listen",
            this.#listen,
            "--data",
            this.#folder,
            ...this.#arguments,
        ];
        this.#process = spawn(program, options, { stdio: ["ignore", "ignore", "pipe"] });
        let output = "";
        for await (const line of createInterface({ input: this.#process.stderr })) {
            output += `${line}\n`;
            this.token ??= /baton_\w+/.exec(line)?.[0];
            const address = /http:\/\/([0-9.]+:\d+)/.exec(line);
            if (address) {
                this.url = address[0];
                this.#listen = address[1];
                break;
            }
        }
        if (!this.url) throw new Error(`the server did not start:\n${output}`);
        // Otherwise the program would block when the pipe is full.
        this.#process.stderr.resume();
        for (let attempt = 0; ; attempt += 1) {
            const response = await fetch(`${this.url}/readyz`).catch(() => undefined);
            if (response?.ok) return;
            if (attempt > 300) throw new Error("the server did not become ready");
            await new Promise((resolve) => setTimeout(resolve, 20));
        }
    }

    /** @param {NodeJS.Signals} signal */
    async kill(signal = "SIGKILL") {
        if (!this.#process || this.#process.exitCode !== null || this.#process.signalCode !== null)
            return;
        const ended = once(this.#process, "exit");
        this.#process.kill(signal);
        await ended;
    }

    /** Stops the process, so that it neither answers nor closes its connections. */
    freeze() {
        this.#process.kill("SIGSTOP");
    }

    thaw() {
        this.#process.kill("SIGCONT");
    }

    async end() {
        this.thaw();
        await this.kill();
        rmSync(this.#folder, { recursive: true, force: true });
    }
}

let count = 0;

/** A name that no other test uses. */
export const fresh = (prefix = "w") => `${prefix}-${process.pid}-${(count += 1)}`;
