import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { runChecks } from './run-checks.mjs';

// It reads these when it is loaded. Without them it calls its maker's servers.
for (const name of ['TELEMETRY', 'UPDATE', 'REMOTE_GENERATION'])
  process.env[`PROMPTFOO_DISABLE_${name}`] = '1';
process.env.PROMPTFOO_CONFIG_DIR = import.meta.dirname;
const { evaluate } = await import('promptfoo');

const { BASE, KEY, AGENT, TOOL_AGENT, LIMITED_KEY, LIMITED_AGENT, IMAGE } = process.env;

const twoWords = [
  { type: 'equals', value: 'One two' },
  { type: 'contains', value: 'two' },
];
const passes = (outcome) =>
  assert.deepEqual(
    outcome.map(({ success, error }) => [success, error]),
    outcome.map(() => [true, undefined]),
  );

/** The outcome of each test. */
async function evaluateAgent(
  prompt,
  { model = AGENT, apiKey = KEY, assert: expected = twoWords, tests = 1 } = {},
) {
  const summary = await evaluate(
    {
      providers: [
        { id: `openai:chat:${model}`, config: { apiBaseUrl: `${BASE}/openai`, apiKey, showThinking: false } },
      ],
      prompts: [prompt],
      tests: Array.from({ length: tests }, (_, number) => ({ vars: { number }, assert: expected })),
      writeLatestResults: false,
    },
    { cache: false, showProgressBar: false },
  );
  const { results } = await summary.toEvaluateSummary();
  return results;
}

await runChecks({
  plain: async () => {
    const [result] = await evaluateAgent('Two words');
    passes([result]);
    assert.equal(result.response.tokenUsage.total, 5);
    assert.equal(result.gradingResult.componentResults.length, 2);
  },
  steps: async () => passes(await evaluateAgent('Six steps', { model: TOOL_AGENT })),
  'wrong key': async () => {
    const [{ success, error }] = await evaluateAgent('Hi', { apiKey: 'ak_wrong' });
    assert.equal(success, false);
    assert.match(error, /401/);
  },
  'unknown model': async () => {
    const [{ success, error }] = await evaluateAgent('Hi', { model: 'gpt-5' });
    assert.equal(success, false);
    assert.match(error, /404/);
  },
  'rate limit': async () =>
    passes(await evaluateAgent('Two words', { model: LIMITED_AGENT, apiKey: LIMITED_KEY, tests: 2 })),
  image: async () => {
    const url = `data:image/png;base64,${readFileSync(IMAGE, 'base64')}`;
    const content = [
      { type: 'text', text: 'Count images' },
      { type: 'image_url', image_url: { url } },
    ];
    passes(
      await evaluateAgent(JSON.stringify([{ role: 'user', content }]), {
        assert: [
          { type: 'equals', value: '1 image' },
          { type: 'contains', value: 'image' },
        ],
      }),
    );
  },
  'paid once': async () => {
    for (const prompt of ['Answer 500', 'Stay silent', 'Reject', 'Break, whole', 'Filter']) {
      const [{ success }] = await evaluateAgent(prompt);
      assert.equal(success, false);
    }
  },
});
