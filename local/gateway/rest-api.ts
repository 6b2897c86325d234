import type { ResourceKind } from '../template/resource-kind.ts';
import type { TemplateResource } from '../template/template-resource.ts';
import type { ApiMethod, PathNode } from './api-model.ts';
import { readRestApi } from './read-rest-api.ts';
import { serveRestApi } from './serve-rest-api.ts';

export const restApi: ResourceKind = {
  types: [
    'AWS::ApiGateway::Authorizer',
    'AWS::ApiGateway::Deployment',
    'AWS::ApiGateway::GatewayResponse',
    'AWS::ApiGateway::Method',
    'AWS::ApiGateway::Resource',
    'AWS::ApiGateway::RestApi',
    'AWS::ApiGateway::Stage',
  ],

  async open(resources, context) {
    let server: Awaited<ReturnType<typeof serveRestApi>> | undefined;
    return {
      ref(resource: TemplateResource) {
        if (resource.type === 'AWS::ApiGateway::Stage') {
          return String(context.resolve(resource.properties.StageName, resource.logicalId));
        }
        // As in AWS, an API's id has ten characters.
        return resource.type === 'AWS::ApiGateway::RestApi' ? 'localapi00' : resource.logicalId;
      },
      attribute: (resource, name) => (name === 'RootResourceId' ? `${resource.logicalId}Root` : undefined),
      async start() {
        const api = readRestApi(resources, context);
        server = await serveRestApi(api, context, context.hasDistribution ? { port: 0 } : context.options);
        context.endpoints.gateway = server.url;
        for (const { authorizer, integration } of methodsOf(api.root)) {
          if (authorizer !== undefined) context.authorizers.add(authorizer.functionArn);
          if ('domainName' in integration) context.integratedDomains.add(integration.domainName);
        }
        context.origins.set(`${api.apiId}.execute-api.${context.region}.amazonaws.com`, server.respond);
      },
      async close() {
        await server?.close();
      },
    };
  },
};

const methodsOf = ({ methods, children }: PathNode): ApiMethod[] => [
  ...methods.values(),
  ...children.flatMap(methodsOf),
];
