import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { AttachmentContent, AttachmentReader } from '#domain/ports/attachment-reader.ts';
import type { FileStore } from '#domain/ports/file-store.ts';
import type { PreparedAttachments } from '#domain/ports/prepared-attachments.ts';
import type { StoredFile } from '#domain/stored-file.ts';
import { untilAborted } from '#domain/until-aborted.ts';

/** Of a warm function, the contents read last: a follow-up finds its files here. */
const bytesKept = 20 * 1024 * 1024;

/**
 * Has files prepared by a function of their own: whatever a hostile one does to its reader ends with that function's
 * time and memory, and the libraries that read files load nowhere else.
 */
export function attachmentReader(
  { files, prepared }: { files: FileStore; prepared: PreparedAttachments },
  lambda: LambdaClient,
  functionName: () => string,
): AttachmentReader {
  const cache = new Map<string, { content: AttachmentContent; bytes: number }>();
  let cached = 0;
  const keep = (file: StoredFile, content: AttachmentContent): AttachmentContent => {
    const bytes = sizeOf(content);
    cache.set(file.uuid, { content, bytes });
    cached += bytes;
    for (const [uuid, entry] of cache) {
      if (cached <= bytesKept) break;
      cache.delete(uuid);
      cached -= entry.bytes;
    }
    return content;
  };

  const prepare = async (file: StoredFile, signal: AbortSignal): Promise<void> => {
    const { uuid, workspaceId } = file;
    const answer = await lambda.send(
      new InvokeCommand({ FunctionName: functionName(), Payload: JSON.stringify({ uuid, workspaceId }) }),
      { abortSignal: signal },
    );
    // Its time or its memory was up: it would be so again.
    if (answer.FunctionError !== undefined)
      await prepared.put(file, { type: 'unreadable', reason: 'takes too long to read' });
  };

  const load = async (file: StoredFile, signal: AbortSignal): Promise<AttachmentContent> => {
    let found = await prepared.get(file);
    if (found === undefined) {
      await prepare(file, signal);
      found = await prepared.get(file);
    }
    if (found === undefined) throw new Error('A file that was prepared is not there');
    if (found.type !== 'image') return found;
    const bytes = found.fitted ? await prepared.getImage(file) : await originalOf(files, file);
    return bytes === undefined
      ? { type: 'unreadable', reason: 'is no longer there' }
      : { type: 'image', bytes, mediaType: found.mediaType };
  };

  return {
    async read(file, signal) {
      const known = cache.get(file.uuid);
      if (known !== undefined) return known.content;
      return keep(file, await untilAborted(load(file, signal), signal));
    },
  };
}

async function originalOf(files: FileStore, file: StoredFile): Promise<Uint8Array | undefined> {
  const stored = await files.read(file);
  return stored && Buffer.concat(await Array.fromAsync(stored));
}

const sizeOf = (content: AttachmentContent): number =>
  content.type === 'text' ? content.text.length * 2 : content.type === 'image' ? content.bytes.length : 0;
