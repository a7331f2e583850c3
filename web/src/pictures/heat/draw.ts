// Draws a view of a plane: tiles, lines, crosshair. Everything is in device pixels.

import { keyOf, rectOf, type TileData, type TileId, visibleTiles } from "./tiles.ts";
import { type Paint, type Painted, paintTile } from "./paint.ts";
import { place, type Plane, type Size, type View } from "./view.ts";

/** Lines and marks over the numbers. */
export interface Overlay {
  /** Numbers between two tile lines, each way; none where they are not to be drawn. */
  tile: { rows: number; cols: number } | null;
  cursor: { row: number; col: number } | null;
  colours: { line: string; cursor: string; cursorEdge: string; outlier: string; outlierEdge: string };
  /** Device pixels of a CSS pixel. */
  ratio: number;
}

/** A mark that must not be overlooked is at least so many CSS pixels wide. */
const LEAST_MARK = 5;
/** More marks than this are not drawn as marks: their cells are coloured already. */
const MOST_MARKS = 400;
/** Lines closer than this many CSS pixels would be a haze. */
const LEAST_DISTANCE = 12;

interface Bitmap {
  canvas: OffscreenCanvas;
  painted: Painted;
}

/** Pixels of tiles, until the way in which they are painted changes. */
export class Bitmaps {
  #made = new WeakMap<TileData, Bitmap>();

  of(tile: TileData, paint: Paint): Bitmap {
    let bitmap = this.#made.get(tile);
    if (!bitmap) {
      const canvas = new OffscreenCanvas(tile.cols, tile.rows);
      const painted = paintTile(tile, paint);
      const image = new ImageData(tile.cols, tile.rows);
      image.data.set(painted.pixels);
      canvas.getContext("2d")?.putImageData(image, 0, 0);
      this.#made.set(tile, (bitmap = { canvas, painted }));
    }
    return bitmap;
  }

  clear(): void {
    this.#made = new WeakMap();
  }
}

export interface Scene {
  plane: Plane;
  view: View;
  size: Size;
  paint: Paint;
  overlay: Overlay;
  /** All tiles that are there, by their keys. */
  tiles: ReadonlyMap<string, TileData>;
  bitmaps: Bitmaps;
}

export function draw(to: CanvasRenderingContext2D, scene: Scene): void {
  const { size, view, plane } = scene;
  to.clearRect(0, 0, size.width, size.height);
  to.imageSmoothingEnabled = false;
  const wanted = visibleTiles(view, plane, size);
  // What has not come yet is shown by the tiles of other levels: coarse ones first, then finer ones.
  if (wanted.some((id) => !scene.tiles.has(keyOf(id)))) drawStandIns(to, scene);
  const marks: { x: number; y: number; bad: boolean }[] = [];
  for (const id of wanted) {
    const tile = scene.tiles.get(keyOf(id));
    if (tile) drawTile(to, scene, id, tile, marks);
  }
  if (marks.length <= MOST_MARKS) drawMarks(to, scene, marks);
  if (scene.overlay.tile) drawLines(to, scene, scene.overlay.tile);
  if (scene.overlay.cursor) drawCursor(to, scene, scene.overlay.cursor);
}

function drawStandIns(to: CanvasRenderingContext2D, scene: Scene): void {
  const ids = [...scene.tiles].map(([key, tile]) => {
    const [rowLevel, colLevel, tileRow, tileCol] = key.split("/").map(Number) as [number, number, number, number];
    return { id: { rowLevel, colLevel, tileRow, tileCol }, tile };
  });
  ids.sort((a, b) => b.id.rowLevel + b.id.colLevel - a.id.rowLevel - a.id.colLevel);
  for (const { id, tile } of ids) drawTile(to, scene, id, tile, null);
}

function drawTile(to: CanvasRenderingContext2D, scene: Scene, id: TileId, tile: TileData, marks: { x: number; y: number; bad: boolean }[] | null): void {
  const { view, plane, size } = scene;
  const [rowStep, colStep] = [2 ** id.rowLevel, 2 ** id.colLevel];
  const rect = rectOf(id, plane);
  const start = place(view, rect.row, rect.col);
  // Whole cells, also where the last of them covers less than others.
  const end = place(view, rect.row + tile.rows * rowStep, rect.col + tile.cols * colStep);
  if (end.x <= 0 || end.y <= 0 || start.x >= size.width || start.y >= size.height) return;
  const { canvas, painted } = scene.bitmaps.of(tile, scene.paint);
  const [edgeX, edgeY] = [place(view, rect.rowEnd, rect.colEnd).x, place(view, rect.rowEnd, rect.colEnd).y];
  to.save();
  to.beginPath();
  to.rect(Math.round(start.x), Math.round(start.y), Math.round(edgeX) - Math.round(start.x), Math.round(edgeY) - Math.round(start.y));
  to.clip();
  to.drawImage(canvas, start.x, start.y, end.x - start.x, end.y - start.y);
  to.restore();
  if (!marks) return;
  for (const [list, bad] of [[painted.outliers, false], [painted.bad, true]] as const) {
    for (const cell of list) {
      if (marks.length > MOST_MARKS) return;
      const [row, col] = [Math.floor(cell / tile.cols), cell % tile.cols];
      const at = place(view, rect.row + (row + 0.5) * rowStep, rect.col + (col + 0.5) * colStep);
      if (at.x >= 0 && at.y >= 0 && at.x < size.width && at.y < size.height) marks.push({ ...at, bad });
    }
  }
}

