import {
  Client,
  ProtocolError,
  type RequestOptions,
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
  type RemoteHttp,
} from '#domain/tools/remote-tools.ts';
import { DefaultJsonSchemaValidator } from './client-shims.ts';
import { type CallState, calls, mcpFetch } from './mcp-fetch.ts';

/** The first version without a handshake. */
const modernVersion = '2026-07-28';

/** The first `call` or `list` opens the connection. `mcpFetch` limits what the server sends. */
export const openMcp = (http: RemoteHttp, target: McpTarget): McpConnection => new Connection(http, target);

type CallOptions = Pick<RequestOptions, 'signal' | 'timeout'>;

/**
 * A handshake, the call and a second attempt of both are four. The others are for streams that are resumed and for
 * requests of the server.
 */
const callRequests = 6;

/** For one list of tools. The requests include those of a second attempt. */
const listLimits = { pages: 20, tools: 500, requests: 26 };

const jsonSchemaValidator = new DefaultJsonSchemaValidator() as never;
const clientOptions = { listMaxPages: listLimits.pages, jsonSchemaValidator };

/** With this, a client without a handshake can call tools without asking the server first. */
const discover = { supportedVersions: [modernVersion], capabilities: { tools: {} }, resultType: 'complete' };

class Connection implements McpConnection {
  readonly #http: RemoteHttp;
  readonly #target: McpTarget;
  #isModern: boolean;
  #client: Promise<Client> | undefined;

  constructor(http: RemoteHttp, target: McpTarget) {
    this.#http = http;
    this.#target = target;
    this.#isModern = target.protocol >= modernVersion;
  }

  async call({ tool, args, schema, parameterHeaders }: McpCall, signal: AbortSignal): Promise<McpResult> {
    const toolDefinition = { name: tool, inputSchema: withHeaders(schema, parameterHeaders) } as never;
    return this.#inEra(signal, callRequests, async (client, options) => {
      const result = await client.callTool({ name: tool, arguments: args }, { ...options, toolDefinition });
      return result as McpResult;
    });
  }

  async list(signal: AbortSignal): Promise<McpListing> {
    return this.#inEra(signal, listLimits.requests, async (client, options) => {
      if (this.#isModern) await client.discover(options);
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
    const client = await this.#client?.catch(() => undefined);
    this.#client = undefined;
    const transport = client?.transport as StreamableHTTPClientTransport | undefined;
    await transport?.terminateSession().catch(() => undefined);
    await client?.close();
  }

  /**
   * A second attempt shares the time and the requests of the first.
   * @throws as `McpConnection`
   */
  async #inEra<Result>(
    signal: AbortSignal,
    requests: number,
    work: (client: Client, options: CallOptions) => Promise<Result>,
  ): Promise<Result> {
    const { timeout } = this.#target;
    const failed = new AbortController();
    const ends = [signal, failed.signal, AbortSignal.timeout(timeout)];
    const state: CallState = { requests, bytes: 0, failed, signal: AbortSignal.any(ends) };
    // The signal ends the call before this timeout does.
    const options = { signal: state.signal, timeout: timeout + 1000 };
    let isModern = this.#isModern;
    const run = async () => {
      isModern = this.#isModern;
      return work(await this.#open(options), options);
    };
    const attempt = () => untilAborted(calls.run(state, run), state.signal);
    try {
      return await attempt().catch((error) => {
        if (state.signal.aborted || !this.#changesEra(isModern, error, state.status ?? 0)) throw error;
        return attempt();
      });
    } catch (error) {
      signal.throwIfAborted();
      failed.signal.throwIfAborted();
      if (!state.signal.aborted) throw failureOf(error);
      throw new OutboundFailure('timeout', `It took longer than ${timeout / 1000} seconds`);
    }
  }

  /**
   * @param wasModern the era of the failed attempt
   * @returns whether a second attempt may be made: only if it is sure that the server has not carried out the call
   */
  #changesEra(wasModern: boolean, error: unknown, status: number): boolean {
    if (!provesNothing(error, status)) return false;
    // A parallel call has changed it.
    if (wasModern !== this.#isModern) return true;
    const isSame = this.#isModern
      ? error instanceof ProtocolError && JSON.stringify(error.data ?? {}).includes(modernVersion)
      : this.#client !== undefined && error instanceof SdkHttpError && status === 404;
    if (!isSame) this.#isModern = !this.#isModern;
    this.#client = undefined;
    return true;
  }

  #open(options: CallOptions): Promise<Client> {
    this.#client ??= this.#connect(options).catch((error) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #connect(options: CallOptions): Promise<Client> {
    const client = new Client({ name: 'agent-service', version: '1' }, clientOptions);
    const { url } = this.#target;
    const transport = new StreamableHTTPClientTransport(url, { fetch: mcpFetch(this.#http, this.#target) });
    const prior = this.#isModern ? { kind: 'modern', discover } : { kind: 'legacy' };
    await client.connect(transport, { ...options, prior: prior as never });
    return client;
  }
}

/** Marks a copy, because models get the schema without these marks. */
function withHeaders(schema: McpCall['schema'], headers: McpCall['parameterHeaders']): object {
  const copy = structuredClone(schema);
  for (const [name, path] of Object.entries(headers)) {
    const node = path.reduce<unknown>((parent, step) => Object(Object(parent).properties)[step], copy);
    Object.assign(Object(node), { 'x-mcp-header': name });
  }
  return copy;
}

/**
 * JSON-RPC errors of a request that was not understood: malformed, invalid, unknown method, another version, headers
 * that do not match.
 */
const unheard: ReadonlySet<number> = new Set([-32700, -32600, -32601, -32022, -32020]);
const rejections: ReadonlySet<number> = new Set([400, 404, 405, 406, 415]);

/** True only of a failure which means that the server has not carried out the request. */
const provesNothing = (error: unknown, status: number): boolean =>
  (error instanceof ProtocolError && unheard.has(error.code)) ||
  ((error instanceof ProtocolError || error instanceof SdkHttpError) && rejections.has(status));

/** The message of an error may have texts of the server, so only a McpRejection, the server's own error, has it. */
function failureOf(error: unknown): Error {
  if (error instanceof OutboundFailure) return error;
  if (error instanceof ProtocolError) {
    // An unknown tool has no code of its own.
    const isUnknown = /tool/i.test(error.message) && /unknown|not found|not exist/i.test(error.message);
    return error.code === -32601 || isUnknown
      ? new OutboundFailure('changed', undefined, { cause: error })
      : new McpRejection(error.message);
  }
  if (!(error instanceof SdkHttpError)) return new OutboundFailure('protocol', undefined, { cause: error });
  return error.status === 401 || error.status === 403
    ? new OutboundFailure('unauthorized')
    : new OutboundFailure('refused', `The server answered with status ${error.status}`);
}
