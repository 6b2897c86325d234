const iso = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g;
const day = /(?<![\w-])\d{4}-\d\d-\d\d(?![\w-])/g;
const milliseconds = /(?<![\w.-])\d{13}(?![\w.-])/g;
const ttl = /(?<="ttl":\{"N":")\d{10}(?=")/g;

/** In milliseconds. A 13-digit number farther from the freeze is not a time: leases and batches last days at most. */
const farthest = 45 * 86_400_000;

/** Moves all times of a frozen text by one constant: timestamps, days, and numbers of milliseconds or seconds. */
export function shiftTimes(text: string, { frozenAt, by }: { frozenAt: number; by: number }): string {
  return text
    .replace(iso, (time) => new Date(Date.parse(time) + by).toISOString())
    .replace(day, (date) => new Date(Date.parse(date) + by).toISOString().slice(0, 10))
    .replace(milliseconds, (number) =>
      Math.abs(Number(number) - frozenAt) > farthest ? number : String(Number(number) + by),
    )
    .replace(ttl, (seconds) => String(Number(seconds) + Math.round(by / 1000)));
}
