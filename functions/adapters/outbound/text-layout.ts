/** Block elements, with the number of line breaks before and after each. */
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

/** Lays out text in lines as elements open and close: collapses spaces, separates blocks, writes links as Markdown. */
export class TextLayout {
  private readonly segments: string[] = [];
  private pendingBreaks = 0;
  private pendingSpace = false;
  /** Markdown prefix of a heading or list item; written before its first text. */
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

  /** The current position in the output, for `toString`. */
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

  /** Writes the breaks, space, prefix and link bracket that are due before the next text. */
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
