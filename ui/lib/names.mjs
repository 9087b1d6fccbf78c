// Which texts are names, as the server has it (spec/openapi.json), and for what a token is.

export const isAgentName = (/** @type {string} */ text) => /^[A-Za-z0-9][\w.:@-]{0,127}$/.test(text);
export const isWorkspaceName = (/** @type {string} */ text) => /^[A-Za-z0-9][\w.-]{0,63}$/.test(text);

/** Throws if a text is no name. @param {string} name */
export function checkAgentName(name) {
  if (isAgentName(name)) return;
  throw new Error(
    "The name of an agent has at most 128 letters, digits and . _ : @ -, and begins with a letter or digit.",
  );
}

/** Throws if a text is no name. @param {string} name */
export function checkWorkspaceName(name) {
  if (isWorkspaceName(name)) return;
  throw new Error(
    "The name of a workspace has at most 64 letters, digits and . _ -, and begins with a letter or digit.",
  );
}

/**
 * Whether a token that is limited to workspaces is for this one.
 * @param {string[]} patterns
 * @param {string} name
 */
export const isForWorkspace = (patterns, name) =>
  patterns.some((pattern) => {
    const parts = pattern.split(/\*+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`).test(name);
  });

/**
 * The workspace that is opened if the address names none: the last one, if the token is for it and
 * it is there; else the first that is known.
 * @param {string} last
 * @param {string[]} known
 * @param {string[]} [patterns] - For which workspaces the token is; for all if absent.
 */
export function firstWorkspace(last, known, patterns) {
  const isPermitted = !patterns || isForWorkspace(patterns, last);
  const isThere = patterns !== undefined || known.length === 0 || known.includes(last);
  return last !== "" && isPermitted && isThere ? last : (known[0] ?? "default");
}
