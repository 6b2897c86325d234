import { readTags } from '#adapters/outbound/readable-html.ts';
import { ExtractionFailure } from '#domain/files/files.ts';
import { bounds } from './extracted.ts';

export interface XmlElement {
  open?: Open;
  text?(fragment: string): void;
  close?(): void;
}

/** @returns false to skip the content of the element, and its `close` */
export type Open = (attributes: Readonly<Record<string, string | undefined>>) => unknown;

/** A function alone is the handler `open`. A name in a namespace of `prefixes` has the prefix from there. */
export type XmlElements = Readonly<Record<string, XmlElement | Open>>;

export const during = (set: (isOpen: boolean) => void): XmlElement => ({
  open: () => set(true),
  close: () => set(false),
});

/** Namespaces of the standard are without host and year, because strict documents have another host and no year. */
const prefixes = new Map([
  ['package/content-types', 'ct'],
  ['package/relationships', 'rel'],
  ['officeDocument/relationships', 'r'],
  ['officeDocument/math', 'm'],
  ['markup-compatibility', 'mc'],
  ['wordprocessingml/main', 'w'],
  ['presentationml/main', 'p'],
  ['drawingml/main', 'a'],
  ['drawingml/chart', 'c'],
  ['drawingml/diagram', 'dgm'],
  ['drawingml/picture', 'pic'],
  ['drawingml/wordprocessingDrawing', 'wp'],
  ['http://schemas.microsoft.com/office/word/2010/wordml', 'w14'],
  ['http://schemas.microsoft.com/office/powerpoint/2010/main', 'p14'],
  ['http://schemas.microsoft.com/office/powerpoint/2018/8/main', 'p188'],
  ['http://schemas.microsoft.com/office/drawing/2014/chartex', 'cx'],
  ['urn:schemas-microsoft-com:vml', 'v'],
  ['urn:schemas-microsoft-com:office:office', 'o'],
]);
const prefixOf = (namespace: string): string | undefined =>
  prefixes.get(
    namespace
      .replace(/^http:\/\/(?:schemas\.openxmlformats\.org|purl\.oclc\.org\/ooxml)\//, '')
      .replace(/\/2006(?=\/|$)/, ''),
  );

/**
 * Does not expand the entities that a document defines, against entity bombs ("billion laughs").
 * @throws ExtractionFailure `tooLarge` for too many levels of elements; Error if end tags are missing or do not match
 */
export function readXml(bytes: Uint8Array, elements: XmlElements): void {
  const walk = new Walk(elements);
  readTags(decode(bytes), walk, { xmlMode: true });
  walk.end();
}

function decode(bytes: Uint8Array): string {
  const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
  const encoding = isUtf16 ? (bytes[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

class Walk {
  private readonly elements: XmlElements;
  private readonly names: string[] = [];
  private readonly handlers: (XmlElement | undefined)[] = [];
  private readonly bindings = new Map<string, (string | undefined)[]>();
  private readonly bound: { depth: number; prefixes: string[] }[] = [];
  private skipped = Number.POSITIVE_INFINITY;

  constructor(elements: XmlElements) {
    this.elements = elements;
  }

  text(fragment: string): void {
    this.handlers.at(-1)?.text?.(fragment);
  }

  open(name: string, attributes: ReadonlyMap<string, string>, selfClosing: boolean): void {
    this.names.push(name);
    if (this.names.length > bounds.depth)
      throw new ExtractionFailure('tooLarge', 'cannot be read: its elements are nested too deeply');
    this.bind(attributes);
    if (this.names.length > this.skipped) this.handlers.push(undefined);
    else this.openKnown(this.known(name), attributes);
    if (selfClosing) this.closeLast();
  }

  private openKnown(name: string, attributes: ReadonlyMap<string, string>): void {
    const element = Object.hasOwn(this.elements, name) ? this.elements[name] : undefined;
    const handler = typeof element === 'function' ? { open: element } : element;
    const isSkipped = handler?.open?.(this.knownAttributes(attributes)) === false;
    if (isSkipped) this.skipped = this.names.length;
    this.handlers.push(isSkipped ? undefined : handler);
  }

  close(name: string): void {
    if (this.names.at(-1) !== name) throw new Error('It is not well-formed XML');
    this.closeLast();
  }

  private closeLast(): void {
    this.handlers.pop()?.close?.();
    if (this.skipped === this.names.length) this.skipped = Number.POSITIVE_INFINITY;
    while (this.bound.at(-1)?.depth === this.names.length)
      for (const prefix of this.bound.pop()?.prefixes ?? []) this.bindings.get(prefix)?.pop();
    this.names.pop();
  }

  end(): void {
    if (this.names.length > 0) throw new Error('It is cut off');
  }

  private bind(attributes: ReadonlyMap<string, string>): void {
    const declared = [...attributes].filter(([name]) => name.startsWith('xmlns'));
    if (declared.length === 0) return;
    const bound = declared.map(([name, namespace]) => ({ prefix: name.slice('xmlns:'.length), namespace }));
    for (const { prefix, namespace } of bound) {
      const bindings = this.bindings.get(prefix) ?? [];
      bindings.push(prefixOf(namespace));
      this.bindings.set(prefix, bindings);
    }
    this.bound.push({ depth: this.names.length, prefixes: bound.map(({ prefix }) => prefix) });
  }

  private known(name: string): string {
    const colon = name.indexOf(':');
    if (colon === -1) {
      const namespace = this.bindings.get('')?.at(-1);
      return namespace === undefined ? name : `${namespace}:${name}`;
    }
    const prefix = name.slice(0, colon);
    const namespace = this.bindings.get(prefix)?.at(-1);
    return namespace === undefined || namespace === prefix ? name : namespace + name.slice(colon);
  }

  private knownAttributes(attributes: ReadonlyMap<string, string>): Parameters<Open>[0] {
    const known: Record<string, string> = Object.create(null);
    for (const [name, value] of attributes) known[name.includes(':') ? this.known(name) : name] = value;
    return known;
  }
}
