import type { ChatServices } from '#domain/chats/services.ts';
import type { ImageInspector } from './image-inspector.ts';

export interface CompletionServices extends ChatServices {
  imageInspector: ImageInspector;
}

/** What a use case needs of them. */
export type Services<Name extends keyof CompletionServices> = Pick<CompletionServices, Name>;
