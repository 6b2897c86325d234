import { DatabaseSync } from 'node:sqlite';

/** Of the table's engine, in a data folder. */
export const databaseName = 'dynamodb.sqlite';

/**
 * A SQLite file as SQL, a statement a line: what a reviewer can read and git can compare. Rows are in the order of their
 * keys, so that the same content is the same text.
 */
export function databaseText(file: string): string {
  const database = new DatabaseSync(file);
  try {
    const schema = database
      .prepare(`SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name`)
      .all()
      // Made by SQLite itself with the first AUTOINCREMENT.
      .filter(({ name }) => name !== 'sqlite_sequence');
    const items = schema
      .filter(({ type }) => type === 'table')
      .flatMap(({ name }) =>
        database
          .prepare(`SELECT * FROM ${quotedName(name)} ORDER BY 1, 2`)
          .all()
          .map(
            (item) =>
              `INSERT INTO ${quotedName(name)} VALUES (${Object.values(item).map(quotedValue).join(', ')});`,
          ),
      );
    const statements = schema.map(({ sql }) => `${String(sql).replace(/\s+/g, ' ')};`);
    return [...statements, ...items, ''].join('\n');
  } finally {
    database.close();
  }
}

/** The file that `databaseText` was made of, in all that a reader of it can tell. */
export function restoreDatabase(file: string, text: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec(`PRAGMA journal_mode = WAL; BEGIN; ${text} COMMIT;`);
  } finally {
    database.close();
  }
}

const quotedName = (name: unknown): string => `"${String(name)}"`;

function quotedValue(value: unknown): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (typeof value !== 'string') throw new Error('Only texts and numbers are expected in the database');
  // A line a statement: SQLite reads such a line's end as it would read the text's own.
  if (/[\n\r\0]/.test(value)) throw new Error('A value has more than one line');
  return `'${value.replaceAll("'", "''")}'`;
}
