// Which codes to expect of gaussian weights whose blocks are scaled by their largest number.

/** How a block's scale is found, and how many share it. */
export interface ScaleRule {
  /** Elements of a block. */
  block: number;
  /** Whether scales are powers of two, rounded up. */
  powerOfTwo: boolean;
}

/**
 * The share of each magnitude (0 for the smallest) among the codes of gaussian weights.
 *
 * `magnitudes` are the element's values from zero up. Of a block of n the largest fills the range; the others are
 * gaussian below it. Integrated over the density of the largest, and over the place of the scale between two powers
 * of two where it has to be one.
 */
export function expectedMagnitudes(magnitudes: readonly number[], rule: ScaleRule): number[] {
  const shares = magnitudes.map(() => 0);
  const top = magnitudes[magnitudes.length - 1] ?? 1;
  const n = rule.block;
  const phases = rule.powerOfTwo ? 16 : 1;
  const step = 0.01;
  for (let largest = step / 2; largest < 7; largest += step) {
    const inner = within(largest);
    // n f(a) F(a)^(n-1), of the absolute value.
    const weight = n * 2 * density(largest) * inner ** (n - 1) * step;
    if (weight < 1e-12) continue;
    for (let phase = 0; phase < phases; phase++) {
      const scale = rule.powerOfTwo ? roundedUp(largest / top, phase / phases) : largest / top;
      magnitudes.forEach((_, i) => {
        const [from, to] = bounds(magnitudes, i);
        const [a, b] = [Math.min(from * scale, largest), Math.min(to * scale, largest)];
        const others = ((n - 1) / n) * ((within(b) - within(a)) / inner);
        const self = largest > from * scale && largest <= to * scale ? 1 / n : 0;
        shares[i]! += (weight / phases) * (others + self);
      });
    }
  }
  const sum = shares.reduce((total, part) => total + part, 0);
  return shares.map((part) => part / sum);
}

/** The next power of two, where powers of two are shifted by `phase` of an octave. */
function roundedUp(x: number, phase: number): number {
  return 2 ** (Math.ceil(Math.log2(x) - phase) + phase);
}

/** What rounds to magnitude `i`. */
function bounds(magnitudes: readonly number[], i: number): [number, number] {
  const from = i === 0 ? 0 : (magnitudes[i - 1]! + magnitudes[i]!) / 2;
  const to = i === magnitudes.length - 1 ? Infinity : (magnitudes[i]! + magnitudes[i + 1]!) / 2;
  return [from, to];
}

function density(x: number): number {
  return Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}

/** The share of a gaussian's numbers within x of zero: the error function, by its series and its continued fraction. */
export function within(x: number): number {
  if (x <= 0) return 0;
  const z = x / Math.SQRT2;
  if (z < 3) {
    let [term, sum] = [z, z];
    for (let k = 1; k < 60; k++) {
      term *= (-z * z) / k;
      sum += term / (2 * k + 1);
    }
    return (2 / Math.sqrt(Math.PI)) * sum;
  }
  let tail = 0;
  for (let k = 40; k > 0; k--) tail = k / 2 / (z + tail);
  return 1 - Math.exp(-z * z) / Math.sqrt(Math.PI) / (z + tail);
}
