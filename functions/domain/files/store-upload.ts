import { ServiceError } from '#contract/errors.ts';
import { limits } from '#contract/limits.ts';
import { shortBody } from '#contract/routes/route.ts';
import { type UploadScope, uploadData, uploadFailures } from '#contract/upload.ts';
import { parseJson } from '#domain/platform/parse-json.ts';
import { countUsage } from '#domain/workspaces/count-usage.ts';
import type { KeyOwner } from '#domain/workspaces/usage.ts';
import {
  bytesToDetect,
  describeWrongContent,
  describeWrongFile,
  typeFor,
  type UploadRejection,
} from './check-upload.ts';
import type { ContentDetector, FileWriter, Services, StoredFile, UploadPart } from './files.ts';

type UploadServices = Services<
  'clock' | 'contentDetector' | 'fileIndex' | 'files' | 'identifiers' | 'log' | 'meter' | 'usage'
>;

interface Received {
  uuid: string;
  name: string;
  contentType: string;
  size: number;
  wrong: UploadRejection | undefined;
  writer: FileWriter | undefined;
}

interface Form {
  file?: Received;
  data?: string;
  /** Such as `file is given more than once`. */
  wrong?: string;
}

/**
 * After most errors in the file or the data, the form is still read, so that the error contains the file's size.
 * @throws ServiceError, for example with a text of the specification, section 7.3. The data of each describes the file
 *   (section 2.7)
 */
export async function storeUpload(
  services: UploadServices,
  caller: KeyOwner,
  parts: AsyncIterable<UploadPart>,
): Promise<StoredFile> {
  const form: Form = {};
  try {
    for await (const part of parts) await readPart(services, caller.workspaceId, form, part);
    const { file, scope } = requireValid(form);
    return await finish(services, caller, file, scope);
  } catch (error) {
    await form.file?.writer
      ?.abort()
      // If the abort fails, the bucket's lifecycle rules remove the stored bytes.
      .catch((problem: unknown) => services.log.warn('An upload was not cleared away', { error: problem }));
    throw failureOf(error, form);
  }
}

async function readPart(
  services: UploadServices,
  workspaceId: string,
  form: Form,
  part: UploadPart,
): Promise<void> {
  if (part.kind === 'data') {
    if (form.data !== undefined) form.wrong ??= 'data is given more than once';
    form.data = part.text;
  } else if (form.file === undefined) {
    const { name = '', content } = part;
    const contentType = typeFor(name, part.contentType);
    const wrong = describeWrongFile(name, contentType);
    form.file = { uuid: services.identifiers.uuid(), name, contentType, size: 0, wrong, writer: undefined };
    await receive(services, workspaceId, form.file, content);
  } else {
    form.wrong ??= 'file is given more than once';
    for await (const _bytes of part.content);
  }
}

function requireValid(form: Form): { file: Received; scope: UploadScope } {
  const { file } = form;
  const data = readData(form.data);
  const wrong = file?.wrong?.message ?? form.wrong ?? data.wrong;
  if (file === undefined) throw new ServiceError('badRequest', wrong ?? 'file is required');
  if (wrong !== undefined) throw new ServiceError('badRequest', wrong);
  return { file, scope: data.scope };
}

function failureOf(error: unknown, { file, data }: Form): ServiceError {
  const [kind, message] =
    error instanceof ServiceError
      ? [error.kind, error.message]
      : (['serverError', 'An upload failed'] as const);
  return new ServiceError(kind, message, {
    cause: error,
    data: {
      original_name: file?.name ?? '',
      content_type: file?.contentType ?? '',
      size: file?.size ?? 0,
      scope: readData(data).scope,
      error_msg: message,
      ...(file?.wrong?.message === message && file.wrong.hint !== undefined && { hint: file.wrong.hint }),
    },
  });
}

async function receive(
  services: UploadServices,
  workspaceId: string,
  file: Received,
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const start = contentStart(services.contentDetector, file);
  for await (const bytes of content) {
    start.add(bytes);
    file.size += bytes.length;
    if ((file.wrong ?? start.wrong()) !== undefined) continue;
    if (file.size > limits.fileBytes) file.wrong = { message: uploadFailures.tooLarge };
    else {
      file.writer ??= services.files.start({ workspaceId, ...file });
      await file.writer.write(bytes);
    }
  }
  if (file.size > limits.fileBytes) file.wrong ??= { message: uploadFailures.tooLarge };
  if (file.size === 0) file.wrong ??= { message: uploadFailures.empty };
  file.wrong ??= start.wrongAtEnd();
}

function contentStart(detector: ContentDetector, file: Pick<Received, 'name' | 'contentType'>) {
  const start = new Uint8Array(bytesToDetect);
  let length = 0;
  let wrong: UploadRejection | undefined;
  const check = () => {
    const bytes = start.subarray(0, length);
    return describeWrongContent(file, bytes, detector.detect(bytes));
  };
  return {
    add(bytes: Uint8Array): void {
      if (length === bytesToDetect) return;
      const first = bytes.subarray(0, bytesToDetect - length);
      start.set(first, length);
      length += first.length;
      if (length === bytesToDetect) wrong = check();
    },
    wrong: () => wrong,
    /** For the end of a file, which may be shorter than `bytesToDetect`. */
    wrongAtEnd: () => (length > 0 && length < bytesToDetect ? check() : wrong),
  };
}

function readData(text: string | undefined): { scope: UploadScope; wrong?: string } {
  const scope = 'persistent';
  if (text === undefined || text.trim() === '') return { scope };
  let value: unknown;
  try {
    value = parseJson('data', text, shortBody.values);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return { scope, wrong: error.message };
  }
  const parsed = uploadData.safeParse(value ?? {});
  if (parsed.success) return parsed.data;
  return {
    scope,
    wrong: parsed.error.issues.some(({ path }) => path[0] === 'scope')
      ? 'data.scope must be one of persistent, ephemeral'
      : 'data must be a JSON object',
  };
}

/** If the function is killed before the index item is written, the bucket's lifecycle rules remove the bytes. */
async function finish(
  services: UploadServices,
  { workspaceId, apiKeyId }: KeyOwner,
  { uuid, name, contentType, size, writer }: Received,
  scope: UploadScope,
): Promise<StoredFile> {
  await writer?.end();
  const now = services.clock.now();
  const file: StoredFile = {
    uuid,
    workspaceId,
    name,
    contentType,
    size,
    scope,
    createdAt: now.toISOString(),
    expiresAt:
      scope === 'ephemeral'
        ? new Date(now.getTime() + limits.ephemeralHours * 60 * 60 * 1000).toISOString()
        : null,
  };
  await services.fileIndex.put(file);
  await Promise.all([
    scope === 'persistent' ? writer?.complete() : undefined,
    countUsage(services, {
      ...{ workspaceId, apiKeyId, agentId: null },
      counts: { uploads: 1, uploadedBytes: size },
      calls: [],
    }),
  ]);
  return file;
}
