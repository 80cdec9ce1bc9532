// A QR code (ISO/IEC 18004) of a text, as a value: the modules of its matrix. Bytes in UTF-8, at the error correction level
// M, or L where M has no place; up to version 25, which is more than a link with a token needs.

// By version from 1 on: the error correction codewords of a block, and the blocks (ISO/IEC 18004, table 9).
const LEVELS = {
  M: {
    bits: 0,
    codewords: [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26, 26, 28, 28, 28, 28],
    blocks: [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16, 17, 17, 18, 20, 21],
  },
  L: {
    bits: 1,
    codewords: [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26],
    blocks: [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12],
  },
};
const LAST = 25;
/// The masks, by which a module is inverted (table 10).
const MASKS = [
  (x, y) => (x + y) % 2, (x, y) => y % 2, x => x % 3, (x, y) => (x + y) % 3,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2, (x, y) => (x * y) % 2 + (x * y) % 3,
  (x, y) => ((x * y) % 2 + (x * y) % 3) % 2, (x, y) => ((x + y) % 2 + (x * y) % 3) % 2,
];

/// The rows of the code, each a list of booleans: dark or not; null for a text that is too long.
/** @param {string} text @returns {boolean[][] | null} */
export function qrCode(text) {
  const bytes = [...new TextEncoder().encode(text)];
  for (const level of [LEVELS.M, LEVELS.L]) {
    for (let version = 1; version <= LAST; version += 1) {
      const data = pack(bytes, version, capacity(version, level));
      if (data) return draw(version, level, interleave(data, version, level));
    }
  }
  return null;
}

