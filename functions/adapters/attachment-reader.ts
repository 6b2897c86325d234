import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import * as z from 'zod';
import type { AttachmentContent, AttachmentReader } from '#domain/ports/attachment-reader.ts';
import type { Clock } from '#domain/ports/clock.ts';
import type { FileStore } from '#domain/ports/file-store.ts';
import type { PreparedAttachments } from '#domain/ports/prepared-attachments.ts';
import { hasExpired, type StoredFile } from '#domain/stored-file.ts';
import { untilAborted } from '#domain/until-aborted.ts';

/** Of a warm function, the contents read last: a follow-up finds its files here. */
const bytesKept = 20 * 1024 * 1024;

const gone: AttachmentContent = { type: 'unreadable', reason: 'is no longer there' };

/**
 * Has files prepared by a function of their own: whatever a hostile one does to its reader ends with that function's
 * time and memory, and the libraries that read files load nowhere else.
 */
export function attachmentReader(
  { clock, files, prepared }: { clock: Pick<Clock, 'now'>; files: FileStore; prepared: PreparedAttachments },
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
    if (answer.FunctionError === undefined) return;
    const failed = failure.parse(JSON.parse(answer.Payload?.transformToString() ?? ''));
    const reason = reasonToGiveUp(failed);
    if (reason === undefined)
      throw new Error(`A file was not prepared: ${failed.errorType}: ${failed.errorMessage}`);
    await prepared.put(file, { type: 'unreadable', reason });
  };

  const load = async (file: StoredFile, signal: AbortSignal): Promise<AttachmentContent> => {
    let found = await prepared.get(file);
    if (found === undefined) {
      await prepare(file, signal);
      found = await prepared.get(file);
    }
    if (found === undefined) return gone;
    if (found.type !== 'image') return found;
    const bytes = found.fitted ? await prepared.getImage(file) : await originalOf(files, file);
    return bytes === undefined ? gone : { type: 'image', bytes, mediaType: found.mediaType };
  };

  return {
    async read(file, signal) {
      signal.throwIfAborted();
      // What was made of it may outlive it by hours.
      if (hasExpired(file, clock.now())) return gone;
      const known = cache.get(file.uuid);
      if (known !== undefined) return known.content;
      return keep(file, await untilAborted(load(file, signal), signal));
    },
  };
}

const failure = z.object({ errorType: z.string(), errorMessage: z.string() });

/**
 * Why it would be no better the next time: Lambda tells that a function had all its time or memory. Anything else, such
 * as a bucket that does not answer, may be over by then.
 */
function reasonToGiveUp({ errorType, errorMessage }: z.output<typeof failure>): string | undefined {
  if (errorType === 'Sandbox.Timedout' || errorMessage.includes('Task timed out'))
    return 'takes too long to read';
  // A process that was killed is one that wanted more memory than there is.
  if (errorType === 'Runtime.OutOfMemory' || errorMessage.includes('Runtime exited with error'))
    return 'takes more memory to read than it may';
  return undefined;
}

async function originalOf(files: FileStore, file: StoredFile): Promise<Uint8Array | undefined> {
  const stored = await files.read(file);
  return stored && Buffer.concat(await Array.fromAsync(stored));
}

const sizeOf = (content: AttachmentContent): number =>
  content.type === 'text' ? content.text.length * 2 : content.type === 'image' ? content.bytes.length : 0;
