import { hex as dingbat } from 'dingbat-to-unicode';
import type { LeftOut } from './extracted.ts';
import type { OfficePackage } from './office-package.ts';
import { OfficeReader, webAddress } from './office-reader.ts';
import { during, type Open, type XmlElement, type XmlElements } from './read-xml.ts';
import { byValue, levelOf, WordNumbering } from './word-numbering.ts';

interface Paragraph {
  style?: string;
  headingLevel?: number;
  list?: string;
  level?: number;
}

interface Field {
  instruction: string;
  isResult: boolean;
  closeLink?: () => void;
}

/** Enough for the address of a link, which has at most 2,000. */
const instructionCharacters = 3000;

export class WordDocument {
  private readonly reader: OfficeReader;
  private readonly numbering: WordNumbering;
  private readonly chunks: ReadonlyMap<string, string>;
  private readonly paragraphs: Paragraph[] = [];
  private readonly fields: Field[] = [];
  private instructions = 0;
  private readonly links: (() => void)[] = [];
  private readonly numbers = new Map<string, number>();
  private readonly notes: Note[] = [];
  private readonly comments: Note[] = [];
  private isDocument = false;

  constructor(opened: OfficePackage, leftOut: LeftOut, chunks: ReadonlyMap<string, string>) {
    this.chunks = chunks;
    this.numbering = new WordNumbering(opened);
    this.reader = new OfficeReader(opened, leftOut, (reader) => this.elements(reader));
  }

  read(): string {
    const opened = this.reader.package;
    const marked = (mark: string, type: string) =>
      [...new Set(opened.related(opened.main, type).map((part) => this.textOf(part)))]
        .filter((text) => text !== '')
        .map((text) => `${mark}: ${text}`);
    const headers = marked('Header', 'header');
    const body = this.textOf(opened.main);
    if (!this.isDocument) throw new Error('It is no Word document');
    const footers = marked('Footer', 'footer');
    for (const type of ['footnotes', 'endnotes', 'comments'])
      for (const part of opened.related(opened.main, type)) this.textOf(part);
    return [...headers, body, ...footers, ...inOrder(this.notes), ...inOrder(this.comments)]
      .filter((text) => text !== '')
      .join('\n\n');
  }

  private textOf(part: string): string {
    this.fields.length = 0;
    this.instructions = 0;
    return this.reader.textOf(part);
  }

  private elements(reader: OfficeReader): XmlElements {
    const { text } = reader;
    const skipped: Open = () => false;
    let inLineProperties = false;
    return {
      ...this.paragraphElements(reader),
      ...this.fieldElements(reader),
      ...this.noteElements(reader),
      'w:document': () => {
        this.isDocument = true;
      },
      'w:t': {
        text: (fragment) => {
          if (!this.isInInstruction()) text.text(fragment);
        },
      },
      'w:tab': () => text.tab(),
      'w:ptab': () => text.tab(),
      'w:br': () => text.lineBreak(),
      'w:cr': () => text.lineBreak(),
      'w:noBreakHyphen': () => text.text('-'),
      'w:sym': ({ 'w:font': font = '', 'w:char': char = '' }) => text.text(symbol(font, char)),
      'w:tbl': { open: () => text.openTable(), close: () => text.closeTable() },
      'w:tr': { open: () => text.openTableLine(), close: () => text.closeTableLine() },
      'w:tc': { open: () => text.openBlock(true), close: () => text.closeCell() },
      'w:gridSpan': ({ 'w:val': columns }) => text.spanColumns(Number(columns)),
      'w:gridBefore': ({ 'w:val': columns }) => text.emptyCells(Number(columns)),
      'w:trPr': during((isOpen) => {
        inLineProperties = isOpen;
      }),
      'w:txbxContent': { open: () => text.openBlock(), close: () => text.closeBox() },
      'w:subDoc': () => reader.count('linked document'),
      'w:altChunk': ({ 'r:id': id }) => this.addChunk(id),
      // Not read: deleted text, moved text at its old place, pronunciation of ruby text, earlier properties, positions
      // of tabs.
      'w:del': () => {
        if (inLineProperties) text.deleteTableLine();
        return false;
      },
      'w:moveFrom': skipped,
      'w:rt': skipped,
      'w:tabs': skipped,
      'w:pPrChange': skipped,
      'w:tcPrChange': skipped,
      'w:trPrChange': skipped,
    };
  }

  private paragraphElements({ text }: OfficeReader): XmlElements {
    const set = byValue((change: Paragraph) => Object.assign(this.paragraphs.at(-1) ?? {}, change));
    return {
      'w:p': {
        open: () => this.paragraphs.push({}),
        close: () => {
          const { style, headingLevel, ...listed } = this.paragraphs.pop() ?? {};
          const heading = this.numbering.heading(style, headingLevel);
          const label = this.numbering.nextLabel(style, listed) ?? '';
          const isHeading = heading !== undefined && !text.isInCell;
          const prefix = isHeading ? `${'#'.repeat(heading)} ${label.trimStart()}` : label;
          text.endParagraph({ prefix, isTight: label !== '' && !isHeading });
          this.endInstructions();
        },
      },
      'w:pStyle': set((style = '') => ({ style })),
      'w:outlineLvl': set((level = '') => ({ headingLevel: Number(level) })),
      'w:numId': set((list = '') => ({ list })),
      'w:ilvl': set((level) => ({ level: levelOf(level) })),
    };
  }

