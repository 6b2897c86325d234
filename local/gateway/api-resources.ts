import type { RunContext } from '../run-context.ts';
import type { TemplateResource } from '../template/resource-kind.ts';

/** The template's resources of API Gateway. */
export interface ApiResources {
  /** Resources of a type, such as `Method`. */
  ofType(type: string): readonly TemplateResource[];
  find(logicalId: string): TemplateResource | undefined;
  /** The properties without intrinsic functions. */
  read<Properties>(resource: TemplateResource): Properties;
}

export const apiResources = (
  resources: readonly TemplateResource[],
  context: Pick<RunContext, 'resolve'>,
): ApiResources => ({
  ofType: (type) => resources.filter((resource) => resource.type === `AWS::ApiGateway::${type}`),
  find: (id) => resources.find(({ logicalId }) => logicalId === id),
  read: <Properties>({ properties, logicalId }: TemplateResource) =>
    context.resolve(properties, logicalId) as Properties,
});

/** The function that the URI of an integration or authorizer names. */
export function functionArnIn(uri: string | undefined): string | undefined {
  return /\/functions\/(arn:[^/]+)\//.exec(uri ?? '')?.[1];
}
