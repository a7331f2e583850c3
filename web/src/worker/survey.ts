// Surveys: a sample of each weight, one after the other.

import type { Survey } from "blockscale-wasm";
import { MAIN, OTHER, type Slot } from "../protocol/calls.ts";
import { SCALE_COLUMNS, type SurveyCalls, type SurveyColumns } from "../protocol/survey.ts";
import type { Context, Handlers, Held } from "./context.ts";
import { compare } from "./look/compare.ts";
import { detailsOf } from "./look/sights.ts";

/** What was counted of each checkpoint so far. */
const surveys = new WeakMap<Held, Survey>();

/** Lets go of what was counted of a checkpoint. */
export function forgetSurvey(held: Held): void {
  surveys.get(held)?.free();
  surveys.delete(held);
}

export const surveyHandlers: Handlers<SurveyCalls> = {
  async survey({ checkpoint, weights }, context) {
    const held = context.checkpoint(checkpoint);
    const survey = surveyOf(held, context);
    for (const [at, weight] of weights.entries()) {
      context.progress({ what: "surveying", done: at, total: weights.length });
      const pieces = piecesOf(survey, held, weight);
      if (pieces) survey.add(held.handle, weight, await held.read(pieces, context.signal));
      await context.breathe();
    }
    const picked = SCALE_COLUMNS.map((name) => {
      const column = survey.column(name);
      return [name, Float64Array.from(weights, (weight) => column[weight] ?? Number.NaN)] as const;
    });
    return Object.fromEntries(picked) as SurveyColumns;
  },

  async surveyFindings({ checkpoint }, context) {
    const held = context.checkpoint(checkpoint);
    return surveyOf(held, context).findings(held.handle);
  },

  async surveyErrors({ weights, others }, context) {
    const sqnr = new Float64Array(weights.length).fill(Number.NaN);
    for (const [at, weight] of weights.entries()) {
      context.progress({ what: "comparing", done: at, total: weights.length });
      const [reference, output] = [subjectOf(OTHER, others[at] ?? 0), subjectOf(MAIN, weight)];
      if (!sameShape(context, weight, others[at] ?? 0)) continue;
      const { total } = await compare(context, { reference, output, share: "some" });
      sqnr[at] = Number(total.sqnrDb);
      await context.breathe();
    }
    return { sqnr };
  },
};

function surveyOf(held: Held, { library }: Context): Survey {
  const kept = surveys.get(held) ?? new library.Survey(held.handle);
  surveys.set(held, kept);
  return kept;
}

/** What a survey reads of a weight; nothing where it holds no numbers, as tables of indices do not. */
function piecesOf(survey: Survey, { handle }: Held, weight: number) {
  try {
    return survey.pieces(handle, weight);
  } catch {
    return undefined;
  }
}

/** The first matrix of a weight, as the file says. */
function subjectOf(checkpoint: Slot, weight: number) {
  return { checkpoint, weight, matrix: 0, reading: {} };
}

function sameShape(context: Context, weight: number, other: number): boolean {
  const [a, b] = [detailsOf(context.checkpoint(MAIN), weight), detailsOf(context.checkpoint(OTHER), other)];
  return a.rows === b.rows && a.cols === b.cols;
}
