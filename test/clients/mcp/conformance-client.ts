import { openMcp } from '../../../functions/adapters/mcp/mcp-client.ts';
import { remoteHttp } from '../../../functions/adapters/outbound/remote-http.ts';
import { smallestInstance } from '../../../functions/contract/json-schema.ts';
import { toolsOfServer } from '../../../functions/domain/tools/pin-tools.ts';

/** The service as the protocol's conformance suite drives a client: it pins the tools of a server and calls each. */

const {
  MCP_CONFORMANCE_SCENARIO: scenario = '',
  MCP_CONFORMANCE_CONTEXT: context = '{}',
  MCP_CONFORMANCE_PROTOCOL_VERSION: protocol = '2025-11-25',
} = process.env;
const url = new URL(process.argv.at(-1) ?? '');
const http = remoteHttp({
  rules: {
    allow: [{ host: url.hostname, port: '*' }],
    denied: [],
    resolve: async () => ['127.0.0.1', '::1'],
  },
  credentialOf: async () => ({ headers: {}, query: {}, secrets: [], forget: () => undefined }),
  depth: () => 0,
});
const pool = http.openPool();
const mcp = openMcp(http, {
  ...{ workspaceId: 'ws', url, protocol, headers: {}, auth: undefined, timeout: 20_000, pool },
});
const { signal } = new AbortController();
const { toolCalls = [] } = JSON.parse(context) as { toolCalls?: { name: string; arguments: object }[] };

try {
  const { tools } = await mcp.list(signal);
  for (const { tool: pinned } of toolsOfServer(tools, [], { prefix: 'x' })) {
    if (pinned === undefined) continue;
    const { tool, input_schema: schema, parameter_headers: parameterHeaders = {} } = pinned;
    const given = toolCalls.filter(({ name }) => name === tool).map((call) => call.arguments);
    for (const args of given.length > 0 ? given : [smallestInstance(schema) ?? {}])
      await mcp
        .call({ tool, args: args as Record<string, unknown>, schema, parameterHeaders }, signal)
        .then((result) => console.log(tool, JSON.stringify(result).slice(0, 200)))
        .catch((error: Error) => console.error(`${scenario} ${tool}: ${error.message}`));
  }
} finally {
  await mcp.close();
  pool.close();
}
