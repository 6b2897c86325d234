import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { isRightSignature, webhookSignature } from '#domain/webhooks/webhook.ts';
import { clock } from '#runtime/environment/invocation-context.ts';
import { readInput } from './read-json.ts';
import { clientReport, type Result } from './report.ts';

type Options = Record<'secret' | 'timestamp' | 'signature', string>;

/** The maximum age that docs/webhooks.md recommends to receivers. */
const maxAgeSeconds = 300;

export function addVerification(group: Command): void {
  group
    .command('verify')
    .description('check the signature of a webhook call; needs no service')
    .argument('[bodyfile]', 'the exact bytes of the body; by default, or with -, standard input', '-')
    .requiredOption('--secret <secret>', 'the webhook secret of the batch')
    .requiredOption('--timestamp <seconds>', 'the header X-Service-Timestamp')
    .requiredOption('--signature <signature>', 'the header X-Service-Signature: sha256=…')
    .action(clientReport(verify));
}

async function verify(file: string, { secret, timestamp, signature }: Options): Promise<Result> {
  const body = file === '-' ? await buffer(process.stdin) : await readInput(file);
  const call = { secret, timestamp, body };
  const isRight = isRightSignature(signature, call);
  if (!isRight) process.exitCode = 1;
  return {
    json: { valid: isRight, expected: webhookSignature(call), age_seconds: ageOf(timestamp) },
    lines: [
      ...(isRight ? ['The signature is right.'] : ['The signature is wrong.', ...hints(signature, call)]),
      ...ageLines(timestamp),
      '',
      'A receiver computes the signature like this, and compares in constant time:',
      `  message    ${timestamp}.<the ${body.length} bytes of the body>`,
      '  key        the secret, as UTF-8',
      '  signature  sha256= and the lower-case hex of HMAC-SHA256(key, message)',
      `             ${webhookSignature(call)}`,
    ],
  };
}

function hints(signature: string, call: { secret: string; timestamp: string; body: Buffer }): string[] {
  const withoutNewline = { ...call, body: call.body.subarray(0, call.body.lastIndexOf('\n')) };
  if (!signature.startsWith('sha256=')) return ['The header must start with sha256=.'];
  if (call.body.at(-1) === 0x0a && isRightSignature(signature, withoutNewline))
    return [
      'The signature is right without the newline at the end of the file, which the call did not have.',
    ];
  return ['The secret or the timestamp is another one, or the body is not exactly the one of the call.'];
}

const ageOf = (timestamp: string): number | null =>
  /^\d+$/.test(timestamp) ? Math.round(clock.now().getTime() / 1000) - Number(timestamp) : null;

function ageLines(timestamp: string): string[] {
  const age = ageOf(timestamp);
  if (age === null) return ['The timestamp is not a number of seconds.'];
  if (Math.abs(age) <= maxAgeSeconds) return [];
  const rule = `receivers should reject one that is more than ${maxAgeSeconds} s from now.`;
  return [`The timestamp is ${age} s old: ${rule}`];
}
