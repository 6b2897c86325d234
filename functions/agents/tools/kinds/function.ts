import * as z from 'zod';
import { ServiceError } from '#contract/errors.ts';
import { callFields, functionArn, pinnedTool } from '#contract/tools.ts';
import { responseIdIn } from '#domain/chats/chat.ts';
import { parseJson } from '#domain/platform/parse-json.ts';
import type { InvokeFunction } from '#domain/tools/remote-tools.ts';
import { ToolFailure, type ToolKind } from '../agent-tool.ts';
import { type CountUse, pinnedOffers } from '../remote/pinned-tool.ts';

const config = z.strictObject({
  ...callFields,
  function: functionArn,
  tools: z.array(pinnedTool).min(1),
});

interface Services {
  invoke: InvokeFunction;
  /** The number of replies, this one included, that a request of the called function has come through. */
  depth(): number;
  countUse(type: string): CountUse;
}

/** Each takes a character, so a text with more is longer than the largest `max_result_characters`. */
const mostValues = 100_000;

const loggedCharacters = 2000;

const type = 'consultant_call_function';

export const functionKind = ({ invoke, depth, countUse }: Services): ToolKind<z.output<typeof config>> => ({
  type,
  config,
  offers: ({ function: arn, timeout_seconds, ...entry }) =>
    pinnedOffers(entry, countUse(type), async ({ name }, args, { agents, callId, chat, signal }) => {
      const { workspaceId, agentId, number } = agents.at(-1) ?? agents[0];
      const context = {
        ...{ workspace_id: workspaceId, agent_id: agentId, agent_version: number },
        ...{ chat_id: chat?.id ?? null, external_user_id: chat?.externalUserId ?? null },
        response_id: (chat?.lease && responseIdIn(chat.lease).responseId) ?? null,
        ...{ call_id: callId, depth: depth() },
      };
      const payload = JSON.stringify({ tool: name, arguments: args, context });
      return {
        result: resultOf(await invoke({ arn, payload, timeout: timeout_seconds * 1000, signal }), arn),
      };
    }),
});

/**
 * Returns null for an empty text.
 * @throws Error if the function has failed: its message has the start of the function's text, and is not for clients
 * and models; ToolFailure if the result is not JSON, or has too many values or levels
 */
function resultOf({ payload, hasFailed }: Awaited<ReturnType<InvokeFunction>>, arn: string): unknown {
  // Functions know their own ARN, which clients must not learn.
  const text = payload.replaceAll(arn.slice(0, arn.lastIndexOf(':')), '[function]');
  if (hasFailed) throw new Error(`The function has failed: ${text.slice(0, loggedCharacters)}`);
  try {
    return text === '' ? null : parseJson('The result of the function', text, mostValues);
  } catch (error) {
    throw error instanceof ServiceError ? new ToolFailure(error.message) : error;
  }
}
