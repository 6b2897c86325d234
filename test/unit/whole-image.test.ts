import { expect, it } from 'vitest';
import { isWhole } from '#adapters/images/image-structure.ts';
import { pngOf } from '#support/image-bytes.ts';
import { gif, jpeg, png, webp } from '#support/sample-files.ts';

const base64 = (text: string): Buffer => Buffer.from(text, 'base64');
const size = { width: 20, height: 20 };
const onePixel = { width: 1, height: 1 };
const squares = {
  png: pngOf(size, (line, y) => line.fill(y * 12)),
  jpeg: base64(
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////wAALCAAUABQBAREA/8QAFgABAQEAAAAAAAAAAAAAAAAABAID/8QAHBAAAgMBAAMAAAAAAAAAAAAAAAIBAxESEzFR/9oACAEBAAA/ABxGlwml+EiuNE1ppozVVzy7ZPzAtIpmmuhmX3AZVjk//9k=',
  ),
  progressive: base64(
    '/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAFA3PEY8MlBGQUZaVVBfeMiCeG5uePWvuZHI////////////////////////////////////////////////////wgALCAAUABQBAREA/8QAFgABAQEAAAAAAAAAAAAAAAAAAwIB/9oACAEBAAAAAR2pWiUv/8QAGRABAQADAQAAAAAAAAAAAAAAAAEQESEx/9oACAEBAAEFAsaRHIjyP//EABQQAQAAAAAAAAAAAAAAAAAAADD/2gAIAQEABj8CH//EABgQAQEAAwAAAAAAAAAAAAAAAAEAEBEh/9oACAEBAAE/IbWYS8FxXakHL//aAAgBAQAAABBQ/wD/xAAaEAADAQADAAAAAAAAAAAAAAAAAREQITFR/9oACAEBAAE/EEqK8JSoy4T8mGdoQgf/2Q==',
  ),
  webp: base64(
    'UklGRlgAAABXRUJQVlA4IEwAAACQBACdASoUABQAP8nW4WY/ta6nN/VYA/A5CWkAAC31rxhoqWNr6muTBykKRgAA/rkHYQLxmpasgyib64vEWNYYAt1GuGXHvVmMcAAA',
  ),
};

const typeOf = (name: string): string => `image/${name === 'progressive' ? 'jpeg' : name}`;

it.each(Object.entries(squares))(
  'a %s is whole with its last byte, also if more follows',
  async (name, bytes) => {
    expect(await isWhole(bytes, typeOf(name), size)).toBe(true);
    expect(await isWhole(Buffer.concat([bytes, Buffer.alloc(100, 'x')]), typeOf(name), size)).toBe(true);
  },
);

it.each(Object.entries(squares))('a %s that is cut off anywhere is not whole', async (name, bytes) => {
  // Behind the pixels of a PNG are a checksum and an empty chunk.
  const end = name === 'png' ? bytes.length - 12 : bytes.length;
  for (let length = 26; length < end; length += 1)
    expect(await isWhole(bytes.subarray(0, length), typeOf(name), size), `${length} of ${end}`).toBe(false);
});

it('a gif that is cut off before the end of its picture is not whole', async () => {
  for (let length = 10; length <= gif.length; length += 1)
    expect(await isWhole(gif.subarray(0, length), 'image/gif', onePixel)).toBe(length >= gif.length - 1);
});

it('a PNG with a damaged byte, or with fewer pixels than its header says, is not whole', async () => {
  // Of the pixels, and of their checksum, which is before the last chunk.
  for (const at of [60, squares.png.length - 13]) {
    const damaged = Buffer.from(squares.png);
    damaged[at] = (damaged[at] ?? 0) ^ 1;
    expect(await isWhole(damaged, 'image/png', size)).toBe(false);
  }
  // In a narrow image, the filter bytes of the rows are as many as the pixels of some rows.
  const narrow = pngOf({ width: 1, height: 20 }, (line) => line.fill(0));
  expect(await isWhole(narrow, 'image/png', { width: 1, height: 20 })).toBe(true);
  expect(await isWhole(narrow, 'image/png', { width: 1, height: 21 })).toBe(false);
});

it.each([
  ['image/png', png],
  ['image/jpeg', jpeg],
  ['image/gif', gif],
  ['image/webp', webp],
])('a sample of one pixel is whole: %s', async (mediaType, bytes) => {
  expect(await isWhole(bytes, mediaType, onePixel)).toBe(true);
});
