import type { Extracted } from './extracted.ts';
import { joinPages } from './join-pages.ts';
import { LeftOut } from './left-out.ts';
import { OfficePackage, ReadingAllowance } from './office-package.ts';
import { OfficeReader } from './office-reader.ts';
import type { XmlElements } from './read-xml.ts';

const readTypes = new Set([
  ...['slide', 'notesSlide', 'comments', 'commentAuthors', 'authors'],
  ...['chart', 'chartEx', 'chartUserShapes', 'diagramData'],
]);

/** Reads the slides in order, each with its speaker notes and comments. A hidden slide is an empty page. */
export async function readPptx(bytes: Uint8Array): Promise<Extracted> {
  const opened = new OfficePackage(
    bytes,
    'ppt/presentation.xml',
    (type) => readTypes.has(type),
    new ReadingAllowance(),
  );
  const leftOut = new LeftOut();
  const presentation = new Presentation(opened, leftOut);
  const extracted = await joinPages(presentation.slides());
  return { ...extracted, notices: [...presentation.notices(), ...leftOut.notices()] };
}

class Presentation {
  private readonly reader: OfficeReader;
  private readonly order: string[] = [];
  private readonly authors = new Map<string, string>();
  private isPresentation = false;
  private isHidden = false;
  private hidden = 0;

  constructor(opened: OfficePackage, leftOut: LeftOut) {
    this.reader = new OfficeReader(opened, leftOut, (reader) => this.elements(reader));
  }

  *slides(): Generator<string> {
    const { package: opened, leftOut } = this.reader;
    this.reader.textOf(opened.main);
    if (!this.isPresentation) throw new Error('It is no presentation');
    for (const type of ['commentAuthors', 'authors'])
      for (const part of opened.related(opened.main, type)) this.reader.textOf(part);
    const relations = opened.relations(opened.main);
    for (const id of this.order) {
      const part = relations.get(id)?.part;
      if (part !== undefined) yield this.slide(part);
      else leftOut.add('missing part');
    }
  }

  notices(): string[] {
    if (this.hidden === 0) return [];
    return [this.hidden === 1 ? '1 hidden slide is left out' : `${this.hidden} hidden slides are left out`];
  }

  private slide(part: string): string {
    this.isHidden = false;
    const slide = this.reader.textOf(part);
    if (this.isHidden) {
      this.hidden += 1;
      return '';
    }
    const related = ['notesSlide', 'comments'].flatMap((type) => this.reader.package.related(part, type));
    const texts = [slide, ...related.map((relatedPart) => this.reader.textOf(relatedPart))];
    return texts.filter((text) => text !== '').join('\n\n');
  }

  private elements({ text }: OfficeReader): XmlElements {
    let link: (() => void) | undefined;
    const comment = (authorOf: string | undefined): void => {
      const author = this.authors.get(authorOf ?? '') ?? '';
      text.openBlock();
      text.text(author === '' ? '[comment]: ' : `[comment by ${author}]: `);
    };
    /** In the file, replies are before what they reply to. */
    let replies: string[] = [];
    const endComment = (): void => {
      text.add(text.closeBlock());
      for (const reply of replies) text.add(reply);
      replies = [];
    };
    const author = ({ id = '', name = '' }: Readonly<Record<string, string | undefined>>) =>
      this.authors.set(id, name.trim());
    return {
      'p:presentation': {
        open: () => {
          this.isPresentation = true;
        },
      },
      'p:sldId': { open: ({ 'r:id': id = '' }) => this.order.push(id) },
      'p:sld': {
        open: ({ show = '1' }) => {
          this.isHidden = show === '0' || show === 'false';
          return !this.isHidden;
        },
      },
      'p:txBody': { open: () => text.endTight() },
      'a:r': {
        close: () => {
          link?.();
          link = undefined;
        },
      },
      'a:hlinkClick': {
        open: ({ 'r:id': id }) => {
          const address = this.reader.webAddress(id);
          if (address === undefined) return;
          const opened = text.openLink(address);
          link = () => text.closeLink(opened);
        },
      },
      'p:cmAuthor': { open: author },
      'p188:author': { open: author },
      'p:cm': { open: ({ authorId }) => comment(authorId), close: endComment },
      'p:text': { text: (fragment) => text.text(fragment) },
      'p188:cm': { open: ({ authorId }) => comment(authorId), close: endComment },
      'p188:reply': {
        open: ({ authorId }) => comment(authorId),
        close: () => replies.push(text.closeBlock()),
      },
    };
  }
}
