import { randomBytes } from 'node:crypto';
import {
  ListSecretVersionIdsCommand,
  PutSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { Argument, Command } from 'commander';
import { clientTimeouts, environment } from '#runtime/environment/environment.ts';
import { overlapMilliseconds } from '#runtime/http/caller-secrets.ts';
import { type Result, report } from './report.ts';
import { addToolSecrets } from './tool-secrets.ts';

export function secretCommands(): Command {
  const group = new Command('secrets').description(
    'The secrets of tools, and those by which the parts of a stage trust each other.',
  );
  group
    .command('rotate')
    .description('replace a secret without an outage')
    .addArgument(
      new Argument('<secret>', 'the secret with which the authorizer signs callers').choices(['caller']),
    )
    .option('--force', 'even if requests fail, because the last rotation was a short time ago')
    .addHelpText('after', help)
    .action(report((_secret: 'caller', { force }: { force?: true }) => rotateCaller(force === true)));
  addToolSecrets(group);
  return group;
}

const help = `
The secret of the distribution rotates with a deployment: raise the setting originSecretGeneration by one.
docs/operators.md has both.`;

async function rotateCaller(force: boolean): Promise<Result> {
  const SecretId = environment('callerSecret');
  if (SecretId === undefined)
    throw new Error(
      'The stage has no such secret: no web function serves its messages (setting webFunctions)',
    );
  const overlap = overlapMilliseconds(environment('authorizerCacheSeconds'));
  const client = new SecretsManagerClient({ requestHandler: clientTimeouts });
  const rotatedAt = await lastRotation(client, SecretId);
  const now = Date.now();
  if (!force && rotatedAt !== undefined && now < rotatedAt + overlap)
    throw new Error(tooEarly(rotatedAt, overlap));
  // Secrets Manager keeps the former value, with the label AWSPREVIOUS.
  const SecretString = randomBytes(32).toString('base64url');
  const { VersionId } = await client.send(new PutSecretValueCommand({ SecretId, SecretString }));
  const until = new Date(now + overlap).toISOString();
  return {
    json: { secret: 'caller', version_id: VersionId, previous_accepted_until: until },
    lines: [`Rotated. Callers who were signed with the previous value are accepted until ${until}`],
  };
}

/** In epoch milliseconds; undefined if the secret still has its first value. */
async function lastRotation(client: SecretsManagerClient, SecretId: string): Promise<number | undefined> {
  const { Versions = [] } = await client.send(new ListSecretVersionIdsCommand({ SecretId }));
  const labelled = (label: string) => Versions.find(({ VersionStages }) => VersionStages?.includes(label));
  return labelled('AWSPREVIOUS') && labelled('AWSCURRENT')?.CreatedDate?.getTime();
}

function tooEarly(rotatedAt: number, overlap: number): string {
  const seconds = Math.ceil((rotatedAt + overlap - Date.now()) / 1000);
  return (
    `The secret was rotated at ${new Date(rotatedAt).toISOString()}, and the gateway may still send callers who were ` +
    `signed with the value before. A second rotation would reject them. Rotate again in ${seconds} s, or use --force`
  );
}
