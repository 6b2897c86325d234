import type { DocumentText } from './document-text.ts';
import { type Extracted, joinPages, LeftOut } from './extracted.ts';
import { OfficePackage, ReadingAllowance } from './office-package.ts';
import { OfficeReader } from './office-reader.ts';
import type { XmlElements } from './read-xml.ts';

const readTypes = new Set([
  ...['slide', 'slideLayout', 'slideMaster', 'notesSlide', 'comments', 'commentAuthors', 'authors'],
  ...['chart', 'chartEx', 'chartUserShapes', 'diagramData'],
]);

/** A hidden slide becomes an empty page. */
export async function readPptx(bytes: Uint8Array): Promise<Extracted> {
  const opened = new OfficePackage(bytes, 'ppt/presentation.xml', readTypes, new ReadingAllowance());
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
  private readonly backgroundsRead = new Set<string>();
  private isBackground = false;
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
    return [...texts, ...this.backgrounds(part)].filter((text) => text !== '').join('\n\n');
  }

  private backgrounds(slide: string): string[] {
    const { package: opened } = this.reader;
    const layouts = opened.related(slide, 'slideLayout');
    const masters = layouts.flatMap((layout) => opened.related(layout, 'slideMaster'));
    const unread = [...layouts, ...masters].filter((part) => !this.backgroundsRead.has(part));
    this.isBackground = true;
    const texts = unread.map((part) => this.reader.textOnly(part));
    this.isBackground = false;
    for (const part of unread) this.backgroundsRead.add(part);
    return texts.filter((text) => text !== '').map((text) => `[background]: ${text}`);
  }

  private elements({ text }: OfficeReader): XmlElements {
    let isPlaceholder = false;
    let link: (() => void) | undefined;
    return {
      'p:presentation': () => {
        this.isPresentation = true;
      },
      'p:sldId': ({ 'r:id': id = '' }) => this.order.push(id),
      'p:sld': ({ show = '1' }) => {
        this.isHidden = show === '0' || show === 'false';
        return !this.isHidden;
      },
      // In a background, placeholders have texts that only an author sees, such as `Click to edit`.
      'p:sp': () => {
        isPlaceholder = false;
      },
      'p:ph': () => {
        isPlaceholder = true;
      },
      'p:txBody': () => {
        text.endTight();
        return !(this.isBackground && isPlaceholder);
      },
      'a:r': {
        close: () => {
          link?.();
          link = undefined;
        },
      },
      'a:hlinkClick': ({ 'r:id': id }) => {
        const address = this.reader.webAddress(id);
        if (address === undefined) return;
        const opened = text.openLink(address);
        link = () => text.closeLink(opened);
      },
      ...this.commentElements(text),
    };
  }

  private commentElements(text: DocumentText): XmlElements {
    const comment = (authorOf: string | undefined): void => {
      const author = this.authors.get(authorOf ?? '') ?? '';
      text.openBlock();
      text.text(author === '' ? '[comment]: ' : `[comment by ${author}]: `);
    };
    /** In the file, the replies come before the text of their comment. */
    let replies: string[] = [];
    const endComment = (): void => {
      text.add(text.closeBlock());
      for (const reply of replies) text.add(reply);
      replies = [];
    };
    const author = ({ id = '', name = '' }: Readonly<Record<string, string | undefined>>) =>
      this.authors.set(id, name.trim());
    return {
      'p:cmAuthor': author,
      'p188:author': author,
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
