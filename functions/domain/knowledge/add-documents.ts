import { ServiceError } from '#contract/errors.ts';
import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import { type KnowledgeDocument, knowledgeLimits, type Passage } from './knowledge.ts';
import type { Services } from './services.ts';
import { splitText } from './split-text.ts';

export interface AddedDocument {
  document: KnowledgeDocument;
  /** Whether it replaced a document of the same name. */
  replaced: boolean;
  /** What the text lacks of the document, as in `ExtractedText`. */
  notices: readonly string[];
}

interface SourceFile {
  /** The document's name. */
  name: string;
  /** The file's name. Its extension determines the format. */
  file: string;
  read: () => Promise<Uint8Array>;
}

type Prepared = Pick<AddedDocument, 'document' | 'notices'> & { passages: readonly Passage[] };

/**
 * Adds documents to a workspace's knowledge, all or none.
 * @throws notFound for an unknown workspace; badRequest naming the unreadable document or the exceeded limit
 */
export async function addDocuments(
  services: Services<'clock' | 'identifiers' | 'knowledge' | 'textExtractor' | 'workspaces'>,
  input: { workspaceId: string; documents: readonly SourceFile[] },
): Promise<AddedDocument[]> {
  const { workspaceId, documents } = input;
  if ((await services.workspaces.get(workspaceId)) === undefined)
    throw new ServiceError('notFound', `Workspace ${workspaceId} not found`);
  rejectNames(documents.map(({ name }) => name));
  const prepared: Prepared[] = [];
  // One after the other: reading a document of 50 MB may take ten times that in memory.
  for (const document of documents) prepared.push(await prepare(services, document));
  let added: AddedDocument[] = [];
  await services.knowledge.change(workspaceId, (known) => {
    const ids = new Map(known.map(({ name, id }) => [name, id]));
    const put = prepared.map(({ document, ...rest }) => ({
      document: { ...document, id: ids.get(document.name) ?? document.id },
      ...rest,
    }));
    rejectTooMuch(known, put);
    added = put.map(({ document, notices }) => ({ document, replaced: ids.has(document.name), notices }));
    return { put, remove: [] };
  });
  return added;
}

function rejectNames(names: readonly string[]): void {
  if (names.length > knowledgeLimits.documentsAtOnce)
    throw new ServiceError('badRequest', `At most ${knowledgeLimits.documentsAtOnce} documents at once`);
  for (const [index, name] of names.entries()) {
    if (name === '' || name.length > knowledgeLimits.nameCharacters)
      throw new ServiceError(
        'badRequest',
        `The name ${name} must have 1 to ${knowledgeLimits.nameCharacters} characters`,
      );
    if (names.indexOf(name) < index)
      throw new ServiceError('badRequest', `Two documents are called ${name}: the names must differ`);
  }
}

async function prepare(
  services: Services<'clock' | 'identifiers' | 'textExtractor'>,
  { name, file, read }: SourceFile,
): Promise<Prepared> {
  try {
    const bytes = await read();
    const size = bytes.length;
    const extracted = await services.textExtractor.extract({ name: file, bytes });
    const { text, contentType, pageOffsets, notices = [] } = extracted;
    const passages = splitText(text, pageOffsets);
    const document: KnowledgeDocument = {
      id: services.identifiers.uuid(),
      name,
      contentType,
      bytes: size,
      characters: text.length,
      textBytes: Buffer.byteLength(text),
      passages: passages.length,
      addedAt: services.clock.now().toISOString(),
    };
    return { document, passages, notices };
  } catch (error) {
    if (!(error instanceof ExtractionFailure)) throw error;
    throw new ServiceError('badRequest', `${file} ${error.message}`, { cause: error });
  }
}

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MB`;

function rejectTooMuch(known: readonly KnowledgeDocument[], put: readonly Prepared[]): void {
  const replaced = new Set(put.map(({ document }) => document.id));
  const stored = known
    .filter(({ id }) => !replaced.has(id))
    .reduce((sum, { textBytes }) => sum + textBytes, 0);
  const added = put.reduce((sum, { document }) => sum + document.textBytes, 0);
  if (stored + added > knowledgeLimits.textBytes)
    throw new ServiceError(
      'badRequest',
      `A workspace's documents have at most ${megabytes(knowledgeLimits.textBytes)} of text: this would make ` +
        `${megabytes(stored + added)}. Remove documents, or use an Amazon Bedrock knowledge base`,
    );
}
