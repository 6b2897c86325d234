import { Tokenizer } from 'htmlparser2';

/** At least so many line breaks separate each of these elements from the text around it. */
const breaks = new Map<string, 1 | 2>();
for (const name of 'p h1 h2 h3 h4 h5 h6 ul ol dl pre table blockquote'.split(' ')) breaks.set(name, 2);
for (const name of 'article section main header footer nav aside figure form hr'.split(' '))
  breaks.set(name, 2);
for (const name of 'div li tr dt dd address body center details summary dialog'.split(' '))
  breaks.set(name, 1);
for (const name of 'fieldset legend figcaption hgroup menu option search caption br'.split(' '))
  breaks.set(name, 1);

const headingPrefix = (name: string): string =>
  /^h[1-6]$/.test(name) ? `${'#'.repeat(Number(name[1]))} ` : '';

class TextLayout {
  private readonly segments: string[] = [];
  private pendingBreaks = 0;
  private pendingSpace = false;
  private prefix = '';
  private preformatted = 0;
  private link: { address: string; isOpen: boolean } | undefined;
  private cells = 0;

  open(name: string): void {
    if (name === 'td' || name === 'th') {
      this.cell();
      return;
    }
    this.addBreaks(name);
    if (name === 'tr') this.cells = 0;
    else if (name === 'pre') this.preformatted += 1;
    else if (name === 'li') this.prefix = '- ';
    else this.prefix = headingPrefix(name) || this.prefix;
  }

  close(name: string): void {
    if (name === 'pre') this.preformatted = Math.max(0, this.preformatted - 1);
    if (headingPrefix(name) !== '' || name === 'li') this.prefix = '';
    this.addBreaks(name);
  }

  openLink(address: string | undefined): void {
    this.closeLink();
    if (address !== undefined) this.link = { address, isOpen: false };
  }

  closeLink(): void {
    if (this.link?.isOpen) this.segments.push(`](${this.link.address})`);
    this.link = undefined;
  }

  text(text: string): void {
    if (text === '') return;
    if (this.preformatted > 0) {
      this.writeSeparators();
      this.segments.push(text);
      return;
    }
    const words = text.replaceAll(/\s+/g, ' ');
    if (words.startsWith(' ')) this.pendingSpace = true;
    const word = words.trim();
    if (word === '') return;
    this.writeSeparators();
    this.segments.push(word);
    this.pendingSpace = words.endsWith(' ');
  }

  position(): number {
    return this.segments.length;
  }

  toString(start = 0, end?: number): string {
    return this.segments.slice(start, end).join('').trim();
  }

  private cell(): void {
    if (this.cells > 0) {
      this.closeLink();
      this.writeSeparators();
      this.segments.push(' | ');
      this.pendingSpace = false;
    }
    this.cells += 1;
  }

  private addBreaks(name: string): void {
    this.pendingBreaks = Math.max(this.pendingBreaks, breaks.get(name) ?? 0);
  }

  private writeSeparators(): void {
    if (this.pendingBreaks > 0) {
      if (this.segments.length > 0) this.segments.push(this.pendingBreaks === 2 ? '\n\n' : '\n');
    } else if (this.pendingSpace && this.segments.length > 0) this.segments.push(' ');
    this.pendingBreaks = 0;
    this.pendingSpace = false;
    if (this.prefix !== '') this.segments.push(this.prefix);
    this.prefix = '';
    if (this.link !== undefined && !this.link.isOpen) {
      this.segments.push('[');
      this.link.isOpen = true;
    }
  }
}

const skippedElements = new Set('script style template svg iframe noembed noframes object canvas'.split(' '));

/** A shorter <main> is probably an empty shell that a script fills: then the whole page is used. */
const minMainCharacters = 200;
const titleCharacters = 300;
/** A longer address is ignored, because it is usually encoded data. The text of its link stays. */
const addressCharacters = 2000;
/**
 * For the sum of all addresses, each counted with its base address: by a long <base>, many short links could grow to
 * hundreds of megabytes.
 */
const allAddressesCharacters = 5_000_000;

/** In Markdown: the text of the page, or only that of a <main> of some length. 5 MB may take 0.6 s. */
export function readableHtml(html: string, address: URL): { title: string; text: string } {
  const reader = new PageReader(address);
  readTags(html, reader, { nameOf: htmlName, isRead: (attribute) => readAttributes.has(attribute) });
  return reader.finish();
}

type Attributes = ReadonlyMap<string, string>;

interface TagReader {
  text(fragment: string): void;
  /** Of attributes with the same name, the first one counts. */
  open(name: string, attributes: Attributes, selfClosing: boolean): void;
  close(name: string): void;
}

const noAttributes: Attributes = new Map();

