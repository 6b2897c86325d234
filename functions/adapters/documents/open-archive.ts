import { unzipSync } from 'fflate';
import { ExtractionFailure } from '#domain/files/extraction-failure.ts';
import { bounds } from './bounds.ts';

/**
 * The parts of an office document whose names are asked for. Sizes are bounded by what the archive's directory says,
 * and no part is unpacked beyond what it says of it.
 * @throws ExtractionFailure when it has more than can be read
 */
export function openArchive(bytes: Uint8Array, isWanted: (name: string) => boolean): Map<string, Uint8Array> {
  rejectEncrypted(bytes);
  let count = 0;
  let total = 0;
  const parts = unzipSync(bytes, {
    filter({ name, originalSize }) {
      count += 1;
      if (count > bounds.parts)
        throw new ExtractionFailure('tooLarge', `has more than ${bounds.parts} parts`);
      if (!isWanted(name)) return false;
      total += originalSize;
      if (originalSize > bounds.partBytes || total > bounds.partsBytes)
        throw new ExtractionFailure('tooLarge', 'expands to more than can be read');
      return true;
    },
  });
  return new Map(Object.entries(parts));
}

/** With a password an office document is no archive but a compound file that holds one. */
function rejectEncrypted(bytes: Uint8Array): void {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  if (file.readUInt32BE(0) !== 0xd0cf11e0) return;
  if (file.includes(Buffer.from('EncryptedPackage', 'utf16le')))
    throw new ExtractionFailure('encrypted', 'is protected by a password');
}
