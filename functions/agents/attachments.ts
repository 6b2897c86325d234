import type {
  LanguageModelV4FilePart,
  LanguageModelV4StreamPart,
  LanguageModelV4TextPart,
} from '@ai-sdk/provider';
import {
  type AttachmentContent,
  type AttachmentReader,
  essenceOf,
  type StoredFile,
} from '#domain/files/files.ts';
import { wellFormed } from '#domain/platform/parse-json.ts';
import { groupsOf } from '#domain/platform/services.ts';

type Delta = Extract<LanguageModelV4StreamPart, { type: 'text-delta' | 'reasoning-delta' }>;

/** Providers may split a surrogate pair between two deltas: the first half waits for the next delta of its block. */
export async function* wellFormedParts(
  stream: AsyncIterable<LanguageModelV4StreamPart>,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const pending = new Map<string, Delta>();
  const joinPending = (part: Delta): Delta => {
    const key = blockOf(part);
    const text = (pending.get(key)?.delta ?? '') + part.delta;
    const isHalf = /[\ud800-\udbff]$/.test(text);
    if (isHalf) pending.set(key, { ...part, delta: text.slice(-1) });
    else pending.delete(key);
    return { ...part, delta: (isHalf ? text.slice(0, -1) : text).toWellFormed() };
  };
  const flushPending = (): Delta[] => {
    const deltas = [...pending.values()].map((part) => ({ ...part, delta: part.delta.toWellFormed() }));
    pending.clear();
    return deltas;
  };
  try {
    for await (const part of stream)
      switch (part.type) {
        case 'text-delta':
        case 'reasoning-delta':
          yield joinPending(part);
          break;
        case 'text-end':
        case 'reasoning-end':
        case 'finish':
          yield* flushPending();
          yield part;
          break;
        case 'tool-call':
          yield wellFormed(part);
          break;
        default:
          yield part;
      }
  } catch (error) {
    yield* flushPending();
    throw error;
  }
}

const blockOf = ({ type, id }: Delta): string => `${type} ${id}`;

/** The same number as the default for earlier messages. */
const charactersShown = 60_000;
const previewCharacters = 2000;
/** For the newest files. Bedrock accepts 20 images in a message. */
const imagesShown = 10;
/** As many files as ten messages may attach by default. */
const filesListed = 100;
/** As many files as one message may attach by default. */
const concurrentReads = 10;

export interface Shown {
  parts: Map<string, (LanguageModelV4TextPart | LanguageModelV4FilePart)[]>;
  isSearchNeeded: boolean;
}

type Content = AttachmentContent | { type: 'unread' };

/**
 * Stops reading texts when little room is left, because the files of a conversation may have gigabytes of text.
 * @param files oldest first; one that is in it twice counts where it is last
 */
export async function showAttachments(
  reader: AttachmentReader,
  files: readonly StoredFile[],
  { seesImages, signal }: { seesImages: boolean; signal: AbortSignal },
): Promise<Shown> {
  const newestFirst = [...new Map(files.toReversed().map((file) => [file.uuid, file])).values()];
  const parts: Shown['parts'] = new Map();
  let charactersLeft = charactersShown;
  let imagesLeft = seesImages ? imagesShown : 0;
  let isSearchNeeded = false;
  const readNext = (next: readonly StoredFile[]): Promise<Content[]> => {
    const images = next.filter(isImage).slice(0, imagesLeft);
    const bounds = { whole: charactersLeft, start: previewCharacters };
    const hasRoom = charactersLeft >= previewCharacters;
    return Promise.all(
      next.map((file) =>
        images.includes(file) || (hasRoom && !isImage(file))
          ? reader.read(file, bounds, signal)
          : ({ type: 'unread' } as const),
      ),
    );
  };
  const show = (file: StoredFile, read: Content): void => {
    if (read.type === 'image') {
      imagesLeft -= 1;
      const { bytes: data, mediaType, notices } = read;
      parts.set(file.uuid, [
        ...(notices === undefined
          ? []
          : [textPart(`[The image ${quoted(file.name)}: ${notices.join('; ')}]`)]),
        { type: 'file', data: { type: 'data', data }, mediaType, filename: file.name },
      ]);
      return;
    }
    // The files of a group are read with the same bounds: a newer one may have used the room since.
    const content = read.type === 'text' && read.text.length > charactersLeft ? startOf(read) : read;
    if ('text' in content) charactersLeft = Math.max(charactersLeft - content.text.length, 0);
    isSearchNeeded ||= content.type === 'beginning' || (content.type === 'unread' && !isImage(file));
    parts.set(file.uuid, [textPart(textFor(file, content, seesImages))]);
  };

  for (const next of groupsOf(newestFirst.slice(0, filesListed), concurrentReads)) {
    const contents = await readNext(next);
    for (const [index, file] of next.entries()) show(file, contents[index] as Content);
  }
  const [unlisted] = newestFirst.slice(filesListed);
  if (unlisted !== undefined)
    parts.set(unlisted.uuid, [
      textPart(`[${newestFirst.length - filesListed} files that were attached by then are not listed here.]`),
    ]);
  return { parts, isSearchNeeded };
}

const isImage = ({ contentType }: StoredFile): boolean => essenceOf(contentType).startsWith('image/');

const textPart = (text: string): LanguageModelV4TextPart => ({ type: 'text', text });

const startOf = ({
  text,
  pageOffsets: _,
  ...rest
}: Extract<AttachmentContent, { type: 'text' }>): AttachmentContent => ({
  ...rest,
  type: 'beginning',
  text: text.slice(0, previewCharacters).toWellFormed(),
  characters: text.length,
});

function textFor(file: StoredFile, content: Content, seesImages: boolean): string {
  const name = quoted(file.name);
  switch (content.type) {
    case 'unreadable':
      return `[The attached file ${name} ${content.reason}: its content is not available.]`;
    case 'unread':
    case 'image':
      if (!isImage(file))
        return `[The file ${name} was attached earlier. Search it with the tool consultant_lookup.]`;
      return seesImages
        ? `[The image ${name} was attached earlier and is not shown again.]`
        : `[The image ${name} is attached, but this model cannot see images.]`;
    case 'text':
      return `<file name=${name}>\n${contentOf(content)}\n</file>`;
    case 'beginning': {
      const characters = content.characters === undefined ? '' : ` characters="${content.characters}"`;
      return [
        `<file name=${name}${characters}>`,
        contentOf(content),
        '</file>',
        `[This is only the beginning of ${name}. Search the rest with the tool consultant_lookup.]`,
      ].join('\n');
    }
  }
}

/** The `<` of what a model could read as a tag of the element `file`, also with invisible characters in it. */
const fileTag =
  /[<＜﹤](?=[\s\p{C}\p{DI}\p{M}/／⁄∕]*(?:[fｆ][\p{C}\p{DI}\p{M}]*[iｉ]|ﬁ)[\p{C}\p{DI}\p{M}]*[lｌ][\p{C}\p{DI}\p{M}]*[eｅ](?!\w))/giu;

/** A file's text must not close its element and pose as the user. */
const inElement = (text: string): string => text.replaceAll(fileTag, '&lt;');

const contentOf = ({ text, notices }: { text: string; notices?: readonly string[] }): string =>
  inElement(notices === undefined ? text : `[${notices.join('; ')}]\n${text}`);

/** Escaped, so that a name cannot end its quotation, its line or its tag. */
const quoted = (name: string): string =>
  `"${name.replaceAll(/[<>"＜＞＂﹤﹥\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => `&#${character.codePointAt(0)};`)}"`;
