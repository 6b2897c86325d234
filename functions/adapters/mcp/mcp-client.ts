import {
  Client,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { OutboundFailure } from '#domain/platform/failures.ts';
import { untilAborted } from '#domain/platform/promises.ts';
import {
  type McpCall,
  type McpConnection,
  type McpListing,
  McpRejection,
  type McpResult,
  type McpTarget,
} from '#domain/tools/mcp.ts';
import type { RemoteHttp } from '#domain/tools/remote-http.ts';
import { DefaultJsonSchemaValidator } from './client-shims.ts';
import { asOneCall, mcpFetch } from './mcp-fetch.ts';

/** The first version without a handshake. */
const modernVersion = '2026-07-28';

/**
 * Makes a connection to an MCP server, which its first call opens, by the official client, with or without a handshake
 * (`Era`). `mcpFetch` checks everything that the server sends. The limits of one call and of a list are in this file.
 */
export const openMcp = (http: RemoteHttp, target: McpTarget): McpConnection => new Connection(http, target);

/** `legacy`: versions of the protocol that begin with a handshake, up to 2025-11-25. `modern`: the versions since then. */
type Era = 'modern' | 'legacy';

/** A connected client. Its transport has the server's session, if there is one. */
interface Session {
  client: Client;
  transport: StreamableHTTPClientTransport;
}

/**
 * The maximum number of requests of one call. A handshake, the call and a second attempt of both are four. The others
 * are for streams that are resumed and for requests of the server, which count too. Notifications do not count.
 */
const callRequests = 6;

/**
 * The maximum numbers of pages, tools and requests of one list of tools. The requests include those of a second
 * attempt.
 */
const listLimits = { pages: 20, tools: 500, requests: 26 };

/**
 * Milliseconds that the end of a session may take. After that, the server ends it by itself. The client's own timeout
 * is longer than that of the call by as much.
 */
const closeMilliseconds = 1000;

class Connection implements McpConnection {
  readonly #http: RemoteHttp;
  readonly #target: McpTarget;
  #era: Era;
  #session: Promise<Session> | undefined;

  constructor(http: RemoteHttp, target: McpTarget) {
    this.#http = http;
    this.#target = target;
    this.#era = target.protocol >= modernVersion ? 'modern' : 'legacy';
  }

  async call({ tool, args, schema, parameterHeaders }: McpCall, signal: AbortSignal): Promise<McpResult> {
    const toolDefinition = { name: tool, inputSchema: withHeaders(schema, parameterHeaders) } as never;
    return this.#inEra(signal, callRequests, async ({ client }, options) => {
      const result = await client.callTool({ name: tool, arguments: args }, { ...options, toolDefinition });
      return result as McpResult;
    });
  }

  async list(signal: AbortSignal): Promise<McpListing> {
    return this.#inEra(signal, listLimits.requests, async ({ client }, options) => {
      if (client.getProtocolEra() === 'modern') await client.discover(options);
      const { tools } = await client.listTools(undefined, options);
      if (tools.length > listLimits.tools)
        throw new OutboundFailure('too-large', `The server lists more than ${listLimits.tools} tools`);
      return {
        protocol: client.getNegotiatedProtocolVersion() ?? '',
        server: client.getServerVersion()?.name,
        instructions: client.getInstructions(),
        tools: tools as McpListing['tools'],
      };
    });
  }

  async close(): Promise<void> {
    const session = await this.#session?.catch(() => undefined);
    this.#session = undefined;
    if (session === undefined) return;
    const timeout = AbortSignal.timeout(closeMilliseconds);
    await untilAborted(session.transport.terminateSession(), timeout).catch(() => undefined);
    await session.client.close();
  }

  /**
   * Runs a call in the present era: that of the target's version, until `#changesEra` has changed it. If that allows a
   * second attempt, both share the time and the requests of the call.
   * @throws as `McpConnection`
   */
  async #inEra<Result>(
    signal: AbortSignal,
    requests: number,
    work: (session: Session, options: { signal: AbortSignal; timeout: number }) => Promise<Result>,
  ): Promise<Result> {
    const { timeout } = this.#target;
    return asOneCall({ ...this.#target, requests }, signal, async (state) => {
      const options = { signal: state.signal, timeout: timeout + closeMilliseconds };
      const attempt = async () => {
        const session = await this.#open(options);
        return work(session, options);
      };
      try {
        try {
          return await untilAborted(attempt(), state.signal);
        } catch (error) {
          signal.throwIfAborted();
          if (state.failure !== undefined || !this.#changesEra(error, state.status ?? 0)) throw error;
          return await untilAborted(attempt(), state.signal);
        }
      } catch (error) {
        signal.throwIfAborted();
        if (state.failure !== undefined) throw state.failure;
        if (!state.signal.aborted) throw failureOf(error);
        throw new OutboundFailure('timeout', `It took longer than ${timeout / 1000} seconds`, {
          cause: error,
        });
      }
    });
  }

  /**
   * Prepares a second attempt, if one may be made: in the same era if the server has ended the session or speaks the
   * modern version, otherwise in the other era.
   * @returns false if none may be made, because the server may have carried out the call
   */
  #changesEra(error: unknown, status: number): boolean {
    const isSession = this.#era === 'legacy' && this.#session !== undefined;
    const hasEnded = isSession && error instanceof SdkHttpError && status === 404;
    if (!hasEnded && !provesNothing(error, status)) return false;
    const wantsSame =
      this.#era === 'modern' &&
      error instanceof ProtocolError &&
      JSON.stringify(error.data ?? {}).includes(modernVersion);
    if (!hasEnded && !wantsSame) this.#era = this.#era === 'modern' ? 'legacy' : 'modern';
    this.#session = undefined;
    return true;
  }

  #open(options: { signal: AbortSignal; timeout: number }): Promise<Session> {
    this.#session ??= this.#connect(options);
    this.#session.catch(() => {
      this.#session = undefined;
    });
    return this.#session;
  }

  async #connect(options: { signal: AbortSignal; timeout: number }): Promise<Session> {
    const client = new Client(
      { name: 'agent-service', version: '1' },
      {
        capabilities: {},
        listMaxPages: listLimits.pages,
        jsonSchemaValidator: new DefaultJsonSchemaValidator() as never,
      },
    );
    // The call itself fails with its own error.
    client.onerror = () => undefined;
    const transport = new StreamableHTTPClientTransport(this.#target.url, {
      fetch: mcpFetch(this.#http, this.#target),
      reconnectionOptions: {
        ...{ initialReconnectionDelay: 100, maxReconnectionDelay: 1000 },
        ...{ reconnectionDelayGrowFactor: 2, maxRetries: 2 },
      },
      onInsufficientScope: 'throw',
    });
    const discover = {
      supportedVersions: [modernVersion],
      capabilities: { tools: {} },
      resultType: 'complete',
    };
    const prior =
      this.#era === 'legacy' ? { kind: 'legacy' as const } : { kind: 'modern' as const, discover };
    await client.connect(transport, { ...options, prior: prior as never });
    return { client, transport };
  }
}

