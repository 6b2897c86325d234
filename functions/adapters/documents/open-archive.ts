import { unzipSync } from 'fflate';
import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import { bounds } from './bounds.ts';

/**
 * Unpacks the wanted parts of an office document. It checks the limits against the sizes in the archive's directory,
 * and never unpacks a part beyond the size given there. Names of parts have no case, so all are in lower case; some
 * programs write them with `\`, or with `/` or `./` at the start.
 * @throws ExtractionFailure `tooLarge` or `encrypted`
 */
export function openArchive(
  bytes: Uint8Array,
  isWanted: (name: string) => boolean,
  allowance: { use(what: 'unpacked', bytes: number): void },
): Map<string, Uint8Array> {
  rejectEncrypted(bytes);
  let count = 0;
  const parts = unzipSync(bytes, {
    filter({ name, originalSize }) {
      count += 1;
      if (count > bounds.parts)
        throw new ExtractionFailure('tooLarge', `has more than ${bounds.parts} parts`);
      if (!isWanted(partName(name))) return false;
      if (originalSize > bounds.partBytes)
        throw new ExtractionFailure('tooLarge', 'expands to more than can be read');
      allowance.use('unpacked', originalSize);
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

/** An office document with a password is not an archive but an OLE compound file that contains one. */
function rejectEncrypted(bytes: Uint8Array): void {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (file.readUInt32BE(0) !== 0xd0cf11e0) return;
  if (file.includes(Buffer.from('EncryptedPackage', 'utf16le')))
    throw new ExtractionFailure('encrypted', 'is protected by a password');
}
