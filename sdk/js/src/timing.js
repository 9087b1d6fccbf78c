// Waiting, with an end.

/** The longest time of a timer, 24 days: `setTimeout` takes a longer one for one millisecond. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/**
 * Calls back when a time limit is over; never if a timer cannot last so long, such as `Infinity`.
 * @param {number} milliseconds
 * @param {() => void} callback
 * @returns {ReturnType<typeof setTimeout> | undefined}
 */
export function afterLimit(milliseconds, callback) {
  if (Number.isNaN(milliseconds)) throw new RangeError("a time limit must be a number, not NaN");
  return milliseconds > TIMER_MS_MAX ? undefined : setTimeout(callback, milliseconds);
}

/** A signal that is aborted when a time limit is over. @param {number} milliseconds */
export const limitSignal = (milliseconds) =>
  AbortSignal.timeout(Math.min(milliseconds, TIMER_MS_MAX));

/**
 * Resolves after so long, or as soon as the signal is aborted.
 * @param {number} milliseconds
 * @param {AbortSignal} [signal]
 * @returns {Promise<void>}
 */
export function pause(milliseconds, signal) {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      forget();
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    const forget = onAbort(signal, end);
  });
}

/**
 * Callbacks by signal. Each signal has one listener, however many calls it belongs to: Node.js
 * warns
 * of a leak when there are more than ten.
 * @type {WeakMap<AbortSignal, { callbacks: Set<() => void>, listener: () => void }>}
 */
const listeners = new WeakMap();

/**
 * Calls back when the signal is aborted, until the result is called.
 * @param {AbortSignal | undefined} signal
 * @param {() => void} callback
 * @returns {() => void}
 */
export function onAbort(signal, callback) {
  if (!signal) return () => {};
  const { callbacks } = listeners.get(signal) ?? listen(signal);
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    const present = listeners.get(signal);
    if (callbacks.size > 0 || present?.callbacks !== callbacks) return;
    listeners.delete(signal);
    signal.removeEventListener("abort", present.listener);
  };
}

/** @param {AbortSignal} signal */
function listen(signal) {
  /** @type {Set<() => void>} */
  const callbacks = new Set();
  const listener = () => {
    listeners.delete(signal);
    for (const callback of callbacks) callback();
  };
  const added = { callbacks, listener };
  listeners.set(signal, added);
  signal.addEventListener("abort", listener, { once: true });
  return added;
}

/** Timers that do not keep a program running, where there are such. @param {any} timer */
export function unref(timer) {
  timer?.unref?.();
}
