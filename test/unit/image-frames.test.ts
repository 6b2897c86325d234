import { describe, expect, it } from 'vitest';
import { firstFrame, imageInspector, orientationOf } from '#adapters/images/image-structure.ts';
import { exifOf, pngChunk, pngOf, smallImages } from '#support/image-bytes.ts';
import { gif, jpeg, png, webp } from '#support/sample-files.ts';

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
