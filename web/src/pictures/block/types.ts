// The number types of codes and scales: what their bits mean. Values are never computed from this; it is for reading.

export interface NumberType {
  name: string;
  bias: number;
  exponentBits: number;
  mantissaBits: number;
  signed: boolean;
  /** What is special about it, in a sentence. */
  about: string;
}

const TYPES: readonly NumberType[] = [
  {
    name: "E2M1",
    bias: 1,
    exponentBits: 2,
    mantissaBits: 1,
    signed: true,
    about: "Four bits: a sign, two of exponent, one of mantissa. Its magnitudes are 0, 0.5, 1, 1.5, 2, 3, 4 and 6. It has no infinity and no NaN; code 8 is negative zero.",
  },
  {
    name: "E2M3",
    bias: 1,
    exponentBits: 2,
    mantissaBits: 3,
    signed: true,
    about: "Six bits: a sign, two of exponent, three of mantissa. The largest is 7.5, the smallest step 0.125. It has no infinity and no NaN.",
  },
  {
    name: "E3M2",
    bias: 3,
    exponentBits: 3,
    mantissaBits: 2,
    signed: true,
    about: "Six bits: a sign, three of exponent, two of mantissa. The largest is 28, the smallest step 0.0625. It has no infinity and no NaN.",
  },
  {
    name: "E4M3",
    bias: 7,
    exponentBits: 4,
    mantissaBits: 3,
    signed: true,
    about: "Eight bits: a sign, four of exponent, three of mantissa. The largest is 448; 7F and FF are NaN, and there is no infinity. Below 2⁻⁶ the step is 2⁻⁹.",
  },
  {
    name: "E4M3FNUZ",
    bias: 8,
    exponentBits: 4,
    mantissaBits: 3,
    signed: true,
    about: "Eight bits as E4M3, but every code means half of what it means there. The largest is 240; 80 is NaN, and there is no negative zero and no infinity.",
  },
  {
    name: "E5M2",
    bias: 15,
    exponentBits: 5,
    mantissaBits: 2,
    signed: true,
    about: "Eight bits: a sign, five of exponent, two of mantissa, as in F16. The largest is 57344; 7C and FC are infinite, what follows them is NaN.",
  },
  {
    name: "E8M0",
    bias: 127,
    exponentBits: 8,
    mantissaBits: 0,
    signed: false,
    about: "Eight bits of exponent and nothing else: byte b is 2 to the power b − 127. It has neither sign nor zero; FF is NaN. As a scale it is also called UE8M0.",
  },
  { name: "F32", bias: 127, exponentBits: 8, mantissaBits: 23, signed: true, about: "Four bytes, the lowest first." },
  { name: "BF16", bias: 127, exponentBits: 8, mantissaBits: 7, signed: true, about: "Two bytes, the lowest first: the upper half of an F32." },
  { name: "F16", bias: 15, exponentBits: 5, mantissaBits: 10, signed: true, about: "Two bytes, the lowest first." },
];

/** The type of a name as the library gives it; `UE8M0` is E8M0. */
export function typeOf(name: string): NumberType | undefined {
  const plain = name.toUpperCase().replace(/^UE8M0.*|^E8M0.*/, "E8M0").replace(/^E4M3FN$/, "E4M3");
  return TYPES.find((type) => type.name === plain);
}
