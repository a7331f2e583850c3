// Zooming, panning, and the tiles of a heat map.

import { expect, test } from "vitest";
import { at, fit, isFitted, keepInside, pan, place, reveal, type View, zoom } from "../../src/pictures/heat/view.ts";
import { edgesOf, keyOf, level, rectOf, TILE, visibleTiles } from "../../src/pictures/heat/tiles.ts";
import { readSpot, readView, writeView } from "../../src/pages/tensor/view-code.ts";

const plane = { rows: 16384, cols: 256 };
const size = { width: 700, height: 400, block: 56 };

/** Numbers that look like chance, and are the same each time. */
function* numbers(seed: number): Generator<number> {
  for (;;) {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    yield seed / 2147483648;
  }
}

test("the whole plane fits the picture", () => {
  const view = fit(plane, size);
  expect(place(view, plane.rows, plane.cols)).toEqual({ x: size.width, y: size.height });
  expect(isFitted(view, plane, size)).toBe(true);
});

test("a small plane is not drawn larger than its blocks may be", () => {
  const view = fit({ rows: 2, cols: 3 }, size);
  expect(place(view, 1, 1)).toEqual({ x: 56, y: 56 });
});

test("the number under the pointer stays there while zooming", () => {
  const random = numbers(7);
  let view = fit(plane, size);
  for (let i = 0; i < 500; i++) {
    const [x, y] = [random.next().value! * size.width, random.next().value! * size.height];
    const next = zoom(view, plane, size, 2 ** (4 * random.next().value! - 1.5), x, y);
    const inside = keepInside(next, plane, size);
    expect(inside).toEqual(next);
    const unmoved = next.row > 0 && next.row < plane.rows - size.height * next.rowsPerPx - 1e-9;
    if (unmoved) expect(next.row + y * next.rowsPerPx).toBeCloseTo(view.row + y * view.rowsPerPx, 6);
    view = next;
  }
});

test("zooming in ends at the largest block both ways, zooming out at the whole plane", () => {
  let view = fit(plane, size);
  for (let i = 0; i < 40; i++) view = zoom(view, plane, size, 2, 350, 200);
  expect([view.rowsPerPx, view.colsPerPx]).toEqual([1 / 56, 1 / 56]);
  for (let i = 0; i < 40; i++) view = zoom(view, plane, size, 0.5, 350, 200);
  expect(view).toEqual(fit(plane, size));
});

test("a pan never leaves the plane", () => {
  const near = zoom(fit(plane, size), plane, size, 16, 0, 0);
  expect(pan(near, plane, size, 1e6, 1e6)).toMatchObject({ row: 0, col: 0 });
  const far = pan(near, plane, size, -1e9, -1e9);
  expect(far.row).toBeCloseTo(plane.rows - size.height * far.rowsPerPx);
});

test("a number that is revealed is in the picture", () => {
  const near = zoom(fit(plane, size), plane, size, 1e9, 0, 0);
  for (const [row, col] of [[0, 0], [16383, 255], [8000, 128], [1, 255]] as const) {
    const { x, y } = place(reveal(near, plane, size, row, col), row + 0.5, col + 0.5);
    expect(x).toBeGreaterThan(0);
    expect(x).toBeLessThan(size.width);
    expect(y).toBeGreaterThan(0);
    expect(y).toBeLessThan(size.height);
  }
});

test("a pixel beside the plane is none of its numbers", () => {
  const view = fit({ rows: 2, cols: 2 }, size);
  expect(at(view, { rows: 2, cols: 2 }, 1, 1)).toEqual({ row: 0, col: 0 });
  expect(at(view, { rows: 2, cols: 2 }, 113, 1)).toBeNull();
});

test("no cell is smaller than a pixel, so that none is skipped when it is drawn", () => {
  for (let perPx = 0.01; perPx < 1000; perPx *= 1.07) {
    expect(2 ** level(perPx)).toBeGreaterThanOrEqual(Math.min(perPx, 1e9) * (1 - 1e-6));
    if (perPx > 1) expect(2 ** level(perPx)).toBeLessThan(2 * perPx + 1e-6);
  }
  expect(level(0.5)).toBe(0);
});

test("visible tiles cover the picture once, and lie within the plane", () => {
  const random = numbers(3);
  let view: View = fit(plane, size);
  for (let i = 0; i < 100; i++) {
    view = zoom(view, plane, size, 2 ** (3 * random.next().value! - 1), random.next().value! * size.width, random.next().value! * size.height);
    const tiles = visibleTiles(view, plane, size);
    expect(new Set(tiles.map(keyOf)).size).toBe(tiles.length);
    const rects = tiles.map((id) => rectOf(id, plane));
    for (const rect of rects) {
      expect(rect.cellRows).toBeLessThanOrEqual(TILE);
      expect(rect.rowEnd).toBeLessThanOrEqual(plane.rows);
      expect(rect.row).toBeLessThan(rect.rowEnd);
    }
    for (const [x, y] of [[0, 0], [699.9, 0], [0, 399.9], [699.9, 399.9], [350, 200]] as const) {
      const spot = at(view, plane, x, y);
      if (!spot) continue;
      const holds = rects.filter((rect) => spot.row >= rect.row && spot.row < rect.rowEnd && spot.col >= rect.col && spot.col < rect.colEnd);
      expect(holds.length).toBe(1);
    }
  }
});

test("edges of a tile at the border end at the border", () => {
  const { rowEdges, colEdges } = edgesOf({ rowLevel: 2, colLevel: 0, tileRow: 0, tileCol: 0 }, { rows: 10, cols: 3 });
  expect(rowEdges).toEqual([0, 4, 8, 10]);
  expect(colEdges).toEqual([0, 1, 2, 3]);
});

test("a view survives the address, whatever the pixels of the screen", () => {
  const view = { row: 137.5, col: 17.25, rowsPerPx: 0.5, colsPerPx: 0.25 };
  expect(readView(writeView(view, 2), 2)).toEqual(view);
  expect(readView(writeView(view, 1), 2)).toEqual({ ...view, rowsPerPx: 0.25, colsPerPx: 0.125 });
  for (const text of ["", "1,2,3", "1,2,3,0", "a,b,c,d", "-1,0,1,1", "1,2,3,4,5", undefined]) expect(readView(text, 1)).toBeUndefined();
});

test("a block of an address must exist", () => {
  expect(readSpot("3.7", { rows: 4, cols: 8 })).toEqual({ row: 3, col: 7 });
  for (const text of ["4.0", "0.8", "3", "x.y", "-1.0", undefined]) expect(readSpot(text, { rows: 4, cols: 8 })).toBeUndefined();
});
