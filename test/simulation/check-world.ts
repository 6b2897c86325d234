import { keys } from '#adapters/dynamo/table/keys.ts';
import type { Cursor } from '#contract/pagination.ts';
import {
  batchesIn,
  chatsIn,
  leftOfDeleted,
  listProblems,
  openBatchesOf,
  readItems,
  type StoredBatch,
  type StoredChat,
} from './items.ts';
import type { PaidCall } from './model.ts';
import type { Process } from './process.ts';
import { clockDifference } from './timeline.ts';
import type { World } from './world.ts';

/** Checks what must hold once all work has ended. */
export async function checkWorld(world: World): Promise<void> {
  const items = readItems(world.table);
  const chats = chatsIn(items);
  const batches = batchesIn(items);
  checkIds(world, chats);
  checkLists(world, items);
  checkTurns(world, chats);
  checkNames(world, chats);
  checkSends(world, chats);
  checkRequests(world, chats);
  checkBatches(world, batches, items);
  checkPayments(world);
  checkErasures(world, chats);
  await checkUsage(world);
  await checkPages(world, chats);
  await checkFreedom(world, chats);
}

const nameOf = ({ workspaceId, chatId }: { workspaceId: string; chatId: number }): string =>
  `chat ${chatId} of ${workspaceId}`;

function checkIds({ checks, ledger }: World, chats: readonly StoredChat[]): void {
  for (const [key, ids] of ledger.keys)
    checks.that('a key creates one chat or batch', ids.size === 1, () => `${key}: ${[...ids].join(', ')}`);
  for (const one of ledger.creations)
    for (const other of ledger.creations) {
      if (one === other || one.workspaceId !== other.workspaceId || one.end > other.start) continue;
      const what = () => `${one.id} until ${one.end}, ${other.id} from ${other.start}`;
      checks.that('an id is given once, and later ones are higher', one.id < other.id, what);
    }
  for (const ofWorkspace of Map.groupBy(chats, ({ workspaceId }) => workspaceId).values()) {
    const sorted = ofWorkspace.toSorted((one, other) => one.chatId - other.chatId);
    for (const [index, { createdAt, ...chat }] of sorted.entries())
      checks.that(
        'created_at never falls with a rising id',
        createdAt >= (sorted[index - 1]?.createdAt ?? ''),
        () => nameOf(chat),
      );
  }
}

function checkLists({ checks, ledger }: World, items: ReturnType<typeof readItems>): void {
  const { wrong, interleaved } = listProblems(items);
  checks.that('lists and counts agree with the chats', wrong.length === 0, () => wrong.join('; '));
  checks.that('entries of a list do not interleave', interleaved.length === 0, () => interleaved.join('; '));
  const left = leftOfDeleted(items);
  if (ledger.chats.some(({ isDeleted }) => isDeleted))
    checks.that('a purged chat leaves nothing', left.length === 0, () => left.join(', '));
}

function checkTurns({ checks, delayedTurns }: World, chats: readonly StoredChat[]): void {
  for (const { messages, messageCount, isLeased, ...chat } of chats) {
    const hasGap = messages.some(({ position }, index) => position !== index + 1);
    const what = () =>
      `${nameOf(chat)}: ${messages.map(({ position }) => position).join(', ')}; count ${messageCount}`;
    checks.that('positions have no gaps', !hasGap && messages.length >= messageCount, what);
    for (const { position, content } of messages)
      if (content.startsWith('Reply to '))
        checks.that(
          'a reply belongs to its message',
          messages.some(
            (message) =>
              message.position === position - 1 &&
              content === `Reply to ${message.content}`.slice(0, content.length),
          ),
          () => `${nameOf(chat)} at ${position}: ${content}`,
        );
    // The next send closes such a turn.
    if (delayedTurns.has(keys.chat(chat.workspaceId, chat.chatId).pk)) continue;
    checks.that('a stored turn is counted', messages.length <= messageCount + (isLeased ? 2 : 0), what);
  }
}

