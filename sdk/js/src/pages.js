// Lists that are answered in pages.

/** @import { CallOptions, Caller } from "./caller.js" */
/** @import { OperationName } from "./generated/types.js" */

/**
 * Every item of a list, page after page.
 * @param {Caller} caller
 * @param {OperationName} command
 * @param {string} list - The member of a page that has the items.
 * @param {Record<string, unknown>} fields
 * @param {CallOptions & Record<string, any>} [options]
 * @returns {AsyncGenerator<any, void, void>}
 */
export async function* pagesOf(caller, command, list, fields, options) {
  let cursor = options?.cursor;
  do {
    const page = /** @type {any} */ (await caller.call(command, fields, { ...options, cursor }));
    yield* page[list];
    cursor = page.cursor;
  } while (cursor !== undefined && cursor !== null);
}
