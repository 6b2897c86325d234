import { expect, it, test } from 'vitest';
import { reasoningStepTypes } from '#contract/agent.ts';
import { agentTools } from '#runtime/composition/models-and-tools.ts';
import { startProgram } from '#support/command.ts';

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

/** Loads the tools of agents in a process of its own, and prints which files of remote tools each agent has loaded. */
const program = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({
  load(url, context, nextLoad) {
    loaded.push(url);
    return nextLoad(url, context);
  },
});
const { agentTools } = await import('#runtime/composition/models-and-tools.ts');
const { offeredTools } = await import('#agents/tools/agent-tool.ts');
const { agentDefinition } = await import('#contract/agent.ts');
const kinds = agentTools(new Proxy({}, { get: () => () => ({}) }));
const tool = { name: 'x', approval: 'never', input_schema: { type: 'object' } };
const url = 'https://mcp.crm.example/mcp';
const agents = [
  { type: 'consultant_lookup' },
  { type: 'consultant_call_function', config: { function: 'arn:aws:lambda:eu-central-1:123456789012:function:a:live', tools: [tool] } },
  { type: 'consultant_call_http_api', config: { base_url: url, tools: [{ ...tool, method: 'GET', path: '/' }] } },
  { type: 'consultant_call_mcp_tool', config: { url, tools: [{ ...tool, tool: 'x' }] } },
];
const remote = /functions\\/(?:agents\\/tools\\/(?:kinds|remote)\\/.*|adapters\\/mcp\\/.*|adapters\\/outbound\\/(?:remote-http|function-invoker))|@modelcontextprotocol/;
for (const entry of agents) {
  const offered = await offeredTools(kinds, agentDefinition.parse({ name: 'A', unified_tools: [entry] }));
  if (offered.length !== 1) throw new Error(entry.type);
  console.log(JSON.stringify([...new Set(loaded.splice(0).map((file) => remote.exec(file)?.[0]).filter(Boolean))]));
}
`;

it('an agent loads the files of the kinds that it has, and no agent the client of MCP before a call', async () => {
  const args = [process.execPath, '--input-type=module', '--no-warnings', '--eval', program];
  const { stdout, stderr, code } = await startProgram(args, { TOOL_ALLOW: '' }).ended;
  expect([code, stderr]).toEqual([0, '']);
  const [none, ofFunction, ofHttp, ofMcp] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as string[]);
  expect(none).toEqual([]);
  expect(ofFunction).toContain('functions/agents/tools/kinds/function.ts');
  expect(ofFunction?.join()).not.toMatch(/mcp|http-api|remote-http|modelcontextprotocol/);
  expect(ofHttp).toContain('functions/agents/tools/kinds/http-api.ts');
  const all = [...(ofHttp ?? []), ...(ofMcp ?? [])].join();
  expect(all).toContain('functions/agents/tools/kinds/mcp.ts');
  expect(all).not.toMatch(/adapters\/mcp|modelcontextprotocol/);
});
