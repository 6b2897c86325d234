import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

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
  const prepare = (sql: string) => database.prepare(sql);
  const chatById = prepare('SELECT messages FROM chats WHERE id = ?');
  return {
    addChat: prepare('INSERT INTO chats (name, at) VALUES (?, ?)'),
    putChat: prepare('INSERT INTO chats (id, name, at, messages) VALUES (?, ?, ?, ?)'),
    countMessages: prepare('UPDATE chats SET messages = ? WHERE id = ?'),
    newestChat: prepare('SELECT max(id) AS id FROM chats'),
    chatsBetween: prepare('SELECT * FROM chats WHERE id BETWEEN ? AND ? ORDER BY id DESC'),
    addMessage: prepare('INSERT INTO messages (chat, position, role, content, at) VALUES (?, ?, ?, ?, ?)'),
    messagesBetween: prepare(
      'SELECT * FROM messages WHERE chat = ? AND position BETWEEN ? AND ? ORDER BY position',
    ),
    addBatch: prepare('INSERT INTO batches (id, total, at) VALUES (?, ?, ?)'),
    batch: prepare('SELECT * FROM batches WHERE id = ?'),
    addRequest: prepare('INSERT INTO requests (batch, position, custom_id, message) VALUES (?, ?, ?, ?)'),
    endRequest: prepare('UPDATE requests SET reply = ?, at = ? WHERE batch = ? AND position = ?'),
    countRequest: prepare('UPDATE batches SET ended = ended + 1 WHERE id = ?'),
    requests: prepare('SELECT * FROM requests WHERE batch = ? ORDER BY position LIMIT ? OFFSET ?'),
    addFile: prepare('INSERT INTO files (id, name, size, at) VALUES (?, ?, ?, ?)'),
    messagesOf: (chat: number): number => Number(chatById.get(chat)?.messages ?? 0),
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