  private fieldElements({ text }: OfficeReader): XmlElements {
    let isChecked = false;
    let entries: string[] = [];
    let selected = 0;
    const link = (address: string | undefined) => {
      if (address === undefined) return () => undefined;
      const opened = text.openLink(address);
      return () => text.closeLink(opened);
    };
    const closeLink = () => this.links.pop()?.();
    return {
      'w:hyperlink': {
        open: ({ 'r:id': id, 'w:anchor': anchor }) =>
          this.links.push(link(this.reader.webAddress(id, anchor))),
        close: closeLink,
      },
      'w:fldSimple': {
        open: ({ 'w:instr': instruction = '' }) => this.links.push(link(linkAddress(instruction))),
        close: closeLink,
      },
      'w:fldChar': ({ 'w:fldCharType': type }) => {
        const field = this.fields.at(-1);
        if (type === 'begin') {
          this.fields.push({ instruction: '', isResult: false });
          this.instructions += 1;
        } else if (type === 'separate' && field?.isResult === false) {
          field.isResult = true;
          field.closeLink = link(linkAddress(field.instruction));
          this.instructions -= 1;
        } else if (type === 'end') {
          field?.closeLink?.();
          if (field?.isResult === false) this.instructions -= 1;
          this.fields.pop();
        }
      },
      'w:instrText': {
        text: (fragment) => {
          const field = this.fields.at(-1);
          if (field?.isResult === false && field.instruction.length < instructionCharacters)
            field.instruction += fragment;
        },
      },
      'w:checkBox': {
        open: () => {
          isChecked = false;
        },
        close: () => text.text(isChecked ? '[x] ' : '[ ] '),
      },
      'w:default': ({ 'w:val': value = 'true' }) => {
        isChecked = isOn(value);
        selected = Number(value) || 0;
      },
      'w:checked': ({ 'w:val': value = 'true' }) => {
        isChecked = isOn(value);
      },
      'w:ddList': {
        open: () => {
          entries = [];
          selected = 0;
        },
        close: () => text.text(entries[selected] ?? ''),
      },
      'w:result': ({ 'w:val': value }) => {
        selected = Number(value);
      },
      'w:listEntry': ({ 'w:val': entry = '' }) => entries.push(entry),
    };
  }

  /** Whether the innermost field is inside the instruction of another one. Its own instruction is in `w:instrText`. */
  private isInInstruction(): boolean {
    return this.instructions > (this.fields.at(-1)?.isResult === false ? 1 : 0);
  }

  /** An instruction that does not end would hide the results of later fields. */
  private endInstructions(): void {
    while (this.fields.at(-1)?.isResult === false) {
      this.fields.pop();
      this.instructions -= 1;
    }
  }

  private noteElements({ text }: OfficeReader): XmlElements {
    let id = '';
    let author = '';
    const reference =
      (kind: string, before: string, counted: { count: number }): Open =>
      ({ 'w:id': referred = '' }) => {
        const key = `${kind} ${referred}`;
        const number = this.numbers.get(key) ?? counted.count + 1;
        if (!this.numbers.has(key)) counted.count = number;
        this.numbers.set(key, number);
        text.text(`[${before}${number}]`);
      };
    const note = (kind: string): XmlElement => ({
      open: ({ 'w:id': own = '', 'w:type': type = 'normal' }) => {
        if (type !== 'normal') return false;
        id = own;
        text.openBlock();
        return true;
      },
      close: () => {
        const number = this.numbers.get(`${kind} ${id}`);
        addNote(this.notes, number, `^${number ?? ''}`);
      },
    });
    const addNote = (notes: Note[], number: number | undefined, label: string) => {
      const words = text.closeBlock();
      if (words !== '') notes.push({ number: number ?? Infinity, text: `[${label}]: ${words}` });
    };
    const notes = { count: 0 };
    return {
      'w:footnoteReference': reference('footnote', '^', notes),
      'w:endnoteReference': reference('endnote', '^', notes),
      'w:commentReference': reference('comment', 'comment ', { count: 0 }),
      'w:footnote': note('footnote'),
      'w:endnote': note('endnote'),
      'w:comment': {
        open: ({ 'w:id': own = '', 'w:author': name = '' }) => {
          id = own;
          author = name.trim();
          text.openBlock();
        },
        close: () => {
          const number = this.numbers.get(`comment ${id}`);
          const counted = number === undefined ? '' : ` ${number}`;
          addNote(this.comments, number, `comment${counted}${author === '' ? '' : ` by ${author}`}`);
        },
      },
    };
  }

  private addChunk(id: string | undefined): void {
    const { package: opened, part, text, leftOut } = this.reader;
    const relation = opened.relations(part).get(id ?? '');
    if (relation === undefined || (relation.part !== undefined && opened.part(relation.part) === undefined))
      leftOut.add('missing part');
    else if (relation.part === undefined) leftOut.add('linked document');
    else text.addDocument(this.chunks.get(relation.part) ?? '');
  }
}

interface Note {
  number: number;
  text: string;
}

const inOrder = (notes: Note[]): string[] =>
  notes.sort((a, b) => (a.number < b.number ? -1 : 1)).map(({ text }) => text);

const isOn = (value: string): boolean => !['0', 'false', 'off'].includes(value);

const linkAddress = (instruction: string): string | undefined =>
  webAddress(/^\s*HYPERLINK\s+"([^"]*)"/i.exec(instruction)?.[1]);

function symbol(font: string, char: string): string {
  const known = dingbat(font, char) ?? dingbat(font, char.replace(/^F0/i, ''));
  if (known !== undefined) return known.string;
  const code = Number.parseInt(char, 16);
  return code > 0 && code <= 0xffff
    ? String.fromCharCode(code >= 0xf000 && code <= 0xf0ff ? code - 0xf000 : code)
    : '';
}
