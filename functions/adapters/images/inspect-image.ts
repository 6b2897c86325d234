import type { ImageInspector } from '#domain/completions/image-inspector.ts';

export const imageInspector: ImageInspector = {
  async inspect(bytes) {
    const { imageDimensionsFromData } = await import('image-dimensions');
    const found = imageDimensionsFromData(bytes);
    return found && { mediaType: `image/${found.type}`, width: found.width, height: found.height };
  },
};
