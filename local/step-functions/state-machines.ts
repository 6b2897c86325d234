import type { RunContext } from '../run-context.ts';
import type { ResourceKind, TemplateResource } from '../template/resource-kind.ts';
import { serveAwsJson } from '../wire/serve-aws-json.ts';
import { openExecutionLog } from './execution-log.ts';
import { createExecutions, type Machine } from './executions.ts';
import { readDefinition } from './read-definition.ts';
import type { Engine } from './run-execution.ts';

interface MachineProperties {
  readonly Definition?: object;
  readonly DefinitionString?: string;
  readonly DefinitionSubstitutions?: Readonly<Record<string, unknown>>;
  readonly RoleArn?: string;
  readonly StateMachineType?: string;
}

const MACHINE = 'AWS::StepFunctions::StateMachine';

/** Step Functions state machines of the Standard type. Executions end with the run, their names are kept. */
export const stateMachines: ResourceKind = {
  types: [MACHINE, 'AWS::StepFunctions::StateMachineVersion', 'AWS::StepFunctions::StateMachineAlias'],

  async open(resources, context) {
    const other = resources.find(({ type }) => type !== MACHINE);
    if (other)
      throw new Error(`${other.logicalId} (${other.type}): only machines themselves can run locally`);
    const nameOf = ({ logicalId, properties }: TemplateResource): string =>
      String(context.resolve(properties.StateMachineName, logicalId) ?? context.nameOf(logicalId));
    const arnOf = (resource: TemplateResource) =>
      `arn:aws:states:${context.region}:${context.accountId}:stateMachine:${nameOf(resource)}`;

    const machines = new Map<string, Machine>();
    const engine = await import('aws-local-stepfunctions');
    const log = await openExecutionLog(context.options.dataDir);
    const executions = createExecutions(machines, log, engine, context);
    const server = await serveAwsJson(executions.operations);
    context.endpoints.sfn = server.endpoint;

    return {
      ref: arnOf,
      attribute: (resource, name) =>
        ({ Arn: arnOf(resource), Name: nameOf(resource), StateMachineRevisionId: 'INITIAL' })[name],
      environmentFor: () => ({ AWS_ENDPOINT_URL_SFN: server.endpoint }),
      async begin() {
        for (const resource of resources) {
          const arn = arnOf(resource);
          machines.set(arn, { arn, name: nameOf(resource), ...readMachine(resource, engine, context) });
        }
      },
      async close() {
        await executions.close();
        await server.close();
      },
    };
  },
};

function readMachine(
  { logicalId, type, properties }: TemplateResource,
  engine: Engine,
  context: RunContext,
): Pick<Machine, 'definition' | 'roleArn'> {
  const resolved = context.resolve(properties, logicalId) as MachineProperties;
  try {
    if (resolved.StateMachineType === 'EXPRESS') throw new Error('EXPRESS is not available locally');
    const text = resolved.DefinitionString ?? (resolved.Definition && JSON.stringify(resolved.Definition));
    if (text === undefined) throw new Error('only a definition in the template itself can be read');
    const definition = readDefinition(substitute(text, resolved.DefinitionSubstitutions), engine, context);
    return { definition, roleArn: resolved.RoleArn ?? '' };
  } catch (error) {
    throw new Error(`${logicalId} (${type}): ${(error as Error).message.replaceAll('\n', ' ')}`);
  }
}

function substitute(text: string, values: MachineProperties['DefinitionSubstitutions'] = {}): string {
  return Object.entries(values).reduce(
    (result, [name, value]) => result.replaceAll(`\${${name}}`, String(value)),
    text,
  );
}
