import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import type { Command } from 'commander';
import { isRightSignature, webhookSignature } from '#domain/webhooks/sign-webhook.ts';
import { clock } from '#runtime/environment/clock.ts';
import type { Report } from './result.ts';

interface Options {
  secret: string;
  timestamp: string;
  signature: string;
}

/** What docs/webhooks.md tells receivers to refuse. */
const oldestSeconds = 300;

/** `verify` tells whether a signature is right, and shows a receiver how. Exit code 1 when it is wrong. */
export function addVerification(group: Command, report: Report): void {
  group
    .command('verify')
    .description('tell whether the signature of a webhook call is right; needs no service')
    .argument('[bodyfile]', 'the body, byte by byte as it came; - or nothing reads standard input', '-')
    .requiredOption('--secret <secret>', 'what the batch was created with')
    .requiredOption('--timestamp <seconds>', 'the header X-Service-Timestamp')
    .requiredOption('--signature <signature>', 'the header X-Service-Signature: sha256=…')
    .action(
      report(async (file: string, { secret, timestamp, signature }: Options) => {
        const body = file === '-' ? await buffer(process.stdin) : await readFile(file);
        const call = { secret, timestamp, body };
        const isRight = isRightSignature(signature, call);
        if (!isRight) process.exitCode = 1;
        return {
          json: { valid: isRight, expected: webhookSignature(call), age_seconds: ageOf(timestamp) },
          lines: [
            isRight ? 'The signature is right.' : 'The signature is wrong.',
            ...(isRight ? [] : hints(signature, call)),
            ...ageLines(timestamp),
            '',
            'A receiver computes it so, and compares in constant time:',
            `  message    ${timestamp}.<the ${body.length} bytes of the body>`,
            '  key        the secret, as UTF-8',
            '  signature  sha256= and the lower-case hex of HMAC-SHA256(key, message)',
            `             ${webhookSignature(call)}`,
          ],
        };
      }),
    );
}

function hints(signature: string, call: { secret: string; timestamp: string; body: Buffer }): string[] {
  const withoutNewline = { ...call, body: call.body.subarray(0, call.body.lastIndexOf('\n')) };
  if (!signature.startsWith('sha256=')) return ['The header begins with sha256=.'];
  if (call.body.at(-1) === 0x0a && isRightSignature(signature, withoutNewline))
    return ['It is right without the newline at the end, which the call did not have.'];
  return ['Another secret, another timestamp, or a body that is not byte by byte what came.'];
}

const ageOf = (timestamp: string): number | null =>
  /^\d+$/.test(timestamp) ? Math.round(clock.now().getTime() / 1000) - Number(timestamp) : null;

function ageLines(timestamp: string): string[] {
  const age = ageOf(timestamp);
  if (age === null) return ['The timestamp is no number of seconds.'];
  return Math.abs(age) > oldestSeconds
    ? [
        `The timestamp is ${age} s old: receivers should refuse what is more than ${oldestSeconds} s away from now.`,
      ]
    : [];
}
