import { problemOfData } from '#contract/json-schema.ts';
import { isObject } from '#contract/json-schema-rules.ts';
import { type PinnedTool, type ToolAuth, toolLimits } from '#contract/tools.ts';
import type { HostAndPort } from '#contract/urls.ts';
import { OutboundFailure } from '#domain/platform/failures.ts';
import type { RemoteHttp } from '#domain/tools/remote-tools.ts';
import { hostOf, maySendSecret, type ToolSecretStore } from '#domain/tools/tool-secret.ts';
import { type Offer, type ReplyUse, ToolFailure } from '../agent-tool.ts';

export interface RemoteResult {
  result: unknown;
  text?: string;
  attachments?: readonly object[];
}

/**
 * Is called at the start of a use, and returns a function to call at its end. An error that a tool reports is no
 * failure.
 */
export type CountUse = (name: string) => (failure: OutboundFailure | undefined) => void;

/**
 * The model gets the names, descriptions and schemas of agent.json, whatever the remote system says now.
 * @param call may throw a ToolFailure with a text of any length: it is cut
 */
export const pinnedOffers = <Tool extends PinnedTool>(
  { tools, max_result_characters: most }: { tools: readonly Tool[]; max_result_characters: number },
  countUse: CountUse,
  call: (tool: Tool, args: Record<string, unknown>, use: ReplyUse) => Promise<RemoteResult>,
): Offer[] =>
  tools.map((tool, index) => {
    const { name, description, approval, input_schema: schema } = tool;
    return {
      ...{ name, description, approval, field: ['config', 'tools', index], isRemote: true },
      // OpenAI rejects a tool whose schema has no `properties`.
      inputSchema: { ...schema, properties: schema.properties ?? {} },
      read(args) {
        const problem = problemOfArguments(schema, args);
        return problem === undefined ? { input: args } : { problem };
      },
      start: (args) => ({ content: name, args: { tool: name, arguments: args } }),
      async run(args, use) {
        const end = countUse(name);
        try {
          const data = shapeResult(await call(tool, args as Record<string, unknown>, use), most);
          end(undefined);
          return { data };
        } catch (error) {
          const isOutbound = error instanceof OutboundFailure;
          end(isOutbound ? error : undefined);
          if (!isOutbound && !(error instanceof ToolFailure)) throw error;
          throw new ToolFailure(cut(error.message, most), { cause: error });
        }
      },
    };
  });

function problemOfArguments(schema: PinnedTool['input_schema'], args: unknown): string | undefined {
  if (!isObject(args)) return 'must be object';
  if (Buffer.byteLength(JSON.stringify(args)) > toolLimits.argumentBytes)
    return `They are larger than ${toolLimits.argumentBytes / 1024} KB`;
  return problemOfData(schema, args);
}

/**
 * A result that is too long becomes a cut text. `truncated_from` is the length of the whole, as text or as JSON.
 * Lengths are in UTF-16 code units.
 */
export function shapeResult(found: RemoteResult, maxCharacters: number): object {
  const isText = typeof found.result === 'string' && Object.keys(found).length === 1;
  const whole = isText ? String(found.result) : JSON.stringify(found);
  if (whole.length <= maxCharacters) return found;
  return { result: cut(whole, maxCharacters), truncated_from: whole.length };
}

const cut = (text: string, maxCharacters: number): string => text.slice(0, maxCharacters).toWellFormed();

const placeholder = /\{\{(external_user_id|chat_id|workspace_id)\}\}/g;

/** @throws ToolFailure if the reply has no value for a placeholder: nothing may be sent then */
export function fillIn(
  text: string,
  { chat, agents: [{ workspaceId }] }: ReplyUse,
  encode: (value: string) => string = encodeURIComponent,
): string {
  const values = { external_user_id: chat?.externalUserId, chat_id: chat?.id, workspace_id: workspaceId };
  return text.replaceAll(placeholder, (_, name: keyof typeof values) => {
    const value = values[name] ?? undefined;
    if (value === undefined) throw new ToolFailure(`It needs the ${name} of a chat, and this reply has none`);
    return encode(String(value));
  });
}

/**
 * Checks the secret of an entry. Returns what is wrong, such as `auth.secret names no secret …`; undefined if nothing
 * is.
 * @param allow addresses that may get a secret without TLS
 */
export const checkTargetWith =
  (toolSecrets: ToolSecretStore, allow: readonly HostAndPort[]) =>
  async (workspaceId: string, url: URL, auth: ToolAuth | undefined): Promise<string | undefined> => {
    if (auth === undefined) return undefined;
    if (!maySendSecret(url, allow)) return 'url must be https, because the entry has a secret';
    const tokenUrl = 'token_url' in auth ? new URL(auth.token_url) : url;
    if (!maySendSecret(tokenUrl, allow)) return 'auth.token_url must be https';
    const secret = await toolSecrets.get(workspaceId, auth.secret);
    if (secret === undefined)
      return `auth.secret names no secret of the workspace: ${auth.secret}. Set it with agentctl secrets set`;
    const host = [url, tokenUrl].map(hostOf).find((each) => !secret.hosts.includes(each));
    return host === undefined
      ? undefined
      : `auth.secret is ${auth.secret}, which is not for the host ${host}: it is for ${secret.hosts.join(', ')}`;
  };

export type CheckTarget = ReturnType<typeof checkTargetWith>;

export interface RemoteServices {
  http: RemoteHttp;
  countUse: (type: string, url: URL) => CountUse;
  checkTarget: CheckTarget;
}
