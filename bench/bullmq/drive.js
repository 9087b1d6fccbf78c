// Drives BullMQ the way the other queues are driven: so many loops, each of which adds a job, waits
// until it is completed, and only then adds the next. Every loop has a queue and a worker of its
// own, as every worker of the others has a type of its own; one queue for all is slower here.
//
//   node drive.js PORT WORKERS
//   in    MILLISECONDS          begins a turn: a warm-up of three tenths of that, then that
//   out   ready                 once, when every worker has its connections
//         begin                 the warm-up is over
//         end {"cycles": …}     the measured time is over
//         idle                  everything begun is completed
//
// A job that fails, or a worker that does, ends the process: only successes are counted.

import { createInterface } from "node:readline";
import { setTimeout as passed } from "node:timers/promises";

import { Queue, Worker } from "bullmq";

const [port, workers] = process.argv.slice(2).map(Number);
const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
// Nothing is kept of what is done, which is the least that Redis can have to do.
const defaultJobOptions = { removeOnComplete: true };
const definition = {
  task: "t-00000001",
  state: "running",
  progress: 1,
  note: "abcdefghij".repeat(20).slice(0, 135),
};

class Loop {
  constructor(number) {
    const name = `bench-${number}`;
    this.queue = new Queue(name, { connection, defaultJobOptions });
    this.worker = new Worker(name, async () => null, { connection });
    this.worker.on("completed", (job) => this.settle(job.id));
    this.worker.on("failed", (_, error) => fail(error));
    this.worker.on("error", fail);
    this.queue.on("error", fail);
  }

  async ready() {
    await Promise.all([this.queue.waitUntilReady(), this.worker.waitUntilReady()]);
  }

  // A job may be completed before its adder knows its number.
  settle(id) {
    this.completed = id;
    this.wake?.();
  }

  async cycle() {
    const { id } = await this.queue.add("task", definition);
    while (this.completed !== id) {
      await new Promise((wake) => (this.wake = wake));
    }
  }
}

function fail(error) {
  console.error(error);
  process.exit(1);
}

async function turn(loops, milliseconds) {
  let goesOn = true;
  let took = [];
  const running = loops.map(async (loop) => {
    while (goesOn) {
      const began = performance.now();
      await loop.cycle();
      took.push(performance.now() - began);
    }
  });
  await passed(milliseconds * 0.3);
  took = [];
  console.log("begin");
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await passed(milliseconds);
  const measured = took;
  const seconds = (performance.now() - began) / 1e3;
  const { user, system } = process.cpuUsage(cpu);
  goesOn = false;
  measured.sort((a, b) => a - b);
  const quantile = (part) => 1e3 * (measured[Math.floor(measured.length * part)] ?? 0);
  const result = {
    cycles: measured.length,
    seconds,
    driver_cpu_seconds: (user + system) / 1e6,
    p50_us: quantile(0.5),
    p99_us: quantile(0.99),
  };
  console.log(`end ${JSON.stringify(result)}`);
  await Promise.all(running);
  console.log("idle");
}

process.on("unhandledRejection", fail);
const loops = Array.from({ length: workers }, (_, number) => new Loop(number));
await Promise.all(loops.map((loop) => loop.ready()));
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  await turn(loops, Number(line));
}
process.exit(0);
