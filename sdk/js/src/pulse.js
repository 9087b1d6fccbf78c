// When to ping a server, and when its silence means that it is gone. No timer, no clock.
//
//   heard ── half of the time ──▶ ping ── a quarter ──▶ ping ── a quarter ──▶ gone
//     ▲                             │                     │
//     └────────── anything ─────────┴─────────────────────┘
//
// A client that was held up itself, by its own program or by a busy machine, may have an answer
// that it has not read yet. So one that comes much too late asks again before it gives a server up.

/** How often a silent server is asked before it is given up. */
const PINGS = 2;

export class Pulse {
  #quarter;
  #heardAt = 0;
  #asked = 0;
  /** When something is to be done next. */
  due = 0;

  /** @param {number} silenceMaxMs @param {number} now */
  constructor(silenceMaxMs, now) {
    this.#quarter = silenceMaxMs / 4;
    this.heard(now);
  }

  /** Something has arrived. @param {number} now */
  heard(now) {
    this.#heardAt = now;
    this.#asked = 0;
    this.due = now + 2 * this.#quarter;
  }

  /**
   * What to do now.
   * @param {number} now
   * @returns {"nothing" | "ping" | "gone"}
   */
  beat(now) {
    if (now < this.due) return "nothing";
    const isLate = now > this.due + this.#quarter;
    if (this.#asked >= PINGS && !isLate) return "gone";
    this.#asked = Math.min(this.#asked + 1, PINGS);
    this.due = now + this.#quarter;
    return "ping";
  }

  /** How long nothing has arrived. @param {number} now */
  silence(now) {
    return now - this.#heardAt;
  }
}
