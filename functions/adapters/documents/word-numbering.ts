import type { OfficePackage } from './office-package.ts';
import type { XmlElements } from './read-xml.ts';

interface Level {
  start: number;
  format: string;
  /** Such as `%1.%2)`, where `%1` is the number of the first level. */
  text: string;
  isLegal: boolean;
  /**
   * The highest number, counted from 1, of a level whose paragraphs restart this level; 0 if none does; undefined if
   * each level with a lower number does.
   */
  restartedBy?: number;
}

type Levels = Map<number, Level>;

interface List {
  definition: string;
  levels: Levels;
  /** By level, counted from 0: the numbers of `w:startOverride`, applied once, at the first paragraph of this list. */
  starts: Map<number, number>;
}

interface ParagraphNumbering {
  list?: string | undefined;
  level?: number | undefined;
}

interface Style extends ParagraphNumbering {
  name: string;
  basedOn?: string | undefined;
  headingLevel?: number | undefined;
}

/** Word's last level, counted from 0. */
const lastLevel = 8;
export const levelOf = (value: string | undefined): number =>
  Math.min(Math.max(Math.trunc(Number(value)) || 0, 0), lastLevel);

const longestChain = 20;

export class WordNumbering {
  private readonly styles = new Map<string, Style>();
  private readonly definitions = new Map<string, Levels>();
  private readonly styleOfDefinition = new Map<string, string>();
  private readonly levelOfStyle = new Map<string, number>();
  private readonly lists = new Map<string, List>();
  /** The lists of a definition share its counters. */
  private readonly counters = new Map<string, number[]>();
  private readonly used = new Set<string>();

  constructor(opened: OfficePackage) {
    for (const part of opened.related(opened.main, 'styles')) opened.read(part, this.styleElements());
    for (const part of opened.related(opened.main, 'numbering')) opened.read(part, this.numberingElements());
  }

  heading(style: string | undefined, headingLevel: number | undefined): number | undefined {
    const level = headingLevel ?? this.headingLevelOf(style);
    return level === undefined || level > lastLevel ? undefined : Math.min(level + 1, 6);
  }

  nextLabel(style: string | undefined, paragraph: ParagraphNumbering): string | undefined {
    const { list, level = 0 } = { ...this.numberingOf(style), ...paragraph };
    if (list === undefined || list === '0') return undefined;
    const { levels, counters } = this.listOf(list);
    for (let at = 0; at < level; at += 1) counters[at] ??= startOf(levels, at);
    counters[level] = (counters[level] ?? startOf(levels, level) - 1) + 1;
    for (let at = level + 1; at <= lastLevel; at += 1)
      if (level < (levels.get(at)?.restartedBy ?? at)) delete counters[at];
    return labelOf(level, counters, levels);
  }

  private listOf(id: string): { levels: Levels; counters: number[] } {
    const list = this.lists.get(id);
    const definition = list === undefined ? id : this.resolve(list.definition);
    const counters = this.counters.get(definition) ?? [];
    this.counters.set(definition, counters);
    if (!this.used.has(id)) {
      this.used.add(id);
      for (const [at, start] of list?.starts ?? []) counters[at] = start - 1;
    }
    const levels = new Map([...(this.definitions.get(definition) ?? []), ...(list?.levels ?? [])]);
    return { levels, counters };
  }

  private numberingOf(id: string | undefined): ParagraphNumbering {
    let list: string | undefined;
    let level: number | undefined;
    for (const style of this.chain(id)) {
      list ??= style.list;
      level ??= style.level;
    }
    return { list, level: level ?? this.levelOfStyle.get(id ?? '') };
  }

  private headingLevelOf(id: string | undefined): number | undefined {
    for (const style of this.chain(id)) {
      const number = /^heading\s*([1-9])$/i.exec(style.name)?.[1];
      if (number !== undefined) return Number(number) - 1;
      if (/^title$/i.test(style.name)) return 0;
      if (style.headingLevel !== undefined) return style.headingLevel;
    }
    return undefined;
  }

  /** If the first style is not defined, its id counts as its name. */
  private *chain(id: string | undefined): Generator<Style> {
    let style = id === undefined ? undefined : (this.styles.get(id) ?? { name: id });
    for (let length = 0; style !== undefined && length < longestChain; length += 1) {
      yield style;
      style = style.basedOn === undefined ? undefined : this.styles.get(style.basedOn);
    }
  }

  /** A definition may refer to a style and so to the definition of that style's list. */
  private resolve(definition: string): string {
    const style = this.styleOfDefinition.get(definition);
    const { list } = this.numberingOf(style);
    return (list === undefined ? undefined : this.lists.get(list)?.definition) ?? definition;
  }

