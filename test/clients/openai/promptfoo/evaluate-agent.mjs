// It reads these when it is loaded. Without them it calls its maker's servers.
for (const name of ['TELEMETRY', 'UPDATE', 'REMOTE_GENERATION'])
  process.env[`PROMPTFOO_DISABLE_${name}`] = '1';
process.env.PROMPTFOO_CONFIG_DIR = import.meta.dirname;
const { evaluate } = await import('promptfoo');

const { BASE, KEY, AGENT } = process.env;

/** The outcome of each test. */
export async function evaluateAgent(prompt, { model = AGENT, apiKey = KEY, config = {}, assert, tests = 1 }) {
  const summary = await evaluate(
    {
      providers: [
        {
          id: `openai:chat:${model}`,
          config: { apiBaseUrl: `${BASE}/openai`, apiKey, showThinking: false, ...config },
        },
      ],
      prompts: [prompt],
      tests: Array.from({ length: tests }, (_, number) => ({ vars: { number }, assert })),
      writeLatestResults: false,
    },
    { cache: false, showProgressBar: false },
  );
  const { results } = await summary.toEvaluateSummary();
  return results;
}
