import { zipSync } from 'fflate';

/** A ZIP archive with these files, each compressed. */
export const zip = (entries: Record<string, string | Buffer>): Buffer =>
  Buffer.from(
    zipSync(
      Object.fromEntries(Object.entries(entries).map(([name, content]) => [name, Buffer.from(content)])),
    ),
  );

/** A PDF of these objects, numbered from 1. The first is the catalog. */
export function pdfFile(objects: readonly (Buffer | string)[]): Buffer {
  const chunks: Buffer[] = [Buffer.from('%PDF-1.4\n')];
  const offsets: string[] = [];
  let at = 9;
  for (const [index, object] of objects.entries()) {
    offsets.push(`${String(at).padStart(10, '0')} 00000 n \n`);
    const chunk = Buffer.concat([
      Buffer.from(`${index + 1} 0 obj\n`),
      Buffer.from(object),
      Buffer.from('\nendobj\n'),
    ]);
    chunks.push(chunk);
    at += chunk.length;
  }
  const size = objects.length + 1;
  chunks.push(
    Buffer.from(
      `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}trailer\n<< /Size ${size} /Root 1 0 R >>\nstartxref\n${at}\n%%EOF\n`,
    ),
  );
  return Buffer.concat(chunks);
}

export const base64 = (text: string): Buffer => Buffer.from(text, 'base64');

/** One pixel each. */
export const png = base64(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
);
export const gif = base64('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7');
export const webp = base64('UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA');
export const jpeg = base64(
  '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA=',
);
