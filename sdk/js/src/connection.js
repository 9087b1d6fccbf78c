// One socket after another: connects, connects again when it breaks, and notices when it is silent.

import { BatonError } from "./errors.js";
import { backoff } from "./options.js";
import { onAbort, pause, unref } from "./timing.js";

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

/** How often the server is pinged in the time after which silence means that it is gone. */
const PINGS = 3;

export class Connection {
  #servers;
  #settings;
  #dial;
  #events;
  /** @type {Socket | undefined} */
  #socket;
  #end = new AbortController();
  #heardAt = 0;
  /** Something waits for a connection. @type {() => void} */
  #onWanted = () => {};
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #heartbeat;
  /** Why there is no connection. */
  reason = "";

  /**
   * @param {Servers} servers
   * @param {Settings} settings
   * @param {Dial} dial
   * @param {ConnectionEvents} events
   */
  constructor(servers, settings, dial, events) {
    this.#servers = servers;
    this.#settings = settings;
    this.#dial = dial;
    this.#events = events;
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

  /** Gives up the present socket, and connects again. @param {string} reason */
  drop(reason) {
    const socket = this.#socket;
    if (!socket) return;
    this.#broken(reason);
    socket.close();
  }

  close() {
    this.#end.abort();
    clearInterval(this.#heartbeat);
    this.#socket?.close();
    this.#socket = undefined;
  }

  async #connect() {
    /** Only what the newest socket reports counts. @type {Socket | undefined} */
    let own;
    /** @type {SocketEvents} */
    const events = {
      onMessage: (text) => {
        this.#heardAt = Date.now();
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
    this.#heardAt = Date.now();
    this.#listenForSilence(socket);
    this.#events.onOpen();
  }

  /** @param {string} reason */
  #broken(reason) {
    clearInterval(this.#heartbeat);
    this.#socket = undefined;
    this.reason = reason;
    if (this.#end.signal.aborted) return;
    this.#events.onBroken(reason);
    void this.#reconnect();
  }

  async #reconnect() {
    for (let failures = 0; !this.#end.signal.aborted; failures += 1) {
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

  /** @param {Socket} socket */
  #listenForSilence(socket) {
    const { silenceMaxMs } = this.#settings;
    this.#heartbeat = setInterval(
      () => {
        const silence = Date.now() - this.#heardAt;
        if (silence >= silenceMaxMs) {
          this.drop(`nothing was received for ${silence} ms`);
        } else if (silence >= silenceMaxMs / (PINGS + 1)) {
          socket.send('{"id":0,"command":"ping"}');
        }
      },
      silenceMaxMs / (PINGS + 1),
    );
    unref(this.#heartbeat);
  }
}
