import { createServer, type IncomingMessage } from 'node:http';
import type { AccessControl } from '../iam/access-control.ts';
import type { Denial } from '../iam/access-rules.ts';
import { checkSignature } from '../iam/authenticate.ts';
import { accessKeyOf } from '../wire/access-key-of.ts';
import { type Listening, listenOnLoopback } from '../wire/listen-on-loopback.ts';
import { deniedAwsJson } from '../wire/serve-aws-json.ts';
import { errorResponse, internalServerError, type WireResponse } from './dynamo-error.ts';
import { createForwarder, readAll } from './forward-request.ts';
import { type InspectionOptions, inspectCalls, READS } from './inspect-calls.ts';
import { neededPermissions } from './needed-permissions.ts';
import type { DynamoRequest } from './touched-items.ts';

export interface WireOptions extends InspectionOptions {
  /** The emulator's URL. */
  readonly emulator: string;
  readonly access: Pick<AccessControl, 'rejectionOf' | 'rules'>;
  onOperatorWrite(): void;
  /** Whether a function has this name. A function sends its name as its session token. */
  isFunction(name: string): boolean;
}

/**
 * A proxy between callers and the emulator. It rejects calls that no policy allows, adds errors that an emulator on one
 * machine does not return, and records calls. Without faults and recording it forwards requests unchanged.
 */
export async function serveWire(options: WireOptions): Promise<Listening> {
  const { emulator, shapes, faults, record, onOperatorWrite, isFunction, access } = options;
  const forwarder = createForwarder(emulator);
  const inspectsCalls = record !== undefined || Object.keys(faults).length > 0;
  const inspect = inspectsCalls ? inspectCalls(options, forwarder.forward) : undefined;

  async function exchange(request: IncomingMessage): Promise<WireResponse> {
    const target = String(request.headers['x-amz-target']).split('.').pop() ?? '';
    const caller = String(request.headers['x-amz-security-token']);
    const functionName = isFunction(caller) ? caller : undefined;
    try {
      const at = Date.now();
      const body = await readAll(request);
      const input = JSON.parse(body.toString() || '{}') as DynamoRequest;
      const rejection = evaluate(request, target, body, input);
      if (rejection) return errorResponse({ status: 400, body: deniedAwsJson(rejection) });
      if (!inspect) return await forwarder.forward(request, body);
      return await inspect({ request, target, functionName, input, at });
    } finally {
      // Called even after a call without a response, because the emulator may still have written the item.
      if (!READS.has(target) && functionName === undefined) onOperatorWrite();
    }
  }

  function evaluate(
    { method = '', url = '', headers }: IncomingMessage,
    target: string,
    body: Buffer,
    input: DynamoRequest,
  ): Denial | undefined {
    const needed = neededPermissions(target, input, shapes, access.rules);
    return (
      checkSignature({ method, url, headers }, body, access.rules) ??
      access.rejectionOf(accessKeyOf(headers), needed)
    );
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
      forwarder.close();
    },
  };
}
