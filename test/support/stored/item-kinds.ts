import { type Key, keys } from '#adapters/dynamo/table/keys.ts';
import type { StoredItem } from './snapshot.ts';

/** A kind of item: the pattern of its keys, and its parents, the items without which it would be an orphan. */
interface ItemKind {
  pk: RegExp;
  sk: RegExp;
  parents(parts: Parts, item: StoredItem): Key[];
}

type Parts = Record<string, string>;

const workspaceOf = ({ workspace = '' }: Parts): Key => keys.workspace(workspace);
const agentOf = ({ workspace = '', agent = '' }: Parts): Key => keys.agent(workspace, agent);
const batchOf = ({ workspace = '', batch = '' }: Parts): Key => keys.batch(workspace, batch);
const chatOf = ({ workspace = '', chat }: Parts): Key => keys.chat(workspace, Number(chat));
const messageOf = ({ workspace = '', chat, position }: Parts): Key =>
  keys.message(workspace, Number(chat), Number(position));

const ws = '^W#(?<workspace>[^#]+)';
const kind = (pk: string, sk: string, parents: ItemKind['parents']): ItemKind => ({
  pk: new RegExp(`${pk}$`),
  sk: new RegExp(`^${sk}$`, 's'),
  parents,
});

/** Every kind of item in the data table (docs/data-model.md). */
const itemKinds: readonly ItemKind[] = [
  kind('^KEY#[^#]+', 'KEY', (_, item) => [
    keys.workspace(item.workspace_id as string),
    keys.operatorsApiKey(item.id as string),
  ]),
  kind('^OPERATOR#WORKSPACES', '(?<workspace>.+)', (parts) => [workspaceOf(parts)]),
  kind('^OPERATOR#AGENT#(?<agent>[^#]+)', 'AGENT', ({ agent = '' }, item) => [
    keys.agent(item.workspace_id as string, agent),
  ]),
  kind('^OPERATOR#RETENTION', '(?<workspace>.+)', (parts) => [workspaceOf(parts)]),
  kind('^OPERATOR#PURGES', '#(?<workspace>[^#]+)#.+', (parts) => [workspaceOf(parts)]),
  kind('^OPERATOR#PURGES', '.+', (_, item) => [keys.workspace(item.workspace_id as string)]),
  kind('^OPERATOR#KEY#[^#]+', 'KEY', (_, item) => [keys.apiKey(item.hash as string)]),
  kind('^OPERATOR#BATCH#(?<batch>[^#]+)', 'BATCH', ({ batch = '' }, item) => [
    keys.batch(item.workspace_id as string, batch),
  ]),
  kind(ws, 'WORKSPACE', ({ workspace = '' }) => [keys.operatorsWorkspace(workspace)]),
  kind(ws, 'AUDIT-KEY', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#KEYS`, '.+', (_, item) => [keys.apiKey(item.hash as string)]),
  kind(`${ws}#WHITELIST`, '.+', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#AGENTS`, 'DRAFT#(?<agent>.+)', ({ agent = '' }) => [keys.operatorsAgent(agent)]),
  kind(`${ws}#AGENTS`, 'PUBLISHED#(?<agent>.+)', ({ workspace = '', agent = '' }) => [
    keys.publishedAgent(workspace, agent),
  ]),
  kind(`${ws}#AGENT#(?<agent>[^#]+)`, 'PUBLISHED', ({ workspace = '', agent = '' }) => [
    keys.agent(workspace, agent),
    keys.publishedEntry(workspace, agent),
  ]),
  kind(`${ws}#AGENT#(?<agent>[^#]+)`, 'VERSION#.+', (parts) => [agentOf(parts)]),
  kind(`${ws}#C#(?<chat>\\d+)`, 'CHAT', ({ workspace = '' }) => [keys.lastNumber(workspace, 'CHATS')]),
  kind(`${ws}#IDS`, 'CHATS|BATCHES', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#C#(?<chat>\\d+)`, 'BATCH#.+', (parts) => [chatOf(parts)]),
  kind(`${ws}#C#(?<chat>\\d+)`, 'FILE#.+', (parts) => [chatOf(parts)]),
  kind(`${ws}#C#(?<chat>\\d+)`, 'M#\\d+', (parts) => [chatOf(parts)]),
  kind(`${ws}#C#(?<chat>\\d+)`, 'M#(?<position>\\d+)#FEEDBACK', (parts) => [messageOf(parts)]),
  kind(`${ws}#C#(?<chat>\\d+)#F#(?<position>\\d+)`, '.+', (parts) => [messageOf(parts)]),
  kind(`${ws}#FILE#[^#]+`, 'FILE', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#FILE#[^#]+`, 'CHAT#(?<chat>\\d+)', (parts) => [chatOf(parts)]),
  kind(`${ws}#USER#.+`, 'BATCH#[^#]+#(?<batch>.+)', (parts) => [batchOf(parts)]),
  kind(`${ws}#USER#.+`, 'RATING#(?<chat>\\d+)#(?<position>\\d+)', (parts) => [messageOf(parts)]),
  kind(`${ws}#KNOWLEDGE`, 'HEAD', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#KNOWLEDGE`, 'DOCUMENT#.+', ({ workspace = '' }) => [keys.knowledgeHead(workspace)]),
  kind(`${ws}#CHATS(?:#[^#]+)?`, '\\d{10}', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#USER#.+`, 'CHAT#\\d{10}', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#(?:CHATS-N(?:#[^#]+)?|USER-N#.+)`, '\\d+#\\d+', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#BATCHES#(?:all|completed|failed|cancelled)`, '\\d{10}', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#BATCHES-N#.+`, '\\d+#\\d+|OPEN', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#B#(?<batch>[^#]+)`, 'BATCH', ({ workspace = '', batch = '' }) => [
    keys.batchManifest(workspace, batch, 0),
  ]),
  kind(`${ws}#B#(?<batch>[^#]+)`, 'TOKEN|HOOK|OUTLINE#\\d+|WEBHOOK', (parts) => [batchOf(parts)]),
  kind(`${ws}#B#(?<batch>[^#]+)`, 'WEBHOOK-ATTEMPT#\\d+', ({ workspace = '', batch = '' }) => [
    keys.webhookDelivery(workspace, batch),
  ]),
  kind(`${ws}#B#(?<batch>[^#]+)#REQUESTS#\\d`, '(?:GROUP|TEXT)#\\d+', (parts) => [batchOf(parts)]),
  kind(`${ws}#B#(?<batch>[^#]+)#I#\\d`, '\\d+', (parts) => [batchOf(parts)]),
  kind(`${ws}#AUDIT`, '.+', (parts) => [workspaceOf(parts)]),
  kind('^OPERATOR#AUDIT', '.+', () => []),
  kind('^SLOTS', '.+', () => []),
  // Items that expire by their TTL, or only count.
  kind(`${ws}#RATE#.+`, '.+', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#REQUEST#[^#]+`, '.+', (parts) => [workspaceOf(parts)]),
  kind(`${ws}#USAGE`, '.+', (parts) => [workspaceOf(parts)]),
];

/** The keys of an item's parents; undefined for an item of an unknown kind. */
export function parentsOf(item: StoredItem): Key[] | undefined {
  for (const { pk, sk, parents } of itemKinds) {
    const [partition, sort] = [pk.exec(item.pk), sk.exec(item.sk)];
    if (partition && sort) return parents({ ...partition.groups, ...sort.groups } as Parts, item);
  }
  return undefined;
}
