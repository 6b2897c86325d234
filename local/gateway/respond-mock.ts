import type { ServerResponse } from 'node:http';
import type { MockIntegration } from './api-model.ts';
import { GatewayFailure } from './gateway-failure.ts';
import type { GatewayRequest } from './proxy-event.ts';

export interface MockProperties {
  readonly Integration: {
    readonly IntegrationResponses?: readonly {
      readonly ResponseParameters?: Readonly<Record<string, string>>;
      readonly ResponseTemplates?: object;
      readonly SelectionPattern?: string;
      readonly StatusCode: string;
    }[];
    readonly PassthroughBehavior?: string;
    readonly RequestTemplates?: Readonly<Record<string, string>>;
  };
  readonly MethodResponses?:
    | readonly {
        readonly ResponseParameters?: Readonly<Record<string, boolean>>;
        readonly StatusCode: string;
      }[]
    | undefined;
}

const JSON_TYPE = 'application/json';

/** @throws the error of `reject` for a mock integration that cannot run locally */
export function readMock(
  { Integration: integration, MethodResponses = [] }: MockProperties,
  reject: (reason: string) => never,
): MockIntegration {
  const { [JSON_TYPE]: template = '', ...otherTemplates } = integration.RequestTemplates ?? {};
  const [, status] = /^\{ ?"statusCode": ?(\d{3}) ?\}$/.exec(template) ?? [];
  const [response, ...otherResponses] = integration.IntegrationResponses ?? [];
  if (status === undefined || Object.keys(otherTemplates).length > 0)
    return reject(
      'a mock integration cannot run locally unless its only request template is a status of JSON',
    );
  if (integration.PassthroughBehavior !== 'NEVER')
    return reject('a mock integration that passes other types through cannot run locally');
  if (!response || otherResponses.length > 0 || response.SelectionPattern || response.ResponseTemplates)
    return reject('a mock integration with other than one response, without a body, cannot run locally');
  const declared = MethodResponses.find(({ StatusCode }) => StatusCode === response.StatusCode);
  if (!declared) return reject(`the method has no response ${response.StatusCode}`);
  const headers = Object.entries(response.ResponseParameters ?? {}).flatMap(([name, value]) => {
    const [, header] = /^method\.response\.header\.(.+)$/.exec(name) ?? [];
    const [, text] = /^'(.*)'$/.exec(value) ?? [];
    if (header === undefined || text === undefined || declared.ResponseParameters?.[name] === undefined)
      return reject(`the response parameter ${name} cannot run locally`);
    return [header, text];
  });
  return { status: Number(response.StatusCode), headers };
}

export function respondMock(
  { status, headers }: MockIntegration,
  gatewayRequest: GatewayRequest,
  response: ServerResponse,
): void {
  const [type = ''] = (gatewayRequest.headerValue('content-type') ?? JSON_TYPE).split(';');
  if (type.trim().toLowerCase() !== JSON_TYPE) throw new GatewayFailure('UNSUPPORTED_MEDIA_TYPE');
  response.writeHead(status, ['Content-Type', JSON_TYPE, ...headers]).end();
}
