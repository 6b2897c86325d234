import { ServiceError } from '#contract/errors.ts';
import type { NewBatch } from './operations.ts';
import type { Process } from './process.ts';
import type { World } from './world.ts';

interface Chat {
  workspaceId: string;
  chatId: number;
  agentId: string;
  externalUserId: string | undefined;
  isDeleted: boolean;
}

interface Span {
  start: number;
  end: number;
}

/** What clients have done and got, as they know it. */
export interface Ledger {
  chats: Chat[];
  creations: (Span & { workspaceId: string; key: string; id: number })[];
  /** All messages that clients have sent; `reply` is that of a successful response. */
  sends: { chat: Chat; message: string; key: string | null; tries: number; reply: string | undefined }[];
  renames: (Span & { chat: Chat; name: string; isDone: boolean })[];
  batches: (NewBatch & { batchId: string | undefined; key: string })[];
  keys: Map<string, Set<number>>;
  /** Uploaded, and maybe deleted. */
  files: { workspaceId: string; uuid: string }[];
  /** When an operator has set a time after which unused chats of a workspace are deleted, and to how many milliseconds. */
  retentions: { workspaceId: string; start: number; unused: number }[];
  /** When each chat was written, by its partition: a creation that froze writes an old one. */
  chatsWrittenAt: Map<string, number>;
  /** `end` is infinite if the operator does not know that it was requested. */
  erasures: (Span & { workspaceId: string; externalUserId: string })[];
}

export const newLedger = (): Ledger => ({
  ...{ chats: [], creations: [], sends: [], renames: [], batches: [], keys: new Map(), files: [] },
  ...{ retentions: [], chatsWrittenAt: new Map(), erasures: [] },
});

/** An error that a client may retry: the service failed, or its process died. */
const mayRetry = (error: unknown): boolean =>
  !(error instanceof ServiceError) || error.kind === 'serverError';

type Operation<Result> = (process: Process) => Promise<Result>;

/** Repeats a request with the same key, as clients do after an error of the service. */
export async function persistently<Result>(
  world: World,
  name: string,
  operation: Operation<Result>,
  tries = 3,
): Promise<Result | undefined> {
  for (let attempt = 1; attempt <= tries; attempt += 1) {
    try {
      return await world.request(name, operation);
    } catch (error) {
      if (!mayRetry(error)) return undefined;
    }
    await world.timeline.sleep(world.timeline.between(1000, 20_000));
  }
  return undefined;
}

/** A client of a workspace, who does one thing after the other. */
export async function actAsClient(world: World, index: number): Promise<void> {
  const { timeline } = world;
  const workspaceId = world.workspaces[index % world.workspaces.length] as string;
  const externalUserId = index % 2 === 0 ? `user-${index}` : undefined;
  const self = { world, workspaceId, externalUserId, name: `client ${index}` };
  await timeline.sleep(timeline.between(0, 3000));
  await createChat(self);
  while (timeline.now < world.activeUntil) {
    await timeline.pick(actions)(self);
    await timeline.sleep(timeline.between(200, 14_000));
  }
}

interface Self {
  world: World;
  workspaceId: string;
  externalUserId: string | undefined;
  name: string;
}

/** A request of the client, which it repeats as above. */
const attempt = <Result>(self: Self, what: string, operation: Operation<Result>, tries?: number) =>
  persistently(self.world, `${self.name} ${what}`, operation, tries);

/** A chat that the client may use; now and then one that was deleted. */
function someChat({ world, workspaceId, externalUserId }: Self): Chat | undefined {
  const open = world.ledger.chats.filter(
    (chat) =>
      chat.workspaceId === workspaceId &&
      (chat.externalUserId === undefined || chat.externalUserId === externalUserId) &&
      (!chat.isDeleted || world.timeline.chance(0.1)),
  );
  return open.length === 0 ? undefined : world.timeline.pick(open);
}

