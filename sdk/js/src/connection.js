// One socket after another: connects, connects again when it breaks, and notices when it is silent.

import { BatonError } from "./errors.js";
import { backoff } from "./options.js";
import { Pulse } from "./pulse.js";
import { afterLimit, onAbort, pause, unref } from "./timing.js";

/** @import { Address, Servers } from "./address.js" */
/** @import { Settings } from "./options.js" */

/**
 * @typedef {object} Socket - An open WebSocket.
 * @property {(text: string) => void} send
 * @property {() => void} close
 * @property {string} [owner] - The server that owns the workspace of the client, if it is another.
 */

/**
 * @typedef {object} SocketEvents
 * @property {() => void} [onHeard] - Bytes have arrived, perhaps a part of a message.
 * @property {(text: string) => void} onMessage
 * @property {(reason: string) => void} onClose - Called once.
 */

/**
 * @typedef {(address: Address, settings: Settings, events: SocketEvents) => Promise<Socket>} Dial
 */

/**
 * @typedef {object} ConnectionEvents
 * @property {() => void} onOpen
 * @property {(text: string) => void} onMessage
 * @property {(reason: string) => void} onBroken
 * @property {(error: BatonError) => void} onDenied - The server refuses this client.
 */

export class Connection {
  #servers;
  #settings;
  #dial;
  #events;
  #now;
  /** @type {Socket | undefined} */
  #socket;
  #end = new AbortController();
  /** Something waits for a connection. @type {() => void} */
  #onWanted = () => {};
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #heartbeat;
  /** Why there is no connection. */
  reason = "";

  /**
   * @param {Servers} servers
   * @param {Settings} settings
   * @param {Dial} dial
   * @param {ConnectionEvents} events
   * @param {() => number} now - Milliseconds of a clock that is never set.
   */
  constructor(servers, settings, dial, events, now = () => performance.now()) {
    this.#servers = servers;
    this.#settings = settings;
    this.#dial = dial;
    this.#events = events;
    this.#now = now;
  }

  get isOpen() {
    return this.#socket !== undefined;
  }

  /** Connects for the first time; the error says why that fails. */
  async open() {
    await this.#connect();
  }

  /** @param {string} text */
  send(text) {
    this.#socket?.send(text);
  }

  /**
   * Gives up the present socket, and connects again.
   * @param {string} reason
   * @param {{ isSuspect?: boolean, failures?: number }} [why] - Whether the server is at fault, and
   *   how many servers were left before for the same reason.
   */
  drop(reason, why) {
    const socket = this.#socket;
    if (!socket) return;
    this.#broken(reason, why);
    socket.close();
  }

  close() {
    this.#end.abort();
    clearTimeout(this.#heartbeat);
    this.#socket?.close();
    this.#socket = undefined;
  }

  async #connect() {
    /** Only what the newest socket reports counts. @type {Socket | undefined} */
    let own;
    /** @type {Pulse | undefined} */
    let pulse;
    /** @type {SocketEvents} */
    const events = {
      onHeard: () => pulse?.heard(this.#now()),
      onMessage: (text) => {
        pulse?.heard(this.#now());
        if (own !== undefined && own === this.#socket) this.#events.onMessage(text);
      },
      onClose: (reason) => {
        if (own !== undefined && own === this.#socket) this.#broken(reason);
      },
    };
    const dial = (/** @type {Address} */ address) => this.#dial(address, this.#settings, events);
    const socket = await this.#servers.connectToOwner(dial);
    if (this.#end.signal.aborted) {
      socket.close();
      return;
    }
    own = socket;
    this.#socket = socket;
    pulse = new Pulse(this.#settings.silenceMaxMs, this.#now());
    this.#listenForSilence(socket, pulse);
    this.#events.onOpen();
  }

  /** @param {string} reason @param {{ isSuspect?: boolean, failures?: number }} [why] */
  #broken(reason, { isSuspect = false, failures = 0 } = {}) {
    clearTimeout(this.#heartbeat);
    this.#socket = undefined;
    this.reason = reason;
    if (this.#end.signal.aborted) return;
    this.#servers.leave(isSuspect);
    this.#events.onBroken(reason);
    void this.#reconnect(failures);
  }

  /** @param {number} failures */
  async #reconnect(failures) {
    for (; !this.#end.signal.aborted; failures += 1) {
      await pause(backoff(this.#settings, failures), this.#end.signal);
      if (this.#end.signal.aborted) return;
      try {
        await this.#connect();
        return;
      } catch (error) {
        this.reason = error instanceof Error ? error.message : String(error);
        if (error instanceof BatonError && error.kind === "denied") {
          this.#events.onDenied(error);
          await this.#untilWanted();
        }
      }
    }
  }

  /** Connects again, if that was given up because the server refused this client. */
  want() {
    this.#onWanted();
  }

  async #untilWanted() {
    await new Promise((/** @type {(value: void) => void} */ resolve) => {
      this.#onWanted = resolve;
      onAbort(this.#end.signal, resolve);
    });
    this.#onWanted = () => {};
  }

  /** @param {Socket} socket @param {Pulse} pulse */
  #listenForSilence(socket, pulse) {
    const listen = () => {
      this.#heartbeat = afterLimit(pulse.due - this.#now(), () => {
        const now = this.#now();
        const beat = pulse.beat(now);
        if (beat === "gone") {
          this.drop(`nothing was received for ${Math.round(pulse.silence(now))} ms`, { isSuspect: true });
          return;
        }
        if (beat === "ping") socket.send('{"id":0,"command":"ping"}');
        listen();
      });
      unref(this.#heartbeat);
    };
    listen();
  }
}
