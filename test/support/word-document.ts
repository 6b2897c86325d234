const sector = 512;
/** In a compound file, a stream of at least this many bytes has its own sectors. */
const streamBytes = 4096;
const streamSectors = streamBytes / sector;
const endOfChain = 0xfffffffe;
const unused = 0xffffffff;

/** A .doc as Word 97 wrote it, with one text: a compound file of two streams. */
export function wordDocument(text: string, { encrypted = false } = {}): Buffer {
  const characters = `${text}\r`;
  const document = Buffer.alloc(streamBytes);
  document.writeUInt16LE(0xa5ec, 0);
  document.writeUInt16LE(encrypted ? 0x0100 : 0, 10);
  document.writeUInt32LE(characters.length, 0x4c);
  document.writeUInt32LE(0, 0x1a2); // where the piece table begins in its stream
  document.writeUInt32LE(21, 0x1a6); // and its bytes
  const textAt = 1024;
  document.write(characters, textAt, 'utf16le');

  const table = Buffer.alloc(streamBytes);
  table[0] = 2;
  table.writeUInt32LE(16, 1);
  table.writeUInt32LE(characters.length, 9);
  table.writeUInt32LE(textAt, 15);

  const next = 2 + streamSectors;
  return Buffer.concat([
    compoundFile(
      [2, next],
      entry('Root Entry', { type: 5, child: 1, start: endOfChain, size: 0 }),
      entry('WordDocument', { type: 2, right: 2, start: 2, size: streamBytes }),
      entry('0Table', { type: 2, start: next, size: streamBytes }),
      Buffer.alloc(128),
    ),
    ...[document, table],
  ]);
}

/** The header, the allocation table and the directory of a compound file with streams that begin in these sectors. */
function compoundFile(streams: readonly number[], ...directory: Buffer[]): Buffer {
  const header = Buffer.alloc(sector);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(header);
  Buffer.from('3e000300feff0900', 'hex').copy(header, 24);
  header[32] = 6;
  header.writeUInt32LE(1, 44);
  header.writeUInt32LE(1, 48);
  header.writeUInt32LE(streamBytes, 56);
  for (const at of [60, 68]) header.writeUInt32LE(endOfChain, at);
  header.fill(0xff, 80);
  header.writeUInt32LE(0, 76);

  const chains = Buffer.alloc(sector, 0xff);
  chains.writeUInt32LE(0xfffffffd, 0);
  chains.writeUInt32LE(endOfChain, 4);
  for (const first of streams)
    for (let at = first; at < first + streamSectors; at += 1)
      chains.writeUInt32LE(at === first + streamSectors - 1 ? endOfChain : at + 1, at * 4);
  return Buffer.concat([header, chains, ...directory]);
}

type Entry = Record<'type' | 'start' | 'size', number> & { child?: number; right?: number };

function entry(name: string, { child = unused, right = unused, ...given }: Entry): Buffer {
  const bytes = Buffer.alloc(128);
  bytes.write(name, 0, 'utf16le');
  bytes.writeUInt16LE((name.length + 1) * 2, 64);
  bytes[66] = given.type;
  bytes[67] = 1;
  bytes.writeUInt32LE(unused, 68);
  bytes.writeUInt32LE(right, 72);
  bytes.writeUInt32LE(child, 76);
  bytes.writeUInt32LE(given.start, 116);
  bytes.writeUInt32LE(given.size, 120);
  return bytes;
}