async function createChat(self: Self): Promise<void> {
  const { world, workspaceId, externalUserId } = self;
  const { timeline, ledger } = world;
  const key = world.nextName('key');
  const agentId = world.agentOf(workspaceId);
  const start = timeline.now;
  const chat = await attempt(self, 'creates a chat', (process) =>
    world.operations.createChat(
      process,
      { workspaceId, agentId, name: world.nextName('chat'), externalUserId },
      key,
    ),
  );
  if (chat === undefined) return;
  ledger.keys.set(key, (ledger.keys.get(key) ?? new Set()).add(chat.id));
  ledger.creations.push({ workspaceId, key, id: chat.id, start, end: timeline.now });
  ledger.chats.push({ workspaceId, chatId: chat.id, agentId, externalUserId, isDeleted: false });
}

async function send(self: Self): Promise<void> {
  const { world } = self;
  const chat = someChat(self);
  if (chat === undefined) return;
  const message = world.nextName('message');
  const key = world.timeline.chance(0.5) ? world.nextName('key') : null;
  const entry: Ledger['sends'][number] = { chat, message, key, tries: 0, reply: undefined };
  world.ledger.sends.push(entry);
  const resumable = key !== null && world.timeline.chance(0.3);
  let requestId = '';
  const attachedFileUuids = world.timeline.chance(0.4) ? someFiles(self) : [];
  const input = { ...chat, externalUserId: self.externalUserId, message, resumable, attachedFileUuids };
  const reply = await attempt(
    self,
    `sends ${message} to chat ${chat.chatId} of ${chat.workspaceId}`,
    (process) => {
      entry.tries += 1;
      // The gateway may repeat a request; a client that sends it again makes another one.
      if (requestId === '' || world.timeline.chance(0.8)) requestId = world.nextName('id');
      return world.operations.send(process, input, { requestId, key });
    },
    key === null ? 1 : 3,
  );
  if (reply?.error === null) entry.reply = reply.content;
}

/** One or two files of the workspace; none if it has none. */
function someFiles({ world, workspaceId }: Self): string[] {
  const { timeline, ledger } = world;
  const files = ledger.files.filter((file) => file.workspaceId === workspaceId);
  if (files.length === 0) return [];
  return [...new Set([timeline.pick(files).uuid, timeline.pick(files).uuid])];
}

async function upload(self: Self): Promise<void> {
  const { world, workspaceId } = self;
  const uuid = world.nextName('file');
  const once = async (process: Process) => {
    await world.operations.upload(process, workspaceId, uuid);
    world.ledger.files.push({ workspaceId, uuid });
  };
  await attempt(self, `uploads ${uuid}`, once, 1);
}

async function removeFile(self: Self): Promise<void> {
  const [uuid] = someFiles(self);
  if (uuid === undefined || self.world.timeline.chance(0.5)) return;
  const { operations } = self.world;
  const once = (process: Process) => operations.removeFile(process, self.workspaceId, uuid);
  await attempt(self, `deletes ${uuid}`, once, 1);
}

async function rate(self: Self): Promise<void> {
  const chat = someChat(self);
  const { world, externalUserId } = self;
  if (chat === undefined || externalUserId === undefined) return;
  const input = { ...chat, externalUserId, position: world.timeline.pick([2, 2, 4]) };
  await attempt(self, `rates chat ${chat.chatId}`, (process) => world.operations.rate(process, input));
}

async function rename(self: Self): Promise<void> {
  const { world, externalUserId } = self;
  const chat = someChat(self);
  if (chat === undefined) return;
  const name = world.nextName('name');
  const entry = { chat, name, start: world.timeline.now, end: Infinity, isDone: false };
  world.ledger.renames.push(entry);
  let tries = 0;
  const done = await attempt(self, `renames chat ${chat.chatId}`, (process) => {
    tries += 1;
    return world.operations.rename(process, { ...chat, externalUserId, name });
  });
  // A request whose client has given up may arrive 40 s after it was sent.
  entry.end = world.timeline.now + (tries > 1 || done === undefined ? 40_000 : 0);
  entry.isDone = done !== undefined;
}

async function remove(self: Self): Promise<void> {
  const { world, externalUserId } = self;
  const chat = someChat(self);
  if (chat === undefined || world.timeline.chance(0.6)) return;
  chat.isDeleted = true;
  const once = () =>
    attempt(self, `deletes chat ${chat.chatId}`, (process) =>
      world.operations.remove(process, { ...chat, externalUserId }),
    );
  // Some clients send the request twice at the same time.
  await Promise.all(world.timeline.chance(0.3) ? [once(), once()] : [once()]);
}

