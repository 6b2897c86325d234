import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { splitText } from '#domain/knowledge/documents.ts';

const sentence = (number: number) => `Sentence ${number} tells one thing and then another one.`;
const sentences = (count: number) => Array.from({ length: count }, (_, index) => sentence(index)).join(' ');

describe('passages', () => {
  it('are the text itself when it is short, and none when it is blank', () => {
    expect(splitText(' One thing. \n')).toEqual([{ text: 'One thing.', offset: 1 }]);
    expect(splitText(' \n ')).toEqual([]);
  });

  it('end with a paragraph where one ends in their second half', () => {
    const [first] = splitText(`${sentences(12)}\n\n${sentences(20)}`);
    expect(first?.text).toBe(sentences(12));
  });

  it('else end and begin with a sentence, the last one told twice', () => {
    const passages = splitText(sentences(60));
    expect(passages.length).toBeGreaterThan(3);
    for (const { text } of passages) {
      expect(text).toMatch(/^Sentence.*one\.$/);
      expect(text.length).toBeLessThanOrEqual(1000);
    }
    for (const { text } of passages.slice(0, -1)) expect(text.length).toBeGreaterThan(500);
    for (const [index, passage] of passages.slice(1).entries()) {
      const before = passages[index];
      const overlap = (before?.offset ?? 0) + (before?.text.length ?? 0) - passage.offset;
      expect(overlap).toBeGreaterThan(0);
      expect(overlap).toBeLessThanOrEqual(100);
    }
  });

  it('end with a sentence in scripts without spaces', () => {
    const passages = splitText('これは長い文章です。'.repeat(200));
    expect(passages.length).toBeGreaterThan(1);
    for (const { text } of passages) expect(text).toMatch(/^これ.*です。$/);
  });

  it('stand on one page each, and know which', () => {
    const pages = [sentences(30), sentences(5), '', sentences(30)];
    const text = pages.join('');
    const offsets = pages.map((_, index) => pages.slice(0, index).join('').length);
    const passages = splitText(text, offsets);
    expect(new Set(passages.map(({ page }) => page))).toEqual(new Set([1, 2, 4]));
    for (const passage of passages) expect(pages[(passage.page ?? 0) - 1]).toContain(passage.text);
    expect(passages.filter(({ page }) => page === 2)).toEqual([
      { text: sentences(5), offset: offsets[1], page: 2 },
    ]);
  });

  it('hold every word, stand where they say, and part no character', () => {
    const chunks = fc.constantFrom(
      'word',
      ' ',
      '\n',
      '\n\n',
      '. ',
      '😀',
      '𠮷野家',
      'é',
      'a'.repeat(300),
      '。',
    );
    fc.assert(
      fc.property(fc.array(chunks, { maxLength: 400 }), (parts) => {
        const text = parts.join('');
        let seen = 0;
        for (const passage of splitText(text)) {
          expect(text.slice(passage.offset, passage.offset + passage.text.length)).toBe(passage.text);
          expect(passage.text.isWellFormed()).toBe(true);
          expect(passage.text.length).toBeLessThanOrEqual(1000);
          expect(text.slice(seen, Math.max(seen, passage.offset)).trim()).toBe('');
          seen = Math.max(seen, passage.offset + passage.text.length);
        }
        expect(text.slice(seen).trim()).toBe('');
      }),
    );
  });

  it('of ten megabytes without a break are made in a moment', () => {
    const started = performance.now();
    expect(splitText('a'.repeat(10 * 1024 * 1024)).length).toBeGreaterThan(10_000);
    expect(performance.now() - started).toBeLessThan(5000);
  });
});
