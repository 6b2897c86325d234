import { describe, expect, it } from 'vitest';
import { firstFrame, imageInspector, isWhole, orientationOf } from '#adapters/images/image-structure.ts';
import { exifOf, pngChunk, pngOf, smallImages } from '#support/image-bytes.ts';
import { gif, jpeg, png, webp } from '#support/sample-files.ts';

it('no byte after the end of an image is read', async () => {
  // Node.js places small buffers next to each other.
  for (const bytes of [png, jpeg, gif, webp])
    for (let length = 0; length < 30; length += 1) {
      const sizes = [0x00, 0xff].map((after) => {
        const memory = Buffer.alloc(length + 64, after);
        memory.set(bytes.subarray(0, length));
        return imageInspector.inspect(memory.subarray(0, length));
      });
      expect(await sizes[0]).toEqual(await sizes[1]);
    }
});

const { turnedWebp, turnedCmykJpeg, turnedJpeg, animatedGif, animatedWebp, animatedTransparentWebp } =
  smallImages;
const plain = (chunks: Buffer[]) =>
  pngOf({ width: 16, height: 8 }, (line) => line.fill(7), undefined, chunks);
const animatedPng = plain([pngChunk('acTL', Buffer.alloc(8)), pngChunk('fcTL', Buffer.alloc(26))]);

describe('the first frame of an animated image', () => {
  it.each([
    ['gif', animatedGif],
    ['webp', animatedWebp],
    ['webp', animatedTransparentWebp],
    ['png', animatedPng],
  ])('is an image of the type %s', async (type, bytes) => {
    const frame = firstFrame(bytes, `image/${type}`) ?? Buffer.alloc(0);
    const mediaType = `image/${type}`;
    expect(await imageInspector.inspect(frame)).toEqual({ mediaType, width: 16, height: 8 });
    expect(frame.length).toBeLessThan(bytes.length);
    expect(firstFrame(frame, mediaType)).toBeUndefined();
  });

  it('of a PNG is the PNG without its animation', () => {
    expect(firstFrame(animatedPng, 'image/png')).toEqual(plain([]));
  });

  it('is none of an image without an animation, or of one that is cut off', () => {
    const still = { 'image/gif': gif, 'image/png': png, 'image/webp': webp, 'image/jpeg': jpeg };
    for (const [mediaType, bytes] of Object.entries(still))
      expect(firstFrame(bytes, mediaType)).toBeUndefined();
    for (const [mediaType, bytes] of [
      ['image/gif', animatedGif],
      ['image/webp', animatedWebp],
      ['image/png', animatedPng],
    ] as const)
      for (let length = 12; length < bytes.length; length += 1) {
        const frame = firstFrame(bytes.subarray(0, length), mediaType);
        expect(frame === undefined || frame.length <= bytes.length).toBe(true);
      }
  });
});

describe('the orientation of an image', () => {
  it.each([
    ['image/jpeg', turnedJpeg],
    ['image/jpeg', turnedCmykJpeg],
    ['image/webp', turnedWebp],
  ])('is read of %s', (mediaType, bytes) => {
    expect(orientationOf(bytes, mediaType)).toBe(6);
  });

  it('is read of PNG in both orders of bytes, and is upright if it is unknown', () => {
    const turned = (exif: Buffer) => orientationOf(plain([pngChunk('eXIf', exif)]), 'image/png');
    for (let orientation = 1; orientation <= 8; orientation += 1)
      expect(turned(exifOf(orientation))).toBe(orientation);
    const little = Buffer.from('49492a00080000000100120103000100000003000000000000', 'hex');
    expect(turned(little)).toBe(3);
    expect(turned(exifOf(9))).toBe(1);
    expect(turned(exifOf(0))).toBe(1);
    for (let length = 0; length < 20; length += 1) expect(turned(exifOf(6).subarray(0, length))).toBe(1);
    expect(orientationOf(png, 'image/png')).toBe(1);
    expect(orientationOf(gif, 'image/gif')).toBe(1);
  });
});

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

it.each(Object.entries(squares))('a %s is whole with its last byte, or with more', async (name, bytes) => {
  expect(await isWhole(bytes, typeOf(name), size)).toBe(true);
  expect(await isWhole(Buffer.concat([bytes, Buffer.alloc(100, 'x')]), typeOf(name), size)).toBe(true);
});

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
