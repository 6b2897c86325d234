/** Columns under their titles, two spaces apart; numbers end in a line. */
export function textTable(
  titles: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string[] {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => String(row[column] ?? '').length)),
  );
  return [titles, ...rows].map((row) =>
    row
      .map((cell, column) => {
        const isNumber = rows.every((each) => typeof each[column] === 'number');
        const text = String(cell);
        const width = widths[column] ?? 0;
        return isNumber ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