  private styleElements(): XmlElements {
    let style: Style = { name: '' };
    const set = byValue((change: Partial<Style>) => Object.assign(style, change));
    return {
      'w:style': ({ 'w:styleId': id = '' }) => {
        style = { name: id };
        this.styles.set(id, style);
      },
      'w:name': set((name = '') => ({ name })),
      'w:basedOn': set((basedOn) => ({ basedOn })),
      'w:outlineLvl': set((level) => ({ headingLevel: Number(level) })),
      'w:numId': set((list) => ({ list })),
      'w:ilvl': set((level) => ({ level: levelOf(level) })),
    };
  }

  private numberingElements(): XmlElements {
    let definition = '';
    let levels: Levels = new Map();
    let list: List | undefined;
    let at = 0;
    let level: Level = { ...usualLevel };
    const set = byValue((change: Partial<Level>) => Object.assign(level, change));
    return {
      'w:abstractNum': ({ 'w:abstractNumId': id = '' }) => {
        definition = id;
        levels = new Map();
        this.definitions.set(id, levels);
      },
      'w:numStyleLink': ({ 'w:val': style = '' }) => this.styleOfDefinition.set(definition, style),
      'w:lvl': ({ 'w:ilvl': number }) => {
        at = levelOf(number);
        level = { start: 0, format: 'decimal', text: '', isLegal: false };
        levels.set(at, level);
      },
      'w:pStyle': ({ 'w:val': style = '' }) => this.levelOfStyle.set(style, at),
      'w:start': set((start) => ({ start: Math.trunc(Number(start)) || 0 })),
      'w:numFmt': set((format = 'decimal') => ({ format })),
      'w:lvlText': set((text = '') => ({ text: text.slice(0, longestLabel) })),
      'w:lvlRestart': set((restartedBy) => ({ restartedBy: Number(restartedBy) })),
      'w:isLgl': set(() => ({ isLegal: true })),
      'w:num': ({ 'w:numId': id = '' }) => {
        levels = new Map();
        list = { definition: '', levels, starts: new Map() };
        this.lists.set(id, list);
      },
      'w:abstractNumId': ({ 'w:val': id = '' }) => {
        if (list !== undefined) list.definition = id;
      },
      'w:lvlOverride': ({ 'w:ilvl': number }) => {
        at = levelOf(number);
      },
      'w:startOverride': ({ 'w:val': start }) => list?.starts.set(at, Math.trunc(Number(start)) || 0),
    };
  }
}

export const byValue =
  <Change>(apply: (change: Change) => unknown) =>
  (changeOf: (value: string | undefined) => Change) =>
  ({ 'w:val': value }: { 'w:val'?: string | undefined }) =>
    apply(changeOf(value));

const usualLevel: Level = { start: 1, format: 'bullet', text: '', isLegal: false };
const longestLabel = 100;

const startOf = (levels: Levels, at: number): number => levels.get(at)?.start ?? 1;

function labelOf(level: number, counters: readonly number[], levels: Levels): string | undefined {
  const { format, text, isLegal } = levels.get(level) ?? usualLevel;
  const indentation = '  '.repeat(level);
  if (format === 'bullet') return `${indentation}- `;
  const label = text.replaceAll(/%([1-9])/g, (_, digit: string) => {
    const at = Number(digit) - 1;
    const formatAt = levels.get(at)?.format ?? 'decimal';
    const numeral = numerals.get(isLegal && formatAt !== 'bullet' ? 'decimal' : formatAt) ?? String;
    return numeral(counters[at] ?? startOf(levels, at));
  });
  return label.trim() === '' ? undefined : `${indentation}${label.trim()} `;
}

const numerals = new Map<string, (number: number) => string>([
  ['none', () => ''],
  ['bullet', () => ''],
  ['lowerLetter', letters],
  ['upperLetter', (number) => letters(number).toUpperCase()],
  ['lowerRoman', (number) => roman(number).toLowerCase()],
  ['upperRoman', roman],
  ['decimalZero', (number) => String(number).padStart(2, '0')],
]);

/** After z comes aa, then bb, as in Word. */
function letters(number: number): string {
  if (number < 1 || number > 26 * 4) return String(number);
  return String.fromCharCode(97 + ((number - 1) % 26)).repeat(Math.ceil(number / 26));
}

const romanDigits = {
  M: 1000,
  CM: 900,
  D: 500,
  CD: 400,
  C: 100,
  XC: 90,
  L: 50,
  XL: 40,
  X: 10,
  IX: 9,
  V: 5,
  IV: 4,
  I: 1,
};

function roman(number: number): string {
  if (number < 1 || number > 3999) return String(number);
  let rest = number;
  let digits = '';
  for (const [digit, value] of Object.entries(romanDigits))
    for (; rest >= value; rest -= value) digits += digit;
  return digits;
}
