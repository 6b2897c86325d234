import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Template } from 'aws-cdk-lib/assertions';
import { App } from 'aws-cdk-lib/core';
import { inject } from 'vitest';
import {
  bundleFunctions,
  type FunctionBundles,
  functionNames,
  webFunctionNames,
} from '#lib/bundles/function-bundles.ts';
import { ServiceStack } from '#lib/service-stack.ts';
import { readStage } from '#lib/stage.ts';
import { createResolver } from '#local/template/resolve-template.ts';
import configuration from '../../cdk.json' with { type: 'json' };

export interface Resource {
  Type: string;
  /** As the CDK types them: whatever a test reads. */
  Properties: ReturnType<Template['findResources']>[string];
  DeletionPolicy?: string;
  UpdateReplacePolicy?: string;
}

/** A value of the setting `domain`. */
export const domain = {
  name: 'agents.example.com',
  certificateArn: 'arn:aws:acm:us-east-1:123456789012:certificate/0a1b2c3d-0000-0000-0000-000000000000',
  hostedZone: { id: 'Z0123456789ABCDEFGHIJ', name: 'example.com' },
};

const outputFolder = inject('synthFolder');

export interface Statement {
  Effect: string;
  Action: string | string[];
  Resource: unknown;
  Condition?: unknown;
}

/** An empty handler in place of all functions: a template only refers to the code, and bundling takes seconds. */
const noCode = mkdtempSync(join(outputFolder, 'no-code-'));
writeFileSync(join(noCode, 'index.mjs'), 'export const handler = () => undefined;\n');
const withoutCode: FunctionBundles = {
  folderOf: () => noCode,
  metafile: () => ({ inputs: {}, outputs: {} }),
};

/** The real bundles, for test files that check their content. */
export const theBundles = (): Promise<FunctionBundles> =>
  bundleFunctions([...functionNames, ...webFunctionNames]);

/** An app with the context of cdk.json, as bin/app.ts creates it. */
export function createApp(context: Record<string, unknown> = {}): App {
  return new App({
    context: { ...configuration.context, ...context },
    analyticsReporting: false,
    builtinCloudFormationValidation: false,
    // A sixth of a synthesis, and no test reads them.
    stackTraces: false,
    treeMetadata: false,
    outdir: mkdtempSync(join(outputFolder, 'app-')),
  });
}

/** Without the distribution for large uploads, most of whose resources belong to the library. */
const plain = { settings: { webFunctions: 'none' } };

/** The service of one stage, without large uploads unless settings are given. */
export const createService = (context: Record<string, unknown> = {}): { app: App; stack: ServiceStack } =>
  withoutStackTraces(() => {
    const app = createApp({ ...plain, ...context });
    return {
      app,
      stack: new ServiceStack(app, 'AgentService', { stage: readStage(app.node), bundles: withoutCode }),
    };
  });

/** The CDK captures a stack trace for each value that it makes later: an eighth of a synthesis. */
function withoutStackTraces<Result>(build: () => Result): Result {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return build();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** The statements of each role by its logical id, without `Role` and the hash: of the role itself and of attached policies. */
export function statementsByRole(template: Template): Map<string, Statement[]> {
  const roles = template.findResources('AWS::IAM::Role');
  const attached = Object.values(template.findResources('AWS::IAM::Policy'));
  const policiesOf = (id: string): { PolicyDocument: { Statement: Statement[] } }[] => [
    ...(roles[id]?.Properties.Policies ?? []),
    ...attached
      .map(({ Properties }) => Properties)
      .filter(({ Roles }) => JSON.stringify(Roles).includes(`{"Ref":"${id}"}`)),
  ];
  return new Map(
    Object.keys(roles).map((id) => [
      id.replace(/Role[0-9A-F]{8}$/, ''),
      policiesOf(id).flatMap(({ PolicyDocument }) => PolicyDocument.Statement),
    ]),
  );
}

/** The variables of each function and web function, by its logical id without the hash. */
function environmentsOf(template: Template): Map<string, Record<string, unknown>> {
  const found = [
    ...Object.entries(template.findResources('AWS::Lambda::Function')),
    ...Object.entries(template.findResources('AWS::Lambda::WebFunctionRevision')),
  ];
  return new Map(
    found.map(([id, { Properties }]) => [
      id.replace(/(ServerRevision)?[0-9A-F]{8}$/, ''),
      Properties.Environment?.Variables ?? Properties.ServiceConfig?.EnvironmentVariables ?? {},
    ]),
  );
}

/** The templates of this worker by their context: most test files read the same few. */
const synthesized = new Map<string, ReturnType<typeof readStack>>();

/** The template of one stage, with its resources by type. Nothing may change it: other test files read it too. */
export function synthesize(context: Record<string, unknown> = {}) {
  const key = keyOf({ ...plain, ...context });
  const stage = synthesized.get(key) ?? readStack(synthesizeOnce(key, context));
  synthesized.set(key, stage);
  return stage;
}

/** The same for the same stage, whether its settings are given or defaults: `{}` is `{ webFunctions: 'all' }`. */
function keyOf(context: Record<string, unknown>): string {
  const given = JSON.stringify(context);
  const key = keys.get(given) ?? JSON.stringify(readStage(createApp(context).node));
  keys.set(given, key);
  return key;
}

const keys = new Map<string, string>();

interface StoredStack {
  template: Record<string, unknown>;
  warnings: unknown[];
}

/** Workers share their templates through files: it saves a tenth of the processor time of these tests. */
function synthesizeOnce(key: string, context: Record<string, unknown>): StoredStack {
  const file = join(outputFolder, `${createHash('sha256').update(key).digest('hex')}.json`);
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8'));
  const { stack } = createService(context);
  const { metadata } = stack.node;
  const stored: StoredStack = {
    template: withoutStackTraces(() => Template.fromStack(stack)).toJSON(),
    warnings: metadata.filter(({ type }) => type === 'aws:cdk:warning').map(({ data }) => data),
  };
  // A worker reads a whole file or none.
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(stored));
  renameSync(`${file}.${process.pid}`, file);
  return stored;
}

function readStack({ template: json, warnings }: StoredStack) {
  const template = Template.fromJSON(json);
  freeze(template.toJSON());
  return {
    template,
    warnings,
    statements: statementsByRole(template),
    resources: (type: string): Record<string, Resource> =>
      template.findResources(type) as Record<string, Resource>,
    environments: environmentsOf(template),
    /** The only resource of a type whose logical id has this prefix. */
    resource: (type: string, start = ''): Resource => {
      const found = Object.entries(template.findResources(type)).filter(([id]) => id.startsWith(start));
      const [only] = found;
      if (only === undefined || found.length > 1)
        throw new Error(`${found.length} of ${type} start with "${start}"`);
      return only[1] as Resource;
    },
  };
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const part of Object.values(value)) freeze(part);
  Object.freeze(value);
}

/**
 * Resolves a value's references to pseudo parameters, such as AWS::Partition, and to resources' ids, as CloudFormation
 * does.
 */
export function evaluate(
  template: Template,
  value: unknown,
  pseudoParameters: Readonly<Record<string, string>>,
  attribute = (logicalId: string, name: string): string => {
    throw new Error(`refers to ${name} of ${logicalId}`);
  },
  ref: (logicalId: string) => string = String,
): unknown {
  const { Conditions = {} } = template.toJSON() as { Conditions?: Record<string, unknown> };
  const sources = { template: { Resources: {}, Conditions }, pseudoParameters, ref, attribute };
  return createResolver(sources).resolve(value, 'value');
}
