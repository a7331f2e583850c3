// Pointer and wheel over a heat map: point, drag, pinch.

export interface Gestures {
  /** The pointer is over a place, in CSS pixels; null where it left. */
  hover(at: { x: number; y: number } | null): void;
  /** A place was chosen. */
  choose(at: { x: number; y: number }): void;
  open(at: { x: number; y: number }): void;
  pan(dx: number, dy: number): void;
  /** Zooms around a place; false where nothing is left to zoom out of, so that the page may scroll. */
  zoom(factor: number, at: { x: number; y: number }): boolean;
}

/** A pointer that moved no further than this, in CSS pixels, was a click. */
const STILL = 4;

/** Listens to pointers and the wheel; the result stops that. */
export function listen(element: HTMLElement, gestures: Gestures): () => void {
  const down = new Map<number, { x: number; y: number }>();
  let moved = 0;
  const place = (event: MouseEvent) => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const onDown = (event: PointerEvent) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    if (down.size === 0) moved = 0;
    down.set(event.pointerId, place(event));
  };
  const onMove = (event: PointerEvent) => {
    const now = place(event);
    const before = down.get(event.pointerId);
    if (!before) return gestures.hover(now);
    moved += Math.hypot(now.x - before.x, now.y - before.y);
    down.set(event.pointerId, now);
    if (down.size === 1) {
      if (moved > STILL) gestures.pan(now.x - before.x, now.y - before.y);
      return;
    }
    const other = [...down].find(([id]) => id !== event.pointerId)?.[1];
    if (other) pinch(before, now, other);
  };
  const pinch = (before: { x: number; y: number }, now: { x: number; y: number }, other: { x: number; y: number }) => {
    moved = Infinity;
    const [old, fresh] = [Math.hypot(before.x - other.x, before.y - other.y), Math.hypot(now.x - other.x, now.y - other.y)];
    if (old > 0 && fresh > 0) gestures.zoom(fresh / old, { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 });
    gestures.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
  };
  const onUp = (event: PointerEvent) => {
    if (!down.delete(event.pointerId)) return;
    if (down.size === 0 && moved <= STILL && event.type === "pointerup") gestures.choose(place(event));
  };
  const onLeave = () => down.size === 0 && gestures.hover(null);
  const onWheel = (event: WheelEvent) => {
    // Lines and pages, where a mouse counts in these.
    const unit = event.deltaMode === 0 ? 1 : event.deltaMode === 1 ? 16 : 200;
    // A pinch on a touchpad comes as a wheel with Ctrl, in finer steps.
    const factor = 2 ** ((-event.deltaY * unit) / (event.ctrlKey ? 60 : 240));
    if (gestures.zoom(factor, place(event)) || event.ctrlKey) event.preventDefault();
  };
  const onDouble = (event: MouseEvent) => gestures.open(place(event));

  element.addEventListener("pointerdown", onDown);
  element.addEventListener("pointermove", onMove);
  element.addEventListener("pointerup", onUp);
  element.addEventListener("pointercancel", onUp);
  element.addEventListener("pointerleave", onLeave);
  element.addEventListener("wheel", onWheel, { passive: false });
  element.addEventListener("dblclick", onDouble);
  return () => {
    element.removeEventListener("pointerdown", onDown);
    element.removeEventListener("pointermove", onMove);
    element.removeEventListener("pointerup", onUp);
    element.removeEventListener("pointercancel", onUp);
    element.removeEventListener("pointerleave", onLeave);
    element.removeEventListener("wheel", onWheel);
    element.removeEventListener("dblclick", onDouble);
  };
}
