import { formatNumber } from './report-table.ts';

interface Point {
  x: number;
  y: number;
}

export interface Series {
  name: string;
  /** Which of the two colours, 0 or 1. */
  color: number;
  points: readonly Point[];
  /** An area around the line, as a closed polygon. */
  band?: readonly Point[];
  /** Drawn in the background, and not in the legend. */
  faint?: boolean;
}

interface Axis {
  label: string;
  /** If set, all values must be above 0. */
  log?: boolean;
}

export interface Panel {
  title: string;
  x: Axis;
  y: Axis;
  series: readonly Series[];
}

export interface Chart {
  title: string;
  /** One sentence below the title, also for readers who cannot see the drawing. */
  description: string;
  panels: readonly Panel[];
}

const panelWidth = 380;
const panelHeight = 230;
const margin = { left: 64, right: 16, top: 92, bottom: 52 };

// In both themes, text and lines have a contrast of at least 4.5 to 1. Without a theme the background is white.
const style = `
svg { --ink: #1f2328; --faint: #59636e; --rule: #d1d9e0; --ground: #ffffff; --c0: #8250df; --c1: #0b6e4f; }
@media (prefers-color-scheme: dark) {
  svg { --ink: #f0f6fc; --faint: #9198a1; --rule: #3d444d; --ground: #0d1117; --c0: #be8fff; --c1: #4ac28e; }
}
text { font: 12px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink); }
.title { font-size: 16px; font-weight: 600; }
.note, .tick { fill: var(--faint); }
.panel { font-weight: 600; }
.ground { fill: var(--ground); }
.rule { stroke: var(--rule); stroke-width: 1; }
.line { fill: none; stroke-width: 2; stroke-linejoin: round; }
.faint { stroke-width: 1; opacity: 0.4; }
.band { opacity: 0.2; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); }
.f0 { fill: var(--c0); } .f1 { fill: var(--c1); }
`;

/** The text of an SVG with panels next to each other, for light and dark themes. */
export function drawChart({ title, description, panels }: Chart): string {
  const step = margin.left + panelWidth + margin.right;
  const width = step * panels.length;
  const height = margin.top + panelHeight + margin.bottom;
  const legend = new Map(
    panels.flatMap(({ series }) => series.filter(({ faint }) => !faint).map((one) => [one.name, one.color])),
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-labelledby="title description">
<title id="title">${escaped(title)}</title>
<desc id="description">${escaped(description)}</desc>
<style>${style}</style>
<rect class="ground" width="${width}" height="${height}"/>
<text class="title" x="16" y="26">${escaped(title)}</text>
<text class="note" x="16" y="45">${escaped(description)}</text>
${[...legend].map(([name, color], index) => `<rect class="f${color}" x="${16 + index * 250}" y="55" width="12" height="12"/><text x="${34 + index * 250}" y="65">${escaped(name)}</text>`).join('\n')}
${panels.map((panel, index) => drawPanel(panel, index * step + margin.left)).join('\n')}
</svg>
`;
}

function drawPanel({ title, x, y, series }: Panel, left: number): string {
  const points = series.flatMap((one) => [...one.points, ...(one.band ?? [])]);
  const across = scaleOf(
    x,
    points.map((point) => point.x),
    left,
    left + panelWidth,
  );
  const up = scaleOf(y, [0, ...points.map((point) => point.y)], margin.top + panelHeight, margin.top);
  const bottom = margin.top + panelHeight;
  const path = (line: readonly Point[]) =>
    line
      .map(
        (point, index) => `${index === 0 ? 'M' : 'L'}${short(across.at(point.x))} ${short(up.at(point.y))}`,
      )
      .join('');
  return [
    `<text class="panel" x="${left}" y="${margin.top - 8}">${escaped(title)}</text>`,
    ...up.ticks.map(
      (tick) =>
        `<line class="rule" x1="${left}" x2="${left + panelWidth}" y1="${short(up.at(tick))}" y2="${short(up.at(tick))}"/>` +
        `<text class="tick" x="${left - 6}" y="${short(up.at(tick) + 4)}" text-anchor="end">${formatNumber(tick)}</text>`,
    ),
    ...across.ticks.map(
      (tick) =>
        `<line class="rule" x1="${short(across.at(tick))}" x2="${short(across.at(tick))}" y1="${bottom}" y2="${bottom + 5}"/>` +
        `<text class="tick" x="${short(across.at(tick))}" y="${bottom + 18}" text-anchor="middle">${formatNumber(tick)}</text>`,
    ),
    `<text x="${left + panelWidth / 2}" y="${bottom + 40}" text-anchor="middle">${escaped(x.label)}</text>`,
    `<text transform="translate(${left - 46} ${margin.top + panelHeight / 2}) rotate(-90)" text-anchor="middle">${escaped(y.label)}</text>`,
    ...series.flatMap(({ band, color }) =>
      band === undefined ? [] : [`<path class="band f${color}" d="${path(band)}Z"/>`],
    ),
    ...series.map(
      ({ points: line, color, faint }) =>
        `<path class="line c${color}${faint ? ' faint' : ''}" d="${path(line)}"/>`,
    ),
  ].join('\n');
}

interface Scale {
  ticks: number[];
  /** The coordinate of a value. */
  at(value: number): number;
}

function scaleOf({ log, label }: Axis, values: readonly number[], from: number, to: number): Scale {
  const least = Math.min(...values);
  const greatest = Math.max(...values);
  if (log && least <= 0) throw new RangeError(`A logarithmic axis cannot show ${least} ${label}`);
  const ticks = log ? logTicks(least, greatest) : linearTicks(Math.min(least, 0), greatest);
  const location = log ? Math.log : (value: number) => value;
  const [first, last] = [location(ticks[0] ?? 0), location(ticks.at(-1) ?? 1)];
  return { ticks, at: (value) => from + ((location(value) - first) / (last - first)) * (to - from) };
}

/** Four to eight round numbers around all values. */
export function linearTicks(least: number, greatest: number): number[] {
  const span = greatest - least || 1;
  const power = 10 ** Math.floor(Math.log10(span / 4));
  const step = power * ([1, 2, 5].findLast((factor) => span / (factor * power) >= 4) ?? 1);
  const first = Math.floor(least / step);
  const count = Math.ceil(greatest / step - 1e-9) - first;
  return Array.from({ length: Math.max(count, 1) + 1 }, (_, index) =>
    Number(((first + index) * step).toPrecision(12)),
  );
}

/** 1, 2, 5, 10, 20 … around all values. */
export function logTicks(least: number, greatest: number): number[] {
  const all = Array.from({ length: 40 }, (_, index) =>
    [1, 2, 5].map((factor) => factor * 10 ** (index - 20)),
  ).flat();
  const first = all.findLastIndex((tick) => tick <= least);
  const last = all.findIndex((tick) => tick >= greatest);
  return all.slice(first, Math.max(last, first + 1) + 1).map((tick) => Number(tick.toPrecision(3)));
}

const short = (value: number): string => String(Math.round(value * 10) / 10);

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
