// Checkpoints stored by LangGraph for Python, in the JSON that the serialiser of LangGraph.js
// reads.
//
// Plain values are JSON in both languages. Others are MessagePack in Python: messages of LangChain,
// sets, bytes, interrupts and sends become what they are here; an object of any other class becomes
// what it was serialised as, which are mostly its fields.

import { Reader } from "./msgpack.js";

/** @import { SerializerProtocol } from "@langchain/langgraph-checkpoint" */

/** Codes of extensions in `langgraph.checkpoint.serde.jsonplus`. */
const NUMPY_ARRAY = 6;
const DELTA_SNAPSHOT = 7;

const MESSAGES = "langchain_core.messages.";
const SETS = ["set", "frozenset"];

/**
 * A serialiser that also reads what LangGraph for Python has stored.
 * @param {SerializerProtocol} serde - The one of LangGraph.js.
 * @returns {SerializerProtocol}
 */
export const readingPython = (serde) => ({
  dumpsTyped: (value) => serde.dumpsTyped(value),
  loadsTyped(type, data) {
    const json = typeof data === "string" ? undefined : jsonOfPython(type, data);
    return json === undefined ? serde.loadsTyped(type, data) : serde.loadsTyped("json", json);
  },
});

/**
 * The JSON of a value that Python has stored in a form of its own; none if the form is known here.
 * @param {string} type
 * @param {Uint8Array} bytes
 * @returns {string | undefined}
 */
function jsonOfPython(type, bytes) {
  if (type === "null") return "null";
  if (type === "bytearray") return JSON.stringify(inJson(bytes));
  return type === "msgpack" ? JSON.stringify(read(bytes)) : undefined;
}

/** @param {Uint8Array} bytes */
const read = (bytes) => inJson(new Reader(bytes, extension).next());

/** @param {string} name @param {unknown} argument @param {string | null} [method] */
const built = (name, argument, method = null) => ({
  lc: 2,
  type: "constructor",
  id: [name],
  method,
  args: [argument],
  kwargs: {},
});

/** @param {unknown} value @returns {unknown} */
function inJson(value) {
  if (value instanceof Uint8Array) return built("Uint8Array", Array.from(value), "from");
  if (Array.isArray(value)) return value.map(inJson);
  if (!(value instanceof Map)) return value;
  const members = Array.from(value, ([name, it]) => [name, inJson(it)]);
  return members.every(([name]) => typeof name === "string")
    ? Object.fromEntries(members)
    : built("Map", members);
}

/**
 * @param {number} code
 * @param {Uint8Array} bytes
 * @returns {unknown}
 */
function extension(code, bytes) {
  const content = read(bytes);
  if (code === DELTA_SNAPSHOT) return { lc: 2, type: "delta_snapshot", value: content };
  if (code === NUMPY_ARRAY || !Array.isArray(content))
    throw new Error(
      "an array of NumPy cannot be read here: keep lists in the state that both languages use",
    );
  const [module, name, fields] = content;
  if (module.startsWith(MESSAGES)) {
    // The class says it.
    const { type: _, ...kwargs } = fields;
    return { lc: 1, type: "constructor", id: ["langchain_core", "messages", name], kwargs };
  }
  if (module === "builtins" && SETS.includes(name)) return built("Set", fields);
  if (module === "uuid") return fields.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  if (module === "langgraph.types" && name === "Send")
    return { node: fields[0], args: fields[1] };
  return fields;
}
