import { readFile } from 'node:fs/promises';
import { UsageError } from '../failures.ts';

export interface SettingOptions {
  set: readonly string[];
  /** Seconds. */
  batchTimeout?: number;
  allowOutbound: readonly string[];
  /** The file of each function's module, by the function's ARN. */
  toolFunction: Readonly<Record<string, string>>;
}

type Settings = Record<string, unknown>;

/**
 * The settings that replace those of cdk.json.
 * @throws UsageError if a `--set` is not NAME=VALUE
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

/** By the logical ids of their secrets. The variable OPENAI_API_KEY_NAME has the key of the endpoint NAME. */
export const endpointKeys = (environment: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, key]) => {
      const [, endpoint] = /^OPENAI_API_KEY_(.+)$/.exec(name) ?? [];
      return endpoint && key ? [[`OpenAiApiKey${endpoint}`, key]] : [];
    }),
  );

/** The setting corsOrigins. Empty if it is missing or not a list. */
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
