import { randomUUID } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { certificate } from './certificate.ts';
import { listenLocally } from './listen-locally.ts';

export interface ScriptedTool {
  name: string;
  description?: string;
  inputSchema?: object;
  annotations?: object;
}

export interface McpRequest {
  http: string;
  method: string | undefined;
  params: Record<string, unknown>;
  headers: IncomingHttpHeaders;
  body: string;
}

/** A response in place of the server's own. */
export type Override = (request: McpRequest, response: ServerResponse, id: unknown) => boolean;

export interface ScriptedMcp {
  url: string;
  host: string;
  received: McpRequest[];
  /** What the server speaks and lists now. */
  era: 'modern' | 'legacy' | 'both';
  tools: ScriptedTool[];
  call: (name: string, args: Record<string, unknown>, request: McpRequest) => object;
  override: Override | undefined;
  /** Whether responses are streams of events. */
  streams: boolean;
  /** Forgets all sessions. */
  forget(): void;
  methods(): string[];
  close(): Promise<void>;
}

const text = (value: string) => ({ content: [{ type: 'text', text: value }] });

/** An MCP server over real HTTP, whose eras, tools and mistakes a test sets. */
export async function scriptedMcp(options: { tls?: boolean } = {}): Promise<ScriptedMcp> {
  const sessions = new Set<string>();
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    const { id, method, params = {} } = body === '' ? ({} as never) : JSON.parse(body);
    const seen: McpRequest = { http: request.method ?? '', method, params, headers: request.headers, body };
    server.received.push(seen);
    if (server.override?.(seen, response, id)) return;
    respond(server, sessions, seen, response, id);
  };
  const handler = (request: IncomingMessage, response: ServerResponse) => void listener(request, response);
  const listening = options.tls ? createTlsServer(certificate, handler) : createServer(handler);
  const { port, close } = await listenLocally(listening);
  const server: ScriptedMcp = {
    url: options.tls ? `https://localhost:${port}/mcp` : `http://127.0.0.1:${port}/mcp`,
    host: `${options.tls ? 'localhost' : '127.0.0.1'}:${port}`,
    received: [],
    ...{ era: 'both', streams: false, override: undefined },
    tools: [{ name: 'echo', description: 'Says it again.', annotations: { readOnlyHint: true } }],
    call: (_name, args) => text(JSON.stringify(args)),
    forget: () => sessions.clear(),
    methods: () => server.received.map(({ http, method }) => (http === 'POST' ? String(method) : http)),
    close,
  };
  return server;
}

function send(
  server: ScriptedMcp,
  response: ServerResponse,
  id: unknown,
  result: object,
  headers: Record<string, string> = {},
): void {
  const message = JSON.stringify({ jsonrpc: '2.0', id, result });
  const type = server.streams ? 'text/event-stream' : 'application/json';
  const body = server.streams ? `event: message\ndata: ${message}\n\n` : message;
  response.writeHead(200, { 'content-type': type, ...headers }).end(body);
}

const fail = (response: ServerResponse, status: number, id: unknown, code: number, message: string) =>
  response
    .writeHead(status, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }));

function run(
  server: ScriptedMcp,
  request: McpRequest,
  response: ServerResponse,
  id: unknown,
  more: object,
): unknown {
  if (request.method === 'server/discover')
    return send(server, response, id, {
      ...{ supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, resultType: 'complete' },
      ...{ ttlMs: 0, cacheScope: 'private' },
    });
  if (request.method === 'tools/list') {
    const tools = server.tools.map((tool) => ({ inputSchema: { type: 'object' }, ...tool }));
    return send(server, response, id, { tools, ttlMs: 0, cacheScope: 'private', ...more });
  }
  const name = String(request.params.name);
  if (!server.tools.some((tool) => tool.name === name))
    return fail(response, 200, id, -32602, `Unknown tool: ${name}`);
  return send(server, response, id, {
    ...server.call(name, Object(request.params.arguments), request),
    ...more,
  });
}

function respond(
  server: ScriptedMcp,
  sessions: Set<string>,
  request: McpRequest,
  response: ServerResponse,
  id: unknown,
): unknown {
  if (request.headers['mcp-protocol-version'] === '2026-07-28') {
    if (server.era === 'legacy')
      return fail(response, 400, null, -32000, 'Bad Request: No valid session ID provided');
    return run(server, request, response, id, { resultType: 'complete' });
  }
  if (server.era === 'modern') return fail(response, 400, id, -32022, 'Unsupported protocol version');
  if (request.method === 'initialize') {
    const session = randomUUID();
    sessions.add(session);
    const about = { capabilities: { tools: {} }, serverInfo: { name: 'scripted', version: '1' } };
    const headers = { 'mcp-session-id': session };
    return send(server, response, id, { protocolVersion: '2025-11-25', ...about }, headers);
  }
  const session = String(request.headers['mcp-session-id']);
  if (!sessions.has(session)) return fail(response, 404, id, -32001, 'Session not found');
  if (request.http === 'DELETE') {
    sessions.delete(session);
    return response.writeHead(200).end();
  }
  if (request.http === 'GET') return response.writeHead(405).end();
  if (id === undefined) return response.writeHead(202).end();
  return run(server, request, response, id, {});
}
