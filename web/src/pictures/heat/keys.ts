// What keys do in a heat map.

export type Action =
  | { do: "move"; rows: number; cols: number }
  | { do: "zoom"; factor: number }
  | { do: "fit" }
  | { do: "spacing" }
  | { do: "lines" }
  | { do: "outlier" }
  | { do: "open" };

/** Steps that keys take: a number, a tile, a page, and the plane. */
export interface Steps {
  tile: { rows: number; cols: number };
  page: number;
  plane: { rows: number; cols: number };
}

type Pressed = Pick<KeyboardEvent, "key" | "shiftKey" | "ctrlKey" | "metaKey" | "altKey">;

/** The action of a key, or none: then the key is the page's. */
export function actionOf(event: Pressed, steps: Steps): Action | null {
  if (event.ctrlKey || event.metaKey || event.altKey) return null;
  const [rows, cols] = event.shiftKey ? [steps.tile.rows, steps.tile.cols] : [1, 1];
  switch (event.key) {
    case "ArrowUp":
      return { do: "move", rows: -rows, cols: 0 };
    case "ArrowDown":
      return { do: "move", rows, cols: 0 };
    case "ArrowLeft":
      return { do: "move", rows: 0, cols: -cols };
    case "ArrowRight":
      return { do: "move", rows: 0, cols };
    case "PageUp":
      return { do: "move", rows: -steps.page, cols: 0 };
    case "PageDown":
      return { do: "move", rows: steps.page, cols: 0 };
    case "Home":
      return { do: "move", rows: 0, cols: -steps.plane.cols };
    case "End":
      return { do: "move", rows: 0, cols: steps.plane.cols };
    case "+":
    case "=":
      return { do: "zoom", factor: 2 };
    case "-":
    case "_":
      return { do: "zoom", factor: 0.5 };
    case "0":
      return { do: "fit" };
    case "l":
    case "L":
      return { do: "spacing" };
    case "g":
    case "G":
      return { do: "lines" };
    case "o":
    case "O":
      return { do: "outlier" };
    case "Enter":
      return { do: "open" };
    default:
      return null;
  }
}

/** The keys, for those who ask. */
export const HELP: readonly (readonly [string, string])[] = [
  ["arrows", "move a block"],
  ["Shift + arrows", "jump a tile"],
  ["Page Up, Page Down", "a screen of rows"],
  ["Home, End", "first and last column"],
  ["+ −", "zoom"],
  ["0", "the whole plane"],
  ["L", "logarithm or linear"],
  ["G", "tile lines"],
  ["O", "next outlier"],
  ["Enter", "the block in numbers"],
];
