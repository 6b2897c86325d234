import { bounds, tooManyCharacters } from './extracted.ts';

interface Block {
  isCell: boolean;
  fragments: string[];
  text: string;
  /** Whether a tight paragraph may follow without an empty line. */
  isTight: boolean;
  boxes: string;
  /** The text of the tables in a cell, which is written after the table line of the cell. */
  tables: string;
  columns: number;
}

interface TableLine {
  cells: string[];
  tables: string;
  isDeleted: boolean;
}

export interface Link {
  fragments: string[];
  start: number;
  visible: number;
  address: string;
}

/** Word's maximum of columns in a table. */
const mostColumns = 63;

const join = (before: string, separator: string, after: string): string =>
  before === '' ? after : after === '' ? before : before + separator + after;

const inCell = (text: string): string => text.replaceAll('|', '\\|').replaceAll(/[\t\r\n]+/g, ' ');

/**
 * Must not copy the text of inner tables and boxes at each level, because nesting may be deep.
 * @throws ExtractionFailure `tooLarge` if too many characters are written
 */
export class DocumentText {
  private readonly blocks: Block[] = [];
  private readonly tables: { text: string; separator: string }[] = [];
  private readonly lines: TableLine[] = [];
  private characters = 0;
  /** Rises with each `text` that is not only white space, and with each `addTableLine` and `addDocument`. */
  visible = 0;

  openBlock(isCell = this.blocks.at(-1)?.isCell ?? false): void {
    this.blocks.push({ isCell, fragments: [], text: '', isTight: false, boxes: '', tables: '', columns: 1 });
  }

  closeBlock(): string {
    return this.popBlock().text;
  }

  closeBox(): void {
    const box = this.popBlock();
    const around = this.block();
    around.tables = join(around.tables, '\n\n', box.tables);
    if (around.fragments.length === 0) this.add(box.text);
    else around.boxes = join(around.boxes, around.isCell ? ' / ' : '\n\n', box.text);
  }

  text(fragment: string): void {
    if (fragment === '') return;
    const { fragments, isCell } = this.block();
    this.append(fragments, isCell ? inCell(fragment) : fragment.replaceAll(/[\r\n]+/g, ' '));
    if (/\S/.test(fragment)) this.visible += 1;
  }

  get isInCell(): boolean {
    return this.block().isCell;
  }

  tab(): void {
    this.append(this.block().fragments, this.block().isCell ? ' ' : '\t');
  }

  lineBreak(): void {
    this.append(this.block().fragments, this.block().isCell ? ' / ' : '\n');
  }

  openBracket(bracket: string): void {
    this.append(this.block().fragments, bracket);
  }

  closeBracket(fragment: string, before: string): void {
    const { fragments } = this.block();
    if (fragments.at(-1) === before) fragments.pop();
    else this.append(fragments, fragment);
  }

  openLink(address: string): Link {
    const { fragments } = this.block();
    const link = { fragments, start: fragments.length, visible: this.visible, address };
    fragments.push('');
    return link;
  }

  /** A link without visible text, or one that ends in another paragraph, is written as plain text. */
  closeLink({ fragments, start, visible, address }: Link): void {
    if (fragments !== this.block().fragments || visible === this.visible) return;
    fragments[start] = '[';
    this.append(fragments, `](${address})`);
  }

  endParagraph({ prefix = '', isTight = false } = {}): void {
    const block = this.block();
    const text = block.fragments.join('').trim();
    block.fragments = [];
    if (text !== '') this.add(prefix + text, isTight);
    const { boxes } = block;
    block.boxes = '';
    this.add(boxes);
  }

  endTight(): void {
    this.block().isTight = false;
  }

  add(text: string, isTight = false): void {
    if (text === '') return;
    const block = this.block();
    const separator = block.isCell ? ' / ' : isTight && block.isTight ? '\n' : '\n\n';
    block.text = join(block.text, separator, text);
    block.isTight = isTight;
  }

  addDocument(text: string): void {
    this.count(text.length);
    this.visible += 1;
    this.endParagraph();
    const lines = text.split('\n').map((line) => line.trim());
    this.add(this.block().isCell ? lines.filter((line) => line !== '').join(' / ') : text.trim());
  }

  openTable(): void {
    if (this.block().fragments.length > 0) this.endParagraph();
    this.tables.push({ text: '', separator: '\n' });
  }

  closeTable(): void {
    const text = this.tables.pop()?.text ?? '';
    const block = this.block();
    if (!block.isCell) this.add(text);
    else if (text !== '') {
      block.tables = join(block.tables, '\n\n', text);
      this.add('(table below)');
    }
  }

  openTableLine(): void {
    this.lines.push({ cells: [], tables: '', isDeleted: false });
  }

  deleteTableLine(): void {
    const line = this.lines.at(-1);
    if (line !== undefined) line.isDeleted = true;
  }

  closeTableLine(): void {
    const { cells, tables, isDeleted } = this.lines.pop() as TableLine;
    if (isDeleted && cells.every((cell) => cell === '')) return;
    const text = this.tableLine(cells);
    const table = this.tables.at(-1);
    if (table === undefined) this.add(join(text, '\n\n', tables), true);
    else {
      table.text = join(join(table.text, table.separator, text), '\n\n', tables);
      table.separator = tables === '' ? '\n' : '\n\n';
    }
  }

  closeCell(): void {
    const { text, tables, columns } = this.popBlock();
    const line = this.lines.at(-1);
    if (line === undefined) {
      this.add(join(text, '\n\n', tables));
      return;
    }
    line.cells.push(text);
    this.emptyCells(columns - 1);
    line.tables = join(line.tables, '\n\n', tables);
  }

  spanColumns(columns: number): void {
    this.block().columns = columns;
  }

  emptyCells(count: number): void {
    const empty = Array.from({ length: Math.min(Math.max(count, 0) || 0, mostColumns) }, () => '');
    this.count(empty.length);
    this.lines.at(-1)?.cells.push(...empty);
  }

  addTableLine(cells: readonly string[]): void {
    this.visible += 1;
    this.count(cells.reduce((characters, cell) => characters + cell.length, 0));
    this.add(this.tableLine(cells.map((cell) => inCell(cell.trim()))), true);
  }

  private tableLine(cells: readonly string[]): string {
    this.count(4 + 3 * cells.length);
    return `| ${cells.join(' | ')} |`;
  }

  private popBlock(): Block {
    this.endParagraph();
    return this.blocks.pop() as Block;
  }

  private block(): Block {
    return this.blocks.at(-1) as Block;
  }

  private append(fragments: string[], fragment: string): void {
    this.count(fragment.length);
    fragments.push(fragment);
  }

  private count(characters: number): void {
    this.characters += characters;
    if (this.characters > bounds.characters) throw tooManyCharacters();
  }
}
