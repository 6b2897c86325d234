import { readFile } from 'node:fs/promises';
import { UsageError } from '../failures.ts';

export interface SettingOptions {
  /** Each as NAME=VALUE. */
  set: readonly string[];
  /** Seconds. */
  batchTimeout?: number;
  allowOutbound: readonly string[];
  /** The file of each function's module, by the function's ARN. */
  toolFunction: Readonly<Record<string, string>>;
}

type Settings = Record<string, unknown>;

/**
 * The stage settings of the command line and the environment, which replace those of cdk.json. The synthesis of the
 * stack validates them.
 * @throws UsageError that names each `--set` that is not NAME=VALUE
 */
export function stageSettings(
  { set, batchTimeout, allowOutbound, toolFunction }: SettingOptions,
  { OPENAI_BASE_URL, SEARXNG_URL, BRAVE_API_KEY }: NodeJS.ProcessEnv,
): Settings {
  const given = {
    ...(OPENAI_BASE_URL && { openAiBaseUrl: OPENAI_BASE_URL }),
    ...(BRAVE_API_KEY && { webSearch: { provider: 'brave' } }),
    ...(SEARXNG_URL && { webSearch: { provider: 'searxng', url: SEARXNG_URL } }),
    ...readAssignments(set),
    ...(batchTimeout !== undefined && { batchTimeoutSeconds: batchTimeout }),
  } as Settings;
  const lists = { outboundAllow: allowOutbound, toolFunctions: Object.keys(toolFunction) };
  for (const [name, added] of Object.entries(lists)) {
    const { [name]: before = [] } = given;
    // A value that is not a list stays unchanged, so that the validation reports it.
    if (added.length > 0 && Array.isArray(before)) given[name] = [...before, ...added];
  }
  return given;
}

/**
 * The values of the secrets of named endpoints, by the secrets' logical ids. The variable OPENAI_API_KEY_NAME has the
 * key of the endpoint NAME.
 */
export const endpointKeys = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, key]) => {
      const [, endpoint] = /^OPENAI_API_KEY_(.+)$/.exec(name) ?? [];
      return endpoint && key ? [[`OpenAiApiKey${endpoint}`, key]] : [];
    }),
  );

/**
 * The setting corsOrigins of the command line, or else of the local stage in cdk.json. Empty if there is none, or if it
 * is not a list: the synthesis reports the latter.
 */
export async function pageOrigins(settings: Settings): Promise<string[]> {
  const text = await readFile(new URL('../../cdk.json', import.meta.url), 'utf8');
  const { corsOrigins } = { ...localStage(text), ...settings };
  return Array.isArray(corsOrigins) ? corsOrigins.map(String) : [];
}

function localStage(text: string): Settings {
  try {
    return (JSON.parse(text) as { context: { stages: { local: Settings } } }).context.stages.local;
  } catch {
    return {};
  }
}

/**
 * Reads NAME=VALUE. VALUE is JSON, or else text. If a name occurs twice, the last value counts.
 * @throws UsageError that names each text of another form
 */
function readAssignments(assignments: readonly string[]): Settings {
  const wrong = assignments.filter((text) => !/^[^=\s]+=/.test(text));
  if (wrong.length > 0) throw new UsageError(`--set takes NAME=VALUE. These are not: ${wrong.join(', ')}`);
  return Object.fromEntries(
    assignments.map((text) => {
      const end = text.indexOf('=');
      return [text.slice(0, end), jsonOrText(text.slice(end + 1))];
    }),
  );
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
