import { terminalText } from '../terminal.ts';

export interface Progress {
  done: number;
  total: number;
  /** The value of `done` when this run started, by default the first one that is shown. */
  from?: number;
  counted: string;
}

export type ProgressLine = ReturnType<typeof progressLine>;

type Terminal = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns'>;

/** More updates a second would be hard to read. */
const drawingsPerSecond = 10;
/** At least, between two lines of progress without a terminal. */
const lineSeconds = 10;
const clearLine = '\r\u001b[2K';

/** Without a terminal it prints new lines, without control codes. */
export function progressLine(
  terminal: Terminal = process.stderr,
  now: () => number = () => performance.now(),
) {
  const started = now();
  let drawn = terminal.isTTY ? Number.NEGATIVE_INFINITY : started;
  let furthest = 0;
  let from: number | undefined;
  let line = '';
  const draw = () => {
    if (terminal.isTTY && line !== '') terminal.write(clearLine + line);
  };
  return {
    show(progress: Progress): void {
      furthest = Math.max(furthest, progress.done);
      from ??= progress.from ?? progress.done;
      const time = now();
      const text = describeProgress({ ...progress, from, done: furthest }, (time - started) / 1000);
      line = terminal.isTTY ? text.slice(0, (terminal.columns || 80) - 1) : text;
      const isLast = terminal.isTTY && furthest === progress.total;
      if (time - drawn < 1000 * (terminal.isTTY ? 1 / drawingsPerSecond : lineSeconds) && !isLast) return;
      drawn = time;
      if (terminal.isTTY) draw();
      else terminal.write(`${line}\n`);
    },
    log(text: string): void {
      terminal.write(`${terminal.isTTY ? clearLine : ''}${terminalText(text)}\n`);
      draw();
    },
    clear(): void {
      if (terminal.isTTY && line !== '') terminal.write(clearLine);
      line = '';
    },
  };
}

/** Short, to leave room for the counts, the rate and the time left. */
const barLength = 12;
const numbers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });

export const formatCount = (count: number): string => numbers.format(count);

export const countOf = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(count)} ${count === 1 ? noun : plural}`;

export function describeProgress(
  { done, total, from = done, counted }: Progress,
  secondsGone: number,
): string {
  const share = total === 0 ? 1 : Math.min(done / total, 1);
  const filled = Math.floor(share * barLength);
  const bar = `[${'#'.repeat(filled)}${'.'.repeat(barLength - filled)}]`;
  const words = [bar, `${Math.floor(share * 100)}%`.padStart(4), counted];
  if (secondsGone > 0 && done > from) words.push(`${formatRate((done - from) / secondsGone)}/s`);
  if (done > from && done < total)
    words.push(`${formatSeconds(((total - done) * secondsGone) / (done - from))} left`);
  return words.join('  ');
}

const formatRate = (rate: number): string => (rate < 10 ? rate.toFixed(1) : formatCount(rate));

function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