function checkNames({ checks, ledger }: World, chats: readonly StoredChat[]): void {
  for (const { name, ...chat } of chats) {
    const renames = ledger.renames.filter(
      (rename) => rename.chat.workspaceId === chat.workspaceId && rename.chat.chatId === chat.chatId,
    );
    if (!renames.some(({ isDone }) => isDone)) continue;
    // Any rename may be the last, unless one that succeeded started after its end.
    const mayBeLast = renames.filter(
      ({ end }) => !renames.some((other) => other.isDone && other.start > end),
    );
    checks.that(
      'a rename is never lost',
      mayBeLast.some((rename) => rename.name === name),
      () =>
        `${nameOf(chat)} is named ${name}; expected ${mayBeLast.map((rename) => rename.name).join(' or ')}`,
    );
  }
}

function checkSends({ checks, ledger }: World, chats: readonly StoredChat[]): void {
  const chatAt = new Map(chats.map((chat) => [nameOf(chat), chat]));
  for (const { chat, message, reply, key, tries } of ledger.sends) {
    const stored = chatAt.get(nameOf(chat))?.messages;
    if (stored === undefined) continue;
    const positions = stored.filter(({ content }) => content === message).map(({ position }) => position);
    const most = key === null ? tries : 1;
    checks.that(
      'a message is stored once',
      positions.length <= most,
      () => `${message}: ${positions.join(', ')}`,
    );
    if (reply === undefined) continue;
    const hasReply = positions.some((position) => stored[position]?.content === reply);
    checks.that('a reply that a client got is stored', hasReply, () => `${message} in ${nameOf(chat)}`);
  }
}

/** Requests of batches have unique texts, and their chats unique names. */
function checkRequests({ checks, ledger }: World, chats: readonly StoredChat[]): void {
  const messages = chats.flatMap((chat) => chat.messages.map((message) => ({ ...message, chat })));
  const byContent = Map.groupBy(messages, ({ content }) => content);
  const createdFor = Map.groupBy(
    chats.filter((chat) => chat.createdFor !== undefined),
    (chat) => `${chat.workspaceId} ${chat.createdFor}`,
  );
  for (const [request, made] of createdFor)
    checks.that(
      'a request has one chat and one turn',
      made.length === 1,
      () => `${request}: ${made.length} chats`,
    );
  for (const batch of ledger.batches) {
    const lastOf = new Map<number, number>();
    for (const { message, historyId } of batch.requests) {
      const turns = byContent.get(message) ?? [];
      checks.that(
        'a request has one chat and one turn',
        turns.length <= 1,
        () => `${message}: ${turns.map(({ chat, position }) => `${position} of ${nameOf(chat)}`).join(', ')}`,
      );
      const position = turns[0]?.position;
      if (historyId === null || position === undefined) continue;
      checks.that(
        'requests of a history run in order',
        position > (lastOf.get(historyId) ?? 0),
        () => `${message} of history ${historyId} at ${position}, after ${lastOf.get(historyId)}`,
      );
      lastOf.set(historyId, position);
    }
  }
}

