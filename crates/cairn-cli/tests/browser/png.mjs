// Makes a picture of a page small: a page has few colours, so a palette of 256 tells them all apart, and what deflates
// one byte for each point well is a third of what the browser writes.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
const COLOURS = 256;
/** Colours nearer than this (squared) share a place: the shades at the edges of letters would take all of them. */
const ALIKE = 60;

/** The chunks of a PNG, by name; those with one name are joined. */
function chunks(png) {
  const found = {};
  for (let at = SIGNATURE.length; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const name = png.toString("latin1", at + 4, at + 8);
    found[name] = Buffer.concat([found[name] ?? Buffer.alloc(0), png.subarray(at + 8, at + 8 + length)]);
    at += 12 + length;
  }
  return found;
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

/** Undoes the filters of the rows (PNG, section 9): the bytes of all points. */
function points(data, width, height, bytes) {
  const row = width * bytes;
  const out = Buffer.alloc(row * height);
  for (let y = 0; y < height; y += 1) {
    const filter = data[y * (row + 1)];
    for (let x = 0; x < row; x += 1) {
      const at = y * row + x;
      const left = x >= bytes ? out[at - bytes] : 0;
      const up = y > 0 ? out[at - row] : 0;
      const corner = x >= bytes && y > 0 ? out[at - row - bytes] : 0;
      let guess = [0, left, up, (left + up) >> 1][filter];
      if (filter === 4) {
        const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
        guess = a <= b && a <= c ? left : b <= c ? up : corner;
      }
      out[at] = data[y * (row + 1) + 1 + x] + guess;
    }
  }
  return out;
}

/** The same picture with the 256 colours that it has most of, each unlike the others; the rest become the nearest. */
export function small(png) {
  const { IHDR, IDAT } = chunks(png);
  const [width, height] = [IHDR.readUInt32BE(0), IHDR.readUInt32BE(4)];
  const bytes = { 2: 3, 6: 4 }[IHDR[9]];
  if (IHDR[8] !== 8 || !bytes || IHDR[12] !== 0) throw new Error("this is no picture as browsers make them");
  const from = points(inflateSync(IDAT), width, height, bytes);
  const colour = (point) => from.readUIntBE(point * bytes, 3);

  const times = new Map();
  for (let point = 0; point < width * height; point += 1) times.set(colour(point), (times.get(colour(point)) ?? 0) + 1);
  const parts = (value) => [value >> 16, (value >> 8) & 255, value & 255];
  const distance = (one, other) => parts(one).reduce((sum, part, at) => sum + (part - parts(other)[at]) ** 2, 0);
  const palette = [];
  for (const [value] of [...times].sort((one, other) => other[1] - one[1] || one[0] - other[0])) {
    if (palette.length < COLOURS && palette.every((other) => distance(value, other) > ALIKE)) palette.push(value);
  }
  const place = new Map(palette.map((value, at) => [value, at]));
  for (const value of times.keys()) {
    if (place.has(value)) continue;
    const distances = palette.map((other) => distance(value, other));
    place.set(value, distances.indexOf(Math.min(...distances)));
  }

  const rows = Buffer.alloc((width + 1) * height);
  for (let point = 0; point < width * height; point += 1) {
    rows[point + Math.floor(point / width) + 1] = place.get(colour(point));
  }
  const head = Buffer.from(IHDR);
  head[9] = 3;
  return Buffer.concat([
    SIGNATURE, chunk("IHDR", head), chunk("PLTE", Buffer.from(palette.flatMap(parts))),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0)),
  ]);
}
