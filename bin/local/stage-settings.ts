export interface SettingOptions {
  /** NAME=VALUE, as typed. */
  set: readonly string[];
  /** Seconds. */
  batchTimeout?: number;
  allowOutbound: readonly string[];
}

type Settings = Record<string, unknown>;

/**
 * What a person says of the stage's settings, in place of those of cdk.json: whether they are right is known when the
 * stack is synthesized.
 * @throws Error that names every one that is no NAME=VALUE
 */
export function stageSettings(
  { set, batchTimeout, allowOutbound }: SettingOptions,
  { OPENAI_BASE_URL, SEARXNG_URL, BRAVE_API_KEY }: NodeJS.ProcessEnv,
): Settings {
  const given = {
    ...(OPENAI_BASE_URL && { openAiBaseUrl: OPENAI_BASE_URL }),
    ...(BRAVE_API_KEY && { webSearch: { provider: 'brave' } }),
    ...(SEARXNG_URL && { webSearch: { provider: 'searxng', url: SEARXNG_URL } }),
    ...readAssignments(set),
    ...(batchTimeout !== undefined && { batchTimeoutSeconds: batchTimeout }),
  } as Settings;
  if (allowOutbound.length === 0) return given;
  const { outboundAllow = [] } = given;
  // What is no list is left as it is, to be named as such.
  return Array.isArray(outboundAllow)
    ? { ...given, outboundAllow: [...outboundAllow, ...allowOutbound] }
    : given;
}

/** VALUE is JSON, or else text; of two with one name the later counts. */
function readAssignments(assignments: readonly string[]): Settings {
  const wrong = assignments.filter((text) => !/^[^=\s]+=/.test(text));
  if (wrong.length > 0) throw new Error(`--set takes NAME=VALUE, which is not: ${wrong.join(', ')}`);
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
