import { posix } from 'node:path';
import { unzipSync } from 'fflate';
import { ExtractionFailure } from '#domain/files/files.ts';
import { bounds } from './extracted.ts';
import { type Open, readXml, type XmlElements } from './read-xml.ts';

/**
 * A compressed part gets no more memory than its entry's original size, which this checks against the limits.
 * @throws ExtractionFailure `encrypted` or `tooLarge`; another error if the file cannot be unpacked
 */
function openArchive(
  bytes: Uint8Array,
  isWanted: (name: string) => boolean,
  allowance: { use(what: 'unpacked', bytes: number): void },
): Map<string, Uint8Array> {
  rejectEncrypted(bytes);
  let count = 0;
  const parts = unzipSync(bytes, {
    filter({ name, compression, size, originalSize }) {
      count += 1;
      if (count > bounds.parts)
        throw new ExtractionFailure('tooLarge', `has more than ${bounds.parts} parts`);
      if (!isWanted(partName(name))) return false;
      // A part that is not compressed is copied whole, whatever its entry declares as the original size.
      const unpackedSize = compression === 0 ? size : originalSize;
      if (unpackedSize > bounds.partBytes)
        throw new ExtractionFailure('tooLarge', 'expands to more than can be read');
      allowance.use('unpacked', unpackedSize);
      return true;
    },
  });
  return new Map(Object.entries(parts).map(([name, part]) => [partName(name), part]));
}

const partName = (name: string): string =>
  name
    .replaceAll('\\', '/')
    .replace(/^(?:\.?\/)+/, '')
    .toLowerCase();

/** An encrypted office document is no archive, but an OLE compound file that contains it. */
function rejectEncrypted(bytes: Uint8Array): void {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (file.readUInt32BE(0) !== 0xd0cf11e0) return;
  if (file.includes(Buffer.from('EncryptedPackage', 'utf16le')))
    throw new ExtractionFailure('encrypted', 'is protected by a password');
}

interface Relation {
  /** The last segment of the type's address. The rest differs between editions of the standard. */
  type: string;
  part: string | undefined;
  address: string;
}

export class ReadingAllowance {
  private readonly used = { unpacked: 0, read: 0 };

  /** @throws ExtractionFailure `tooLarge` if the sum exceeds the limit */
  use(what: 'unpacked' | 'read', bytes: number): void {
    this.used[what] += bytes;
    if (this.used[what] > bounds.partsBytes)
      throw new ExtractionFailure('tooLarge', 'expands to more than can be read');
  }
}

export class OfficePackage {
  private readonly parts: ReadonlyMap<string, Uint8Array>;
  private readonly relationsByPart = new Map<string, ReadonlyMap<string, Relation>>();
  private readonly contentTypes = new Map<string, string>();
  private readonly allowance: ReadingAllowance;
  readonly main: string;

  /**
   * @param usualMain the name of the main part, for a package that names none
   * @param wantedTypes the types of the relationships whose targets are read
   */
  constructor(
    bytes: Uint8Array,
    usualMain: string,
    wantedTypes: ReadonlySet<string>,
    allowance: ReadingAllowance,
  ) {
    this.allowance = allowance;
    const index = openArchive(bytes, (name) => name.endsWith('.rels') || name === typesPart, allowance);
    const types = index.get(typesPart);
    if (types !== undefined) this.readContentTypes(types);
    const relationsOf = (part: string) => this.readRelations(part, index.get(relationsPart(part)));
    const main = [...relationsOf('').values()].find(({ type }) => type === 'officeDocument')?.part;
    const mainType = [...this.contentTypes].find(([, type]) => type.endsWith('.main+xml'))?.[0];
    this.main = main ?? mainType?.slice(1) ?? usualMain;
    const wanted = new Set([this.main]);
    for (const part of wanted)
      for (const { type, part: related } of relationsOf(part).values())
        if (related !== undefined && wantedTypes.has(type)) wanted.add(related);
    this.parts = openArchive(bytes, (name) => wanted.has(name), allowance);
    if (!this.parts.has(this.main)) throw new Error('It has no main part');
  }

  part(name: string): Uint8Array | undefined {
    return this.parts.get(name);
  }

  relations(part: string): ReadonlyMap<string, Relation> {
    return this.relationsByPart.get(part) ?? new Map();
  }

  related(part: string, type: string): string[] {
    const related = [...this.relations(part).values()].filter((relation) => relation.type === type);
    return [...new Set(related.flatMap((relation) => relation.part ?? []))];
  }

  ofType(type: string): string[] {
    return [...new Set([...this.relationsByPart.keys()].flatMap((part) => this.related(part, type)))];
  }

  contentType(part: string): string {
    return this.contentTypes.get(`/${part}`) ?? this.contentTypes.get(posix.extname(part).slice(1)) ?? '';
  }

  /** @returns false if the part does not exist or was not unpacked */
  read(part: string, elements: XmlElements): boolean {
    const bytes = this.parts.get(part);
    if (bytes === undefined) return false;
    // Each time, because a document may refer to the same part often.
    this.allowance.use('read', bytes.length);
    readXml(bytes, elements);
    return true;
  }

  private readContentTypes(types: Uint8Array): void {
    readXml(types, {
      'ct:Default': ({ Extension = '', ContentType = '' }) => {
        this.contentTypes.set(Extension.toLowerCase(), ContentType);
      },
      'ct:Override': ({ PartName = '', ContentType = '' }) => {
        this.contentTypes.set(PartName.toLowerCase(), ContentType);
      },
    });
  }

  private readRelations(part: string, bytes: Uint8Array | undefined): ReadonlyMap<string, Relation> {
    const relations = new Map<string, Relation>();
    const element: Open = ({ Id = '', Target: address = '', Type = '', TargetMode }) => {
      const type = Type.slice(Type.lastIndexOf('/') + 1);
      const isExternal = TargetMode === 'External';
      relations.set(Id, { type, part: isExternal ? undefined : targetOf(part, address), address });
    };
    if (bytes !== undefined) readXml(bytes, { 'rel:Relationship': element, Relationship: element });
    this.relationsByPart.set(part, relations);
    return relations;
  }
}

const typesPart = '[content_types].xml';

const relationsPart = (part: string): string =>
  posix.join(posix.dirname(part), '_rels', `${posix.basename(part)}.rels`);

function targetOf(part: string, target: string): string {
  const path = target.replaceAll('\\', '/').toLowerCase();
  const name = path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(part), path);
  return name.includes('%') ? decoded(name) : name;
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
