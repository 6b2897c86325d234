import { expect, test } from 'vitest';
import { reasoningStepTypes } from '#contract/agent.ts';
import { agentTools } from '#runtime/composition/models-and-tools.ts';

const unused = (): never => {
  throw new Error('No tool is used');
};

test('the interface names the step type of every tool', () => {
  const tools = agentTools({
    ...{ agents: unused, attachments: unused, knowledge: unused, knowledgeBase: unused },
    ...{ messages: unused, webPages: unused, webSearch: unused, toolSecrets: unused },
  });
  expect(reasoningStepTypes).toEqual(expect.arrayContaining(tools.map(({ type }) => type)));
});
