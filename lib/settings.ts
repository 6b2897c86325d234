import * as z from 'zod';
import { limits } from '#contract/limits.ts';
import { type ConcurrencySettings, concurrencyProblem } from './concurrency.ts';
import { accessSettings } from './settings/access.ts';
import { batchSettings } from './settings/batches.ts';
import { concurrencySettings } from './settings/concurrency.ts';
import { describeIssues, describeUnknown, WrongSettings } from './settings/describe-issues.ts';
import { endpointsProblem, type ModelSettings, modelSettings } from './settings/models.ts';
import { observabilitySettings } from './settings/observability.ts';
import { requestLimitSettings } from './settings/request-limits.ts';
import { stageSettings } from './settings/stage.ts';

/**
 * docs/settings.md has a section for each subject. In a setting's metadata, `form` replaces its type there, and
 * `limits` adds a rule.
 */
export const settingGroups: Readonly<Record<string, z.core.$ZodShape>> = {
  'Stage and code': stageSettings,
  'Address and access': accessSettings,
  'Limits of requests': requestLimitSettings,
  'Replies, models and tools': modelSettings,
  'Batches and webhooks': batchSettings,
  Concurrency: concurrencySettings,
  'Alarms, logs and usage': observabilitySettings,
};

const schema = z
  .strictObject({
    ...stageSettings,
    ...accessSettings,
    ...requestLimitSettings,
    ...modelSettings,
    ...batchSettings,
    ...concurrencySettings,
    ...observabilitySettings,
  })
  .refine((settings) => settings.streamTimeoutSeconds < limits.replySeconds, {
    path: ['streamTimeoutSeconds'],
    error: `must be less than the ${limits.replySeconds} s that a reply may take`,
  })
  .refine(
    ({ domain, webFunctions }) =>
      domain === undefined || webFunctions === 'none' || domain.certificateArn.split(':')[3] === 'us-east-1',
    { path: ['domain', 'certificateArn'], error: 'must be of us-east-1 unless webFunctions is none' },
  )
  .refine(
    ({ domain }) =>
      domain?.hostedZone === undefined || `.${domain.name}`.endsWith(`.${domain.hostedZone.name}`),
    { path: ['domain', 'hostedZone', 'name'], error: 'must be the zone of the domain' },
  )
  .refine(({ corsOrigins, webFunctions }) => corsOrigins.length < 2 || webFunctions !== 'none', {
    path: ['corsOrigins'],
    error:
      'must be one origin at most when webFunctions is none: responses of the gateway itself cannot choose between several',
  })
  .refine(({ bothEntryPoints, webFunctions }) => !bothEntryPoints || webFunctions !== 'none', {
    path: ['bothEntryPoints'],
    error: 'must be false if webFunctions is none',
  })
  .refine((settings) => endpointsProblem(settings) === undefined, {
    path: ['openAiEndpoints'],
    error: ({ input }) => endpointsProblem(input as ModelSettings),
  })
  .refine((settings) => concurrencyProblem(settings) === undefined, {
    path: ['accountConcurrency'],
    error: ({ input }) => concurrencyProblem(input as ConcurrencySettings),
  });

export const settingNames: readonly string[] = Object.keys(schema.shape);

export type Settings = z.output<typeof schema>;

/** @throws WrongSettings. If a value is wrong, the message may lack broken rules between settings */
export function parseSettings(given: Readonly<Record<string, unknown>>): Settings {
  const [known, unknown] = [true, false].map((isKnown) =>
    Object.entries(given).filter(([name]) => settingNames.includes(name) === isKnown),
  );
  const problems = (unknown ?? []).map(([name]) => describeUnknown(name, settingNames));
  const result = schema.safeParse(Object.fromEntries(known ?? []));
  if (!result.success)
    problems.push(...describeIssues(result.error.issues, given, Object.values(settingGroups)));
  if (!result.success || problems.length > 0)
    throw new WrongSettings(problems.map((problem) => `Settings: ${problem}`).join('\n'));
  return result.data;
}

/** What the operator still has to do, by the id of the warning. */
export const operatorWarnings = ({
  alarmEmails,
  production,
  restoredTable,
}: Settings): Record<string, string> => ({
  ...(production &&
    alarmEmails.length === 0 && {
      'no-alarm-address':
        'Nobody is notified when an alarm goes off: set alarmEmails (docs/deploy.md, The first deployment)',
    }),
  ...(restoredTable !== undefined && {
    'restored-table':
      `The stage uses the table ${restoredTable}, which is not in the stack. Import it before you remove the setting ` +
      'restoredTable, or the next deployment creates an empty table (docs/deploy.md, Restoring the table)',
  }),
});
