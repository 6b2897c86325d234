import { isObject, isText } from '#contract/json-schema-rules.ts';
import { type McpConfig, mcpConfig } from '#contract/tools.ts';
import { McpRejection, type McpResult, type OpenMcp } from '#domain/tools/remote-tools.ts';
import { ToolFailure, type ToolKind } from '../agent-tool.ts';
import { fillIn, pinnedOffers, type RemoteResult, type RemoteServices } from '../remote/pinned-tool.ts';

interface Services extends RemoteServices {
  openMcp: OpenMcp;
}

const type = 'consultant_call_mcp_tool';

/** In a reply, uses of a server with equal settings and headers share one connection, also those of called agents. */
export const mcpKind = ({ http, openMcp, countUse, checkTarget }: Services): ToolKind<McpConfig> => ({
  type,
  config: mcpConfig,
  checkConfig: ({ url, auth }, workspaceId) => checkTarget(workspaceId, new URL(url), auth),
  offers: (config) =>
    pinnedOffers(config, countUse(type, new URL(config.url)), async (pinned, args, use) => {
      const { url, protocol, auth, timeout_seconds: seconds } = config;
      const headers = Object.entries(config.headers).map(([name, value]) => [name, fillIn(value, use)]);
      const target = {
        ...{ workspaceId: use.agents[0].workspaceId, url: new URL(url), protocol, auth },
        ...{ timeout: seconds * 1000, headers: Object.fromEntries(headers) },
      };
      const connection = use.scope.get(JSON.stringify([type, target]), () =>
        openMcp({ ...target, pool: use.scope.get(http, () => http.openPool()) }),
      );
      const { tool, input_schema: schema, parameter_headers: parameterHeaders = {} } = pinned;
      const call = { tool, args, schema, parameterHeaders };
      const result = await connection.call(call, use.signal).catch((error) => {
        if (!(error instanceof McpRejection)) throw error;
        throw new ToolFailure(`The server rejects the call: ${error.message}`);
      });
      return resultOf(result);
    }),
});

type Content = McpResult['content'][number];

/**
 * With structured content, the texts are in `text`, unless they are only the JSON of that content.
 * @throws ToolFailure if the tool has failed, with the server's text if there is one
 */
export function resultOf({ content, structuredContent, isError }: McpResult): RemoteResult {
  const texts = content.map(textOf).filter(isText);
  const text = texts.join('\n');
  if (isError === true) throw new ToolFailure(text || 'The tool failed without a text');
  const attachments = content.map(attachmentOf).filter((each) => each !== undefined);
  const further = attachments.length > 0 && { attachments };
  if (structuredContent === undefined) return { result: text, ...further };
  const isSame = texts.length === 0 || (texts.length === 1 && isJsonOf(text, structuredContent));
  return { result: structuredContent, ...(!isSame && { text }), ...further };
}

const textOf = ({ type, text, resource }: Content): unknown =>
  type === 'text' ? text : type === 'resource' && Object(resource).text;

function attachmentOf({ type, data, mimeType, uri, name, resource }: Content): object | undefined {
  if (type === 'resource_link') return { type, uri, name, mime_type: mimeType };
  const isResource = type === 'resource' && isObject(resource);
  const [bytes, mime_type] = isResource ? [resource.blob, resource.mimeType] : [data, mimeType];
  if (type === 'text' || !isText(bytes)) return undefined;
  return { type, mime_type, bytes: Buffer.byteLength(bytes, 'base64') };
}

function isJsonOf(joined: string, value: unknown): boolean {
  try {
    return JSON.stringify(JSON.parse(joined)) === JSON.stringify(value);
  } catch {
    return false;
  }
}
