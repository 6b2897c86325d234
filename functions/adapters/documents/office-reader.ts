import { chartElements } from './chart-elements.ts';
import { DocumentText } from './document-text.ts';
import { bounds, type LeftOut, type LeftOutKind } from './extracted.ts';
import type { OfficePackage } from './office-package.ts';
import { during, type Open, type XmlElement, type XmlElements } from './read-xml.ts';

/** What Word documents and presentations have in common, such as drawings, charts and equations. */
export class OfficeReader {
  readonly package: OfficePackage;
  readonly leftOut: LeftOut;
  readonly text = new DocumentText();
  private readonly elements: XmlElements;
  private readonly reading: string[] = [];
  /**
   * `isRead`: the last alternative that was read had text. `isUncounted`: an earlier one has counted left-out contents.
   */
  private readonly alternatives: {
    visible: number;
    leftOut: number;
    isRead: boolean;
    isUncounted: boolean;
  }[] = [];
  private uncounted = 0;

  constructor(
    opened: OfficePackage,
    leftOut: LeftOut,
    elementsOfFormat: (reader: OfficeReader) => XmlElements,
  ) {
    this.package = opened;
    this.leftOut = leftOut;
    this.elements = { ...this.commonElements(), ...chartElements(this), ...elementsOfFormat(this) };
  }

  get part(): string {
    return this.reading.at(-1) ?? this.package.main;
  }

  textOf(part: string): string {
    this.text.openBlock();
    if (!this.read(part)) this.leftOut.add('missing part');
    return this.text.closeBlock();
  }

  textOnly(part: string): string {
    this.uncounted += 1;
    const text = this.textOf(part);
    this.uncounted -= 1;
    return text;
  }

  read(part: string): boolean {
    if (this.reading.includes(part) || this.reading.length >= bounds.partLevels) return true;
    this.reading.push(part);
    const exists = this.package.read(part, this.elements);
    this.reading.pop();
    return exists;
  }

  readBox(id: string | undefined): void {
    const part = this.package.relations(this.part).get(id ?? '')?.part;
    if (part === undefined) return;
    this.text.openBlock();
    this.read(part);
    this.text.closeBox();
  }

  webAddress(id: string | undefined, anchor?: string): string | undefined {
    const relation = this.package.relations(this.part).get(id ?? '');
    if (relation === undefined || relation.part !== undefined) return undefined;
    return webAddress(anchor === undefined ? relation.address : `${relation.address}#${anchor}`);
  }

  count(kind: LeftOutKind): void {
    if (this.uncounted === 0) this.leftOut.add(kind);
  }

  private commonElements(): XmlElements {
    const { text } = this;
    return {
      ...this.alternativeElements(),
      ...this.pictureElements(),
      ...this.objectElements(),
      ...this.equationElements(),
      'a:t': { text: (fragment) => text.text(fragment) },
      'a:br': () => text.lineBreak(),
      'a:fld': ({ type }) => type !== 'slidenum',
      'a:p': { close: () => text.endParagraph({ isTight: true }) },
      'a:tbl': { open: () => text.openTable(), close: () => text.closeTable() },
      'a:tr': { open: () => text.openTableLine(), close: () => text.closeTableLine() },
      'a:tc': { open: () => text.openBlock(true), close: () => text.closeCell() },
      'dgm:relIds': ({ 'r:dm': id }) => this.readBox(id),
      'v:textpath': ({ string = '' }) => text.text(`${string} `),
    };
  }

  private equationElements(): XmlElements {
    const { text } = this;
    const bracket = (open: string, close: string): XmlElement => ({
      open: () => text.openBracket(open),
      close: () => text.closeBracket(close, open),
    });
    let matrices = 0;
    let hasOperator = false;
    return {
      'm:t': { text: (fragment) => text.text(fragment) },
      'm:num': bracket('\\frac{', '}'),
      'm:den': bracket('{', '}'),
      'm:sup': bracket('^{', '}'),
      'm:sub': bracket('_{', '}'),
      'm:rad': bracket('\\sqrt{', '}'),
      'm:deg': bracket('[', ']'),
      'm:d': bracket('(', ')'),
      'm:naryPr': {
        open: () => {
          hasOperator = false;
        },
        close: () => {
          if (!hasOperator) text.text('∫');
        },
      },
      'm:chr': ({ 'm:val': character = '' }) => {
        hasOperator = true;
        text.text(character);
      },
      'm:m': during((isOpen) => {
        matrices += isOpen ? 1 : -1;
      }),
      'm:mr': { close: () => text.text('\\\\ ') },
      'm:e': {
        close: () => {
          if (matrices > 0) text.text(' ');
        },
      },
    };
  }

