import { Parser } from 'htmlparser2';
import { describe, expect, it } from 'vitest';
import { drawLatency, drawThroughput } from '../bench/draw-report.ts';
import type { RunReport } from '../bench/report.ts';
import { drawChart, linearTicks, logTicks } from '../bench/svg-chart.ts';

interface Element {
  name: string;
  attributes: Record<string, string>;
  text: string;
}

/** All elements of a drawing. @throws Error if an element is not closed */
function elementsOf(svg: string): Element[] {
  const elements: Element[] = [];
  const open: Element[] = [];
  const parser = new Parser(
    {
      onopentag(name, attributes) {
        const element = { name, attributes, text: '' };
        elements.push(element);
        open.push(element);
      },
      ontext(text) {
        const element = open.at(-1);
        if (element !== undefined) element.text += text;
      },
      onclosetag(name, isImplied) {
        const element = open.pop();
        if (element?.name !== name || (isImplied && !svg.includes('/>')))
          throw new Error(`${name} is not open`);
      },
    },
    { xmlMode: true },
  );
  parser.end(svg);
  expect(open).toEqual([]);
  return elements;
}

const textsOf = (svg: string) =>
  elementsOf(svg)
    .filter(({ name }) => name === 'text')
    .map(({ text }) => text);

describe('ticks', () => {
  it.each([
    [0, 10, [0, 2, 4, 6, 8, 10]],
    [0, 97, [0, 20, 40, 60, 80, 100]],
    [0, 0.3, [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]],
    [0, 0, [0, 0.2]],
  ])('of a linear axis from %d to %d are few and round', (least, greatest, ticks) => {
    expect(linearTicks(least, greatest)).toEqual(ticks);
  });

  it.each([
    [1.3, 48, [1, 2, 5, 10, 20, 50]],
    [5, 5, [5, 10]],
    [0.07, 0.3, [0.05, 0.1, 0.2, 0.5]],
  ])('of a logarithmic axis from %d to %d enclose all', (least, greatest, ticks) => {
    expect(logTicks(least, greatest)).toEqual(ticks);
  });
});

it('draws lines to scale, with labels, for light and dark surroundings and without foreign fonts', () => {
  const svg = drawChart({
    title: 'Fast & <slow>',
    description: 'Told "so"',
    panels: [
      {
        title: 'Panel',
        x: { label: 'milliseconds', log: true },
        y: { label: 'share' },
        series: [
          {
            name: 'one',
            color: 0,
            points: [
              { x: 1, y: 0 },
              { x: 10, y: 50 },
              { x: 100, y: 100 },
            ],
          },
        ],
      },
    ],
  });
  const [svgElement] = elementsOf(svg);
  expect(svgElement?.attributes.role).toBe('img');
  expect(textsOf(svg)).toEqual(
    expect.arrayContaining(['Fast & <slow>', 'one', 'Panel', 'milliseconds', 'share']),
  );
  const line = elementsOf(svg).find(({ attributes }) => attributes.class === 'line c0');
  const numbers = line?.attributes.d?.match(/[\d.]+/g)?.map(Number) ?? [];
  const [x1 = 0, y1 = 0, x2 = 0, y2 = 0, x3 = 0, y3 = 0] = numbers;
  // The middle of a logarithmic axis is the geometric mean.
  expect(x2).toBeCloseTo((x1 + x3) / 2, 0);
  expect(y2).toBeCloseTo((y1 + y3) / 2, 0);
  expect(y3).toBeLessThan(y1);
  expect(svg).toContain('@media (prefers-color-scheme: dark)');
  expect(svg).not.toMatch(/@import|@font-face|url\(|<script|https?:\/\/(?!www\.w3\.org\/2000\/svg")/);
});

it('refuses a logarithmic axis for what is not above zero', () => {
  const points = [{ x: 0, y: 1 }];
  const panel = {
    title: '',
    x: { label: 'ms', log: true },
    y: { label: '' },
    series: [{ name: '', color: 0, points }],
  };
  expect(() => drawChart({ title: '', description: '', panels: [panel] })).toThrow(RangeError);
});

const runOf = (run: number, subject: RunReport['subject'], factor: number): RunReport => ({
  run,
  subject,
  figures: {},
  distributions: { single: Array.from({ length: 101 }, (_, index) => (index + 1) * factor) },
  batchSeconds: [0.1, 0.2, 1].map((time) => time * factor),
  errors: [],
});

it('draws latencies and batches of a report, the run in the middle in front', () => {
  const runs = [1, 3, 2].flatMap((factor, index) => [
    runOf(index + 1, 'bare', factor),
    runOf(index + 1, 'service', factor * 10),
  ]);
  const latency = drawLatency({ runs }) ?? '';
  expect(textsOf(latency)).toEqual(
    expect.arrayContaining(['milliseconds to the first delta', '% of replies']),
  );
  const classes = (svg: string) => elementsOf(svg).map(({ attributes }) => attributes.class);
  expect(classes(latency).filter((name) => name?.startsWith('line'))).toEqual(['line c0', 'line c1']);
  expect(classes(latency).filter((name) => name?.startsWith('band'))).toEqual(['band f0', 'band f1']);
  const throughput = drawThroughput({ runs }) ?? '';
  expect(textsOf(throughput)).toEqual(
    expect.arrayContaining(['seconds since the submission', 'requests ended a second']),
  );
  expect(classes(throughput).filter((name) => name?.startsWith('line'))).toEqual([
    'line c0 faint',
    'line c0 faint',
    'line c0',
    'line c1 faint',
    'line c1 faint',
    'line c1',
  ]);
});

it('draws nothing of what was not measured', () => {
  const runs = [{ run: 1, subject: 'bare' as const, figures: {}, distributions: {}, errors: [] }];
  expect(drawLatency({ runs })).toBeUndefined();
  expect(drawThroughput({ runs })).toBeUndefined();
});