export function readTags(
  markup: string,
  reader: TagReader,
  { xmlMode = false, nameOf = (name: string) => name, isRead = (_attribute: string) => true },
): void {
  let [name, attribute, value] = ['', '', ''];
  let attributes: Map<string, string> | undefined;
  const open = (selfClosing: boolean) => reader.open(name, attributes ?? noAttributes, selfClosing);
  const tokenizer = new Tokenizer(
    { xmlMode, decodeEntities: true },
    {
      ontext: (start, end) => reader.text(markup.slice(start, end)),
      ontextentity: (code) => reader.text(String.fromCodePoint(code)),
      oncdata: (start, end, offset) => xmlMode && reader.text(markup.slice(start, end - offset)),
      onopentagname(start, end) {
        name = nameOf(markup.slice(start, end));
        attributes = undefined;
      },
      onattribname(start, end) {
        attribute = nameOf(markup.slice(start, end));
        value = '';
      },
      onattribdata(start, end) {
        if (isRead(attribute)) value += markup.slice(start, end);
      },
      onattribentity(code) {
        if (isRead(attribute)) value += String.fromCodePoint(code);
      },
      onattribend() {
        if (!isRead(attribute) || attributes?.has(attribute)) return;
        attributes ??= new Map();
        attributes.set(attribute, value);
      },
      onopentagend: () => open(false),
      onselfclosingtag: () => open(true),
      onclosetag: (start, end) => reader.close(nameOf(markup.slice(start, end))),
      oncomment: () => undefined,
      ondeclaration: () => undefined,
      onprocessinginstruction: () => undefined,
      onend: () => undefined,
    },
  );
  tokenizer.write(markup);
  tokenizer.end();
}

const readAttributes = new Set(['href', 'alt']);

/** The longest names that matter are blockquote and figcaption. */
const longestName = 16;
const htmlName = (name: string): string => (name.length > longestName ? '' : name.toLowerCase());

class PageReader implements TagReader {
  private readonly layout = new TextLayout();
  /** The tokenizer emits text in fragments, which may have only one character each. */
  private fragments = '';
  private title: string | undefined;
  private inTitle = false;
  private skipped: { name: string; depth: number } | undefined;
  private main: { start: number; end: number | undefined } | undefined;
  private readonly address: URL;
  private base: URL | undefined;
  private addressesLeft = allAddressesCharacters;

  constructor(address: URL) {
    this.address = address;
  }

  text(fragment: string): void {
    if (this.skipped === undefined) this.fragments += fragment;
  }

  open(name: string, attributes: Attributes, selfClosing: boolean): void {
    this.layOutText();
    // Of the skipped elements only svg can be self-closing: HTML allows that for foreign elements alone.
    const isEmpty = selfClosing && name === 'svg';
    if (this.skipped !== undefined) {
      if (name === this.skipped.name && !isEmpty) this.skipped.depth += 1;
      return;
    }
    if (skippedElements.has(name)) {
      if (!isEmpty) this.skipped = { name, depth: 1 };
      return;
    }
    switch (name) {
      case 'title':
        this.inTitle = this.title === undefined;
        return;
      case 'base':
        this.base ??= this.resolve(attributes.get('href'));
        return;
      case 'a':
        this.layout.openLink(this.resolve(attributes.get('href'))?.href);
        return;
      case 'img':
        this.layout.text(attributes.get('alt') ?? '');
        return;
      case 'main':
        this.layout.open(name);
        this.main ??= { start: this.layout.position(), end: undefined };
        return;
    }
    this.layout.open(name);
  }

  close(name: string): void {
    this.layOutText();
    if (this.skipped !== undefined) {
      if (name === this.skipped.name) this.skipped.depth -= 1;
      if (this.skipped.depth === 0) this.skipped = undefined;
      return;
    }
    if (name === 'title') {
      this.inTitle = false;
      return;
    }
    if (name === 'a') this.layout.closeLink();
    else this.layout.close(name);
    if (name === 'main' && this.main !== undefined) this.main.end ??= this.layout.position();
  }

  finish(): { title: string; text: string } {
    this.layOutText();
    this.layout.closeLink();
    const main = this.main && this.layout.toString(this.main.start, this.main.end);
    return {
      title: titleOf(this.title ?? ''),
      text: main !== undefined && main.length >= minMainCharacters ? main : this.layout.toString(),
    };
  }

  private layOutText(): void {
    if (this.fragments === '') return;
    if (this.inTitle) this.title = (this.title ?? '') + this.fragments;
    else this.layout.text(this.fragments);
    this.fragments = '';
  }

  private resolve(href: string | undefined): URL | undefined {
    if (href === undefined || href.length > addressCharacters || href.startsWith('#')) return undefined;
    const base = (this.base ?? this.address).href;
    this.addressesLeft -= base.length + href.length;
    if (this.addressesLeft < 0) return undefined;
    const url = URL.parse(href, base);
    if (url === null || url.href.length > addressCharacters) return undefined;
    return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined;
  }
}

function titleOf(text: string): string {
  const title = text
    .slice(0, 10 * titleCharacters)
    .replaceAll(/\s+/g, ' ')
    .trim();
  return title.length <= titleCharacters ? title : `${title.slice(0, titleCharacters - 1).trimEnd()}…`;
}
