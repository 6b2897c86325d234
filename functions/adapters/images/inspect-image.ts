import type { ImageInspector } from '#domain/completions/image-inspector.ts';

const mediaTypes: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
};

export const imageInspector: ImageInspector = {
  async inspect(bytes) {
    const { imageSize } = await import('image-size');
    try {
      const { type = '', width, height } = imageSize(bytes);
      return { mediaType: mediaTypes[type] ?? type, width, height };
    } catch {
      return undefined;
    }
  },
};
