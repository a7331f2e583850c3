// A plane of scales as a small picture, in the colours of the page.

import { crc32, deflateSync } from "node:zlib";
import { lut } from "../src/pictures/colour/maps.ts";
import { type Plane, scaleValue } from "./nvfp4.ts";

const BLOCK = 16;

/** A PNG of so many pixels: the largest scale under each, on a logarithmic scale. */
export function thumbnail({ rows, cols, scales }: Plane, width: number, height: number): Buffer {
  const across = cols / BLOCK;
  const largest = new Float64Array(width * height);
  for (let row = 0; row < rows; row += 1) {
    for (let col = 0; col < across; col += 1) {
      const pixel = Math.floor((row * height) / rows) * width + Math.floor((col * width) / across);
      largest[pixel] = Math.max(largest[pixel] ?? 0, Math.log2(scaleValue(scales[row * across + col] ?? 0)));
    }
  }
  const [low, high] = [Math.min(...largest), Math.max(...largest)];
  const colours = lut("viridis", "light");
  const lines = Array.from({ length: height }, (_, y) => {
    const line = Buffer.alloc(1 + 3 * width);
    for (let x = 0; x < width; x += 1) {
      // A plane of one value lies in the middle of the range, as on the page.
      const share = high > low ? ((largest[y * width + x] ?? low) - low) / (high - low) : 0.5;
      line.set(colours.subarray(3 * Math.round(255 * share), 3 * Math.round(255 * share) + 3), 1 + 3 * x);
    }
    return line;
  });
  return png(width, height, Buffer.concat(lines));
}

function png(width: number, height: number, lines: Buffer): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits for each of red, green and blue.
  head.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", deflateSync(lines)), chunk("IEND", Buffer.alloc(0))]);
}

function chunk(name: string, bytes: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), bytes]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(bytes.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), body.length + 4);
  return out;
}
