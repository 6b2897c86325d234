import { ReplyScope } from '#agents/tools/reply-scope.ts';
import type { HttpApiConfig } from '#contract/http-api.ts';
import { remoteKinds } from './remote-tools.ts';
import { toolSecrets } from './services.ts';

/**
 * Uses a tool of an HTTP API as a reply does, for an operator's command.
 * @param index the index of the tool in `config`
 * @param user the external user of a chat, for placeholders
 * @returns the data of the step
 * @throws Error if there is no such tool, the arguments do not fit, or the tool fails
 */
export async function useHttpTool(
  config: HttpApiConfig,
  index: number,
  args: unknown,
  { workspaceId, user }: { workspaceId: string; user?: string | undefined },
): Promise<unknown> {
  const offer = remoteKinds(toolSecrets).httpApi.offers(config, {})[index];
  const read = offer?.read(args) ?? { problem: 'There is no such tool' };
  if (offer === undefined || read.problem !== undefined)
    throw new Error(`The arguments do not fit the tool: ${read.problem}`);
  const scope = new ReplyScope();
  const { signal } = new AbortController();
  const chat = { externalUserId: user ?? null };
  try {
    const use = { ...{ chat, scope, signal, attachments: [] }, agents: [{ workspaceId }] } as never;
    return (await offer.run(read.input, use)).data;
  } finally {
    await scope.close();
  }
}
