import { describe, expect, it } from 'vitest';
import { variables } from '#runtime/environment/variables.ts';
import { synthesize } from './synthesize.ts';

type Stage = ReturnType<typeof synthesize>;

const generation = (originSecretGeneration: number): Stage =>
  synthesize({ settings: { firewall: {}, authorizerCacheSeconds: 300, originSecretGeneration } });

/** Logical ids of the distribution's secrets that a part of the template names, without the library's hash. */
const secretsIn = (part: unknown): string[] =>
  [...JSON.stringify(part).matchAll(/"(OriginSecret\d*?)[0-9A-F]{8}"/g)].map(([, id = '']) => id);

/** The value that each origin gets. */
function sentBy({ resource }: Stage): string[] {
  const { Origins } = resource('AWS::CloudFront::Distribution').Properties.DistributionConfig;
  return Origins.flatMap(({ OriginCustomHeaders }: { OriginCustomHeaders: unknown }) =>
    secretsIn(OriginCustomHeaders),
  );
}

/** The values that each part of the template accepts: the firewall of the gateway, functions and web functions. */
function acceptedBy({ environments, resources }: Stage): Record<string, string[]> {
  const functions = [...environments]
    .filter(([, set]) => variables.originSecrets in set)
    .map(([id, set]) => [id, secretsIn(set[variables.originSecrets])] as const);
  const firewalls = Object.entries(resources('AWS::WAFv2::WebACL')).map(
    ([id, { Properties }]) => [id, secretsIn(Properties.Rules)] as const,
  );
  return Object.fromEntries([...functions, ...firewalls]);
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
    for (const [role, all] of stage.statements)
      expect([[], accepted.toSorted()], role).toContainEqual(secretsIn(all).toSorted());
    const created = Object.keys(stage.resources('AWS::SecretsManager::Secret')).map((id) => secretsIn([id]));
    expect(created.flat().toSorted()).toEqual(accepted.toSorted());
  });
});

it('of a stage says to operators which secret of callers to rotate, and how long signatures are cached', () => {
  const outputsOf = ({ template }: Stage) => template.toJSON().Outputs;
  const outputs = outputsOf(generation(1));
  expect(outputs.CallerSecretArn?.Value).toEqual({ Ref: expect.stringMatching(/^CallerSecret/) });
  expect(outputs.AuthorizerCacheSeconds?.Value).toBe('300');
  expect(outputsOf(synthesize({ settings: { webFunctions: 'none' } }))).not.toHaveProperty('CallerSecretArn');
});

it('of callers is used by functions that know how long the gateway caches their signatures', () => {
  for (const id of ['AuthorizeRequest', 'Chats'])
    expect(generation(1).environments.get(id)).toMatchObject({ [variables.authorizerCacheSeconds]: '300' });
});
