import { describe, expect, it } from 'vitest';
import { variables } from '#runtime/environment/variables.ts';
import { synthesize } from './synthesize.ts';

type Stage = ReturnType<typeof synthesize>;

/** Each is synthesized once. */
const generations = new Map<number, Stage>();

function generation(originSecretGeneration: number): Stage {
  const stage =
    generations.get(originSecretGeneration) ??
    synthesize({ settings: { firewall: {}, authorizerCacheSeconds: 300, originSecretGeneration } });
  generations.set(originSecretGeneration, stage);
  return stage;
}

/** Logical ids of the distribution's secrets that a part of the template names, without the library's hash. */
const secretsIn = (part: unknown): string[] =>
  [...JSON.stringify(part).matchAll(/"(OriginSecret\d*?)[0-9A-F]{8}"/g)].map(([, id = '']) => id);

/** The value that each origin gets. */
function sentBy({ resource }: Stage): string[] {
  const { DistributionConfig } = resource('AWS::CloudFront::Distribution').Properties as {
    DistributionConfig: { Origins: { OriginCustomHeaders: unknown }[] };
  };
  return DistributionConfig.Origins.flatMap(({ OriginCustomHeaders }) => secretsIn(OriginCustomHeaders));
}

/** The values that each part of the template accepts: the firewall of the gateway, functions and web functions. */
function acceptedBy({ resources }: Stage): Record<string, string[]> {
  const environments = [
    ...Object.entries(resources('AWS::Lambda::Function')).map(
      ([id, { Properties }]) => [id, (Properties.Environment as { Variables?: object })?.Variables] as const,
    ),
    ...Object.entries(resources('AWS::Lambda::WebFunctionRevision')).map(
      ([id, { Properties }]) =>
        [id, (Properties.ServiceConfig as { EnvironmentVariables: object }).EnvironmentVariables] as const,
    ),
  ].flatMap(([id, set]) => {
    const value = (set as Record<string, unknown> | undefined)?.[variables.originSecrets];
    return value === undefined ? [] : [[id, secretsIn(value)] as const];
  });
  const firewalls = Object.entries(resources('AWS::WAFv2::WebACL')).map(
    ([id, { Properties }]) => [id, secretsIn(Properties.Rules)] as const,
  );
  return Object.fromEntries([...environments, ...firewalls]);
}

describe('the secret of the distribution', () => {
  it.each([
    [1, 'OriginSecret', ['OriginSecret', 'OriginSecret2']],
    [2, 'OriginSecret2', ['OriginSecret2', 'OriginSecret', 'OriginSecret3']],
    [3, 'OriginSecret3', ['OriginSecret3', 'OriginSecret2', 'OriginSecret4']],
  ])('of generation %d is sent, and its neighbours are accepted as well', (number, sent, accepted) => {
    const stage = generation(number);
    expect(sentBy(stage)).toEqual([sent, sent]);
    const all = acceptedBy(stage);
    // Four functions that make links, the web function of uploads, and the firewall.
    expect(Object.keys(all)).toHaveLength(6);
    for (const [id, secrets] of Object.entries(all)) expect(secrets, id).toEqual(accepted);
    const created = Object.keys(stage.resources('AWS::SecretsManager::Secret')).map((id) => secretsIn([id]));
    expect(created.flat().toSorted()).toEqual(accepted.toSorted());
  });

  it.each([
    [1, 2],
    [2, 3],
    [3, 2],
  ])('of generation %d becomes %d: in any order of updates, whatever is sent is accepted', (from, to) => {
    const stages = [generation(from), generation(to)];
    for (const value of stages.flatMap(sentBy))
      for (const [id, accepted] of stages.flatMap((stage) => Object.entries(acceptedBy(stage))))
        expect(accepted, id).toContain(value);
  });

  it('may be read by those alone who accept it', () => {
    const readers = [...generation(2).statements].filter(([, all]) => secretsIn(all).length > 0);
    expect(readers.map(([role]) => role).toSorted()).toEqual([
      'ListBatchResults',
      'ListBatches',
      'ListChats',
      'ListMessages',
      'Uploads',
    ]);
    for (const [role, all] of readers)
      expect(secretsIn(all).toSorted(), role).toEqual(['OriginSecret', 'OriginSecret2', 'OriginSecret3']);
  });
});

it('of a stage says to operators which secret of callers to rotate, and how long signatures are cached', () => {
  const outputsOf = ({ template }: Stage) =>
    (template.toJSON() as { Outputs: Record<string, { Value: unknown }> }).Outputs;
  const outputs = outputsOf(generation(1));
  expect(outputs.CallerSecretArn?.Value).toEqual({ Ref: expect.stringMatching(/^CallerSecret/) });
  expect(outputs.AuthorizerCacheSeconds?.Value).toBe('300');
  expect(outputsOf(synthesize({ settings: { webFunctions: 'none' } }))).not.toHaveProperty('CallerSecretArn');
});

it('of callers is used by functions that know how long the gateway caches their signatures', () => {
  const stage = generation(1);
  const environments = [
    (
      stage.resource('AWS::Lambda::Function', 'AuthorizeRequest').Properties.Environment as {
        Variables: object;
      }
    ).Variables,
    (
      stage.resource('AWS::Lambda::WebFunctionRevision', 'Chats').Properties.ServiceConfig as {
        EnvironmentVariables: object;
      }
    ).EnvironmentVariables,
  ];
  for (const each of environments) expect(each).toMatchObject({ [variables.authorizerCacheSeconds]: '300' });
});
