// Two weights of one shape, number by number and scale by scale.

import type { Comparison } from "blockscale-wasm";
import type { Compared, Share, Subject } from "../../protocol/look.ts";
import type { Context } from "../context.ts";
import { bandsOf, matrixOf, type Matrix, readRows } from "./sights.ts";

/** Numbers that are compared where not all are asked for. */
const SOME = { local: 4 << 20, remote: 1 << 20 };
/** Cells each way of the plot of scale against scale. */
const PAIRS = 48;

/** Compares band by band, so that of large weights only a part is in memory. */
export async function compare(context: Context, request: { reference: Subject; output: Subject; share: Share }): Promise<Compared> {
  const { Rect, Layer, Comparison } = context.library;
  const reference = matrixOf(context, request.reference, "values");
  const output = matrixOf(context, request.output, "values");
  mustFit(reference, output);
  const rows = rowsOf(reference, output, request.share);
  let sum: Comparison | null = null;
  const scales: { a: Float32Array[]; b: Float32Array[] } = { a: [], b: [] };
  try {
    for (let row = 0; row < rows; ) {
      const [a, b] = [bandsOf(reference, row, row + 1)[0]!, bandsOf(output, row, row + 1)[0]!];
      const end = Math.min(rows, a.end, b.end);
      context.progress({ what: "comparing", done: row, total: rows });
      const first = await readRows(context, reference, row, end);
      const second = await readRows(context, output, row, end).catch((error: unknown) => {
        first.free();
        throw error;
      });
      const rect = new Rect(0, first.rows, 0, first.cols);
      const part = new Comparison(first, second, rect, 1, 1);
      rect.free();
      if (sum) {
        sum.add(part);
        part.free();
      } else sum = part;
      if (first.scaleCols > 0 && first.scaleRows === second.scaleRows && first.scaleCols === second.scaleCols) {
        const plane = new Rect(0, first.scaleRows, 0, first.scaleCols);
        scales.a.push(first.numbers(Layer.Scales, plane));
        scales.b.push(second.numbers(Layer.Scales, plane));
        plane.free();
      }
      first.free();
      second.free();
      row = end;
      await context.breathe();
    }
    if (!sum) throw new Error(`\`${reference.details.name}\` has no rows`);
    const pairs = scales.a.length > 0 ? pairCounts(scales.a, scales.b) : null;
    return { rows: reference.rows, cols: reference.cols, rowsSeen: rows, total: sum.total(), pairs };
  } finally {
    sum?.free();
  }
}

function mustFit(reference: Matrix, output: Matrix): void {
  if (reference.rows === output.rows && reference.cols === output.cols) return;
  const shape = ({ details, rows, cols }: Matrix) => `\`${details.name}\` is ${rows} × ${cols}`;
  throw new Error(`${shape(reference)}, ${shape(output)}: only matrices of one shape can be compared`);
}

/** How many rows are compared: whole blocks of both. */
function rowsOf(reference: Matrix, output: Matrix, share: Share): number {
  if (share === "all") return reference.rows;
  const remote = [reference, output].some((matrix) => matrix.held.reach === "remote");
  const block = Math.max(reference.blockRows, output.blockRows);
  const fits = Math.floor(SOME[remote ? "remote" : "local"] / reference.cols / block) * block;
  return Math.min(reference.rows, Math.max(block, fits));
}

/** Counts of pairs by the logarithms of both; parts of one belong to parts of the other. */
export function pairCounts(a: readonly Float32Array[], b: readonly Float32Array[]): NonNullable<Compared["pairs"]> {
  let [low, high] = [Infinity, -Infinity];
  for (const numbers of [...a, ...b]) {
    for (const x of numbers) {
      if (!hasPlace(x)) continue;
      if (x < low) low = x;
      if (x > high) high = x;
    }
  }
  const from = Number.isFinite(low) ? Math.floor(Math.log2(low)) : 0;
  const to = Number.isFinite(high) ? Math.max(from + 1, Math.floor(Math.log2(high)) + 1) : 1;
  const edges = Float64Array.from({ length: PAIRS + 1 }, (_, i) => from + ((to - from) * i) / PAIRS);
  const counts = new Float64Array(PAIRS * PAIRS);
  const bin = (x: number) => Math.min(PAIRS - 1, Math.floor(((Math.log2(x) - from) / (to - from)) * PAIRS));
  let left = 0;
  a.forEach((numbers, part) => {
    const others = b[part]!;
    for (let i = 0; i < numbers.length; i++) {
      if (hasPlace(numbers[i]!) && hasPlace(others[i]!)) counts[bin(others[i]!) * PAIRS + bin(numbers[i]!)]! += 1;
      else left += 1;
    }
  });
  return { edges, counts, left };
}

function hasPlace(x: number): boolean {
  return x > 0 && x < Infinity;
}
