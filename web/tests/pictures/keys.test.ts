// @vitest-environment happy-dom
// Keys and gestures of a heat map.

import { expect, test, vi } from "vitest";
import { type Gestures, listen } from "../../src/pictures/heat/gestures.ts";
import { actionOf, HELP } from "../../src/pictures/heat/keys.ts";
import { TileSource } from "../../src/pictures/heat/source.ts";
import type { TileData, TileId } from "../../src/pictures/heat/tiles.ts";

const steps = { tile: { rows: 128, cols: 8 }, plane: { rows: 4096, cols: 256 }, page: 300 };
const press = (key: string, over: Partial<KeyboardEvent> = {}) => actionOf({ key, shiftKey: false, ctrlKey: false, metaKey: false, altKey: false, ...over }, steps);

test("arrows move a block, with shift a tile", () => {
  expect(press("ArrowDown")).toEqual({ do: "move", rows: 1, cols: 0 });
  expect(press("ArrowDown", { shiftKey: true })).toEqual({ do: "move", rows: 128, cols: 0 });
  expect(press("ArrowLeft", { shiftKey: true })).toEqual({ do: "move", rows: 0, cols: -8 });
});

test("keys of the browser stay the browser's", () => {
  for (const over of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) expect(press("0", over)).toBeNull();
  for (const key of ["Tab", "Escape", "a", "F5"]) expect(press(key)).toBeNull();
});

test("every key that helps is in the help", () => {
  const named = HELP.map(([keys]) => keys).join(" ");
  for (const key of ["+", "−", "0", "L", "G", "O", "Enter", "Home", "End", "Page Up"]) expect(named).toContain(key);
  for (const key of ["+", "-", "0", "l", "g", "o", "Enter", "Home", "End", "PageUp"]) expect(press(key)).not.toBeNull();
});

function watched() {
  const element = document.createElement("div");
  element.setPointerCapture = () => undefined;
  const gestures = { hover: vi.fn(), choose: vi.fn(), open: vi.fn(), pan: vi.fn(), zoom: vi.fn(() => true) } satisfies Gestures;
  const stop = listen(element, gestures);
  const pointer = (type: string, id: number, x: number, y: number) => element.dispatchEvent(new PointerEvent(type, { pointerId: id, clientX: x, clientY: y, button: 0 }));
  return { element, gestures, stop, pointer };
}

test("a pointer that does not move is a click, one that does is a pan", () => {
  const { gestures, pointer } = watched();
  pointer("pointerdown", 1, 10, 10);
  pointer("pointermove", 1, 11, 10);
  pointer("pointerup", 1, 11, 10);
  expect(gestures.choose).toHaveBeenCalledTimes(1);
  pointer("pointerdown", 1, 10, 10);
  pointer("pointermove", 1, 40, 10);
  pointer("pointerup", 1, 40, 10);
  expect(gestures.choose).toHaveBeenCalledTimes(1);
  expect(gestures.pan).toHaveBeenCalledWith(30, 0);
});

test("two fingers that part zoom by as much as they part, around their middle", () => {
  const { gestures, pointer } = watched();
  pointer("pointerdown", 1, 0, 0);
  pointer("pointerdown", 2, 100, 0);
  pointer("pointermove", 2, 200, 0);
  expect(gestures.zoom).toHaveBeenCalledWith(2, { x: 100, y: 0 });
  pointer("pointerup", 1, 0, 0);
  pointer("pointerup", 2, 200, 0);
  expect(gestures.choose).not.toHaveBeenCalled();
});

test("the wheel zooms, and scrolls the page where nothing is left to zoom", () => {
  const { element, gestures } = watched();
  const wheel = () => {
    const event = new WheelEvent("wheel", { deltaY: -240, cancelable: true });
    element.dispatchEvent(event);
    return event.defaultPrevented;
  };
  expect(wheel()).toBe(true);
  expect(gestures.zoom).toHaveBeenLastCalledWith(2, expect.anything());
  gestures.zoom.mockReturnValue(false);
  expect(wheel()).toBe(false);
});

const id = (tileRow: number): TileId => ({ rowLevel: 0, colLevel: 0, tileRow, tileCol: 0 });
const tile = { rows: 1, cols: 1 } as TileData;

test("tiles that are not needed any more are given up, those that came are kept", async () => {
  const signals = new Map<number, AbortSignal>();
  const arrived = vi.fn();
  const failed = vi.fn();
  const waits: Record<number, (tile: TileData) => void> = {};
  const source = new TileSource(
    ({ tileRow }, signal) => {
      signals.set(tileRow, signal);
      return new Promise((resolve, reject) => {
        waits[tileRow] = resolve;
        signal.addEventListener("abort", () => reject(new Error("aborted")));
      });
    },
    arrived,
    failed,
  );
  source.want([id(0), id(1)]);
  waits[0]!(tile);
  await Promise.resolve();
  source.want([id(2)]);
  await Promise.resolve();
  expect(signals.get(1)!.aborted).toBe(true);
  expect(source.get(id(0))).toBe(tile);
  expect([source.get(id(1)), source.waiting]).toEqual([undefined, 1]);
  expect([arrived.mock.calls.length, failed.mock.calls.length]).toEqual([1, 0]);
});

test("a tile that failed is asked for again when it is wanted again", async () => {
  let asked = 0;
  const failed = vi.fn();
  const source = new TileSource(() => ((asked += 1), Promise.reject(new Error("no server"))), () => undefined, failed);
  source.want([id(0)]);
  await new Promise((resolve) => setTimeout(resolve));
  source.want([id(0)]);
  await new Promise((resolve) => setTimeout(resolve));
  expect([asked, failed.mock.calls.length]).toEqual([2, 2]);
});
