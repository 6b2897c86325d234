/** `99 0 R` within `/Kids [… 99 0 R …]`. */
const kids = /\/Kids\s*\[([^[\]]*)\]/g;
const reference = /(\d{1,10})\s+(\d{1,5})\s+R/g;
/** `99 0 obj <<`: an object that is a dictionary, as a page is. */
const dictionary = /(\d{1,10})\s+\d{1,5}\s+obj\s*<</g;

/**
 * Adds an empty page for each page that a PDF names but does not contain.
 * @returns undefined if there is none. In a PDF with compressed objects, missing ones cannot be told from others.
 */
export function withMissingPages(
  bytes: Uint8Array,
): { bytes: Uint8Array; missing: ReadonlySet<number> } | undefined {
  const pdf = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (pdf.includes('/ObjStm')) return undefined;
  const objects = new Set(Array.from(pdf.matchAll(dictionary), ([, number]) => Number(number)));
  const missing = new Set<number>();
  let added = '';
  for (const [, references = ''] of pdf.matchAll(kids))
    for (const [, number, generation] of references.matchAll(reference)) {
      if (objects.has(Number(number)) || missing.has(Number(number))) continue;
      missing.add(Number(number));
      added += `\n${number} ${generation} obj\n<< /Type /Page /MediaBox [0 0 1 1] >>\nendobj`;
    }
  if (missing.size === 0) return undefined;
  // There is no table of objects at 0, so the library looks for all objects itself.
  return { bytes: Buffer.concat([bytes, Buffer.from(`${added}\nstartxref\n0\n%%EOF\n`)]), missing };
}
