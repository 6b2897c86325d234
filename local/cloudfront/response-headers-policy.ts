import type { IncomingMessage, ServerResponse } from 'node:http';
import { flatHeaders, headerPairs } from '../gateway/response-headers.ts';
import type { RunContext } from '../run-context.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';

export type ResponseHeadersPolicy = ReturnType<typeof readResponseHeadersPolicy>;

interface Items<Item> {
  readonly Items: readonly Item[];
}

interface PolicyConfig {
  readonly Name: string;
  readonly Comment?: string;
  readonly CorsConfig?: {
    readonly AccessControlAllowCredentials: boolean;
    readonly AccessControlAllowHeaders: Items<string>;
    readonly AccessControlAllowMethods: Items<string>;
    readonly AccessControlAllowOrigins: Items<string>;
    readonly AccessControlExposeHeaders?: Items<string>;
    readonly AccessControlMaxAgeSec?: number;
    readonly OriginOverride: boolean;
  };
  readonly CustomHeadersConfig?: Items<{
    readonly Header: string;
    readonly Override: boolean;
    readonly Value: string;
  }>;
  readonly RemoveHeadersConfig?: Items<{ readonly Header: string }>;
}

const KNOWN = new Set(['Name', 'Comment', 'CorsConfig', 'CustomHeadersConfig', 'RemoveHeadersConfig']);

/** Rules: understanding-response-headers-policies.html in CloudFront's developer guide. */
export function readResponseHeadersPolicy(resource: TemplateResource, context: Pick<RunContext, 'resolve'>) {
  const properties = context.resolve(resource.properties, resource.logicalId);
  const { ResponseHeadersPolicyConfig: config } = properties as { ResponseHeadersPolicyConfig: PolicyConfig };
  const { CorsConfig: cors, CustomHeadersConfig: custom } = config;
  const unknown = Object.keys(config).find((section) => !KNOWN.has(section));
  if (unknown !== undefined) reject(resource, `${unknown} cannot run locally`);
  rejectCors(cors, resource);
  const origins = cors?.AccessControlAllowOrigins.Items ?? [];
  if (custom?.Items.some(({ Override }) => !Override))
    reject(resource, 'headers that an origin can override cannot run locally');
  const removed = (config.RemoveHeadersConfig?.Items ?? []).map(({ Header }) => Header.toLowerCase());
  const added = (custom?.Items ?? []).map(({ Header }) => Header.toLowerCase());
  const both = removed.find(
    (name) => added.includes(name) || (cors !== undefined && name.startsWith('access-control-')),
  );
  if (both !== undefined) reject(resource, `a policy that removes and sets ${both} cannot run locally`);

  const headersFor = ({ method, headers: requestHeaders }: IncomingMessage): Headers => {
    const { origin, 'access-control-request-method': requestedMethod } = requestHeaders;
    const headers = new Headers();
    for (const { Header, Value } of custom?.Items ?? []) headers.set(Header, Value);
    const allowed = origins.find((item) => item === '*' || item === origin);
    if (cors === undefined || origin === undefined || allowed === undefined) return headers;
    headers.set('Access-Control-Allow-Origin', allowed);
    const { AccessControlExposeHeaders: exposed, AccessControlMaxAgeSec: seconds } = cors;
    if (exposed !== undefined) headers.set('Access-Control-Expose-Headers', exposed.Items.join(', '));
    if (method === 'OPTIONS' && requestedMethod !== undefined) {
      headers.set('Access-Control-Allow-Methods', cors.AccessControlAllowMethods.Items.join(', '));
      headers.set('Access-Control-Allow-Headers', cors.AccessControlAllowHeaders.Items.join(', '));
      if (seconds !== undefined) headers.set('Access-Control-Max-Age', String(seconds));
    }
    return headers;
  };
  return (request: IncomingMessage) => ({ set: headersFor(request), removed });
}

function rejectCors(cors: PolicyConfig['CorsConfig'], resource: TemplateResource): void {
  if (cors === undefined) return;
  const { AccessControlAllowOrigins: origins, AccessControlAllowMethods: methods } = cors;
  if (origins.Items.some((origin) => origin !== '*' && !/^https?:\/\/[^*/]+$/.test(origin)))
    reject(resource, 'an allowed origin that is a pattern, or has no scheme, cannot run locally');
  if (methods.Items.includes('ALL')) reject(resource, 'the method ALL cannot run locally');
  if (cors.AccessControlAllowCredentials) reject(resource, 'credentials cannot run locally');
  if (!cors.OriginOverride) reject(resource, 'headers that an origin can override cannot run locally');
}

type WriteHead = (status: number, headers: string[]) => ServerResponse;

/** Must be called before the headers are sent. */
export function changeHeaders(
  response: ServerResponse,
  { set, removed }: ReturnType<ResponseHeadersPolicy>,
): void {
  const writeHead = response.writeHead.bind(response) as WriteHead;
  response.writeHead = ((status: number, ...rest: unknown[]) => {
    const dropped = new Set([...set.keys(), ...removed]);
    for (const name of dropped) response.removeHeader(name);
    const remaining = headerPairs(flatHeaders(rest.at(-1))).filter(
      ([name]) => !dropped.has(name.toLowerCase()),
    );
    return writeHead(status, [...remaining, ...set].flat());
  }) as typeof response.writeHead;
}
