import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider';
import type { AttachmentContent, AttachmentReader } from '#domain/files/attachment-reader.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';

/**
 * Of all files of a conversation: about 15,000 tokens of English at four characters a token, as much as its messages
 * have. What is longer is searched, not cut.
 */
const charactersShown = 60_000;
/** Of a file that is too long to show: enough to see what it is. */
const previewCharacters = 2000;
/** Providers take 20 in a request; older ones are told of. */
const imagesShown = 10;
/** As many as ten messages attach, unless the stage says otherwise: names of 255 characters are 25,000 in all. */
const filesListed = 100;
/** As many as a message attaches: each may have to be prepared, and holds a connection. */
const readAtOnce = 10;

export interface Shown {
  parts: Map<string, LanguageModelV4TextPart | LanguageModelV4FilePart>;
  /** Some file is not whole in the prompt: it must be searched. */
  isSearchNeeded: boolean;
}

/** What becomes of a file that is not read, since nothing of it could be shown. */
type Content = AttachmentContent | { type: 'unread' };

/**
 * What the model is shown of each file, newest first as long as there is room. What there is no room for is not read: all
 * files of a conversation together may have gigabytes of text.
 * @param files oldest first
 */
export async function showAttachments(
  reader: AttachmentReader,
  files: readonly StoredFile[],
  { seesImages, signal }: { seesImages: boolean; signal: AbortSignal },
): Promise<Shown> {
  const newestFirst = [...new Map(files.map((file) => [file.uuid, file])).values()].reverse();
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
      parts.set(file.uuid, {
        type: 'file',
        data: { type: 'data', data: read.bytes },
        mediaType: read.mediaType,
        filename: file.name,
      });
      return;
    }
    // What came first has taken room since it was read.
    const content = read.type === 'text' && read.text.length > charactersLeft ? startOf(read.text) : read;
    if ('text' in content) charactersLeft = Math.max(charactersLeft - content.text.length, 0);
    isSearchNeeded ||= content.type === 'beginning' || (content.type === 'unread' && !isImage(file));
    parts.set(file.uuid, { type: 'text', text: textFor(file, content, seesImages) });
  };

  const summary = newestFirst.slice(0, filesListed);
  for (let first = 0; first < summary.length; first += readAtOnce) {
    const next = summary.slice(first, first + readAtOnce);
    const contents = await readNext(next);
    for (const [index, file] of next.entries()) show(file, contents[index] as Content);
  }
  const [untold] = newestFirst.slice(filesListed);
  if (untold !== undefined)
    parts.set(untold.uuid, {
      type: 'text',
      text: `[${newestFirst.length - filesListed} files that were attached by then are not listed here.]`,
    });
  return { parts, isSearchNeeded };
}

const isImage = ({ contentType }: StoredFile): boolean => contentType.startsWith('image/');

const startOf = (text: string): AttachmentContent => ({
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
      return `<file name=${name}>\n${inElement(content.text)}\n</file>`;
    case 'beginning': {
      const characters = content.characters === undefined ? '' : ` characters="${content.characters}"`;
      return [
        `<file name=${name}${characters}>`,
        inElement(content.text),
        '</file>',
        `[This is only the beginning of ${name}. Search the rest with the tool consultant_lookup.]`,
      ].join('\n');
    }
  }
}

/** What a model could take for the tag of an element `file`, however it is spaced. */
const fileTag = /<(?=[\s\p{Cf}]*(?:\/[\s\p{Cf}]*)?file\b)/giu;

/** A file must not end its element and then speak as the user. Other tags stay: documents are full of them. */
const inElement = (text: string): string => text.replaceAll(fileTag, '&lt;');

/** In quotation marks that a name cannot close, on one line. */
const quoted = (name: string): string =>
  `"${name.replaceAll(/[<>"\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => `&#${character.codePointAt(0)};`)}"`;
