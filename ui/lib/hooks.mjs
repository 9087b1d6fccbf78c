// How components follow the state of the page.

import { app } from "./app.mjs";
import { useEffect, useMemo, useReducer } from "./html.mjs";
import { TaskRows } from "./task-rows.mjs";

/** @import { Source } from "./task-rows.mjs" */

/** The longest list that the server answers with. */
const MESSAGES_MAX = 10_000;

/** As many events of the past are shown as of the present at first. */
const EVENTS_MAX = 2_000;

/** Renders the component again when something has changed. */
export function useChanges() {
  const [, again] = useReducer((/** @type {number} */ n) => n + 1, 0);
  useEffect(() => app.store.subscribe(() => again(undefined)), []);
  return app;
}

/**
 * The answer to a question, at the moment that is shown; it changes with the workspace.
 * @param {string | undefined} command - Nothing is asked without one.
 * @param {Record<string, unknown>} [fields]
 * @param {{ now?: boolean }} [options] - `now`: about the present even if the past is shown.
 * @returns {{ data: any, error: any, isLoading: boolean, refresh: () => void, revision: number }}
 */
export function useQuery(command, fields = {}, { now = false } = {}) {
  const at = now ? undefined : app.at;
  const key = JSON.stringify([command, fields, at, app.workspace?.name]);
  const query = useMemo(
    () => (command && app.workspace ? app.queries.use(command, fields, at) : undefined),
    [key],
  );
  useEffect(() => (query ? app.queries.hold(query) : undefined), [query]);
  if (!query)
    return { data: undefined, error: undefined, isLoading: false, refresh() {}, revision: 0 };
  return {
    data: query.kept === undefined ? undefined : app.queries.answer(query),
    error: query.error,
    isLoading: query.isLoading || (query.kept === undefined && !query.error),
    refresh: () => void app.queries.refresh(query),
    revision: query.revision,
  };
}

/**
 * The last events up to the moment that is shown, oldest first, and the time of that moment.
 * @returns {{ events: any[], end: number }}
 */
export function useEvents() {
  const { at, feed } = app;
  const isPast = at !== undefined;
  const fields = { limit: EVENTS_MAX, to: at };
  const { data } = useQuery(isPast ? "event.history" : undefined, fields, { now: true });
  const past = useMemo(() => [...(data?.events ?? [])].reverse(), [data]);
  if (!isPast) return { events: feed?.events ?? [], end: Date.now() };
  return { events: past, end: Date.parse(past.at(-1)?.time) || Date.now() };
}

/**
 * The newest messages, oldest first. `inbox.list` begins with the oldest, so the history says where
 * the newest begin; those that are sent from then on are added.
 * @param {number} wanted - How many.
 * @param {{ agent?: string }} [of] - Only those to this agent.
 * @param {boolean} [isAsked] - Nothing is asked otherwise.
 * @returns {{ data: any, error: any, isCut: boolean }} `isCut`: there are older ones.
 */
export function useNewestMessages(wanted, of = {}, isAsked = true) {
  const subject = `inbox/${of.agent ?? "*"}/*`;
  const sent = { type: "message.sent", subject, limit: wanted + 1, to: app.at };
  const history = useQuery(isAsked ? "event.history" : undefined, sent, { now: true });
  const before = history.data?.events[wanted]?.message;
  const isKnown = isAsked && (history.data || history.error);
  const fields = { ...of, cursor: before, limit: MESSAGES_MAX };
  const { data, error } = useQuery(isKnown ? "inbox.list" : undefined, fields);
  return { data, error, isCut: before !== undefined };
}

/**
 * The rows of a list of tasks, kept current while the component is there.
 * @param {string} key - Which list it is; another one is made if it changes.
 * @param {() => Source | undefined} source
 */
export function useTaskRows(key, source) {
  const rows = useMemo(() => {
    const given = app.workspace && source();
    return given && new TaskRows(app.store, given);
  }, [key, app.workspace?.name]);
  useEffect(() => (rows ? app.lists.follow(rows) : undefined), [rows]);
  return rows;
}
