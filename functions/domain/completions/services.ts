import type { ImageInspector } from './image-inspector.ts';

export interface CompletionServices {
  imageInspector: ImageInspector;
}
