import type * as z from 'zod';
import { routes } from '#contract/routes.ts';
import { type ConcurrencySettings, concurrencyProblem } from './concurrency.ts';
import { oneOriginOnly } from './cors-origins.ts';
import { settingsSchema } from './settings-schema.ts';

const replyTimeoutSeconds = routes['send-message'].timeoutSeconds;

/** The settings, and the rules between them. */
const schema = settingsSchema
  .refine((settings) => settings.streamTimeoutSeconds < replyTimeoutSeconds, {
    path: ['streamTimeoutSeconds'],
    error: `must be less than the ${replyTimeoutSeconds} s that send-message may run`,
  })
  .refine(
    ({ domain, largeUploads }) =>
      domain === undefined || !largeUploads || domain.certificateArn.split(':')[3] === 'us-east-1',
    { path: ['domain', 'certificateArn'], error: 'must be of us-east-1 when largeUploads is on' },
  )
  .refine(
    ({ domain }) =>
      domain?.hostedZone === undefined ||
      domain.name === domain.hostedZone.name ||
      domain.name.endsWith(`.${domain.hostedZone.name}`),
    { path: ['domain', 'hostedZone', 'name'], error: 'must be the zone of the domain' },
  )
  .refine(({ corsOrigins, largeUploads }) => corsOrigins.length < 2 || largeUploads, {
    path: ['corsOrigins'],
    error: oneOriginOnly,
  })
  .refine((settings) => settings.leaseSeconds < replyTimeoutSeconds, {
    path: ['leaseSeconds'],
    error: `must be less than the ${replyTimeoutSeconds} s that send-message may run`,
  })
  .refine((settings) => concurrencyProblem(settings) === undefined, {
    path: ['accountConcurrency'],
    error: ({ input }) => concurrencyProblem(input as ConcurrencySettings),
  });

export type Settings = z.output<typeof schema>;

/** Settings with their defaults, or an error that names every one that is unknown or wrong. */
export function parseSettings(given: unknown): Settings {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `unknown setting ${issue.keys.join(', ')}; known settings are ${Object.keys(schema.shape).join(', ')}`
      : `${issue.path.join('.') || 'settings'}: ${issue.message}`,
  );
  throw new Error(`Settings: ${problems.join('; ')}`);
}
