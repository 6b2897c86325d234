import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { Command } from 'commander';
import { type ErasedCounts, nothingErased } from '#domain/chats/purge.ts';
import { type Report as Erased, eraseCompletely } from '#domain/erasure/erase-completely.ts';
import {
  batches,
  chatDeletion,
  chatPages,
  chatTraces,
  clock,
  erasedObjects,
  erasures,
  feedback,
  fileIndex,
  personTraces,
  purgeOutbox,
  requestEraser,
  workspaces,
} from '#runtime/composition/services.ts';
import { actor } from '#runtime/environment/invocation-context.ts';
import { countOf, formatCount, progressLine } from './progress-line.ts';
import { operation, type Result } from './report.ts';
import { checkUser } from './whitelist-commands.ts';

export function usersCommands(): Command {
  const group = new Command('users').description('The external users of a workspace.');
  operation(group, 'erase', erase)
    .description('erase a user: chats, files, feedback, texts of batch requests, and the whitelist entry')
    .requiredOption('--workspace <workspace>', 'whose user')
    .argument('<user>', 'its external_user_id')
    .addHelpText('after', eraseHelp);
  return group;
}

const eraseHelp = `
The command ends when nothing of the user is left: it reads the keys of all items of the table, of every workspace, and
waits for replies in progress. It may be repeated, also after it was stopped. Backups of the table contain erased data for
up to 35 days.`;

async function erase(user: string, { workspace }: { workspace: string }): Promise<Result> {
  checkUser(user);
  const services = {
    ...erasedObjects,
    batches: batches(),
    chatDeletion: chatDeletion(),
    chatPages: chatPages(),
    chatTraces: chatTraces(),
    clock,
    erasures: erasures(),
    feedback: feedback(),
    fileIndex: fileIndex(),
    personTraces: personTraces(),
    purgeOutbox: purgeOutbox(),
    requestEraser: requestEraser(),
    workspaces: workspaces(),
    sleepUntil: (time: number) => sleep(Math.max(time - clock.now().getTime(), 0)),
  };
  const { log } = progressLine();
  let erased: ErasedCounts | undefined;
  const progress = { onStep: log, onErased: (counts: ErasedCounts) => (erased = counts) };
  try {
    const person = { workspaceId: workspace, externalUserId: user };
    const report = await eraseCompletely(services, person, actor(), progress);
    return {
      json: { workspace_id: workspace, external_user_id: user, ...jsonOf(report) },
      lines: linesOf(report),
    };
  } catch (error) {
    if (erased !== undefined)
      log(`Erased so far: ${describe(erased)}. Run the command again: it goes on, and adds up`);
    throw error;
  }
}

const countsJson = ({ batchRequests, ...counts }: ErasedCounts) => ({
  ...counts,
  batch_requests: batchRequests,
});

const jsonOf = ({ erased, erasedBefore, itemsScanned }: Erased) => ({
  ...countsJson(erased),
  by_previous_runs: countsJson(erasedBefore),
  items_scanned: itemsScanned,
});

const describe = ({ chats, ratings, batchRequests, others }: ErasedCounts): string =>
  `${countOf(chats, 'chat')}, ${countOf(ratings, 'rating')} in other chats, ${countOf(batchRequests, 'batch request')} and ${countOf(others, 'other item')}`;

const linesOf = ({ erased, erasedBefore, itemsScanned }: Erased): string[] => [
  `Erased ${describe(erased)}`,
  ...(isDeepStrictEqual(erasedBefore, nothingErased)
    ? []
    : [`Earlier runs, which did not end, had erased ${describe(erasedBefore)} of these`]),
  `The last scan found nothing; ${formatCount(itemsScanned)} items were read`,
];
