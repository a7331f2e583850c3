// Rows of equal height in a box that scrolls: only those in sight are elements.

/** Rows that are kept above and below what is in sight. */
const MARGIN = 6;

export interface VirtualOptions {
  rowHeight: number;
  /** Fills an element with a row. */
  fill(element: HTMLElement, row: number): void;
}

export class VirtualRows {
  readonly #inner: HTMLElement;
  readonly #elements: HTMLElement[] = [];
  readonly #resize: ResizeObserver;
  #count = 0;
  #first = 0;
  #waiting = 0;

  constructor(
    private readonly box: HTMLElement,
    private readonly options: VirtualOptions,
  ) {
    this.#inner = document.createElement("div");
    this.#inner.className = "virtual-rows";
    this.#inner.setAttribute("role", "presentation");
    box.append(this.#inner);
    box.addEventListener("scroll", () => this.#soon(), { passive: true });
    this.#resize = new ResizeObserver(() => this.#soon());
    this.#resize.observe(box);
  }

  /** Shows so many rows; contents may have changed. */
  setCount(count: number): void {
    this.#count = count;
    this.#inner.style.height = `${count * this.options.rowHeight}px`;
    this.render();
  }

  /** Rows that fit the box. */
  get page(): number {
    return Math.max(1, Math.floor(this.box.clientHeight / this.options.rowHeight) - 1);
  }

  /** Scrolls just as far as a row needs to be in sight. */
  reveal(row: number, where: "nearest" | "centre" = "nearest"): void {
    const { rowHeight } = this.options;
    const [top, bottom] = [row * rowHeight, (row + 1) * rowHeight];
    const { scrollTop, clientHeight } = this.box;
    const inSight = top >= scrollTop && bottom <= scrollTop + clientHeight;
    if (inSight) return;
    if (where === "centre") this.box.scrollTop = top - (clientHeight - rowHeight) / 2;
    else this.box.scrollTop = top < scrollTop ? top : bottom - clientHeight;
    this.render();
  }

  /** The row that an element shows. */
  rowOf(element: HTMLElement): number | undefined {
    const place = this.#elements.indexOf(element);
    return place < 0 || element.hidden ? undefined : this.#first + place;
  }

  render(): void {
    const { rowHeight, fill } = this.options;
    const inSight = Math.ceil(this.box.clientHeight / rowHeight);
    this.#first = Math.max(0, Math.floor(this.box.scrollTop / rowHeight) - MARGIN);
    const count = Math.min(this.#count - this.#first, inSight + 2 * MARGIN);
    while (this.#elements.length < count) this.#add();
    for (const [place, element] of this.#elements.entries()) {
      element.hidden = place >= count;
      if (element.hidden) {
        element.removeAttribute("id");
        continue;
      }
      const row = this.#first + place;
      element.style.transform = `translateY(${row * rowHeight}px)`;
      fill(element, row);
    }
  }

  destroy(): void {
    this.#resize.disconnect();
    cancelAnimationFrame(this.#waiting);
  }

  #add(): void {
    const element = document.createElement("div");
    element.className = "virtual-row";
    this.#elements.push(element);
    this.#inner.append(element);
  }

  #soon(): void {
    cancelAnimationFrame(this.#waiting);
    this.#waiting = requestAnimationFrame(() => this.render());
  }
}
