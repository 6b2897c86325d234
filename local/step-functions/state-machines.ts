import { createHash } from 'node:crypto';
import { openStoredValues } from '../data/state-file.ts';
import type { RunContext } from '../run-context.ts';
import type { ResourceKind, TemplateResource } from '../template/resource-kind.ts';
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

/** Step Functions state machines of the type STANDARD. Executions end with the run. Their names stay reserved. */
export const stateMachines: ResourceKind = {
  types: ['AWS::StepFunctions::StateMachine'],

  async open(resources, context) {
    const nameOf = ({ logicalId, properties }: TemplateResource): string =>
      String(context.resolve(properties.StateMachineName, logicalId) ?? context.nameOf(logicalId));
    const arnOf = (resource: TemplateResource) =>
      `arn:aws:states:${context.region}:${context.accountId}:stateMachine:${nameOf(resource)}`;

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
        // The emulator needs 0.1 s or more for a check, so a definition that an earlier start has checked is not
        // checked.
        const checked = await openStoredValues(context.options.dataDir, 'checked-definitions');
        for (const resource of resources) {
          const arn = arnOf(resource);
          const { text, roleArn } = readProperties(resource, context);
          const digest = createHash('sha256').update(text).digest('hex');
          const isChecked = checked.get(arn) === digest;
          const definition = withResourceName(resource, () =>
            readDefinition(text, emulator, context, { isChecked }),
          );
          if (!isChecked) await checked.put(arn, digest);
          const name = nameOf(resource);
          const role = withResourceName(resource, () =>
            context.access.assume({ roleArn, service: 'states.amazonaws.com', sessionName: name }),
          );
          machines.set(arn, { arn, name, role, definition });
        }
      },
      async close() {
        await executions.close();
        await server.close();
      },
    };
  },
};

function readProperties(resource: TemplateResource, context: RunContext) {
  const resolved = context.read<MachineProperties>(resource);
  return withResourceName(resource, () => {
    if (resolved.StateMachineType === 'EXPRESS') throw new Error('EXPRESS is not available locally');
    const text = resolved.DefinitionString ?? (resolved.Definition && JSON.stringify(resolved.Definition));
    if (text === undefined) throw new Error('only a definition in the template itself can be read');
    return { text: substitute(text, resolved.DefinitionSubstitutions), roleArn: resolved.RoleArn ?? '' };
  });
}

/** Prefixes errors with the resource's name. */
function withResourceName<Result>({ logicalId, type }: TemplateResource, read: () => Result): Result {
  try {
    return read();
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
