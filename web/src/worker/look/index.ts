// Answers to requests of pictures.

import type { Judgement, Sight } from "blockscale-wasm";
import type { Inspected, LookCalls, Pointed } from "../../protocol/look.ts";
import type { Context, Handlers, Held } from "../context.ts";
import { compare } from "./compare.ts";
import { differenceCells } from "./difference.ts";
import { scaleFacts, score, valueFacts } from "./facts.ts";
import { evenEdges } from "./grid.ts";
import { cells, layerOf, profile } from "./reduce.ts";
import { bandsOf, detailsOf, matrixOf, missingBytes, sightOf, type Matrix } from "./sights.ts";

export { forget } from "./sights.ts";

export const lookHandlers: Handlers<LookCalls> = {
  cells: ({ subject, layer, rowEdges, colEdges }, context) => cells(context, matrixOf(context, subject, layer), rowEdges, colEdges),
  differenceCells: ({ reference, output, layer, rowEdges, colEdges }, context) =>
    differenceCells(context, matrixOf(context, reference, layer), matrixOf(context, output, layer), rowEdges, colEdges),
  missing: async ({ subject, layer, row, rowEnd }, context) => missingBytes(context, matrixOf(context, subject, layer), row, rowEnd),
  scaleFacts: ({ subject, share }, context) => scaleFacts(context, matrixOf(context, subject, "scales"), share),
  valueFacts: ({ subject, share }, context) => valueFacts(context, matrixOf(context, subject, "values"), share),
  profile: ({ subject, layer, along, pieces }, context) => {
    const matrix = matrixOf(context, subject, layer);
    return profile(context, matrix, along, evenEdges(along === "rows" ? matrix.rows : matrix.cols, pieces));
  },
  point: ({ subject, layer, row, col }, context) => point(context, matrixOf(context, subject, layer), row, col),
  block: ({ subject, row, block }, context) => inspect(context, matrixOf(context, subject, "values"), row, block),
  score: ({ subject }, context) => score(context, matrixOf(context, subject, "values")),
  judge: ({ checkpoint, weight, matrix }, context) => judge(context, context.checkpoint(checkpoint), weight, matrix),
  orders: async ({ checkpoint, weight }, context) => context.checkpoint(checkpoint).handle.ordersOf(weight),
  compare: (request, context) => compare(context, request),
};

async function point(context: Context, matrix: Matrix, row: number, col: number): Promise<Pointed> {
  const [band] = bandsOf(matrix, row, row + 1);
  const sight = await sightOf(context, matrix, band!);
  const rect = new context.library.Rect(row - band!.start, row - band!.start + 1, col, col + 1);
  const value = sight.numbers(layerOf(context.library, matrix.layer), rect)[0]!;
  rect.free();
  return { value, scale: matrix.layer === "scales" ? sight.scale(row - band!.start, col) : null };
}

/** What the bytes say; nothing where the file names a layout or there are no blocks. */
async function judge(context: Context, held: Held, weight: number, matrix: number): Promise<Judgement | null> {
  const { scalePlane, layout } = detailsOf(held, weight);
  if (!scalePlane || scalePlane.needsCodes || layout !== "linear") return null;
  const pieces = held.handle.judgePieces(weight, matrix);
  return held.handle.judge(weight, matrix, await held.read(pieces, context.signal));
}

async function inspect(context: Context, matrix: Matrix, row: number, block: number): Promise<Inspected> {
  const [band] = bandsOf(matrix, row, row + 1);
  const sight = await sightOf(context, matrix, band!);
  const steps = sight.block(row - band!.start, block);
  const fields = steps.elements[0]?.fields;
  const codeBits = fields ? Number(fields.sign !== null) + fields.exponentBits + fields.mantissaBits : 0;
  const element = matrix.details.element ?? "";
  // Of 256 codes no table is shown.
  return { steps, codeBits, element, values: steps.kind === "block" && codeBits > 0 && codeBits <= 4 ? valuesOf(element, sight) : null };
}

const codeValues = new Map<string, number[]>();

/** The value of each code of a type. */
function valuesOf(element: string, sight: Sight): number[] {
  let values = codeValues.get(element);
  if (!values) codeValues.set(element, (values = sight.blockStats().values.map(Number)));
  return values;
}
