import { isObject } from '#contract/json-schema-rules.ts';
import { type McpConfig, mcpConfig } from '#contract/tools.ts';
import { type McpConnection, McpRejection, type McpResult, type McpTarget } from '#domain/tools/mcp.ts';
import type { RemoteHttp } from '#domain/tools/remote-http.ts';
import { type ReplyUse, ToolFailure, type ToolKind } from '../agent-tool.ts';
import type { CheckTarget } from '../remote/check-target.ts';
import { fillIn } from '../remote/fill-in.ts';
import { type CountUse, pinnedOffers, type RemoteResult } from '../remote/pinned-tool.ts';

interface Services {
  http: RemoteHttp;
  openMcp: (target: McpTarget) => McpConnection;
  countUse: (type: string, url: URL) => CountUse;
  checkTarget: CheckTarget;
}

/**
 * The kind of MCP servers. The uses of an entry share one connection in a reply. Each call of an agent by another one
 * has connections of its own.
 */
export function mcpKind({ http, openMcp, countUse, checkTarget }: Services): ToolKind<McpConfig> {
  const type = 'consultant_call_mcp_tool';
  return {
    type,
    config: mcpConfig,
    checkConfig: ({ url, auth }, workspaceId) => checkTarget(workspaceId, new URL(url), auth),
    offers: (config) =>
      pinnedOffers(config, countUse(type, new URL(config.url)), async (pinned, args, use) => {
        const target = targetOf(http, config, use);
        const connection = use.scope.get(config, () => openMcp(target));
        const { tool, input_schema: schema, parameter_headers: parameterHeaders = {} } = pinned;
        const call = { tool, args, schema, parameterHeaders };
        return resultOf(await connection.call(call, use.signal).catch(rejection));
      }),
  };
}

/**
 * How this reply calls the server of an entry, with its headers filled in.
 * @throws ToolFailure if a placeholder has no value
 */
const targetOf = (http: RemoteHttp, config: McpConfig, use: ReplyUse): McpTarget => ({
  workspaceId: use.agents[0].workspaceId,
  url: new URL(config.url),
  ...{ protocol: config.protocol, auth: config.auth, timeout: config.timeout_seconds * 1000 },
  headers: Object.fromEntries(
    Object.entries(config.headers).map(([name, value]) => [name, fillIn(value, use)]),
  ),
  pool: use.scope.get(http, () => http.openPool()),
});

function rejection(error: unknown): never {
  if (error instanceof McpRejection) throw new ToolFailure(`The server rejects the call: ${error.message}`);
  throw error;
}

type Content = McpResult['content'][number];

/**
 * The result of a tool for the model: the structured content, or else the texts. The texts are in `text` if they say
 * more than the structured content. `attachments` describes other contents, such as images, without their bytes.
 * @throws ToolFailure if the tool has failed, with the server's text if there is one
 */
export function resultOf({ content, structuredContent, isError }: McpResult): RemoteResult {
  const texts = content.map(textOf).filter((each) => each !== undefined);
  const joined = texts.join('\n');
  if (isError === true) throw new ToolFailure(joined || 'The tool failed without a text');
  const attachments = content.map(attachmentOf).filter((each) => each !== undefined);
  const further = attachments.length > 0 ? { attachments } : {};
  if (structuredContent === undefined) return { result: joined, ...further };
  const isSame = texts.length === 0 || (texts.length === 1 && isJsonOf(joined, structuredContent));
  return { result: structuredContent, ...(!isSame && { text: joined }), ...further };
}

const textOf = ({ type, text: own, resource }: Content): string | undefined => {
  const found = type === 'text' ? own : type === 'resource' && isObject(resource) ? resource.text : undefined;
  return typeof found === 'string' ? found : undefined;
};

function attachmentOf({ type, data, mimeType, uri, name, resource }: Content): object | undefined {
  const blob = isObject(resource) ? resource.blob : undefined;
  if (type === 'resource_link') return { type, uri, name, mime_type: mimeType };
  const bytes = type === 'resource' ? blob : data;
  if (type === 'text' || typeof bytes !== 'string') return undefined;
  const mime = isObject(resource) ? resource.mimeType : mimeType;
  return { type, mime_type: mime, bytes: Buffer.byteLength(bytes, 'base64') };
}

function isJsonOf(joined: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(joined)) === JSON.stringify(value);
  } catch {
    return false;
  }
}
