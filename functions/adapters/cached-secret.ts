import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';

/** A secret that an operator replaces is used within five minutes. */
const millisecondsKept = 5 * 60 * 1000;

/** A secret's value, read once and kept for a while; a failed read is not kept. */
export function cachedSecret(client: () => SecretsManagerClient, name: () => string): () => Promise<string> {
  let kept: { value: Promise<string>; until: number } | undefined;
  const read = async (): Promise<string> => {
    const answer = await client().send(new GetSecretValueCommand({ SecretId: name() }));
    if (answer.SecretString === undefined) throw new Error('The secret has no text');
    return answer.SecretString;
  };
  return () => {
    if (kept === undefined || kept.until < Date.now()) {
      const value = read();
      kept = { value, until: Date.now() + millisecondsKept };
      value.catch(() => {
        kept = undefined;
      });
    }
    return kept.value;
  };
}
