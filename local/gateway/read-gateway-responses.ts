import { reject, type TemplateResource } from '../template/resource-kind.ts';
import type { GatewayResponse } from './api-model.ts';
import type { ApiResources } from './api-resources.ts';

interface GatewayResponseProperties {
  readonly ResponseParameters?: Record<string, string>;
  readonly ResponseTemplates?: Record<string, string>;
  readonly ResponseType: string;
  readonly StatusCode?: string;
}

/** By response type. */
export function readGatewayResponses({ ofType, read }: ApiResources): ReadonlyMap<string, GatewayResponse> {
  return new Map(
    ofType('GatewayResponse').map((resource) => {
      const properties = read<GatewayResponseProperties>(resource);
      const { ResponseType, StatusCode, ResponseParameters = {}, ResponseTemplates = {} } = properties;
      return [
        ResponseType,
        {
          statusCode: StatusCode === undefined ? undefined : Number(StatusCode),
          headers: readHeaders(resource, ResponseParameters),
          templates: ResponseTemplates,
        },
      ];
    }),
  );
}

function readHeaders(
  resource: TemplateResource,
  parameters: Readonly<Record<string, string>>,
): Record<string, string> {
  const headers = Object.entries(parameters).map(([name, value]) => {
    const header = /^gatewayresponse\.header\.(.+)$/.exec(name)?.[1];
    return [header ?? reject(resource, `${name} cannot run locally`), value];
  });
  return Object.fromEntries(headers) as Record<string, string>;
}
