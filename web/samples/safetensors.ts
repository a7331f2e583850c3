// A file of tensors: the length of a header, the header, the bytes.

export interface Tensor {
  name: string;
  dtype: "U8" | "F8_E4M3" | "F32" | "BF16";
  shape: number[];
  bytes: Uint8Array;
}

export function safetensors(tensors: readonly Tensor[]): Uint8Array {
  let at = 0;
  const entries = tensors.map(({ name, dtype, shape, bytes }) => {
    const entry = { dtype, shape, data_offsets: [at, at + bytes.length] };
    at += bytes.length;
    return [name, entry] as const;
  });
  const json = JSON.stringify(Object.fromEntries(entries));
  const header = new TextEncoder().encode(json.padEnd(Math.ceil(json.length / 8) * 8));
  const file = new Uint8Array(8 + header.length + at);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  let to = 8 + header.length;
  for (const { bytes } of tensors) {
    file.set(bytes, to);
    to += bytes.length;
  }
  return file;
}

/** The upper half of each number, rounded to the nearest. */
export function bf16(values: Float32Array): Uint8Array {
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = Uint16Array.from(bits, (word) => (word + 0x7fff + ((word >> 16) & 1)) >>> 16);
  return new Uint8Array(halves.buffer);
}
