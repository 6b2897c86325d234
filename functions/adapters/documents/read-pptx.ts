import { posix } from 'node:path';
import { Parser } from 'htmlparser2';
import type { Extracted } from './extracted.ts';
import { joinPages } from './join-pages.ts';
import { openArchive } from './open-archive.ts';

const presentation = 'ppt/presentation.xml';
const slide = /^ppt\/slides\/[^/]+\.xml$/;
const relations = (part: string): string =>
  posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`);

/** Reads the slides in order, each with its speaker notes. */
export async function readPptx(bytes: Uint8Array): Promise<Extracted> {
  const parts = openArchive(
    bytes,
    (name) =>
      name === presentation ||
      slide.test(name) ||
      /^ppt\/(slides\/)?_rels\/[^/]+\.rels$/.test(name) ||
      /^ppt\/notesSlides\/[^/]+\.xml$/.test(name),
  );
  if (!parts.has(presentation)) throw new Error('It has no presentation part');
  return joinPages(slidesOf(parts));
}

type Parts = ReadonlyMap<string, Uint8Array>;

function* slidesOf(parts: Parts): Generator<string> {
  const targets = relatedParts(parts, presentation);
  const order: string[] = [];
  readXml(parts, presentation, {
    open(name, attributes) {
      if (name === 'p:sldId') order.push(attributes['r:id'] ?? '');
    },
  });
  for (const id of order) {
    const part = targets.get(id)?.target;
    if (part === undefined || !parts.has(part)) continue;
    const notes = [...relatedParts(parts, part).values()].find(({ type }) => type.endsWith('/notesSlide'));
    yield [textOf(parts, part), notes === undefined ? '' : textOf(parts, notes.target)]
      .filter((text) => text !== '')
      .join('\n\n');
  }
}

/** Writes each paragraph and table cell on its own line. Skips fields, such as slide numbers. */
function textOf(parts: Parts, part: string): string {
  let text = '';
  let inText = false;
  let inField = 0;
  readXml(parts, part, {
    open(name) {
      if (name === 'a:t') inText = true;
      else if (name === 'a:br') text += '\n';
      else if (name === 'a:fld') inField += 1;
    },
    text(textNode) {
      if (inText && inField === 0) text += textNode;
    },
    close(name) {
      if (name === 'a:t') inText = false;
      else if (name === 'a:fld') inField -= 1;
      else if (name === 'a:p') text += '\n';
      else if (name === 'p:txBody' || name === 'a:tr') text += '\n';
    },
  });
  return text.replaceAll(/\n{3,}/g, '\n\n').trim();
}

function relatedParts(parts: Parts, part: string): Map<string, { target: string; type: string }> {
  const related = new Map<string, { target: string; type: string }>();
  readXml(parts, relations(part), {
    open(name, { Id = '', Target = '', Type = '', TargetMode }) {
      if (name !== 'Relationship' || TargetMode === 'External') return;
      const target = Target.startsWith('/') ? Target.slice(1) : posix.join(posix.dirname(part), Target);
      related.set(Id, { target, type: Type });
    },
  });
  return related;
}

interface XmlEvents {
  open?(name: string, attributes: Record<string, string>): void;
  text?(text: string): void;
  close?(name: string): void;
}

/** Entities that a document defines itself are not expanded: this prevents entity bombs ("billion laughs"). */
function readXml(parts: Parts, part: string, events: XmlEvents): void {
  const bytes = parts.get(part);
  if (bytes === undefined) return;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => events.open?.(name, attributes),
      ontext: (text) => events.text?.(text),
      onclosetag: (name) => events.close?.(name),
    },
    { xmlMode: true },
  );
  parser.end(new TextDecoder().decode(bytes));
}
