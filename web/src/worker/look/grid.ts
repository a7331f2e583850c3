// Cutting a grid of cells along bands: the module cuts a rectangle evenly, so uneven cells are asked for in runs.

/** Cells of one size in a row: `cells` of them from `start` to `end`, the first of which is cell `first`. */
export interface Run {
  first: number;
  cells: number;
  start: number;
  end: number;
}

/** The runs of equal cells between rising edges, as far as they lie between `from` and `to`. */
export function runs(edges: ArrayLike<number>, from: number, to: number): Run[] {
  const found: Run[] = [];
  for (let cell = 0; cell + 1 < edges.length; cell++) {
    const start = Math.max(edges[cell]!, from);
    const end = Math.min(edges[cell + 1]!, to);
    if (start >= end) continue;
    const last = found.at(-1);
    if (last && last.end === start && last.first + last.cells === cell && (last.end - last.start) / last.cells === end - start) {
      last.cells += 1;
      last.end = end;
    } else {
      found.push({ first: cell, cells: 1, start, end });
    }
  }
  return found;
}

/** Edges from 0 to `length` in at most `pieces` pieces of a power of two, the last one shorter. */
export function evenEdges(length: number, pieces: number): number[] {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(length / Math.max(1, pieces))));
  const edges = Array.from({ length: Math.ceil(length / step) }, (_, i) => i * step);
  return [...edges, length];
}

/** Some rows of many: up to `parts` spans of whole blocks, evenly spread, of `most` rows together. */
export function spread(rows: number, block: number, most: number, parts: number): [number, number][] {
  if (rows <= most || rows <= block) return [[0, rows]];
  const blocks = Math.ceil(rows / block);
  const wanted = Math.max(1, Math.floor(most / block));
  const count = Math.min(parts, wanted);
  const each = Math.max(1, Math.floor(wanted / count));
  return Array.from({ length: count }, (_, i) => {
    const start = count === 1 ? 0 : Math.floor((i * (blocks - each)) / (count - 1));
    return [start * block, Math.min(rows, (start + each) * block)] as [number, number];
  });
}
