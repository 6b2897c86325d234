import { setImmediate as others } from 'node:timers/promises';
import { Tokenizer } from 'htmlparser2';
import { TextLayout } from './text-layout.ts';

export interface ReadableText {
  title: string;
  text: string;
}

/** Elements whose content nobody reads. */
const unread = new Set([
  'script',
  'style',
  'template',
  'svg',
  'iframe',
  'noembed',
  'noframes',
  'object',
  'canvas',
]);

/** Below it a page's <main> is a shell that a script fills, and the rest of the page tells more. */
const leastMainCharacters = 200;
/** A title is one line. */
const titleCharacters = 300;
/** Read at once, before others on the thread have their turn: at worst 80 ms on a busy processor. */
const stretchCharacters = 128 * 1024;
/** Longer addresses are data, not places to go. */
const addressCharacters = 2000;
/**
 * Of all addresses, with the one that they are relative to: of 40,000 usual links, more than any page has. Without it,
 * 5 MB of short links could grow to 700 MB by a long <base>. Later links are read as their text.
 */
const allAddressesCharacters = 5_000_000;

/**
 * The text of an HTML page as people read it, with headings, lists and links in Markdown: its <main> where it has one.
 * It goes through the tokens once and builds no tree, so time and memory grow with the length alone, however the
 * elements are nested (the worst 5 MB that we know take 0.6 s). What breaks the rules of HTML is read as well as it can be.
 */
export async function readableHtml(html: string, address: URL, signal: AbortSignal): Promise<ReadableText> {
  const reader = new PageReader(address);
  const tag: Tag = { name: '', attributes: new Map() };
  let attribute = '';
  let value = '';
  const open = (selfClosing: boolean) => reader.open(tag, selfClosing);
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (start, end) => reader.text(html.slice(start, end)),
      ontextentity: (code) => reader.text(String.fromCodePoint(code)),
      onopentagname(start, end) {
        tag.name = nameIn(html, start, end);
        tag.attributes = noAttributes;
      },
      onattribname(start, end) {
        attribute = nameIn(html, start, end);
        value = '';
      },
      onattribdata(start, end) {
        if (readAttributes.has(attribute)) value += html.slice(start, end);
      },
      onattribentity(code) {
        if (readAttributes.has(attribute)) value += String.fromCodePoint(code);
      },
      onattribend() {
        if (!readAttributes.has(attribute) || tag.attributes.has(attribute)) return;
        if (tag.attributes === noAttributes) tag.attributes = new Map();
        (tag.attributes as Map<string, string>).set(attribute, value);
      },
      onopentagend: () => open(false),
      onselfclosingtag: () => open(true),
      onclosetag: (start, end) => reader.close(nameIn(html, start, end)),
      oncdata: () => undefined,
      oncomment: () => undefined,
      ondeclaration: () => undefined,
      onprocessinginstruction: () => undefined,
      onend: () => undefined,
    },
  );
  for (let start = 0; start < html.length; start += stretchCharacters) {
    tokenizer.write(html.slice(start, start + stretchCharacters));
    await others();
    signal.throwIfAborted();
  }
  tokenizer.end();
  return reader.finish();
}

interface Tag {
  name: string;
  attributes: ReadonlyMap<string, string>;
}

const noAttributes: ReadonlyMap<string, string> = new Map();
const readAttributes = new Set(['href', 'alt']);

/** No element that matters has a longer name than blockquote, figcaption and their like. */
const longestName = 16;
const nameIn = (html: string, start: number, end: number): string =>
  end - start > longestName ? '' : html.slice(start, end).toLowerCase();

class PageReader {
  private readonly layout = new TextLayout();
  /** What has been read since the last tag: the tokenizer gives it in fragments, at worst a character each. */
  private fragments = '';
  private title: string | undefined;
  private inTitle = false;
  /** Inside one of the unread elements, so many deep in elements of its name. */
  private unread: { name: string; depth: number } | undefined;
  private main: { start: number; end: number | undefined } | undefined;
  private readonly address: URL;
  private base: URL | undefined;
  private addressesLeft = allAddressesCharacters;

  constructor(address: URL) {
    this.address = address;
  }

  text(fragment: string): void {
    if (this.unread === undefined) this.fragments += fragment;
  }

  open({ name, attributes }: Tag, selfClosing: boolean): void {
    this.layOutText();
    if (this.unread !== undefined) {
      if (name === this.unread.name && !selfClosing) this.unread.depth += 1;
      return;
    }
    if (unread.has(name)) {
      // Only foreign elements can close themselves.
      if (!(selfClosing && name === 'svg')) this.unread = { name, depth: 1 };
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
        this.main ??= { start: this.layout.entry(), end: undefined };
        return;
    }
    this.layout.open(name);
  }

  close(name: string): void {
    this.layOutText();
    if (this.unread !== undefined) {
      if (name === this.unread.name) this.unread.depth -= 1;
      if (this.unread.depth === 0) this.unread = undefined;
      return;
    }
    if (name === 'title') {
      this.inTitle = false;
      return;
    }
    if (name === 'a') this.layout.closeLink();
    else this.layout.close(name);
    if (name === 'main' && this.main !== undefined) this.main.end ??= this.layout.entry();
  }

  finish(): ReadableText {
    this.layOutText();
    this.layout.closeLink();
    const main = this.main && this.layout.toString(this.main.start, this.main.end);
    return {
      title: titleOf(this.title ?? ''),
      text: main !== undefined && main.length >= leastMainCharacters ? main : this.layout.toString(),
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