async function stop(self: Self): Promise<void> {
  const chat = someChat(self);
  if (chat === undefined) return;
  const { world, externalUserId } = self;
  const once = (process: Process) => world.operations.stop(process, { ...chat, externalUserId });
  await attempt(self, `stops the reply in chat ${chat.chatId}`, once, 1);
}

async function read(self: Self): Promise<void> {
  const chat = someChat(self);
  if (chat === undefined) return;
  const { externalUserId, workspaceId } = self;
  const { operations, timeline } = self.world;
  const readChat = (process: Process) => operations.history(process, { ...chat, externalUserId });
  const page = { limit: 10, offset: 0, ascending: false };
  const listChats = (process: Process) => operations.page(process, { workspaceId }, page);
  if (timeline.chance(0.5)) await attempt(self, `reads chat ${chat.chatId}`, readChat, 1);
  else await attempt(self, 'lists chats', listChats, 1);
}

const actions = [createChat, send, send, send, send, rename, remove, stop, read, upload, removeFile, rate];

/** A client that creates a batch, and watches it to its end. */
export async function actAsBatchClient(world: World, index: number): Promise<void> {
  const { timeline, ledger } = world;
  // In some worlds, two batches share the slots of a workspace.
  const workspaceId = world.workspaces[world.hasOneBusyWorkspace ? 0 : index % 2] as string;
  const self = { world, workspaceId, externalUserId: undefined, name: `batch client ${index}` };
  for (let chat = 0; chat < 2; chat += 1) await createChat(self);
  await timeline.sleep(timeline.between(0, 10_000));
  const key = world.nextName('key');
  const size = world.hasOneBusyWorkspace ? [50, 15][index] : 30;
  const entry = { ...newBatch(self, size ?? 30), key, batchId: undefined as string | undefined };
  ledger.batches.push(entry);
  const create = (process: Process) => world.operations.createBatch(process, entry, key);
  entry.batchId = await attempt(self, 'creates a batch', create, 5);
  if (entry.batchId === undefined) return;
  if (timeline.chance(0.3)) timeline.at(timeline.now + timeline.between(1000, 120_000), () => void cancel());
  const { batchId } = entry;
  const cancel = async () => {
    world.note(`${self.name} cancels`);
    await attempt(self, 'cancels its batch', (process) =>
      world.operations.cancelBatch(process, workspaceId, batchId),
    );
  };
  // Some clients cancel at the moment when the batch ends.
  const { onIdle } = world;
  if (timeline.chance(0.2))
    world.onIdle = (batch) => {
      onIdle(batch);
      if (batch.endsWith(batchId)) timeline.at(timeline.now + timeline.between(0, 120), () => void cancel());
    };
  await watchBatch(world, workspaceId, batchId);
  if (timeline.chance(0.5)) await tidyUp(world, workspaceId, batchId);
}

/** Deletes some chats of a batch that has ended, at the same time: they share the entries of their lists. */
async function tidyUp(world: World, workspaceId: string, batchId: string): Promise<void> {
  const page = { limit: 100, offset: 0, ascending: false };
  const listed = await persistently(world, 'a client lists chats', (process) =>
    world.operations.page(process, { workspaceId }, page),
  );
  const chats = (listed?.chats ?? []).filter((chat) => chat.batchId === batchId).slice(0, 8);
  world.note(`a client deletes ${chats.length} chats of batch ${batchId}`);
  await Promise.all(
    chats.map(({ id: chatId, externalUserId }) =>
      persistently(world, `a client deletes chat ${chatId}`, (process) =>
        world.operations.remove(process, {
          ...{ workspaceId, chatId, externalUserId: externalUserId ?? undefined },
        }),
      ),
    ),
  );
}

