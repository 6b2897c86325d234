/** Columns with titles, separated by two spaces. Columns of numbers are right-aligned. */
export function textTable(
  titles: readonly string[],
  lines: readonly (readonly (string | number)[])[],
): string[] {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...lines.map((cells) => String(cells[column] ?? '').length)),
  );
  return [titles, ...lines].map((cells) =>
    cells
      .map((cell, column) => {
        const isNumber = lines.every((each) => typeof each[column] === 'number');
        const text = String(cell);
        const width = widths[column] ?? 0;
        return isNumber ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

/**
 * A table whose columns have these titles and cells.
 * @returns lays out rows; without a row, the text `none` in place of the table
 */
export const tableWith =
  <Row>(columns: Readonly<Record<string, (row: Row) => string | number>>) =>
  (rows: readonly Row[], none?: string): string[] =>
    rows.length === 0 && none !== undefined
      ? [none]
      : textTable(
          Object.keys(columns),
          rows.map((row) => Object.values(columns).map((cellOf) => cellOf(row))),
        );
