// Bytes of files that were read, so that nothing is fetched twice; the oldest are let go.

export interface Span {
  start: number;
  end: number;
}

interface Segment extends Span {
  file: string;
  bytes: Uint8Array;
}

/** Ranges of files in memory, at most so many bytes of them. */
export class ByteCache {
  /** Segments of each file, by start; no two of them overlap. */
  #files = new Map<string, Segment[]>();
  /** All segments, the one used last at the end. */
  #used = new Set<Segment>();
  #held = 0;

  constructor(private readonly most: number) {}

  get held(): number {
    return this.#held;
  }

  /** The parts of a range that are not here. */
  gaps(file: string, { start, end }: Span): Span[] {
    const gaps: Span[] = [];
    let at = start;
    for (const segment of this.#touching(file, { start, end })) {
      if (segment.start > at) gaps.push({ start: at, end: segment.start });
      at = Math.max(at, segment.end);
    }
    if (at < end) gaps.push({ start: at, end });
    return gaps;
  }

  /** Copies what is here of a range to its place in `out`, whose first byte is the range's. */
  copy(file: string, range: Span, out: Uint8Array): void {
    for (const segment of this.#touching(file, range)) {
      const from = Math.max(segment.start, range.start);
      const to = Math.min(segment.end, range.end);
      out.set(segment.bytes.subarray(from - segment.start, to - segment.start), from - range.start);
      this.#used.delete(segment);
      this.#used.add(segment);
    }
  }

  /** Keeps bytes; what of them is here already stays as it is. */
  put(file: string, start: number, bytes: Uint8Array): void {
    if (bytes.length > this.most) return;
    for (const gap of this.gaps(file, { start, end: start + bytes.length })) {
      const whole = gap.end - gap.start === bytes.length;
      const part = whole ? bytes : bytes.slice(gap.start - start, gap.end - start);
      this.#add({ file, ...gap, bytes: part });
    }
    this.#shrink();
  }

  #add(segment: Segment): void {
    const segments = this.#files.get(segment.file) ?? [];
    const at = segments.findIndex((other) => other.start > segment.start);
    segments.splice(at < 0 ? segments.length : at, 0, segment);
    this.#files.set(segment.file, segments);
    this.#used.add(segment);
    this.#held += segment.bytes.length;
  }

  #shrink(): void {
    for (const oldest of this.#used) {
      if (this.#held <= this.most) return;
      this.#used.delete(oldest);
      this.#held -= oldest.bytes.length;
      const left = this.#files.get(oldest.file)?.filter((segment) => segment !== oldest) ?? [];
      this.#files.set(oldest.file, left);
    }
  }

  #touching(file: string, { start, end }: Span): Segment[] {
    const segments = this.#files.get(file) ?? [];
    return segments.filter((segment) => segment.start < end && segment.end > start);
  }
}
