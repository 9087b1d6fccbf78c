// Idempotency keys that no other client has.

/** @returns {() => string} */
export function keySource() {
  const words = crypto.getRandomValues(new Uint32Array(2));
  const client = [...words].map((word) => word.toString(16).padStart(8, "0")).join("");
  let count = 0;
  return () => `js-${client}-${(count += 1)}`;
}