/** A copy of the schema with marks at the arguments that headers repeat. Models get the schema without these marks. */
function withHeaders(schema: McpCall['schema'], headers: McpCall['parameterHeaders']): object {
  const copy = structuredClone(schema);
  for (const [name, path] of Object.entries(headers)) {
    const node = path.reduce<unknown>((parent, step) => Object(Object(parent).properties)[step], copy);
    if (typeof node === 'object' && node !== null) Object.assign(node, { 'x-mcp-header': name });
  }
  return copy;
}

/**
 * The JSON-RPC errors and the HTTP statuses of a request that was not understood. The errors are: malformed, invalid,
 * unknown method, another version, headers that do not match.
 */
const unheard: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32022, -32020]);
const rejections: ReadonlySet<number> = new Set([400, 404, 405, 406, 415]);

/** Whether a server that fails so has not carried out anything: it did not understand the request. */
const provesNothing = (error: unknown, status: number): boolean =>
  (error instanceof ProtocolError && unheard.has(error.code)) ||
  ((error instanceof ProtocolError || error instanceof SdkHttpError) && rejections.has(status));

/**
 * Converts an error of the client. Its message may have texts of the server, so only a McpRejection, the server's own
 * error, has it.
 */
function failureOf(error: unknown): Error {
  if (error instanceof OutboundFailure) return error;
  if (error instanceof ProtocolError) {
    if (error.code === -32601 || isUnknownTool(error.message))
      return new OutboundFailure('changed', undefined, { cause: error });
    return new McpRejection(error.message);
  }
  if (error instanceof SdkHttpError) {
    const status = error.status ?? 0;
    if (status === 401 || status === 403) return new OutboundFailure('unauthorized');
    return new OutboundFailure('refused', `The server answered with status ${status}`);
  }
  if (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout)
    return new OutboundFailure('timeout');
  return new OutboundFailure('protocol', undefined, { cause: error });
}

/** Whether an error says that the server does not have the tool. There is no code for that. */
function isUnknownTool(text: string): boolean {
  const said = text.slice(0, 300).toLowerCase();
  return said.includes('tool') && ['unknown', 'not found', 'not exist'].some((words) => said.includes(words));
}
