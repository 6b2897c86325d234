import { ServiceError } from '#contract/errors.ts';
import { countCharacters } from '#contract/fields.ts';
import { ExtractionFailure } from '#domain/files/files.ts';
import { requireWorkspace } from '#domain/workspaces/workspaces.ts';
import { type KnowledgeDocument, knowledgeLimits, type Passage, type Services } from './knowledge.ts';

/** The maximum, in UTF-16 code units: long enough for a fact and its context. */
const passageCharacters = 1000;

/** The next passage repeats up to about so many, so that a short sentence at a cut is complete in one of the two. */
const overlapCharacters = 100;

/** A cut in the first half would make a passage too short. */
const minPassageCharacters = passageCharacters / 2;

/** The best break first. A passage may end at the end of a match. */
const breaks = [
  /\n[^\S\n]*\n\s*/g, // a paragraph
  /[.!?…]['"”’)\]]*\s+|[。！？][」』）”]*|\n/g, // a sentence or a line
  /\s+/g, // a word
] as const;

/**
 * A passage never crosses the end of a page.
 * @param pageOffsets where each page starts, in ascending order; empty for a text without pages
 * @returns passages without blanks at their ends; blank parts of the text have none
 */
export function splitText(text: string, pageOffsets: readonly number[] = []): Passage[] {
  if (pageOffsets.length === 0) return splitPart(text, 0, text.length);
  return pageOffsets.flatMap((start, index) =>
    splitPart(text, start, pageOffsets[index + 1] ?? text.length).map((passage) => ({
      ...passage,
      page: index + 1,
    })),
  );
}

function splitPart(text: string, from: number, to: number): Passage[] {
  const passages: Passage[] = [];
  for (let start = from; start < to; ) {
    const end = endOf(text, start, to);
    const passage = text.slice(start, end);
    const words = passage.trim();
    if (words !== '') passages.push({ text: words, offset: start + passage.indexOf(words) });
    if (end === to) break;
    start = nextStart(text, end);
  }
  return passages;
}

function endOf(text: string, start: number, to: number): number {
  const maxEnd = start + passageCharacters;
  if (maxEnd >= to) return to;
  const secondHalf = text.slice(start + minPassageCharacters, maxEnd);
  for (const pattern of breaks) {
    const last = endsOf(secondHalf, pattern).at(-1);
    if (last !== undefined) return start + minPassageCharacters + last;
  }
  return betweenCharacters(text, maxEnd);
}

function nextStart(text: string, end: number): number {
  const start = end - overlapCharacters;
  const overlap = text.slice(start, end);
  for (const pattern of breaks.slice(1)) {
    const [first = overlap.length] = endsOf(overlap, pattern);
    // If the match ends where the overlap ends, nothing of the overlap would be left.
    if (first < overlap.length) return start + first;
  }
  return betweenCharacters(text, start);
}

const endsOf = (text: string, pattern: RegExp): number[] =>
  Array.from(text.matchAll(pattern), ({ index, 0: match }) => index + match.length);

/** The offset, or the one before it if the offset is inside a surrogate pair. */
const betweenCharacters = (text: string, at: number): number =>
  (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at;

export interface AddedDocument {
  document: KnowledgeDocument;
  replaced: boolean;
  notices: readonly string[];
}

interface SourceFile {
  name: string;
  /** The file's name or path; `name` is the document's name. */
  file: string;
  read: () => Promise<Uint8Array>;
}

type Prepared = Pick<AddedDocument, 'document' | 'notices'> & { passages: readonly Passage[] };

/**
 * All or none. A document replaces one of the same name, and gets its id.
 * @throws notFound for an unknown workspace; badRequest for a wrong or repeated name, an unreadable document or an
 * exceeded limit
 */
export async function addDocuments(
  services: Services<'clock' | 'identifiers' | 'knowledge' | 'textExtractor' | 'workspaces'>,
  input: { workspaceId: string; documents: readonly SourceFile[] },
): Promise<AddedDocument[]> {
  const { workspaceId, documents } = input;
  await requireWorkspace(services, workspaceId);
  rejectNames(documents.map(({ name }) => name));
  const prepared: Prepared[] = [];
  // One after the other, because a document may take several times its size in memory.
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
    if (name === '' || countCharacters(name) > knowledgeLimits.nameCharacters)
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

/** @throws notFound for an unknown workspace */
export async function listDocuments(
  services: Services<'knowledge' | 'workspaces'>,
  workspaceId: string,
): Promise<KnowledgeDocument[]> {
  await requireWorkspace(services, workspaceId);
  return services.knowledge.list(workspaceId);
}

/**
 * All or none.
 * @param input.documents ids or names; an id is looked for first
 * @throws notFound for an unknown workspace or document; badRequest for too many documents
 */
export async function removeDocuments(
  services: Services<'knowledge' | 'workspaces'>,
  input: { workspaceId: string; documents: readonly string[] },
): Promise<KnowledgeDocument[]> {
  await requireWorkspace(services, input.workspaceId);
  if (input.documents.length > knowledgeLimits.documentsAtOnce)
    throw new ServiceError('badRequest', `At most ${knowledgeLimits.documentsAtOnce} documents at once`);
  let removed: KnowledgeDocument[] = [];
  await services.knowledge.change(input.workspaceId, (known) => {
    const found = input.documents.map((idOrName) => {
      const document = known.find(({ id }) => id === idOrName) ?? known.find(({ name }) => name === idOrName);
      if (document === undefined)
        throw new ServiceError('notFound', `The workspace has no document ${idOrName}`);
      return document;
    });
    removed = [...new Set(found)];
    return { put: [], remove: removed.map(({ id }) => id) };
  });
  return removed;
}
