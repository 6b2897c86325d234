import { appendFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  DescribeExecutionCommand,
  SendTaskSuccessCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { runTemplate } from '#local/run-template.ts';
import { changeAssembly } from './fixture/change-assembly.ts';
import { clientOptions, startBackground } from './fixture/start-background.ts';
import { makeDataDir } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

// The first synth takes seconds.
beforeAll(() => synthesizeFixture('Background'));

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

describe('a start refuses a definition', () => {
  const invoke = { Type: 'Task', Resource: 'arn:aws:states:::lambda:invoke', End: true };
  const inState = (state: object, more: object = {}) => ({ StartAt: 'S', States: { S: state }, ...more });
  it.each<[string, object, string]>([
    [
      'with a direct call of a service',
      inState({ ...invoke, Resource: 'arn:aws:states:::aws-sdk:dynamodb:getItem', Parameters: {} }),
      'the state "S": arn:aws:states:::aws-sdk:dynamodb:getItem is not available locally, only Lambda functions are',
    ],
    [
      'with a function of another template',
      inState({ ...invoke, Parameters: { FunctionName: 'elsewhere' } }),
      'the state "S": the function elsewhere is not in the template',
    ],
    [
      'with a call that is not waited for',
      inState({ ...invoke, Parameters: { 'FunctionName.$': '$.f', InvocationType: 'Event' } }),
      'the state "S": InvocationType Event is not available locally',
    ],
    [
      'with a time-out by path, which the engine takes from the wrong place',
      inState({ ...invoke, TimeoutSecondsPath: '$.t' }),
      'the state "S": TimeoutSecondsPath is not available locally',
    ],
    [
      'with a type of state that it does not run',
      inState({ Type: 'Parallel', Branches: [], End: true }),
      'the state "S": the type Parallel is not available locally',
    ],
    [
      'in JSONata',
      inState({ Type: 'Pass', End: true }, { QueryLanguage: 'JSONata' }),
      'the machine: JSONata is not available locally',
    ],
    ['that leads nowhere', inState({ Type: 'Pass', Next: 'T' }), 'State machine definition is invalid'],
  ])('%s', async (_, definition, message) => {
    const assembly = await changeAssembly('Background', (resources) => {
      Object.assign(resources.Corners?.Properties ?? {}, { DefinitionString: JSON.stringify(definition) });
    });
    const dataDir = await makeDataDir();
    folders.push(assembly, dataDir);
    await expect(runTemplate({ assembly, dataDir, port: 0 })).rejects.toThrow(
      `Corners (AWS::StepFunctions::StateMachine): ${message}`,
    );
  });
});

it('fills substitutions into a definition', async () => {
  const assembly = await changeAssembly('Background', (resources) => {
    const { Corners } = resources;
    delete Corners?.Properties?.DefinitionString;
    Object.assign(Corners?.Properties ?? {}, {
      // biome-ignore lint/suspicious/noTemplateCurlyInString: CloudFormation's own placeholder
      Definition: { StartAt: 'S', States: { S: { Type: 'Pass', Result: '${Word}', End: true } } },
      DefinitionSubstitutions: { Word: 'filled in' },
    });
  });
  folders.push(assembly);
  const run = await startBackground({ assembly });
  const sfn = new SFNClient(clientOptions(run.endpoints.sfn));
  const { executionArn } = await sfn.send(new StartExecutionCommand({ stateMachineArn: run.ref('Corners') }));
  await vi.waitFor(
    async () =>
      expect(await sfn.send(new DescribeExecutionCommand({ executionArn }))).toMatchObject({
        output: '"filled in"',
      }),
    60_000,
  );
  await run.close();
});

it('over a restart names stay used, what ran is ABORTED, and its token is unknown', async () => {
  const dataDir = await makeDataDir();
  folders.push(dataDir);
  const start = async () => {
    const run = await startBackground({ dataDir });
    const sfn = new SFNClient(clientOptions(run.endpoints.sfn));
    const start = (machine: string, input: object, name: string) =>
      sfn.send(
        new StartExecutionCommand({ stateMachineArn: run.ref(machine), name, input: JSON.stringify(input) }),
      );
    const describeExecution = (executionArn = '') => sfn.send(new DescribeExecutionCommand({ executionArn }));
    return { run, sfn, start, describeExecution };
  };
  const failing = { seconds: 0, reason: 'no' };
  const before = await start();
  const received = Promise.withResolvers<string>();
  before.run.script('Asked', ({ token }: { token: string }) => {
    received.resolve(token);
    return {};
  });
  const { executionArn: waiting } = await before.start('Flow', { n: 1 }, 'waits');
  const { executionArn: failed } = await before.start('Patient', failing, 'fails');
  await vi.waitFor(
    async () => expect((await before.describeExecution(failed)).status).toBe('FAILED'),
    60_000,
  );
  const taskToken = await received.promise;
  await before.run.close();
  const log = path.join(dataDir, 'executions.jsonl');
  expect((await stat(log)).mode & 0o777).toBe(0o600);
  // A kill in the middle of a write leaves an incomplete last line.
  await appendFile(log, '{"arn":"half');

  const after = await start();
  expect(await after.describeExecution(waiting)).toMatchObject({ status: 'ABORTED', input: '{"n":1}' });
  expect(await after.describeExecution(failed)).toMatchObject({ status: 'FAILED', error: 'NotDue' });
  for (const [machine, input, name] of [
    ['Flow', { n: 1 }, 'waits'],
    ['Patient', failing, 'fails'],
  ] as const) {
    await expect(after.start(machine, input, name)).rejects.toMatchObject({ name: 'ExecutionAlreadyExists' });
  }
  await expect(after.sfn.send(new SendTaskSuccessCommand({ taskToken, output: '1' }))).rejects.toMatchObject({
    name: 'TaskDoesNotExist',
  });
  await after.run.close();
});
