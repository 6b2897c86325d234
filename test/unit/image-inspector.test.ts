import { expect, it } from 'vitest';
import { imageInspector } from '#adapters/images/image-structure.ts';
import { gif, jpeg, png, webp } from '#support/sample-files.ts';

it.each([
  ['image/png', png],
  ['image/jpeg', jpeg],
  ['image/gif', gif],
  ['image/webp', webp],
])('an image of the type %s has a size', async (mediaType, bytes) => {
  expect(await imageInspector.inspect(bytes)).toEqual({
    mediaType,
    width: expect.any(Number),
    height: expect.any(Number),
  });
});

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

it.each([
  ['empty segments', Buffer.from([0xff, 0xe0, 0, 2])],
  ['zeros', Buffer.from([0])],
])('a JPEG of 3.75 MB of %s takes no long time', async (_of, filler) => {
  const start = Buffer.from([0xff, 0xd8, 0xff, 0xe0, 0, 2]);
  const bytes = Buffer.concat([start, Buffer.alloc(3.75 * 1024 * 1024, filler)]);
  const before = process.cpuUsage();
  expect(await imageInspector.inspect(bytes)).toBeUndefined();
  // It takes 10 ms, and 250 to 390 ms in a library that cuts off the rest for each segment. Other requests wait meanwhile.
  expect(process.cpuUsage(before).user / 1000).toBeLessThan(150);
});