  private pictureElements(): XmlElements {
    let description: string | undefined;
    let media: LeftOutKind | undefined;
    const described: Open = ({ descr, title }) => {
      description = descr || title || description;
    };
    const playing = (kind: LeftOutKind) => () => {
      media = kind;
    };
    const ink: Open = () => this.count('ink drawing');
    const picture: XmlElement = {
      open: () => {
        media = undefined;
      },
      close: () => {
        if (media === undefined) this.picture(description);
        else this.count(media);
        description = undefined;
      },
    };
    return {
      'wp:docPr': described,
      'pic:cNvPr': described,
      'p:cNvPr': ({ descr, title }) => {
        description = descr || title;
      },
      'pic:pic': picture,
      'p:pic': {
        ...picture,
        close: () => {
          picture.close?.();
          this.text.endParagraph();
        },
      },
      'v:imagedata': ({ 'o:title': title }) => this.picture(title),
      'a:videoFile': playing('video'),
      'a:quickTimeFile': playing('video'),
      'a:audioFile': playing('audio clip'),
      'a:wavAudioFile': playing('audio clip'),
      'w14:contentPart': ink,
      'p14:contentPart': ink,
      'p:contentPart': ink,
    };
  }

  /** The pictures in an embedded object are previews of it, so they are neither read nor counted. */
  private objectElements(): XmlElements {
    const object = during((isOpen) => {
      this.uncounted += isOpen ? 1 : -1;
    });
    const count = (program = ''): void => {
      const kind = embeddedKinds.find(([name]) => program.startsWith(name))?.[1] ?? 'embedded object';
      if (this.uncounted === 1) this.leftOut.add(kind);
    };
    return {
      'w:object': object,
      'o:OLEObject': ({ ProgID }) => count(ProgID),
      'p:oleObj': {
        ...object,
        open: (attributes) => {
          object.open?.(attributes);
          count(attributes.progId);
        },
      },
    };
  }

  private picture(description: string | undefined): void {
    if (this.uncounted > 0) return;
    this.count('picture');
    const words = description?.trim();
    if (words) this.text.text(`[picture: ${words}] `);
  }

  /**
   * `mc:AlternateContent` has the same content in several forms, for newer and older programs. They are read in order,
   * up to the first one with text.
   */
  private alternativeElements(): XmlElements {
    const { alternatives } = this;
    const alternative: XmlElement = {
      open: () => {
        const state = alternatives.at(-1);
        if (state === undefined) return true;
        if (state.isRead) return false;
        state.isUncounted = state.leftOut !== this.leftOut.total;
        if (state.isUncounted) this.uncounted += 1;
        return true;
      },
      close: () => {
        const state = alternatives.at(-1);
        if (state === undefined) return;
        if (state.isUncounted) this.uncounted -= 1;
        state.isRead = state.visible !== this.text.visible;
      },
    };
    return {
      'mc:AlternateContent': {
        open: () => {
          alternatives.push({
            visible: this.text.visible,
            leftOut: this.leftOut.total,
            isRead: false,
            isUncounted: false,
          });
        },
        close: () => alternatives.pop(),
      },
      'mc:Choice': alternative,
      'mc:Fallback': alternative,
    };
  }
}

const embeddedKinds: [program: string, kind: LeftOutKind][] = [
  ['Excel', 'embedded sheet'],
  ['Word', 'embedded document'],
  ['PowerPoint', 'embedded presentation'],
  ['Equation', 'embedded equation'],
];

const addressCharacters = 2000;

export function webAddress(address: string | undefined): string | undefined {
  if (address === undefined || address.length > addressCharacters || !/^https?:/i.test(address))
    return undefined;
  const url = URL.parse(address);
  return url === null || url.href.length > addressCharacters ? undefined : url.href;
}
