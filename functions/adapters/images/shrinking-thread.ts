import { parentPort, workerData } from 'node:worker_threads';
import jpegDecoder from '@jsquash/jpeg/codec/dec/mozjpeg_dec.wasm';
import jpegEncoder from '@jsquash/jpeg/codec/enc/mozjpeg_enc.wasm';
import decodeJpeg, { init as initJpegDecoder } from '@jsquash/jpeg/decode.js';
import encodeJpeg, { init as initJpegEncoder } from '@jsquash/jpeg/encode.js';
import pngDecoder from '@jsquash/png/codec/pkg/squoosh_png_bg.wasm';
import decodePng, { init as initPngDecoder } from '@jsquash/png/decode.js';
import resize, { initResize } from '@jsquash/resize';
import resizer from '@jsquash/resize/lib/resize/pkg/squoosh_resize_bg.wasm';
import webpDecoder from '@jsquash/webp/codec/dec/webp_dec.wasm';
import decodeWebp, { init as initWebpDecoder } from '@jsquash/webp/decode.js';
import { decode as decodeAnyJpeg } from 'jpeg-js';
import { chunksOf, findChunk } from './image-structure.ts';

interface Pixels {
  data: Uint8ClampedArray;
  width: number;
  height: number;
}

/** The codecs were written for browsers and expect this class as a global. */
class ImageData {
  constructor(data: Uint8ClampedArray, width: number, height: number) {
    Object.assign(this, { data, width, height });
  }
}
Object.assign(globalThis, { ImageData });

type Decode = (bytes: ArrayBuffer) => Promise<Pixels>;

const decoders: Readonly<Record<string, Decode>> = {
  async 'image/jpeg'(bytes) {
    if (isCmyk(new Uint8Array(bytes))) return decodeCmyk(bytes);
    await initJpegDecoder(new WebAssembly.Module(jpegDecoder));
    return decodeJpeg(bytes);
  },
  async 'image/png'(bytes) {
    await initPngDecoder(new WebAssembly.Module(pngDecoder));
    return decodePng(bytes);
  },
  async 'image/webp'(bytes) {
    await initWebpDecoder(new WebAssembly.Module(webpDecoder));
    return decodeWebp(bytes);
  },
};

/**
 * Of the decoders here, only the one written in JavaScript converts CMYK to RGB. It may take 1 s and 60 MB a megapixel,
 * so it reads at most 12 megapixels.
 */
const isCmyk = (bytes: Uint8Array): boolean =>
  findChunk(chunksOf(bytes, 'image/jpeg'), 'SOF')?.content[5] === 4;

const decodeCmyk = (bytes: ArrayBuffer): Pixels =>
  decodeAnyJpeg(bytes, { useTArray: true, maxResolutionInMP: 12, maxMemoryUsageInMB: 1024 }) as never;

export interface ShrinkRequest {
  /** `orientation` is as in Exif data. */
  image: { bytes: Uint8Array; mediaType: string; orientation: number };
  target: { side: number; bytes: number; qualities: readonly number[] };
}

/** @returns undefined if no quality makes the JPEG small enough */
export async function shrinkImage(
  { bytes, mediaType, orientation }: ShrinkRequest['image'],
  target: ShrinkRequest['target'],
): Promise<Uint8Array | undefined> {
  const pixels = await decoders[mediaType]?.(new Uint8Array(bytes).buffer);
  if (pixels === undefined) throw new Error(`There is no decoder for ${mediaType}`);
  const small = upright(await fitSides(onWhite(pixels), target.side), orientation);
  await initJpegEncoder(new WebAssembly.Module(jpegEncoder));
  for (const quality of target.qualities) {
    const jpeg = await encodeJpeg(small as never, { quality });
    if (jpeg.byteLength <= target.bytes) return new Uint8Array(jpeg);
  }
  return undefined;
}

async function fitSides(pixels: Pixels, side: number): Promise<Pixels> {
  const scale = side / Math.max(pixels.width, pixels.height);
  if (scale >= 1) return pixels;
  await initResize(new WebAssembly.Module(resizer));
  return resize(pixels as never, {
    width: Math.max(1, Math.round(pixels.width * scale)),
    height: Math.max(1, Math.round(pixels.height * scale)),
    // Each of these options would need 16 bytes a pixel.
    linearRGB: false,
    premultiply: false,
  });
}

function upright(pixels: Pixels, orientation: number): Pixels {
  if (orientation === 1) return pixels;
  const { data, width, height } = pixels;
  const isTurned = orientation >= 5;
  const [flipsX, flipsY] = [
    [2, 3, 7, 8],
    [3, 4, 6, 7],
  ].map((flipped) => flipped.includes(orientation));
  const source = new Uint32Array(data.buffer, data.byteOffset, width * height);
  const turned = new Uint32Array(width * height);
  const [newWidth, newHeight] = isTurned ? [height, width] : [width, height];
  for (let y = 0; y < newHeight; y += 1)
    for (let x = 0; x < newWidth; x += 1) {
      const [fromX, fromY] = isTurned ? [y, x] : [x, y];
      turned[y * newWidth + x] =
        source[(flipsY ? height - 1 - fromY : fromY) * width + (flipsX ? width - 1 - fromX : fromX)] ?? 0;
    }
  return { data: new Uint8ClampedArray(turned.buffer), width: newWidth, height: newHeight };
}

/** JPEG has no transparency, and transparent pixels might become black. */
function onWhite(pixels: Pixels): Pixels {
  const { data } = pixels;
  for (let at = 0; at < data.length; at += 4) {
    const alpha = data[at + 3] ?? 255;
    if (alpha === 255) continue;
    for (let channel = at; channel < at + 3; channel += 1)
      data[channel] = ((data[channel] ?? 0) * alpha + 255 * (255 - alpha)) / 255;
    data[at + 3] = 255;
  }
  return pixels;
}

const { image, target } = workerData as ShrinkRequest;
parentPort?.postMessage(await shrinkImage(image, target));
