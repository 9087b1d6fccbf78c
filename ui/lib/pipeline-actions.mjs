// The actions of a person on pipelines and their stages.

import { REASON, cli, here, reviews } from "./actions.mjs";

/** @import { Action } from "./app.mjs" */
/** @import * as T from "../../sdk/js/src/generated/types.js" */

/** @param {T.Pipeline} pipeline @returns {Action[]} */
export const pipelineActions = ({ name, status }) =>
  ["created", "running"].includes(status)
    ? [
        {
          label: "Abort",
          effect: `Running stages of ${name} fail, pending ones are skipped, and open tasks are cancelled.`,
          isDangerous: true,
          fields: [REASON],
          cli: cli`pipeline abort ${name}`,
          run: (values) => here().pipelines.abort(name, values),
        },
      ]
    : [];

/** @param {string} pipeline @param {string} name @returns {Action[]} */
const stageReviews = (pipeline, name) =>
  reviews(
    (verdict) => cli`pipeline review ${pipeline} ${name} ${verdict}`,
    [
      `${name} can be started again; the note tells the next worker why.`,
      `${name} is completed with the submitted output.`,
      `${name} fails.`,
    ],
    (verdict, values) => here().pipelines.reviewStage(pipeline, name, verdict, values),
  );

/** @param {string} pipeline @param {T.Stage} stage @returns {Action[]} */
export function stageActions(pipeline, { name, status }) {
  /** @type {Action[]} */
  const actions = status === "waiting_review" ? stageReviews(pipeline, name) : [];
  if (status === "failed") {
    actions.push({
      label: "Retry stage",
      effect: `${name} runs again; a failed pipeline runs again too.`,
      cli: cli`pipeline retry ${pipeline} ${name}`,
      run: () => here().pipelines.retryStage(pipeline, name),
    });
  }
  if (["pending", "ready", "failed"].includes(status)) {
    actions.push({
      label: "Skip stage",
      effect: `${name} is skipped, its open tasks are cancelled, and the stages that follow become ready.`,
      isDangerous: true,
      fields: [REASON],
      cli: cli`pipeline skip ${pipeline} ${name}`,
      run: (values) => here().pipelines.skipStage(pipeline, name, values),
    });
  }
  return actions;
}
