import { Template } from 'aws-cdk-lib/assertions';
import type { Stack } from 'aws-cdk-lib/core';
import { expect, test } from 'vitest';
import { dialects } from '#contract/routes/dialect.ts';
import { pathsOf } from '#contract/routes/route.ts';
import { type Route, routes } from '#contract/routes.ts';
import { chatRoutes } from '#lib/chat-routes.ts';
import type { WebServer } from '#lib/web-server.ts';
import { createService, type Resource, synthesize } from './synthesize.ts';

type Resources = Record<string, Resource>;

const templateOf = (webFunctions: string, others = {}): Resources =>
  synthesize({ settings: { webFunctions, ...others } }).template.toJSON().Resources;
const all = templateOf('all');
const uploads = templateOf('uploads');
const bothFor = (webFunctions: string): Resources => templateOf(webFunctions, { bothEntryPoints: true });

const idsOf = (resources: Resources, type: string): string[] =>
  Object.keys(resources).filter((id) => resources[id]?.Type === type);

/** The method of a route. Logical ids contain the path without its separators. */
function methodOf(resources: Resources, { method, path }: Route): Resource['Properties'] {
  const start = `ApiGatewayv1${path.replaceAll(/\W|_/g, '')}${method}`;
  const [id = '', ...others] = idsOf(resources, 'AWS::ApiGateway::Method').filter(
    (key) => key.slice(0, -8) === start,
  );
  expect(others).toEqual([]);
  return resources[id]?.Properties ?? {};
}

test('neither Lambda nor the gateway ends a route of the web function before the route does', () => {
  const [revision = ''] = idsOf(all, 'AWS::Lambda::WebFunctionRevision').filter((id) =>
    id.startsWith('Chats'),
  );
  const { TimeoutSeconds } = (all[revision] as Resource).Properties.ServiceConfig;
  for (const name of chatRoutes) {
    const { TimeoutInMillis } = methodOf(all, routes[name]).Integration;
    expect(TimeoutInMillis / 1000, name).toBeGreaterThanOrEqual(routes[name].timeoutSeconds);
    expect(TimeoutSeconds, name).toBeGreaterThanOrEqual(routes[name].timeoutSeconds);
  }
});

/** The servers of `chatRoutes` that a stage has, and those that its gateway calls. */
function serversOf(resources: Resources): { deployed: string[]; called: string[] } {
  const names = ['SendMessage', 'CreateChat', 'ResumeStream', 'CompleteChat'];
  const functions = idsOf(resources, 'AWS::Lambda::Function').map((id) => id.slice(0, -8));
  const webFunctions = idsOf(resources, 'AWS::Lambda::WebFunction').map((id) => id.replace(/Server.*$/, ''));
  const uris = Object.values(routes).flatMap((route: Route) =>
    pathsOf(route).map((path) => JSON.stringify(methodOf(resources, { ...route, path }).Integration.Uri)),
  );
  const deployed = [...functions, ...webFunctions].filter((name) => [...names, 'Chats'].includes(name));
  return {
    deployed: deployed.toSorted(),
    called: deployed
      .filter((name) => uris.some((uri) => uri.includes(`"${name}Live`) || uri.includes(`"${name}Server`)))
      .toSorted(),
  };
}

test('no stage has a function or web function that nobody calls, but while it changes from one to the other', () => {
  const functions = ['CompleteChat', 'CreateChat', 'ResumeStream', 'SendMessage'];
  expect(serversOf(all)).toEqual({ deployed: ['Chats'], called: ['Chats'] });
  expect(serversOf(uploads)).toEqual({ deployed: functions, called: functions });
  expect(serversOf(templateOf('none'))).toEqual({ deployed: functions, called: functions });
  const both = ['Chats', ...functions].toSorted();
  expect(serversOf(bothFor('all'))).toEqual({ deployed: both, called: ['Chats'] });
  expect(serversOf(bothFor('uploads'))).toEqual({ deployed: both, called: functions });
  expect(() => templateOf('none')).not.toThrow();
  expect(() => bothFor('none')).toThrow('bothEntryPoints: must be false if webFunctions is none');
});

test('the gateway caches what an authorizer says: another one, with another name, has nothing from before', () => {
  const authorizerOf = (resources: Resources, header: string): [id: string, name: unknown] => {
    const [id = '', ...others] = idsOf(resources, 'AWS::ApiGateway::Authorizer').filter(
      (key) => resources[key]?.Properties.IdentitySource === `method.request.header.${header}`,
    );
    expect(others).toEqual([]);
    return [id, resources[id]?.Properties.Name];
  };
  for (const { keyHeader } of Object.values(dialects)) {
    const [id, name] = authorizerOf(all, keyHeader);
    const [otherId, otherName] = authorizerOf(uploads, keyHeader);
    expect(id).not.toBe(otherId);
    // An API cannot have two authorizers with one name, and CloudFormation creates the new one first.
    expect(name).not.toBe(otherName);
  }
});

/** The logical id of the gateway's deployment, if the endpoint of chats has these properties. */
function deploymentIdWith(
  webFunctions: string,
  changes: { endpointName?: string; endpointType?: string },
): string {
  const { stack } = createService({ settings: { webFunctions, bothEntryPoints: true } });
  const { resource } = serverOf(stack).endpoint;
  Object.assign(resource, changes);
  const [id = ''] = Object.keys(Template.fromStack(stack).findResources('AWS::ApiGateway::Deployment'));
  return id;
}

test('a new endpoint makes a new deployment of the gateway, whose copy would call a domain that is gone', () => {
  const before = deploymentIdWith('all', {});
  expect(before).toBe(idsOf(bothFor('all'), 'AWS::ApiGateway::Deployment')[0]);
  const after = [
    deploymentIdWith('all', { endpointName: 'second' }),
    deploymentIdWith('all', { endpointType: 'PerRegion' }),
  ];
  expect(new Set([before, ...after]).size).toBe(3);
  // Where the gateway does not call the endpoint, it does not matter.
  expect(deploymentIdWith('uploads', { endpointName: 'second' })).toBe(deploymentIdWith('uploads', {}));
});

const serverOf = (stack: Stack): WebServer => stack.node.findChild('Chats').node.defaultChild as WebServer;
