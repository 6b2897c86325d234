import { chatNotFound, ServiceError } from '#contract/errors.ts';
import type { ResponseFormat } from '#contract/response-format.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import { requestedForm } from '#domain/chats/agent-runtime.ts';
import type { ReplyForm } from '#domain/chats/reply-form.ts';
import { findAttachedFiles } from '#domain/files/attachments.ts';
import type { StoredFile } from '#domain/files/files.ts';
import { once } from '#domain/platform/services.ts';
import { type Workspace, whitelistProblem } from '#domain/workspaces/workspace.ts';
import type { BatchRequest } from './batch.ts';
import type { Services } from './batch-store.ts';

export type CheckServices = Services<'agents' | 'chats' | 'clock' | 'fileIndex' | 'workspaces'>;

export interface Prepared {
  agent: AgentVersion;
  attachments: StoredFile[];
  form: ReplyForm | undefined;
}

export interface Invalid {
  invalid: string;
}

/** The checks share their reads. A worker makes them again, because users, agents and files may change. */
export function requestChecks(
  { agents, workspaces, fileIndex, clock }: Omit<CheckServices, 'chats'>,
  { id, whitelistEnabled }: Pick<Workspace, 'id' | 'whitelistEnabled'>,
) {
  const isListed = once((user) => workspaces.isListed(id, user));
  const published = once((agentId) => agents.published(id, agentId));
  const file = once((uuid) => fileIndex.get(id, uuid));
  const files = { fileIndex: { get: (_: string, uuid: string) => file(uuid) }, clock };
  return {
    async problemOfUser({ externalUserId: user }: Pick<BatchRequest, 'externalUserId'>) {
      if (!whitelistEnabled) return undefined;
      return whitelistProblem(user, user !== null && (await isListed(user)));
    },
    agentOf: ({ agentId }: Pick<BatchRequest, 'agentId'>) => published(agentId),
    /** @throws badRequest that names the first entry of `field` that is not a file of the workspace, or has expired */
    filesOf: ({ attachedFileUuids }: Pick<BatchRequest, 'attachedFileUuids'>, field?: string) =>
      findAttachedFiles(files, id, attachedFileUuids, field),
  };
}

export async function prepareRequests(
  services: CheckServices,
  workspace: Workspace,
  requests: readonly BatchRequest[],
  format: ResponseFormat | undefined,
): Promise<Map<number, Prepared | Invalid>> {
  const checks = requestChecks(services, workspace);
  const prepare = async (request: BatchRequest): Promise<Prepared | Invalid> => {
    // Only an erased request has an empty message: clients must send a text.
    if (request.message === '') return { invalid: await whyErased(services, workspace, request) };
    const [agent, problem, attachments] = await Promise.all([
      checks.agentOf(request),
      checks.problemOfUser(request),
      checks.filesOf(request).catch(invalidity),
    ]);
    if (agent === undefined) return { invalid: 'Agent version not found' };
    if (problem !== undefined) return { invalid: problem };
    if ('invalid' in attachments) return attachments;
    // The agent may have got a schema of its own since the batch was created.
    const form = await requestedForm(format, agent).catch(invalidity);
    return form !== undefined && 'invalid' in form ? form : { agent, attachments, form };
  };
  const prepared = requests.map(async (request) => [request.requestIndex, await prepare(request)] as const);
  return new Map(await Promise.all(prepared));
}

async function whyErased(
  { chats }: Services<'chats'>,
  { id }: Workspace,
  { historyId }: BatchRequest,
): Promise<string> {
  const isChatGone = historyId !== null && (await chats.get(id, historyId)) === undefined;
  return isChatGone ? chatNotFound().message : 'The request was erased';
}

function invalidity(error: unknown): Invalid {
  if (error instanceof ServiceError && error.kind === 'badRequest') return { invalid: error.message };
  throw error;
}
