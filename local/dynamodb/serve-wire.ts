import { Agent, createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import type { AccessControl } from '../iam/access-control.ts';
import { forgeryOf } from '../iam/authenticate.ts';
import type { DynamoFaults } from '../run-options.ts';
import { accessKeyOf } from '../wire/access-key-of.ts';
import { deniedAwsJson } from '../wire/denied-aws-json.ts';
import { listenOnLoopback } from '../wire/listen-on-loopback.ts';
import { createFaults, type Unprocessed } from './create-faults.ts';
import type { DynamoCall } from './dynamo-call.ts';
import { type DynamoError, internalServerError } from './dynamo-error.ts';
import { withEmulatorCredential } from './emulator-credential.ts';
import { neededPermissions } from './needed-permissions.ts';
import type { DynamoRequest, TableShape } from './touched-items.ts';

export interface WireOptions {
  /** The emulator's URL. */
  readonly emulator: string;
  readonly shapes: ReadonlyMap<string, TableShape>;
  readonly faults: DynamoFaults;
  readonly record: ((call: DynamoCall) => void) | undefined;
  readonly access: Pick<AccessControl, 'rejectionOf' | 'rules'>;
  onOperatorWrite(): void;
  /** Whether a function has this name. A function sends its name as its session token. */
  isFunction(name: string): boolean;
}

export interface Wire {
  readonly endpoint: string;
  close(): Promise<void>;
}

interface WireResponse {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
}

interface Capacity {
  readonly TableName?: string;
  readonly CapacityUnits?: number;
}

const WRITES = new Set(['PutItem', 'UpdateItem', 'DeleteItem', 'BatchWriteItem', 'TransactWriteItems']);

const READS = new Set(['GetItem', 'Query', 'Scan', 'BatchGetItem', 'TransactGetItems']);

// These operations can return the consumed capacity.
const MEASURED = new Set([...WRITES, ...READS]);

/**
 * A proxy between callers and the emulator. It rejects calls that no policy allows, adds errors that an emulator on one
 * machine does not return, and records calls. Without faults and recording it forwards requests unchanged.
 */
export async function serveWire(options: WireOptions): Promise<Wire> {
  const { emulator, shapes, faults, record, onOperatorWrite, isFunction, access } = options;
  const agent = new Agent({ keepAlive: true });
  const inspectsRequests = record !== undefined || Object.keys(faults).length > 0;
  const { checkCall } = createFaults(shapes, faults);

  function forward(request: IncomingMessage, body: string | Buffer): Promise<WireResponse> {
    return new Promise((resolve, reject) => {
      const {
        host: _,
        'content-length': __,
        'accept-encoding': ___,
        authorization = '',
        ...headers
      } = request.headers;
      const outgoing = httpRequest(emulator, {
        agent,
        method: request.method ?? 'POST',
        headers: {
          ...headers,
          authorization: withEmulatorCredential(authorization),
          'content-length': Buffer.byteLength(body),
        },
      });
      outgoing.on('error', reject);
      outgoing.on('response', (incoming) => {
        readAll(incoming).then(
          (bytes) => resolve({ status: incoming.statusCode ?? 500, headers: incoming.headers, body: bytes }),
          reject,
        );
      });
      outgoing.end(body);
    });
  }

  async function exchange(request: IncomingMessage): Promise<WireResponse> {
    const target = String(request.headers['x-amz-target']).split('.').pop() ?? '';
    const caller = String(request.headers['x-amz-security-token']);
    const functionName = isFunction(caller) ? caller : undefined;
    try {
      return await evaluateAndForward(request, target, functionName);
    } finally {
      // Also if there was no response: the emulator may have written in any case.
      if (!READS.has(target) && functionName === undefined) onOperatorWrite();
    }
  }

  async function evaluateAndForward(
    request: IncomingMessage,
    target: string,
    functionName: string | undefined,
  ): Promise<WireResponse> {
    const at = Date.now();
    const body = await readAll(request);
    const input = JSON.parse(body.toString() || '{}') as DynamoRequest;
    const needed = neededPermissions(target, input, shapes, access.rules);
    const { method = '', url = '', headers } = request;
    const rejection =
      forgeryOf({ method, url, headers }, body, access.rules) ??
      access.rejectionOf(accessKeyOf(headers), needed);
    if (rejection) return errorResponse({ status: 400, body: deniedAwsJson(rejection) });
    if (!inspectsRequests) return await forward(request, body);
    const recordCall = (status: number, capacity: readonly Capacity[]) => {
      const units = capacity.reduce((sum, { CapacityUnits }) => sum + (CapacityUnits ?? 0), 0);
      const consumed = WRITES.has(target)
        ? { readUnits: 0, writeUnits: units }
        : { readUnits: units, writeUnits: 0 };
      record?.({ target, tableName: tableNames(input), functionName, status, consumed, at });
    };

    const rejected = faults.reject?.({ target, functionName, body: input });
    const call = rejected ? internalServerError : checkCall(target, input);
    if ('status' in call) {
      recordCall(call.status, []);
      return errorResponse(call);
    }
    try {
      const measured = MEASURED.has(target) && (input.ReturnConsumedCapacity ?? 'NONE') === 'NONE';
      const outgoing = measured ? { ...call.request, ReturnConsumedCapacity: 'TOTAL' } : call.request;
      const response = await forward(request, JSON.stringify(outgoing));
      if (!MEASURED.has(target)) {
        recordCall(response.status, []);
        return response;
      }
      const output = JSON.parse(response.body.toString()) as Record<string, unknown>;
      const capacity = [output.ConsumedCapacity ?? []].flat() as Capacity[];
      recordCall(response.status, capacity);
      call.charge(capacity.reduce((sum, { CapacityUnits }) => sum + (CapacityUnits ?? 0), 0));
      if (measured) delete output.ConsumedCapacity;
      if (response.status === 200 && call.unprocessed) {
        output.UnprocessedItems = mergeUnprocessed(output.UnprocessedItems as Unprocessed, call.unprocessed);
      }
      return jsonResponse(response.status, output, response.headers['x-amzn-requestid']);
    } finally {
      call.release();
    }
  }

  const server = createServer(async (request, response) => {
    const { status, headers, body } = await exchange(request).catch(() => errorResponse(internalServerError));
    const { 'transfer-encoding': _, connection: __, ...forwarded } = headers;
    response.writeHead(status, { ...forwarded, 'content-length': body.length });
    response.end(body);
  });
  const { endpoint, close } = await listenOnLoopback(server);
  return {
    endpoint,
    async close() {
      await close();
      agent.destroy();
    },
  };
}

function tableNames({ TableName, RequestItems, TransactItems }: DynamoRequest): string {
  const inTransaction = (TransactItems ?? []).flatMap((entry) =>
    Object.values(entry).map((one) => one.TableName),
  );
  const names = [TableName, ...Object.keys(RequestItems ?? {}), ...inTransaction];
  return [...new Set(names.filter((name) => name !== undefined))].sort().join(',');
}

function mergeUnprocessed(fromEmulator: Unprocessed | undefined, fromFaults: Unprocessed): Unprocessed {
  const tables = new Set([...Object.keys(fromEmulator ?? {}), ...Object.keys(fromFaults)]);
  return Object.fromEntries(
    [...tables].map((name) => [name, [...(fromEmulator?.[name] ?? []), ...(fromFaults[name] ?? [])]]),
  );
}

function errorResponse({ status, body }: DynamoError): WireResponse {
  return jsonResponse(status, body, undefined);
}

function jsonResponse(status: number, body: unknown, requestId: string | string[] | undefined): WireResponse {
  return {
    status,
    headers: {
      'content-type': 'application/x-amz-json-1.0',
      'x-amzn-requestid': requestId ?? crypto.randomUUID(),
    },
    body: Buffer.from(JSON.stringify(body)),
  };
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
