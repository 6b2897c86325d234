import { createServer, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { type Listening, listenOnLoopback } from '../wire/listen-on-loopback.ts';
import { denialOf, deniedAwsJson, type Guard, operationOf } from '../wire/serve-aws-json.ts';
import { internalServerError, jsonResponse, type WireResponse } from './dynamo-error.ts';
import { createForwarder } from './forward-request.ts';
import { type InspectionOptions, inspectCalls, READS } from './inspect-calls.ts';
import { neededPermissions } from './needed-permissions.ts';
import type { DynamoRequest } from './touched-items.ts';

export interface WireOptions extends InspectionOptions {
  readonly emulator: string;
  readonly access: Guard;
  /** Called after a call that is none of `READS` and not from a function, before the caller gets its response. */
  onOperatorWrite(): void;
  isFunction(name: string): boolean;
}

/** The wire is a proxy between callers and the emulator. It checks signatures and permissions. */
export async function serveWire(options: WireOptions): Promise<Listening> {
  const { emulator, shapes, faults, record, onOperatorWrite, isFunction, access } = options;
  const forwarder = createForwarder(emulator);
  const inspectsCalls = record !== undefined || Object.keys(faults).length > 0;
  const inspect = inspectsCalls ? inspectCalls(options, forwarder.forward) : undefined;

  async function exchange(request: IncomingMessage): Promise<WireResponse> {
    const target = operationOf(request);
    const caller = String(request.headers['x-amz-security-token']);
    const functionName = isFunction(caller) ? caller : undefined;
    try {
      const at = Date.now();
      const body = await buffer(request);
      const input = JSON.parse(body.toString() || '{}') as DynamoRequest;
      const denial = denialOf(access, request, body, neededPermissions(target, input, shapes, access.rules));
      if (denial) return jsonResponse({ status: 400, body: deniedAwsJson(denial) });
      if (!inspect) return await forwarder.forward(request, body);
      return await inspect({ request, target, functionName, input, at });
    } finally {
      // Called even after a call without a response, because the emulator may still have written the item.
      if (!READS.has(target) && functionName === undefined) onOperatorWrite();
    }
  }

  const server = createServer(async (request, response) => {
    const { status, headers, body } = await exchange(request).catch(() => jsonResponse(internalServerError));
    const { 'transfer-encoding': _, connection: __, ...forwarded } = headers;
    response.writeHead(status, { ...forwarded, 'content-length': body.length });
    response.end(body);
  });
  const { endpoint, close } = await listenOnLoopback(server);
  return {
    endpoint,
    async close() {
      await close();
      forwarder.close();
    },
  };
}
