import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';

/** The bare server's database. The program that seeds pages writes to the same file. */
export function openBareStore(folder: string) {
  const database = new DatabaseSync(join(folder, 'bare.sqlite'));
  database.exec(`
    PRAGMA journal_mode = wal; PRAGMA synchronous = normal; PRAGMA busy_timeout = 5000;
    CREATE TABLE IF NOT EXISTS chats (id INTEGER PRIMARY KEY, name TEXT, at TEXT, messages INTEGER DEFAULT 0);
    CREATE TABLE IF NOT EXISTS messages (
      chat INTEGER, position INTEGER, role TEXT, content TEXT, at TEXT, PRIMARY KEY (chat, position)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, total INTEGER, ended INTEGER DEFAULT 0, at TEXT);
    CREATE TABLE IF NOT EXISTS requests (
      batch TEXT, position INTEGER, custom_id TEXT, message TEXT, reply TEXT, at TEXT,
      PRIMARY KEY (batch, position)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS files (id TEXT PRIMARY KEY, name TEXT, size INTEGER, at TEXT);
  `);
  const statement = (sql: string) => {
    const prepared = database.prepare(sql);
    return {
      run: (...values: SQLInputValue[]) => prepared.run(...values),
      get: <Item>(...values: SQLInputValue[]) => prepared.get(...values) as Item | undefined,
      all: <Item>(...values: SQLInputValue[]) => prepared.all(...values) as Item[],
    };
  };
  return {
    addChat: statement('INSERT INTO chats (name, at) VALUES (?, ?)'),
    putChat: statement('INSERT INTO chats (id, name, at, messages) VALUES (?, ?, ?, ?)'),
    chat: statement('SELECT id, messages FROM chats WHERE id = ?'),
    newestChat: statement('SELECT max(id) AS id FROM chats'),
    chatsBetween: statement('SELECT * FROM chats WHERE id BETWEEN ? AND ? ORDER BY id DESC'),
    addMessage: statement('INSERT INTO messages (chat, position, role, content, at) VALUES (?, ?, ?, ?, ?)'),
    countMessages: statement('UPDATE chats SET messages = ? WHERE id = ?'),
    messagesBetween: statement(
      'SELECT * FROM messages WHERE chat = ? AND position BETWEEN ? AND ? ORDER BY position',
    ),
    addBatch: statement('INSERT INTO batches (id, total, at) VALUES (?, ?, ?)'),
    batch: statement('SELECT * FROM batches WHERE id = ?'),
    addRequest: statement('INSERT INTO requests (batch, position, custom_id, message) VALUES (?, ?, ?, ?)'),
    endRequest: statement('UPDATE requests SET reply = ?, at = ? WHERE batch = ? AND position = ?'),
    countRequest: statement('UPDATE batches SET ended = ended + 1 WHERE id = ?'),
    requests: statement('SELECT * FROM requests WHERE batch = ? ORDER BY position LIMIT ? OFFSET ?'),
    addFile: statement('INSERT INTO files (id, name, size, at) VALUES (?, ?, ?, ?)'),
    transact(work: () => void) {
      database.exec('BEGIN IMMEDIATE');
      try {
        work();
        database.exec('COMMIT');
      } catch (error) {
        database.exec('ROLLBACK');
        throw error;
      }
    },
    close: () => database.close(),
  };
}
