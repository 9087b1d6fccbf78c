// The views: their address, their name, the key that opens them.

import { Agents } from "../views/agents.mjs";
import { Checkpoints } from "../views/checkpoints.mjs";
import { Connect } from "../views/connect.mjs";
import { Events } from "../views/events.mjs";
import { Handoffs } from "../views/handoffs.mjs";
import { Locks } from "../views/locks.mjs";
import { Messages } from "../views/messages.mjs";
import { Metrics } from "../views/metrics.mjs";
import { Now } from "../views/now.mjs";
import { Pipelines } from "../views/pipelines.mjs";
import { State } from "../views/state.mjs";
import { Tasks } from "../views/tasks.mjs";

/** @type {{ id: string, name: string, key: string, page: any }[]} */
export const VIEWS = [
  { id: "now", name: "Now", key: "n", page: Now },
  { id: "tasks", name: "Tasks", key: "t", page: Tasks },
  { id: "agents", name: "Agents", key: "a", page: Agents },
  { id: "handoffs", name: "Hand-offs", key: "h", page: Handoffs },
  { id: "pipelines", name: "Pipelines", key: "i", page: Pipelines },
  { id: "state", name: "State", key: "s", page: State },
  { id: "locks", name: "Locks", key: "l", page: Locks },
  { id: "messages", name: "Messages", key: "m", page: Messages },
  { id: "events", name: "Events", key: "e", page: Events },
  { id: "checkpoints", name: "Checkpoints", key: "c", page: Checkpoints },
  { id: "metrics", name: "Metrics", key: "q", page: Metrics },
  { id: "connect", name: "Connect", key: "x", page: Connect },
];
