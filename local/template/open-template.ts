import { createAccessControl } from '../iam/access-control.ts';
import { openPermissionNotes } from '../iam/permission-uses.ts';
import type { RunContext } from '../run-context.ts';
import type { RunOptions } from '../run-options.ts';
import { noRecorders, openRecorders } from '../wire/open-recorders.ts';
import { hasNoEffect } from './has-no-effect.ts';
import { physicalName } from './physical-name.ts';
import type { Assembly } from './read-assembly.ts';
import { createResolver } from './resolve-template.ts';
import type { OpenKind, ResourceKind, TemplateResource } from './resource-kind.ts';
import { resourceKinds } from './resource-kinds.ts';

export interface OpenTemplate {
  readonly context: RunContext;
  readonly physicalIds: Record<string, string>;
  readonly outputs: Record<string, string>;
  close(): Promise<void>;
}

const REGION = 'us-east-1';
const ACCOUNT_ID = '000000000000';

/**
 * Opens all resource kinds of the stack concurrently, kinds with `opensFirst` before the others, then starts them one
 * after another, in the order of `resourceKinds`.
 */
export async function openTemplate(
  options: RunOptions,
  { stackName, template, assetFolder }: Assembly,
  progress: (line: string) => void,
): Promise<OpenTemplate> {
  const opened = new Map<ResourceKind, OpenKind>();
  const resources = new Map<string, TemplateResource>();

  const resolver = createResolver({
    template,
    pseudoParameters: {
      'AWS::AccountId': ACCOUNT_ID,
      'AWS::Partition': 'aws',
      'AWS::Region': REGION,
      'AWS::StackId': `arn:aws:cloudformation:${REGION}:${ACCOUNT_ID}:stack/${stackName}/local`,
      'AWS::StackName': stackName,
      'AWS::URLSuffix': 'amazonaws.com',
    },
    ref(logicalId) {
      const resource = find(logicalId);
      return isIgnored(resource) ? nameOf(logicalId) : openKindOf(resource).ref(resource);
    },
    attribute(logicalId, name) {
      const resource = find(logicalId);
      // Of resources such as log groups and alarms, whose attributes have no effect here.
      if (isIgnored(resource)) return `arn:aws:local:${REGION}:${ACCOUNT_ID}:${logicalId}/${name}`;
      const value = openKindOf(resource).attribute(resource, name);
      if (value !== undefined) return value;
      throw new Error(`${logicalId} (${resource.type}): the attribute ${name} is not available locally`);
    },
  });

  const nameOf = (logicalId: string) => physicalName(stackName, logicalId);
  let recorders = noRecorders;

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

  const context: RunContext = {
    options,
    stackName,
    region: REGION,
    accountId: ACCOUNT_ID,
    resolve: resolver.resolve,
    nameOf,
    assetFolder,
    environmentFor: (functionLogicalId) =>
      recorders.redirect(
        Object.assign({}, ...[...opened.values()].map((kind) => kind.environmentFor?.(functionLogicalId))),
      ),
    access,
    functions: new Map(),
    origins: new Map(),
    hasDistribution: false,
    onOperatorWrite: [],
    emulatorRoute: undefined,
    endpoints: {},
    serving: Promise.withResolvers(),
    violations,
    dynamoCalls: [],
    calls: [],
    clientFacingFunctions: [],
  };

  function find(logicalId: string): TemplateResource {
    const resource = resources.get(logicalId);
    if (!resource) throw new Error(`${logicalId} is referenced, but the template does not contain it`);
    return resource;
  }

  function openKindOf({ logicalId, type }: TemplateResource): OpenKind {
    const kind = kindOf(type);
    const open = kind && opened.get(kind);
    if (open) return open;
    throw new Error(`${logicalId} (${type}) is referenced before it is open`);
  }

  // Functions of custom resources do not run here: only a deployment calls them.
  const customResourceFunctions = new Set(
    Object.values(template.Resources ?? {}).flatMap(({ Type, Properties }) =>
      Type.startsWith('Custom::') ? [functionOf(Properties?.ServiceToken)] : [],
    ),
  );
  const isIgnored = ({ type, logicalId }: TemplateResource) =>
    hasNoEffect(type) || customResourceFunctions.has(logicalId);

  for (const [logicalId, entry] of Object.entries(template.Resources ?? {})) {
    if (!resolver.isMet(entry.Condition)) continue;
    if (!kindOf(entry.Type) && !hasNoEffect(entry.Type)) {
      throw new Error(`${logicalId} (${entry.Type}): this resource type cannot run locally`);
    }
    resources.set(logicalId, { logicalId, type: entry.Type, properties: entry.Properties ?? {} });
  }

  const close = async (): Promise<void> => {
    for (const kind of resourceKinds.toReversed()) await opened.get(kind)?.close?.();
    await recorders.close();
  };

  const present = resourceKinds.flatMap((kind) => {
    const ofKind = [...resources.values()].filter(
      (resource) => kind.types.includes(resource.type) && !isIgnored(resource),
    );
    return ofKind.length > 0 ? [{ kind, ofKind }] : [];
  });
  try {
    for (const first of [true, false]) {
      const attempts = await Promise.allSettled(
        present
          .filter(({ kind }) => (kind.opensFirst ?? false) === first)
          .map(async ({ kind, ofKind }) => {
            opened.set(kind, await kind.open(ofKind, context));
            progress(`${ofKind[0]?.type} is ready`);
          }),
      );
      for (const attempt of attempts) if (attempt.status === 'rejected') throw attempt.reason;
    }
    if (options.recordCalls) recorders = await openRecorders(context);
    for (const { kind } of present) await opened.get(kind)?.start?.();
    for (const { kind } of present) opened.get(kind)?.complete?.();
    progress('The template runs');
    const physicalIds = [...resources.keys()].map((id) => [id, String(context.resolve({ Ref: id }, id))]);
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

/** The logical id of the function that a custom resource's service token names. */
const functionOf = (serviceToken: unknown): string | undefined => {
  const attribute = (serviceToken as { 'Fn::GetAtt'?: readonly string[] } | undefined)?.['Fn::GetAtt'];
  return attribute?.[0];
};

function kindOf(type: string): ResourceKind | undefined {
  return resourceKinds.find((kind) => kind.types.includes(type));
}
