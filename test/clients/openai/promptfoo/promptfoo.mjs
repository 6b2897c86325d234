import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { evaluateAgent } from './evaluate-agent.mjs';
import { runChecks } from './run-checks.mjs';

const { TOOL_AGENT, LIMITED_KEY, LIMITED_AGENT, IMAGE } = process.env;

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
const evaluateTwoWords = (prompt, options = {}) => evaluateAgent(prompt, { assert: twoWords, ...options });

await runChecks({
  plain: async () => {
    const [result] = await evaluateTwoWords('Two words');
    passes([result]);
    assert.equal(result.response.tokenUsage.total, 5);
    assert.equal(result.gradingResult.componentResults.length, 2);
  },
  steps: async () => passes(await evaluateTwoWords('Six steps', { model: TOOL_AGENT })),
  'wrong key': async () => {
    const [{ success, error }] = await evaluateTwoWords('Hi', { apiKey: 'ak_wrong' });
    assert.equal(success, false);
    assert.match(error, /401/);
  },
  'unknown model': async () => {
    const [{ success, error }] = await evaluateTwoWords('Hi', { model: 'gpt-5' });
    assert.equal(success, false);
    assert.match(error, /404/);
  },
  'rate limit': async () =>
    passes(await evaluateTwoWords('Two words', { model: LIMITED_AGENT, apiKey: LIMITED_KEY, tests: 2 })),
  image: async () => {
    const url = `data:image/png;base64,${readFileSync(IMAGE, 'base64')}`;
    const content = [
      { type: 'text', text: 'Count images' },
      { type: 'image_url', image_url: { url } },
    ];
    passes(
      await evaluateTwoWords(JSON.stringify([{ role: 'user', content }]), {
        assert: [
          { type: 'equals', value: '1 image' },
          { type: 'contains', value: 'image' },
        ],
      }),
    );
  },
  'paid once': async () => {
    for (const prompt of ['Answer 500', 'Stay silent', 'Reject', 'Break, whole', 'Filter']) {
      const [{ success }] = await evaluateTwoWords(prompt);
      assert.equal(success, false);
    }
  },
});
