// LangGraph.js on Baton: checkpoints of graphs, and a store of their memories.

export { BatonSaver } from "./src/saver.js";
export { BatonStore } from "./src/store.js";
