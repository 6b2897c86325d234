import { createHash } from 'node:crypto';
import { openStoredValues } from '../data/state-file.ts';
import type { ResourceKind } from '../template/resource-kind.ts';
import { reject, type TemplateResource } from '../template/template-resource.ts';
import { serveAwsJson } from '../wire/serve-aws-json.ts';
import type { Machine } from './definition.ts';
import { openExecutionLog } from './execution-log.ts';
import { createExecutions } from './executions.ts';
import { readDefinition } from './read-definition.ts';

interface MachineProperties {
  readonly Definition?: object;
  readonly DefinitionString?: string;
  readonly DefinitionSubstitutions?: Readonly<Record<string, unknown>>;
  readonly RoleArn?: string;
  readonly StateMachineType?: string;
}

/** Executions end with the run. An execution's name is reserved for at least 90 days from the execution's start. */
export const stateMachines: ResourceKind = {
  types: ['AWS::StepFunctions::StateMachine'],

  async open(resources, context) {
    const nameOf = (resource: TemplateResource) => context.nameOf(resource, 'StateMachineName');
    const arnOf = (resource: TemplateResource) => context.arnOf('states', `stateMachine:${nameOf(resource)}`);

    const machines = new Map<string, Machine>();
    const emulator = await import('aws-local-stepfunctions');
    const log = await openExecutionLog(context.options.dataDir);
    const executions = createExecutions(machines, log, emulator, context);
    const server = await serveAwsJson(executions.operations, context.access, executions.needed);
    context.endpoints.sfn = server.endpoint;

    return {
      ref: arnOf,
      attribute: (resource, name) =>
        ({ Arn: arnOf(resource), Name: nameOf(resource), StateMachineRevisionId: 'INITIAL' })[name],
      environmentFor: () => ({ AWS_ENDPOINT_URL_SFN: server.endpoint }),
      async start() {
        // The emulator's check is slow, so it is skipped if the machine's definition is the one that passed it last.
        const checked = await openStoredValues(context.options.dataDir, 'checked-definitions');
        for (const resource of resources) {
          const arn = arnOf(resource);
          const name = nameOf(resource);
          const properties = context.read<MachineProperties>(resource);
          const { machine, digest } = withResourceName(resource, () => {
            const { text, roleArn } = readProperties(properties);
            const digest = createHash('sha256').update(text).digest('hex');
            const isChecked = checked.get(arn) === digest;
            const definition = readDefinition(text, emulator, context, { isChecked });
            const role = context.access.assume({
              roleArn,
              service: 'states.amazonaws.com',
              sessionName: name,
            });
            return { machine: { arn, name, role, definition }, digest };
          });
          if (checked.get(arn) !== digest) await checked.put(arn, digest);
          machines.set(arn, machine);
        }
      },
      async close() {
        await executions.close();
        await server.close();
      },
    };
  },
};

function readProperties(properties: MachineProperties): { text: string; roleArn: string } {
  const { Definition, DefinitionString, DefinitionSubstitutions = {}, RoleArn = '' } = properties;
  if (properties.StateMachineType === 'EXPRESS') throw new Error('EXPRESS is not available locally');
  const given = DefinitionString ?? (Definition && JSON.stringify(Definition));
  if (given === undefined) throw new Error('only a definition in the template itself can be read');
  let text = given;
  for (const [name, value] of Object.entries(DefinitionSubstitutions))
    text = text.replaceAll(`\${${name}}`, String(value));
  return { text, roleArn: RoleArn };
}

function withResourceName<Result>(resource: TemplateResource, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    reject(resource, (error as Error).message.replaceAll('\n', ' '));
  }
}
