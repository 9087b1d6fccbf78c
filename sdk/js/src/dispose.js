// The symbol of `await using`, also where the platform does not have it yet.

/** @type {typeof Symbol.asyncDispose} */
export const asyncDispose =
  Symbol.asyncDispose ?? /** @type {any} */ (Symbol.for("Symbol.asyncDispose"));