/** Outliers whose cells are hardly seen get a ring. */
function drawMarks(to: CanvasRenderingContext2D, scene: Scene, marks: { x: number; y: number; bad: boolean }[]): void {
  const { view, overlay } = scene;
  const cell = Math.min(2 ** Math.ceil(Math.log2(Math.max(1, view.rowsPerPx))) / view.rowsPerPx, 2 ** Math.ceil(Math.log2(Math.max(1, view.colsPerPx))) / view.colsPerPx);
  const least = LEAST_MARK * overlay.ratio;
  if (cell >= least) return;
  const bad = `rgb(${scene.paint.bad.join(",")})`;
  for (const mark of marks) {
    to.fillStyle = overlay.colours.outlierEdge;
    to.fillRect(mark.x - least / 2 - overlay.ratio, mark.y - least / 2 - overlay.ratio, least + 2 * overlay.ratio, least + 2 * overlay.ratio);
    to.fillStyle = mark.bad ? bad : overlay.colours.outlier;
    to.fillRect(mark.x - least / 2, mark.y - least / 2, least, least);
  }
}

/** Hairlines where tiles of 128 rows and columns of weights meet, and at blocks once they are large. */
function drawLines(to: CanvasRenderingContext2D, scene: Scene, tile: { rows: number; cols: number }): void {
  const { view, size, plane, overlay } = scene;
  to.strokeStyle = overlay.colours.line;
  to.lineWidth = Math.max(1, Math.floor(overlay.ratio));
  const sides = [
    { step: tile.rows, perPx: view.rowsPerPx, from: view.row, count: plane.rows, length: size.height, at: (n: number) => place(view, n, 0).y },
    { step: tile.cols, perPx: view.colsPerPx, from: view.col, count: plane.cols, length: size.width, at: (n: number) => place(view, 0, n).x },
  ];
  const right = Math.min(size.width, place(view, 0, plane.cols).x);
  const bottom = Math.min(size.height, place(view, plane.rows, 0).y);
  to.beginPath();
  sides.forEach((side, axis) => {
    if (side.step / side.perPx < LEAST_DISTANCE * overlay.ratio) return;
    const last = Math.min(side.count, side.from + side.length * side.perPx);
    for (let n = Math.max(side.step, Math.ceil(side.from / side.step) * side.step); n < last; n += side.step) {
      const at = Math.round(side.at(n)) + 0.5;
      if (axis === 0) {
        to.moveTo(0, at);
        to.lineTo(right, at);
      } else {
        to.moveTo(at, 0);
        to.lineTo(at, bottom);
      }
    }
  });
  to.stroke();
}

function drawCursor(to: CanvasRenderingContext2D, scene: Scene, cursor: { row: number; col: number }): void {
  const { view, size, overlay } = scene;
  const start = place(view, cursor.row, cursor.col);
  const end = place(view, cursor.row + 1, cursor.col + 1);
  const thin = Math.max(1, Math.floor(overlay.ratio));
  const least = 3 * overlay.ratio;
  const [width, height] = [Math.max(least, end.x - start.x), Math.max(least, end.y - start.y)];
  const middle = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
  const box = { x: middle.x - width / 2, y: middle.y - height / 2 };
  const stroke = (style: string, line: number) => {
    to.strokeStyle = style;
    to.lineWidth = line;
    to.beginPath();
    // The hairs end short of the number, so that they do not cover it.
    to.moveTo(0, middle.y);
    to.lineTo(box.x - 2, middle.y);
    to.moveTo(box.x + width + 2, middle.y);
    to.lineTo(size.width, middle.y);
    to.moveTo(middle.x, 0);
    to.lineTo(middle.x, box.y - 2);
    to.moveTo(middle.x, box.y + height + 2);
    to.lineTo(middle.x, size.height);
    to.stroke();
    to.strokeRect(box.x - 1, box.y - 1, width + 2, height + 2);
  };
  stroke(overlay.colours.cursorEdge, 3 * thin);
  stroke(overlay.colours.cursor, thin);
}

