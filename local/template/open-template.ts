import { createHash } from 'node:crypto';
import { createAccessControl } from '../iam/access-control.ts';
import { openPermissionNotes } from '../iam/permission-uses.ts';
import type { RunContext } from '../run-context.ts';
import type { RunOptions } from '../run-options.ts';
import { openRecorders } from '../wire/record-calls.ts';
import { createOpenKinds } from './open-kinds.ts';
import type { Assembly } from './read-assembly.ts';
import { createResolver } from './resolve-template.ts';
import { readStackResources } from './stack-resources.ts';
import type { TemplateResource } from './template-resource.ts';

const REGION = 'us-east-1';
const ACCOUNT_ID = '000000000000';

export async function openTemplate(options: RunOptions, { stackName, template, assetFolder }: Assembly) {
  const kinds = createOpenKinds();
  const resolver = createResolver({
    template,
    pseudoParameters: pseudoParametersOf(stackName),
    ref(logicalId) {
      const resource = resources.find(logicalId);
      return resources.isIgnored(resource)
        ? physicalName(stackName, logicalId)
        : kinds.kindOf(resource).ref(resource);
    },
    attribute(logicalId, name) {
      const resource = resources.find(logicalId);
      // Resources such as log groups and alarms do not run here, so any value will do.
      if (resources.isIgnored(resource)) return `arn:aws:local:${REGION}:${ACCOUNT_ID}:${logicalId}/${name}`;
      const value = kinds.kindOf(resource).attribute(resource, name);
      if (value !== undefined) return value;
      throw new Error(`${logicalId} (${resource.type}): the attribute ${name} is not available locally`);
    },
  });
  let recorders: Awaited<ReturnType<typeof openRecorders>> | undefined;
  const context: RunContext = {
    ...newContext(options, stackName),
    resolve: resolver.resolve,
    read: <Properties>({ properties, logicalId }: Omit<TemplateResource, 'type'>) =>
      resolver.resolve(properties, logicalId) as Properties,
    nameOf: ({ logicalId, properties }, property = '') =>
      String(resolver.resolve(properties[property], logicalId) ?? physicalName(stackName, logicalId)),
    arnOf: (service, resource) => `arn:aws:${service}:${REGION}:${ACCOUNT_ID}:${resource}`,
    assetFolder,
    environmentFor(functionLogicalId) {
      const variables = kinds.environmentFor(functionLogicalId);
      return recorders?.redirect(variables) ?? variables;
    },
  };
  const resources = readStackResources(template, resolver.isMet);

  const close = async (): Promise<void> => {
    await kinds.close();
    await recorders?.close();
  };
  try {
    await kinds.open(resources, context);
    if (options.recordCalls) recorders = await openRecorders(context);
    await kinds.start();
    const physicalIds = resources.logicalIds.map((id) => [id, String(context.resolve({ Ref: id }, id))]);
    const outputs = Object.entries(template.Outputs ?? {})
      .filter(([, output]) => resolver.isMet(output.Condition))
      .map(([name, output]) => [name, String(context.resolve(output.Value, name))]);
    return {
      context,
      close,
      physicalIds: Object.fromEntries(physicalIds),
      outputs: Object.fromEntries(outputs),
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const pseudoParametersOf = (stackName: string) => ({
  'AWS::AccountId': ACCOUNT_ID,
  'AWS::Partition': 'aws',
  'AWS::Region': REGION,
  'AWS::StackId': `arn:aws:cloudformation:${REGION}:${ACCOUNT_ID}:stack/${stackName}/local`,
  'AWS::StackName': stackName,
  'AWS::URLSuffix': 'amazonaws.com',
});

function newContext(options: RunOptions, stackName: string) {
  const violations: string[] = [];
  const permissionNotes = openPermissionNotes(stackName);
  const access = createAccessControl(
    { accountId: ACCOUNT_ID, region: REGION },
    {
      onUse: permissionNotes.use,
      onDenied(message) {
        options.onDenied?.(message);
        if (!violations.includes(message)) violations.push(message);
      },
    },
  );
  access.onAssumed.push(permissionNotes.grant);
  return {
    options,
    stackName,
    region: REGION,
    accountId: ACCOUNT_ID,
    access,
    functions: new Map(),
    webFunctions: new Map(),
    origins: new Map(),
    hasDistribution: false,
    onOperatorWrite: [],
    emulatorRoute: undefined,
    endpoints: {},
    serving: Promise.withResolvers<void>(),
    violations,
    dynamoCalls: [],
    calls: [],
    authorizers: new Set(),
    integratedDomains: new Set(),
  } satisfies Partial<RunContext>;
}

// A bucket's name has at most 63 characters.
const MAX_LENGTH = 63;

/** Depends only on stack and logical id, so that the next run finds the same tables and buckets. */
export function physicalName(stackName: string, logicalId: string): string {
  const name = `${stackName}-${logicalId}`;
  if (name.length <= MAX_LENGTH) return name;
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${name.slice(0, MAX_LENGTH - 9)}-${digest}`;
}
