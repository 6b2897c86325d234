import type { LanguageModelV4FilePart, LanguageModelV4TextPart } from '@ai-sdk/provider';
import type { AttachmentContent, AttachmentReader } from '#domain/ports/attachment-reader.ts';
import type { StoredFile } from '#domain/stored-file.ts';

/**
 * Of all files of a conversation: about 15,000 tokens of English at four characters a token, as much as its messages
 * have. What is longer is searched, not cut.
 */
const charactersShown = 60_000;
/** Of a file that is too long to show: enough to see what it is. */
const charactersOfBeginning = 2000;
/** Providers take 20 in a request; older ones are told of. */
const imagesShown = 10;

export interface Shown {
  parts: Map<string, LanguageModelV4TextPart | LanguageModelV4FilePart>;
  /** Some file is not whole in the prompt: it must be searched. */
  isSearchNeeded: boolean;
}

/**
 * What the model is shown of each file, newest first as long as there is room.
 * @param files oldest first
 */
export async function showAttachments(
  reader: AttachmentReader,
  files: readonly StoredFile[],
  { seesImages, signal }: { seesImages: boolean; signal: AbortSignal },
): Promise<Shown> {
  const newestFirst = [...new Map(files.map((file) => [file.uuid, file])).values()].reverse();
  const contents = await Promise.all(newestFirst.map((file) => reader.read(file, signal)));
  const parts: Shown['parts'] = new Map();
  let charactersLeft = charactersShown;
  let imagesLeft = seesImages ? imagesShown : 0;
  let isSearchNeeded = false;
  for (const [index, file] of newestFirst.entries()) {
    const content = contents[index] as AttachmentContent;
    if (content.type === 'image' && imagesLeft > 0) {
      imagesLeft -= 1;
      parts.set(file.uuid, {
        type: 'file',
        data: { type: 'data', data: content.bytes },
        mediaType: content.mediaType,
        filename: file.name,
      });
      continue;
    }
    const fits = content.type === 'text' && content.text.length <= charactersLeft;
    if (fits) charactersLeft -= content.text.length;
    isSearchNeeded ||= content.type === 'text' && !fits;
    parts.set(file.uuid, { type: 'text', text: textFor(file, content, { fits, seesImages }) });
  }
  return { parts, isSearchNeeded };
}

function textFor(
  file: StoredFile,
  content: AttachmentContent,
  { fits, seesImages }: { fits: boolean; seesImages: boolean },
): string {
  const name = quoted(file.name);
  switch (content.type) {
    case 'unreadable':
      return `[The attached file ${name} ${content.reason}: its content is not available.]`;
    case 'image':
      return seesImages
        ? `[The image ${name} was attached earlier and is not shown again.]`
        : `[The image ${name} is attached, but this model cannot see images.]`;
    case 'text':
      if (fits) return `<file name=${name}>\n${inElement(content.text)}\n</file>`;
      return [
        `<file name=${name} characters="${content.text.length}">`,
        inElement(content.text.slice(0, charactersOfBeginning).toWellFormed()),
        '</file>',
        `[This is only the beginning of ${name}. Search the rest with the tool consultant_lookup.]`,
      ].join('\n');
  }
}

/** What a model could take for the tag of an element `file`, however it is spaced. */
const fileTag = /<(?=[\s\p{Cf}]*(?:\/[\s\p{Cf}]*)?file\b)/giu;

/** A file must not end its element and then speak as the user. Other tags stay: documents are full of them. */
const inElement = (text: string): string => text.replaceAll(fileTag, '&lt;');

/** In quotation marks that a name cannot close, on one line. */
const quoted = (name: string): string =>
  `"${name.replaceAll(/[<>"\p{Cc}\p{Zl}\p{Zp}]/gu, (character) => `&#${character.codePointAt(0)};`)}"`;
