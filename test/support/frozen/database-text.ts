import { DatabaseSync } from 'node:sqlite';

/** The DynamoDB emulator's file in a data folder. */
export const databaseName = 'dynamodb.sqlite';

/**
 * A SQLite file as SQL with one statement on each line, so that a reviewer can read it and git can compare it. Rows are
 * sorted by key, so that the same content gives the same text.
 */
export function databaseText(file: string): string {
  const database = new DatabaseSync(file);
  try {
    const schema = database
      .prepare(`SELECT name, type, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type DESC, name`)
      .all()
      // SQLite itself creates this table with the first AUTOINCREMENT.
      .filter(({ name }) => name !== 'sqlite_sequence');
    const inserts = schema
      .filter(({ type }) => type === 'table')
      .flatMap(({ name }) =>
        database
          .prepare(`SELECT * FROM ${quotedName(name)} ORDER BY 1, 2`)
          .all()
          .map(
            (record) =>
              `INSERT INTO ${quotedName(name)} VALUES (${Object.values(record).map(quotedValue).join(', ')});`,
          ),
      );
    const statements = schema.map(({ sql }) => `${String(sql).replace(/\s+/g, ' ')};`);
    return [...statements, ...inserts, ''].join('\n');
  } finally {
    database.close();
  }
}

/** Restores the file that `databaseText` read: the same content, although not the same bytes. */
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
  // Each line has one statement, so a value must not contain a line break.
  if (/[\n\r\0]/.test(value)) throw new Error('A value has more than one line');
  return `'${value.replaceAll("'", "''")}'`;
}
