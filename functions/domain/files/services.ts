import type { WorkspaceServices } from '#domain/workspaces/services.ts';
import type { AttachmentReader } from './attachment-reader.ts';
import type { ContentDetector } from './content-detector.ts';
import type { FileIndex } from './file-index.ts';
import type { FileStore } from './file-store.ts';
import type { ImageFitter } from './image-fitter.ts';
import type { Preparation } from './preparation.ts';
import type { PreparedAttachments } from './prepared-attachments.ts';
import type { TextExtractor } from './text-extractor.ts';

export interface FileServices extends WorkspaceServices {
  attachments: AttachmentReader;
  contentDetector: ContentDetector;
  fileIndex: FileIndex;
  files: FileStore;
  imageFitter: ImageFitter;
  preparation: Preparation;
  preparedAttachments: PreparedAttachments;
  textExtractor: TextExtractor;
}

/** What a use case needs of them. */
export type Services<Name extends keyof FileServices> = Pick<FileServices, Name>;