/** Requests: some with a history, which may be that of others, and some with a user. */
function newBatch(self: Self, size: number): NewBatch {
  const { world, workspaceId } = self;
  const { timeline } = world;
  const files = () => someFiles(self);
  const histories = world.ledger.chats.filter(
    (chat) => chat.workspaceId === workspaceId && chat.externalUserId === undefined && !chat.isDeleted,
  );
  const agentId = world.agentOf(workspaceId);
  return {
    ...{ workspaceId, agentId, webhook: timeline.chance(0.7) },
    requests: Array.from({ length: size }, () => {
      const customId = world.nextName('request');
      const chat = timeline.chance(0.4) && histories.length > 0 ? timeline.pick(histories) : undefined;
      return {
        ...{ customId, message: `question of ${customId}`, historyId: chat?.chatId ?? null },
        files: timeline.chance(0.1) ? files() : [],
        externalUserId: chat === undefined && timeline.chance(0.2) ? `user-${timeline.below(4)}` : null,
      };
    }),
  };
}

async function watchBatch(world: World, workspaceId: string, batchId: string): Promise<void> {
  const { timeline, checks, operations } = world;
  const readBatch = (process: Process) => operations.batch(process, workspaceId, batchId);
  const readResults = (process: Process) => operations.results(process, workspaceId, batchId);
  const ended = new Map<string, string>();
  let counts = [0, 0];
  for (;;) {
    await timeline.sleep(timeline.between(3000, 60_000));
    const batch = await persistently(world, `a client reads batch ${batchId}`, readBatch, 1);
    if (batch !== undefined) {
      const [completed = 0, failed = 0] = counts;
      checks.that(
        'counts never fall',
        batch.completed >= completed && batch.failed >= failed,
        () => `${batchId}: ${completed} + ${failed}, then ${batch.completed} + ${batch.failed}`,
      );
      counts = [batch.completed, batch.failed];
    }
    const isFinal = batch !== undefined && !['in_progress', 'cancelling'].includes(batch.status);
    const readsResults = isFinal || timeline.chance(0.4);
    const results = readsResults
      ? await persistently(world, `a client reads the results of batch ${batchId}`, readResults, 1)
      : undefined;
    if (results !== undefined) checkCounts(world, batchId, results, counts);
    for (const { custom_id: id, status } of results ?? []) {
      const before = ended.get(id);
      if (before !== undefined)
        checks.that('a result never changes', before === status, () => `${id}: ${before}, then ${status}`);
      if (status === 'success' || status === 'failed') ended.set(id, status);
    }
    if (isFinal || world.isOver) return;
  }
}

/** Results that are read after the counts of a batch show at least as many ended requests. */
function checkCounts(
  { checks }: World,
  batchId: string,
  results: readonly { status: string }[],
  counts: readonly number[],
): void {
  const tally = ['success', 'failed'].map((of) => results.filter(({ status }) => status === of).length);
  checks.that(
    'results are as many as were counted before',
    tally.every((count, index) => count >= (counts[index] ?? 0)),
    () => `${batchId}: counted ${counts.join(' + ')}, results ${tally.join(' + ')}`,
  );
}

/** An operator, who in some worlds disables a workspace for a while or erases a person. */
export async function actAsOperator(world: World): Promise<void> {
  const { timeline, operations, ledger } = world;
  await timeline.sleep(timeline.between(10_000, 90_000));
  const workspaceId = timeline.pick(world.workspaces);
  if (timeline.chance(0.1)) {
    world.note(`an operator disables ${workspaceId}`);
    await persistently(world, 'an operator disables a workspace', (process) =>
      operations.enable(process, workspaceId, false),
    );
    await timeline.sleep(timeline.between(5000, 60_000));
    await persistently(world, 'an operator enables a workspace', (process) =>
      operations.enable(process, workspaceId, true),
    );
  }
  if (!timeline.chance(0.3)) return;
  const person = { workspaceId, externalUserId: timeline.pick(['user-0', 'user-2', 'user-4']) };
  const erasure = { ...person, start: timeline.now, end: Number.POSITIVE_INFINITY };
  ledger.erasures.push(erasure);
  world.note(`an operator erases ${person.externalUserId} of ${workspaceId}`);
  const isDone = await persistently(world, 'an operator erases a person', async (process) => {
    await operations.erase(process, person);
    return true;
  });
  if (isDone) erasure.end = timeline.now;
}
