// Which part of a plane a heat map shows, and what zooming and panning make of it. Pure geometry.

/** A plane of `rows` x `cols` numbers. */
export interface Plane {
  rows: number;
  cols: number;
}

/** The picture's size in device pixels, and the largest that one number is drawn. */
export interface Size {
  width: number;
  height: number;
  block: number;
}

/** The top left corner, in numbers, and how many numbers one device pixel covers each way. */
export interface View {
  row: number;
  col: number;
  rowsPerPx: number;
  colsPerPx: number;
}

/** The whole plane in the picture. */
export function fit(plane: Plane, size: Size): View {
  return {
    row: 0,
    col: 0,
    rowsPerPx: Math.max(plane.rows / size.height, 1 / size.block),
    colsPerPx: Math.max(plane.cols / size.width, 1 / size.block),
  };
}

/** Zooms by `factor` (above 1 is nearer); the number at pixel (x, y) stays there. */
export function zoom(view: View, plane: Plane, size: Size, factor: number, x: number, y: number): View {
  const most = fit(plane, size);
  const rowsPerPx = between(view.rowsPerPx / factor, 1 / size.block, most.rowsPerPx);
  const colsPerPx = between(view.colsPerPx / factor, 1 / size.block, most.colsPerPx);
  return keepInside(
    {
      row: view.row + y * (view.rowsPerPx - rowsPerPx),
      col: view.col + x * (view.colsPerPx - colsPerPx),
      rowsPerPx,
      colsPerPx,
    },
    plane,
    size,
  );
}

/** Moves the picture by device pixels: what was at (0, 0) is then at (dx, dy). */
export function pan(view: View, plane: Plane, size: Size, dx: number, dy: number): View {
  const moved = { ...view, row: view.row - dy * view.rowsPerPx, col: view.col - dx * view.colsPerPx };
  return keepInside(moved, plane, size);
}

/** The nearest view that shows nothing but the plane, as far as it fills the picture. */
export function keepInside(view: View, plane: Plane, size: Size): View {
  return {
    ...view,
    row: between(view.row, 0, Math.max(0, plane.rows - size.height * view.rowsPerPx)),
    col: between(view.col, 0, Math.max(0, plane.cols - size.width * view.colsPerPx)),
  };
}

/** The nearest view in which a number is to be seen, a margin of a tenth around it. */
export function reveal(view: View, plane: Plane, size: Size, row: number, col: number): View {
  const axis = (start: number, length: number, at: number) => {
    const margin = length / 10;
    if (at < start + margin) return at - margin;
    return at + 1 > start + length - margin ? at + 1 + margin - length : start;
  };
  const moved = {
    ...view,
    row: axis(view.row, size.height * view.rowsPerPx, row),
    col: axis(view.col, size.width * view.colsPerPx, col),
  };
  return keepInside(moved, plane, size);
}

/** The number under a pixel, or none beside the plane. */
export function at(view: View, plane: Plane, x: number, y: number): { row: number; col: number } | null {
  const row = Math.floor(view.row + y * view.rowsPerPx);
  const col = Math.floor(view.col + x * view.colsPerPx);
  return row >= 0 && row < plane.rows && col >= 0 && col < plane.cols ? { row, col } : null;
}

/** The pixel at which a number starts. */
export function place(view: View, row: number, col: number): { x: number; y: number } {
  return { x: (col - view.col) / view.colsPerPx, y: (row - view.row) / view.rowsPerPx };
}

/** Whether all of the plane is to be seen. */
export function isFitted(view: View, plane: Plane, size: Size): boolean {
  const whole = fit(plane, size);
  return view.rowsPerPx >= whole.rowsPerPx && view.colsPerPx >= whole.colsPerPx;
}

function between(x: number, least: number, most: number): number {
  return Math.min(Math.max(x, least), Math.max(least, most));
}