/// The same as a path of an SVG with one unit for each module, and its width with the quiet zone of four modules.
/** @param {boolean[][]} rows */
export function qrPath(rows) {
  const parts = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x + 4} ${y + 4}h1v1h-1z`] : [])));
  return { path: parts.join(''), width: rows.length + 8 };
}

/// The modules that are left for data and error correction.
function modules(version) {
  const between = version < 2 ? 0 : Math.floor(version / 7) + 2;
  const alignment = between ? (25 * between - 10) * between - 55 : 0;
  return (16 * version + 128) * version + 64 - alignment - (version < 7 ? 0 : 36);
}

const capacity = (version, level) => Math.floor(modules(version) / 8) - level.codewords[version - 1] * level.blocks[version - 1];

/// The data codewords: mode, length, bytes, end, filling; null where there is no place.
function pack(bytes, version, size) {
  const bits = [];
  const put = (value, count) => { for (let bit = count - 1; bit >= 0; bit -= 1) bits.push((value >> bit) & 1); };
  put(4, 4);
  put(bytes.length, version < 10 ? 8 : 16);
  for (const byte of bytes) put(byte, 8);
  if (bits.length > size * 8) return null;
  put(0, Math.min(4, size * 8 - bits.length));
  while (bits.length % 8) bits.push(0);
  for (let filling = 0; bits.length < size * 8; filling += 1) put(filling % 2 ? 0x11 : 0xEC, 8);
  return Array.from({ length: size }, (_, index) => bits.slice(index * 8, index * 8 + 8).reduce((byte, bit) => byte * 2 + bit, 0));
}

/// A product in GF(256) with the polynomial 0x11D.
function times(a, b) {
  let product = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    product = (product << 1) ^ ((product >> 7) * 0x11D);
    if ((b >> bit) & 1) product ^= a;
  }
  return product;
}

/// The generator polynomial of a degree, without its first coefficient.
function generator(degree) {
  let polynomial = [...Array(degree - 1).fill(0), 1];
  for (let root = 1, count = 0; count < degree; count += 1, root = times(root, 2)) {
    polynomial = polynomial.map((coefficient, index) => times(coefficient, root) ^ (polynomial[index + 1] ?? 0));
  }
  return polynomial;
}

function remainder(data, polynomial) {
  let rest = polynomial.map(() => 0);
  for (const byte of data) {
    const factor = byte ^ rest[0];
    rest = [...rest.slice(1), 0].map((value, index) => value ^ times(polynomial[index], factor));
  }
  return rest;
}

/// All codewords in the order in which they are drawn: the first of each block, the second of each, and so on.
function interleave(data, version, level) {
  const count = level.blocks[version - 1], length = level.codewords[version - 1];
  const polynomial = generator(length);
  const short = Math.floor(data.length / count), long = data.length % count;
  const blocks = Array.from({ length: count }, (_, index) => {
    // The longer blocks come last.
    const begin = index * short + Math.max(0, index - (count - long));
    return data.slice(begin, begin + short + (index >= count - long ? 1 : 0));
  });
  const checks = blocks.map(block => remainder(block, polynomial));
  const column = (rows, index) => rows.flatMap(row => (index < row.length ? [row[index]] : []));
  return [
    ...Array.from({ length: short + 1 }, (_, index) => column(blocks, index)).flat(),
    ...Array.from({ length }, (_, index) => column(checks, index)).flat()];
}

function alignments(version, size) {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const step = Math.ceil((version * 4 + 4) / (count * 2 - 2)) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, index) => size - 7 - (count - 2 - index) * step)];
}

function draw(version, level, codewords) {
  const size = version * 4 + 17;
  const dark = Array.from({ length: size }, () => Array(size).fill(false));
  const isFixed = Array.from({ length: size }, () => Array(size).fill(false));
  const set = (x, y, isDark) => {
    if (x < 0 || y < 0 || x >= size || y >= size) return;
    dark[y][x] = Boolean(isDark);
    isFixed[y][x] = true;
  };
  for (let index = 0; index < size; index += 1) {
    set(6, index, index % 2 === 0);
    set(index, 6, index % 2 === 0);
  }
  const places = alignments(version, size);
  for (const y of places) {
    for (const x of places) {
      const isCorner = (x === 6 && y === 6) || (x === 6 && y === size - 7) || (x === size - 7 && y === 6);
      if (!isCorner) square(x, y, 2, distance => distance !== 1, set);
    }
  }
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) square(x, y, 4, distance => distance !== 2 && distance !== 4, set);
  drawFormat(size, level, 0, set);
  drawVersion(size, version, set);
  drawData(size, codewords, dark, isFixed);
  let best = { mask: 0, penalty: Infinity };
  for (let mask = 0; mask < MASKS.length; mask += 1) {
    drawFormat(size, level, mask, set);
    const penalty = judge(masked(dark, isFixed, mask));
    if (penalty < best.penalty) best = { mask, penalty };
  }
  drawFormat(size, level, best.mask, set);
  return masked(dark, isFixed, best.mask);
}

/// A square of rings around a centre.
function square(centerX, centerY, radius, isDark, set) {
  for (let y = -radius; y <= radius; y += 1) {
    for (let x = -radius; x <= radius; x += 1) set(centerX + x, centerY + y, isDark(Math.max(Math.abs(x), Math.abs(y))));
  }
}

/// Level and mask with their BCH code, twice (annex C).
function drawFormat(size, level, mask, set) {
  const data = (level.bits << 3) | mask;
  let rest = data;
  for (let count = 0; count < 10; count += 1) rest = (rest << 1) ^ ((rest >> 9) * 0x537);
  const bits = ((data << 10) | rest) ^ 0x5412;
  const bit = index => (bits >> index) & 1;
  for (let index = 0; index < 6; index += 1) set(8, index, bit(index));
  set(8, 7, bit(6));
  set(8, 8, bit(7));
  set(7, 8, bit(8));
  for (let index = 9; index < 15; index += 1) set(14 - index, 8, bit(index));
  for (let index = 0; index < 8; index += 1) set(size - 1 - index, 8, bit(index));
  for (let index = 8; index < 15; index += 1) set(8, size - 15 + index, bit(index));
  set(8, size - 8, true);
}

/// The version with its Golay code, twice, from version 7 on (annex D).
function drawVersion(size, version, set) {
  if (version < 7) return;
  let rest = version;
  for (let count = 0; count < 12; count += 1) rest = (rest << 1) ^ ((rest >> 11) * 0x1F25);
  const bits = (version << 12) | rest;
  for (let index = 0; index < 18; index += 1) {
    const isDark = (bits >> index) & 1, far = size - 11 + index % 3, near = Math.floor(index / 3);
    set(far, near, isDark);
    set(near, far, isDark);
  }
}

/// Two columns at a time from the right, up and down by turns.
function drawData(size, codewords, dark, isFixed) {
  let index = 0;
  for (let right = size - 1; right >= 1; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      for (const x of [right, right - 1]) {
        const y = (right + 1) & 2 ? step : size - 1 - step;
        if (isFixed[y][x] || index >= codewords.length * 8) continue;
        dark[y][x] = Boolean((codewords[index >> 3] >> (7 - (index & 7))) & 1);
        index += 1;
      }
    }
  }
}

const masked = (dark, isFixed, mask) => dark.map((row, y) => row.map((isDark, x) => (isFixed[y][x] ? isDark : isDark !== (MASKS[mask](x, y) === 0))));

/// How badly a reader would see it (section 7.8.3): runs, squares of four, patterns like those of the corners, and too many
/// dark or light modules.
function judge(rows) {
  const size = rows.length;
  const columns = rows.map((_, x) => rows.map(row => row[x]));
  let penalty = 0;
  for (const line of [...rows, ...columns]) {
    const text = line.map(Number).join('');
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) penalty += run.length - 2;
    for (const pattern of ['00001011101', '10111010000']) penalty += 40 * (text.split(pattern).length - 1);
  }
  for (let y = 0; y < size - 1; y += 1) {
    for (let x = 0; x < size - 1; x += 1) {
      if (rows[y][x] === rows[y][x + 1] && rows[y][x] === rows[y + 1][x] && rows[y][x] === rows[y + 1][x + 1]) penalty += 3;
    }
  }
  const share = rows.flat().filter(Boolean).length / (size * size);
  return penalty + 10 * Math.floor(Math.abs(share * 20 - 10));
}