function checkBatches(
  { checks, ledger, deliveries, history, workspaces, outside }: World,
  batches: readonly StoredBatch[],
  items: ReturnType<typeof readItems>,
): void {
  for (const workspaceId of workspaces) {
    const open = batches.filter((batch) => batch.workspaceId === workspaceId && !batch.isFinal).length;
    const counted = openBatchesOf(items, workspaceId);
    checks.that(
      'open batches are those that are not final',
      counted === open,
      () => `${workspaceId} counts ${counted} open batches; there are ${open}`,
    );
  }
  for (const batch of batches) {
    const { batchId, status, completed, failed, total, succeededItems } = batch;
    checks.that('every batch ends', batch.isFinal, () => `${batchId} is ${status}`);
    // A batch of this size takes ten minutes with one slow slot, and a lost slot two minutes.
    if (outside.settings.batchTimeout >= hour)
      checks.that('no batch waits for its expiry', !batch.hasExpired, () => batchId);
    checks.that(
      'open batches are those that are not final',
      batch.isListedAsOpen === !batch.isFinal,
      () => `${batchId} is ${status}`,
    );
    if (!batch.isFinal) continue;
    checks.that(
      'completed and failed are counted from items',
      completed === succeededItems && completed + failed === total,
      () => `${batchId}: ${completed} + ${failed} of ${total}; ${succeededItems} items succeeded`,
    );
    const key = ledger.batches.find((made) => made.batchId === batchId)?.key;
    if (!batch.wantsWebhook || key === undefined) continue;
    const calls = deliveries.filter((delivery) => delivery.key === key);
    const successes = calls.filter((call) => call.status === 200).length;
    const bodies = new Set(calls.map(({ body }) => body));
    // A delivery whose end was not stored is made again.
    const isCalm = !history.some((line) => /\b(?:deliver|reconciler) \(process/.test(line));
    const most = isCalm ? 1 : Number.POSITIVE_INFINITY;
    const isDelivered = batch.deliveryState === 'delivered' ? successes >= 1 : successes === 0 || !isCalm;
    checks.that(
      'a webhook is delivered once',
      isDelivered && successes <= most && bodies.size <= 1 && batch.deliveryState !== 'pending',
      () => `${batchId}: ${batch.deliveryState}, ${successes} calls received, ${bodies.size} bodies`,
    );
  }
  for (const [workspaceId, stored] of Map.groupBy(batches, (batch) => batch.workspaceId)) {
    const wanted = ledger.batches.filter((batch) => batch.workspaceId === workspaceId).length;
    checks.that(
      'a key creates one chat or batch',
      stored.length <= wanted,
      () => `${workspaceId}: ${stored.length} batches`,
    );
  }
}

const hour = 3_600_000;

function checkErasures({ checks, ledger }: World, chats: readonly StoredChat[]): void {
  for (const { workspaceId, externalUserId, start, end } of ledger.erasures) {
    const own = chats.filter(
      (chat) => chat.workspaceId === workspaceId && chat.externalUserId === externalUserId,
    );
    if (end !== Number.POSITIVE_INFINITY)
      checks.that(
        'an erased person is gone',
        own.every(({ createdAt }) => Date.parse(createdAt) > start - clockDifference),
        () => `${externalUserId}: ${own.map(nameOf).join(', ')}`,
      );
    if (ledger.retentions.some((retention) => retention.workspaceId === workspaceId)) continue;
    for (const { id, ...creation } of ledger.creations) {
      const made = ledger.chats.find((chat) => chat.workspaceId === workspaceId && chat.chatId === id);
      if (creation.workspaceId !== workspaceId || made?.externalUserId !== externalUserId) continue;
      if (made.isDeleted || creation.start < end + clockDifference) continue;
      checks.that(
        'what a person does after an erasure stays',
        own.some(({ chatId }) => chatId === id),
        () => `${nameOf({ workspaceId, chatId: id })} of ${externalUserId}`,
      );
    }
  }
}

/** A reply that succeeded is not made again, unless something happened to the process that has paid it. */
function checkPayments({ checks, calls }: World): void {
  const paid = Map.groupBy(
    calls.filter(({ succeededAt }) => succeededAt !== undefined),
    ({ message }) => message,
  );
  for (const [message, successes] of paid) {
    const invariant = message.startsWith('question')
      ? 'a request is paid once unless its process was disturbed'
      : 'a reply is paid once unless its process was disturbed';
    const excused = successes.filter(({ process, startedAt }) =>
      process.wasDisturbed(startedAt - 15_000, Infinity),
    );
    checks.that(
      invariant,
      successes.length - excused.length <= 1 && (successes.length === 1 || excused.length > 0),
      () => `${message}: ${successes.length} calls, by ${successes.map(nameOfCall).join(' and ')}`,
    );
  }
}

const nameOfCall = ({ process }: PaidCall): string => process.name;

/** A process that lives counts its calls, unless the counting itself fails. */
const mustCount = ({ isDead, faultyCalls }: Process): boolean =>
  !isDead && !faultyCalls.some((call) => call.startsWith('usage.add'));

async function checkUsage(world: World): Promise<void> {
  const { checks, calls, workspaces, operations } = world;
  for (const workspaceId of workspaces) {
    const counted = await operations.callsCounted(world.newProcess('observer'), workspaceId);
    const own = calls.filter((call) => call.workspaceId === workspaceId);
    const most = own.length;
    const ended = own.filter(({ hasOutput, process }) => hasOutput && mustCount(process)).length;
    checks.that(
      'usage is at most the calls',
      counted <= most,
      () => `${workspaceId}: ${counted} of ${most} calls`,
    );
    checks.that(
      'usage is at least the calls of processes that lived',
      counted >= ended,
      () => `${workspaceId}: ${counted} counted, at least ${ended} calls were made`,
    );
  }
}

async function checkPages(world: World, chats: readonly StoredChat[]): Promise<void> {
  const { checks, timeline, operations } = world;
  const observer = world.newProcess('observer');
  for (const workspaceId of world.workspaces) {
    const [agentId, externalUserId] = [world.agentOf(workspaceId), 'user-2'];
    const filters = [{}, { agentId }, { externalUserId }, { agentId, externalUserId }];
    const filter: { agentId?: string; externalUserId?: string } = timeline.pick(filters);
    const ids = chats
      .filter((chat) => chat.workspaceId === workspaceId)
      .filter(({ agentId }) => filter.agentId === undefined || agentId === filter.agentId)
      .filter((chat) => filter.externalUserId === undefined || chat.externalUserId === filter.externalUserId)
      .map(({ chatId }) => chatId)
      .sort((one, other) => one - other);
    const ascending = timeline.chance(0.5);
    const expected = ascending ? ids : ids.toReversed();
    for (let offset = 0; offset <= ids.length; offset += 13) {
      const query = { workspaceId, ...filter };
      // A cursor of another offset is ignored.
      const others = [
        { isAfter: true, id: ids[0] ?? 0, offset: offset + 1 },
        { isAfter: false, id: ids[0] ?? 0, offset: offset + 12 },
      ];
      const cursor = timeline.pick([undefined, ...others]);
      const page = await operations.page(observer, query, { limit: 13, offset, ascending, cursor });
      const found = page.chats.map(({ id }) => id).join();
      checks.that(
        'pages equal the sorted living ids',
        found === expected.slice(offset, offset + 13).join() && page.total === ids.length,
        () => `${workspaceId} at ${offset}: ${found}, expected ${expected.slice(offset, offset + 13).join()}`,
      );
    }
    await checkLinks(world, { workspaceId, ...filter }, expected, ascending);
  }
}

/** Follows the links from the first page to the last one, and back. */
async function checkLinks(
  world: World,
  filter: { workspaceId: string; agentId?: string; externalUserId?: string },
  expected: readonly number[],
  ascending: boolean,
): Promise<void> {
  const limit = 7;
  let cursor: Cursor | undefined;
  let [offset, isBack] = [0, false];
  for (;;) {
    const page = { limit, offset, ascending, cursor };
    const { chats, ends } = await world.operations.page(world.newProcess('observer'), filter, page);
    const found = chats.map(({ id }) => id).join();
    const wanted = expected.slice(offset, offset + limit).join();
    world.checks.that(
      'pages equal the sorted living ids',
      found === wanted && (isBack || ends.hasMore === offset + limit < expected.length),
      () => `${filter.workspaceId} at ${JSON.stringify(page)}: ${found}, expected ${wanted}`,
    );
    isBack ||= !ends.hasMore;
    if (isBack && offset === 0) return;
    cursor = isBack
      ? { isAfter: false, id: ends.first ?? 0, offset }
      : { isAfter: true, id: ends.last ?? 0, offset: offset + limit };
    offset += isBack ? -limit : limit;
  }
}

/** Leases have ended: interrupted replies are in the history, and every chat takes a message. */
async function checkFreedom(world: World, chats: readonly StoredChat[]): Promise<void> {
  const { checks, operations, timeline } = world;
  const leased = chats.filter(({ isLeased }) => isLeased).slice(0, 4);
  const others = chats.length === 0 ? [] : [timeline.pick(chats)];
  for (const chat of new Set([...leased, ...others])) {
    const { workspaceId, chatId, agentId, externalUserId } = chat;
    const input = { workspaceId, chatId, externalUserId };
    const { total, messages } = await operations.history(world.newProcess('observer'), input);
    if (chat.isLeased)
      checks.that(
        'an interrupted reply is visible',
        total === chat.messages.length && messages.length === total,
        () => `${nameOf(chat)}: ${total} of ${chat.messages.length} messages`,
      );
    const requestId = world.nextName('request');
    const send = { ...input, agentId, message: world.nextName('probe'), resumable: false };
    const error = await operations.send(world.newProcess('probe'), send, { requestId, key: null }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    checks.that(
      'a chat is free within its lease',
      error === undefined,
      () => `${nameOf(chat)}: ${String(error)}`,
    );
  }
}
