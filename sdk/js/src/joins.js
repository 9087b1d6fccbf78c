// Joins, with what they need beyond one call.

import { JoinOperations } from "./generated/groups.js";

/** @import { CallOptions } from "./caller.js" */
/** @import * as T from "./generated/types.js" */

/** The longest wait of one call. */
const WAIT_MS_MAX = 3_600_000;

export class Joins extends JoinOperations {
  /**
   * Waits until a join has settled, however long that takes.
   * @param {string} join
   * @param {CallOptions} [options]
   * @returns {Promise<T.Join>}
   */
  async settled(join, options) {
    for (;;) {
      const settled = await this.wait(join, { ...options, wait_ms: WAIT_MS_MAX });
      if (settled) return settled;
    }
  }
}
