import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import { readDistribution } from './read-distribution.ts';
import { serveDistribution } from './serve-distribution.ts';

const DISTRIBUTION = 'AWS::CloudFront::Distribution';

export const distributions: ResourceKind = {
  types: [DISTRIBUTION, 'AWS::CloudFront::Function', 'AWS::CloudFront::ResponseHeadersPolicy'],

  async open(resources, context) {
    const [distribution, second] = resources.filter(({ type }) => type === DISTRIBUTION);
    if (second) reject(second, 'only one distribution can run locally');
    context.hasDistribution = distribution !== undefined;
    let server: Awaited<ReturnType<typeof serveDistribution>> | undefined;
    const arnOf = ({ logicalId }: TemplateResource) =>
      `arn:aws:cloudfront::${context.accountId}:${logicalId}`;
    return {
      ref: ({ logicalId }) => logicalId,
      attribute: (resource, name) =>
        ({
          DomainName: server?.host ?? 'distribution.local',
          FunctionARN: arnOf(resource),
        })[name],
      async start() {
        if (!distribution) return;
        server = await serveDistribution(await readDistribution(distribution, resources, context), context);
        // The paths of the gateway start with the stage.
        const { pathname } = new URL(context.endpoints.gateway ?? 'http://none');
        context.endpoints.front = `http://${server.host}${pathname}`;
      },
      async close() {
        await server?.close();
      },
    };
  },
};
