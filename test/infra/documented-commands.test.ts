import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseSettings } from '#lib/settings.ts';
import { groupedCommands, problemsOfAgentctl } from '#support/documents/agentctl-command.ts';
import { problemsOfAws } from '#support/documents/aws-command.ts';
import { problemsOfCdk, settingsOf } from '#support/documents/cdk-command.ts';
import { commandsOf, type DocumentCommand } from '#support/documents/document-commands.ts';
import manifest from '../../package.json' with { type: 'json' };
import { synthesize } from './synthesize.ts';

const folder = join(import.meta.dirname, '../../docs');
const pages = readdirSync(folder).filter((file) => file.endsWith('.md'));
const textOf = (page: string): string => readFileSync(join(folder, page), 'utf8');

// Documents name dates, which agentctl requires to be in the future.
beforeAll(() => void vi.useFakeTimers({ toFake: ['Date'], now: new Date('2026-12-01') }));
afterAll(() => void vi.useRealTimers());

const groups = new Set(await groupedCommands());

/** The program that a command runs, with its arguments. */
function programOf(words: readonly string[]): [program: string, args: string[]] {
  const [first = '', second = '', ...rest] = words;
  if (first === 'npx' && second === 'cdk') return ['cdk', rest];
  if (first === 'npm' && second === 'run') {
    const [script = '', ...args] = rest.filter((word) => word !== '--silent' && word !== '--');
    return script === 'agentctl' ? ['agentctl', args] : ['npm run', [script]];
  }
  // A sentence may leave out the program's name.
  if (groups.has(`${first} ${second}`)) return ['agentctl', [...words]];
  return [first, words.slice(1)];
}

const checks: Readonly<
  Record<string, (args: string[], isComplete: boolean) => string[] | Promise<string[]>>
> = {
  aws: problemsOfAws,
  cdk: problemsOfCdk,
  // A shell function that passes its own arguments on.
  agentctl: (args, isComplete) => (args.includes('$@') ? [] : problemsOfAgentctl(args, isComplete)),
  'npm run': ([script = '']) => (script in manifest.scripts ? [] : [`package.json has no script ${script}`]),
};

async function problemsOf({ words, isComplete }: DocumentCommand): Promise<string[]> {
  const [program, args] = programOf(words);
  const problems = (await checks[program]?.(args, isComplete)) ?? [];
  return problems.map((problem) => `${words.join(' ')}: ${problem}`);
}
const problemsIn = async (page: string): Promise<string[]> =>
  (await Promise.all(commandsOf(page).map(problemsOf))).flat();

test.each(pages)('every command in docs/%s exists, with its options', async (page) => {
  expect(await problemsIn(textOf(page))).toEqual([]);
});

test.each(pages)('each command of the CDK in docs/%s overrides settings that a stage accepts', (page) => {
  const overridden = commandsOf(textOf(page)).flatMap(({ words }) => settingsOf(words));
  for (const settings of overridden) expect(() => parseSettings(JSON.parse(settings))).not.toThrow();
});

test('the pages of operators have commands of each kind', () => {
  const counts = (page: string, program: string) =>
    commandsOf(textOf(page)).filter(({ words }) => programOf(words)[0] === program).length;
  expect(counts('runbook.md', 'aws')).toBeGreaterThan(25);
  expect(counts('runbook.md', 'agentctl')).toBeGreaterThan(15);
  expect(counts('deploy.md', 'aws')).toBeGreaterThan(12);
  expect(counts('deploy.md', 'cdk')).toBeGreaterThan(12);
  expect(counts('operators.md', 'agentctl')).toBeGreaterThan(10);
});

test('the resources that the pages of operators name are in the template', () => {
  const { Resources } = synthesize({ settings: { webFunctions: 'all' } }).template.toJSON();
  const words = ['runbook.md', 'deploy.md'].flatMap((page) =>
    commandsOf(textOf(page)).map((found) => found.words),
  );
  const ids = words.flatMap(([program, ...args]) =>
    program === 'resource'
      ? args
      : args.slice(args.indexOf('--logical-resource-id') + 1 || args.length).slice(0, 1),
  );
  const literal = ids.filter((id) => !id.startsWith('$'));
  expect(literal.length).toBeGreaterThan(5);
  expect(literal.filter((id) => !(id in Resources))).toEqual([]);
  const lists = words.filter(([program]) => program === 'listed');
  expect(lists.length).toBeGreaterThan(2);
  for (const [, type, prefix = ''] of lists) {
    const found = Object.keys(Resources).filter(
      (id) => Resources[id]?.Type === type && id.startsWith(prefix),
    );
    expect([prefix, found.length]).toEqual([prefix, 1]);
  }
});

describe('the check finds', () => {
  test.each([
    ['aws lambda update-aliases --name live', 'lambda has no operation update-aliases'],
    ['aws lambda get-account-settings --query AccountLimits', 'the output has no AccountLimits'],
    ['aws lambda get-alias --function-name F', '--name is missing'],
    ['aws lambda get-alias --function-name F --name two words', 'words is unexpected'],
    [
      'aws dynamodb update-table --table-name T --no-deletion-protection',
      'there is no --no-deletion-protection',
    ],
    ['aws dynamodb wait table-exist --table-name T', 'dynamodb has no waiter table-exist'],
    ['aws sqs purge-queue --queue-url', '--queue-url needs a value'],
    ['aws polly list-lexicons', 'no model of the service polly'],
    ['npx cdk deply AgentService', 'cdk has no command deply'],
    ['npx cdk deploy AgentService --require-approvals never', 'there is no --require-approvals'],
    ['npm run --silent agentctl -- usages --workspace W', "unknown command 'usages'"],
    ['npm run agentctl -- keys revoke', "missing required argument 'key-id'"],
    ['npm run agentctl -- keys rotate K --overlap 1y', 'It must be a time'],
    ['npm run synthesize', 'package.json has no script synthesize'],
  ])('%s: %s', async (command, problem) => {
    expect(await problemsIn(`\`\`\`sh\n${command}\n\`\`\`\n`)).toContainEqual(
      expect.stringContaining(problem),
    );
  });
});

const deployment = textOf('deploy.md');
const { template } = synthesize({
  settings: {
    webFunctions: 'all',
    webSearch: { provider: 'brave' },
    openAiEndpoints: { groq: { url: 'https://api.groq.com/openai/v1' } },
    toolAllow: ['crm.internal:443'],
    toolFunctions: ['arn:aws:lambda:eu-central-1:123456789012:function:orders:live'],
  },
});

test('docs/deploy.md tells every output of the stack, and none besides', () => {
  const [table = ''] = deployment.split('\n\n').filter((part) => part.startsWith('|'));
  const cells = table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|')[1] ?? '');
  const documented = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(documented.toSorted()).toEqual(Object.keys(template.findOutputs('*')).toSorted());
});

test('its settings are such as a stage takes', () => {
  const [, json = ''] = /```json\n([\s\S]*?)```/.exec(deployment) ?? [];
  const { production } = JSON.parse(`{${json}}`.replaceAll('…:', '123456789012:').replaceAll('…', '0A1'));
  production.domain.certificateArn = production.domain.certificateArn.replace('/0A1', '/0a1');
  expect(parseSettings(production)).toMatchObject({ firewall: { mode: 'count' } });
});
