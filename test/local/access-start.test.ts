import { rm } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { runTemplate } from '#local/run-template.ts';
import { changeAssembly, type TemplateResources } from './fixture/change-assembly.ts';
import { makeDataDir } from './fixture/start-fixture.ts';
import { synthesizeFixture } from './fixture/synthesize-fixture.ts';

// The first synth takes seconds.
beforeAll(() => synthesizeFixture('Access'));

describe('a start refuses', () => {
  type Statement = Record<string, unknown>;
  const statementsOf = (resources: TemplateResources, prefix: string): Statement[] => {
    const found = Object.entries(resources).find(([id]) => id.startsWith(prefix))?.[1].Properties;
    return (found?.PolicyDocument as { Statement: Statement[] } | undefined)?.Statement ?? [];
  };
  it.each<[string, (resources: TemplateResources) => void, RegExp]>([
    [
      'an operator of a condition that it does not know',
      (resources) =>
        Object.assign(statementsOf(resources, 'CallerServiceRoleDefaultPolicy')[0] ?? {}, {
          Condition: { IpAddress: { 'aws:SourceIp': '10.0.0.0/8' } },
        }),
      /^CallerServiceRoleDefaultPolicy\w+\[0\]: the condition operator IpAddress is not known locally$/,
    ],
    [
      'a key of a condition that it does not know',
      (resources) =>
        Object.assign(statementsOf(resources, 'FilesPolicy')[0] ?? {}, {
          Condition: { StringEquals: { 'aws:PrincipalOrgID': 'o-1' } },
        }),
      /^FilesPolicy\w+\[0\]: the condition key aws:PrincipalOrgID is not known locally$/,
    ],
    [
      'a condition about attributes of an action whose attributes it does not know',
      (resources) =>
        Object.assign(statementsOf(resources, 'CallerServiceRoleDefaultPolicy')[0] ?? {}, {
          Action: ['dynamodb:PutItem', 'dynamodb:GetItem'],
          Condition: { 'ForAllValues:StringEquals': { 'dynamodb:Attributes': ['pk'] } },
        }),
      /^CallerServiceRoleDefaultPolicy\w+\[0\]: the condition key dynamodb:Attributes is not known locally for dynamodb:GetItem$/,
    ],
    [
      'an event source whose function may not receive',
      (resources) => {
        const statements = statementsOf(resources, 'CalledServiceRoleDefaultPolicy');
        for (const statement of statements)
          statement.Action = [statement.Action].flat().filter((action) => action !== 'sqs:ReceiveMessage');
      },
      /The function execution role does not have permissions to call ReceiveMessage on SQS: User: arn/,
    ],
  ])('%s', async (_, change, message) => {
    const assembly = await changeAssembly('Access', change);
    const folder = await makeDataDir();
    await expect(runTemplate({ assembly, dataDir: folder, port: 0 })).rejects.toThrow(message);
    for (const made of [assembly, folder]) await rm(made, { recursive: true, force: true });
  });
});
