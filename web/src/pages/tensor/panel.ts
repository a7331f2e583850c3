// What the tabs of the tensor page have in common.

export interface Panel {
  /** Takes it down; what it waits for is given up. */
  destroy(): void;
}

/** What a panel may ask of the page. */
export interface Tools {
  /** Goes to a block: row of weights and block along it. */
  openBlock(row: number, block: number): void;
  /** Says that there is something to see, so that what was shown before may go. */
  ready(): void;
  /** Shows a failure of something small; large ones are shown in their place. */
  failed(error: unknown): void;
}
