// Numbers with their units, for people.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** Bytes in powers of 1024, three digits: `2.13 MiB`. */
export function bytes(count: number): string {
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  if (unit === 0) return `${count} B`;
  // 1023.9 would be written as 1024.
  if (Math.round(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${threeDigits(value)} ${UNITS[unit]}`;
}

/** The exact number of bytes, for who points at it. */
export function exactBytes(count: number): string {
  return `${whole(count)} bytes`;
}

/** A whole number in groups of three: `142,318`. */
export function whole(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** `1 tensor`, `142,318 tensors`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

export function milliseconds(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${threeDigits(ms / 1000)} s`;
}

export function percent(share: number): string {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${threeDigits(share * 100)} %`;
}

function threeDigits(value: number): string {
  if (value >= 1000) return value.toFixed(0);
  return Number(value.toPrecision(3)).toString();
}
