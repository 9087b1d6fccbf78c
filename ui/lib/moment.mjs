// The slider of time: which revision a position means, and which steps there are.

/** How many positions the slider has at most: more cannot be distinguished. */
const POSITIONS_MAX = 1_000;

/**
 * @param {number} oldest - Revisions up to this one are no longer kept.
 * @param {number} newest
 */
export function range(oldest, newest) {
  const first = Math.min(oldest + 1, newest);
  const steps = Math.max(0, Math.min(POSITIONS_MAX, newest - first));
  return { first, newest, steps };
}

/**
 * The revision of a position; the last position is the present.
 * @param {{ first: number, newest: number, steps: number }} range
 * @param {number} position
 * @returns {number | undefined} - Nothing for the present.
 */
export function revisionAt({ first, newest, steps }, position) {
  if (position >= steps || steps === 0) return undefined;
  return Math.round(first + ((newest - first) * Math.max(0, position)) / steps);
}

/**
 * @param {{ first: number, newest: number, steps: number }} range
 * @param {number | undefined} at
 */
export function positionOf({ first, newest, steps }, at) {
  if (at === undefined || newest <= first) return steps;
  return Math.max(0, Math.min(steps, Math.round(((at - first) * steps) / (newest - first))));
}

/**
 * One step from a moment; nothing means the present.
 * @param {{ first: number, newest: number }} range
 * @param {number | undefined} at
 * @param {number} by
 */
export function stepped({ first, newest }, at, by) {
  const next = (at ?? newest) + by;
  return next >= newest ? undefined : Math.max(first, next);
}

/**
 * The moment that an address names.
 * @param {string | undefined} text
 * @returns {number | undefined}
 */
export function parseMoment(text) {
  const number = Number(text);
  return text && Number.isInteger(number) && number > 0 ? number : undefined;
}
