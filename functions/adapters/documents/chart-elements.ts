import type { DocumentText } from './document-text.ts';
import { during, type Open, type XmlElement, type XmlElements } from './read-xml.ts';

interface ChartReader {
  text: DocumentText;
  readBox(relation: string | undefined): void;
  count(kind: 'chart without data'): void;
}

type Points = Map<number, string>;

export function chartElements(reader: ChartReader): XmlElements {
  const data = { points: 0 };
  const chart: Open = ({ 'r:id': id }) => {
    // The root of a chart's own part contains an element of this name too, but without an id.
    if (id === undefined) return;
    const { points } = data;
    reader.readBox(id);
    if (data.points === points) reader.count('chart without data');
  };
  return {
    'c:chart': chart,
    'cx:chart': chart,
    'c:userShapes': ({ 'r:id': id }) => reader.readBox(id),
    ...titleElements(reader),
    ...seriesElements(reader, data),
    ...extendedElements(reader, data),
  };
}

function titleElements({ text }: ChartReader): XmlElements {
  let mark = 'Chart';
  const axis = during((isOpen) => {
    mark = isOpen ? 'Axis' : 'Chart';
  });
  const title: XmlElement = {
    open: () => text.openBlock(false),
    close: () => {
      const words = text.closeBlock();
      if (words !== '') text.add(`${mark}: ${words}`, true);
    },
  };
  return {
    'c:title': title,
    'cx:title': title,
    'c:catAx': axis,
    'c:valAx': axis,
    'c:dateAx': axis,
    'c:serAx': axis,
    'cx:axis': axis,
  };
}

function seriesElements({ text }: ChartReader, data: { points: number }): XmlElements {
  let points: Points | undefined;
  let index = 0;
  let series: { name: Points; categories: Points; values: Points } | undefined;
  let header = '';
  const into = (kind: 'name' | 'categories' | 'values'): XmlElement => ({
    open: () => {
      points = series?.[kind];
      index = 0;
    },
    close: () => {
      points = undefined;
    },
  });
  const addSeries = ({ name, categories, values }: NonNullable<typeof series>): void => {
    const columns = [...new Set([...categories.keys(), ...values.keys()])].sort((a, b) => a - b);
    const head = columns.map((column) => categories.get(column) ?? '');
    const isNew = head.join('\n') !== header && head.some((category) => category !== '');
    if (isNew) text.addTableLine(['', ...head]);
    header = head.join('\n');
    text.addTableLine([
      [...name.values()].join(' '),
      ...columns.map((column) => rounded(values.get(column))),
    ]);
    data.points += values.size;
  };
  return {
    'c:ser': {
      open: () => {
        series = { name: new Map(), categories: new Map(), values: new Map() };
      },
      close: () => {
        if (series !== undefined) addSeries(series);
        series = undefined;
      },
    },
    'c:tx': into('name'),
    'c:cat': into('categories'),
    'c:xVal': into('categories'),
    'c:val': into('values'),
    'c:yVal': into('values'),
    'c:pt': ({ idx }) => {
      index = Number(idx);
      // A category may have a name on several levels. The file has the inner level first.
      const inner = points?.get(index);
      if (inner !== undefined) points?.set(index, `${inner} / `);
    },
    'c:v': {
      text: (fragment) => {
        if (points === undefined) text.text(fragment);
        else points.set(index, (points.get(index) ?? '') + fragment);
      },
    },
  };
}

function extendedElements({ text }: ChartReader, data: { points: number }): XmlElements {
  let line: string[] = [];
  return {
    'cx:v': { text: (fragment) => text.text(fragment), close: () => text.endParagraph({ isTight: true }) },
    'cx:lvl': {
      open: () => {
        line = [];
      },
      close: () => {
        data.points += line.length;
        text.addTableLine(line);
      },
    },
    'cx:pt': {
      open: () => line.push(''),
      text: (fragment) => {
        line.push((line.pop() ?? '') + fragment);
      },
    },
  };
}

/** Programs may store 4.4 as 4.4000000000000004. */
function rounded(value: string | undefined): string {
  const text = value?.trim() ?? '';
  const number = Number(text);
  return text === '' || Number.isNaN(number) ? text : String(Number(number.toPrecision(15)));
}
