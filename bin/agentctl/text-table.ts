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
        const isNumber = lines.every((each) => /^(?:-?[\d.]+|–)$/.test(String(each[column])));
        const text = String(cell);
        const width = widths[column] ?? 0;
        return isNumber ? text.padStart(width) : text.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}

export const tableWith =
  <Item>(columns: Readonly<Record<string, (item: Item) => string | number>>) =>
  (items: readonly Item[], none?: string): string[] => {
    if (items.length === 0 && none !== undefined) return [none];
    const lines = items.map((item) => Object.values(columns).map((cellOf) => cellOf(item)));
    return textTable(Object.keys(columns), lines);
  };
