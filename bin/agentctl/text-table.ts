/** Columns under their titles, two spaces apart; numbers end in a line. */
export function textTable(
  titles: readonly string[],
  results: readonly (readonly (string | number)[])[],
): string[] {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...results.map((cells) => String(cells[column] ?? '').length)),
  );
  return [titles, ...results].map((cells) =>
    cells
      .map((cell, column) => {
        const isNumber = results.every((each) => typeof each[column] === 'number');
        const text = String(cell);
        const width = widths[column] ?? 0;
        return isNumber ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
