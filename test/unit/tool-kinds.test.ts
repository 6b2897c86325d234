import { describe, expect, it } from 'vitest';
import {
  inspectTools,
  issuesOfNames,
  kindOf,
  offeredTools,
  ReplyScope,
  requestForm,
  ToolFailure,
  type ToolKind,
} from '#agents/tools/agent-tool.ts';
import { fetchWebContent } from '#agents/tools/fetch-web-content.ts';
import { mcpKind } from '#agents/tools/kinds/mcp.ts';
import { issuesOfOffers } from '#agents/tools/remote/check-offers.ts';
import { pinnedOffers, shapeResult } from '#agents/tools/remote/pinned-tool.ts';
import { searchWeb } from '#agents/tools/search-web.ts';
import { type AgentDefinition, agentDefinition, reasoningStepTypes } from '#contract/agent.ts';
import { describeIssue } from '#contract/describe-issues.ts';
import { mcpConfig, pinnedTool, toolLimits } from '#contract/tools.ts';
import { publishedAgentResource } from '#domain/agents/agent.ts';
import { compareTools, toolsOfServer, uniqueName } from '#domain/tools/pin-tools.ts';
import type { McpTarget } from '#domain/tools/remote-tools.ts';
import { agentTools } from '#runtime/composition/models-and-tools.ts';
import { agentVersion } from '#support/frozen/entities.ts';

const type = 'consultant_call_mcp_tool';
const email = { type: 'object', properties: { email: { type: 'string' } }, required: ['email'] };
const pinned = { name: 'crm_find', description: 'Find a customer.', approval: 'never', input_schema: email };
const find = { ...pinned, tool: 'find' };

const mcpWith = (openMcp: Parameters<typeof mcpKind>[0]['openMcp']) =>
  mcpKind({
    http: { openPool: () => ({ close: () => undefined }), send: () => expect.unreachable() },
    openMcp,
    countUse: () => () => () => undefined,
    checkTarget: async () => undefined,
  });

function remoteKind() {
  let loads = 0;
  const load = async () => {
    loads += 1;
    return mcpWith(() => expect.unreachable()) as ToolKind;
  };
  return { deferred: { type, load }, loads: () => loads };
}

const agentWith = (tools: object[], more: object = {}): AgentDefinition =>
  agentDefinition.parse({
    name: 'Agent',
    unified_tools: [{ type, config: { url: 'https://mcp.crm.example/mcp', tools, ...more } }],
  });

const issuesOf = async (definition: AgentDefinition): Promise<string[]> => {
  const { offered, issues } = await inspectTools([kindOf(requestForm), remoteKind().deferred], definition);
  const ofNames = issuesOfNames(offered, definition.unified_tools);
  const all = [...issues, ...ofNames, ...issuesOfOffers(offered, definition)];
  return all.map((issue) => describeIssue(issue, 'the file'));
};

it('a kind is loaded for agents with an entry of it alone', async () => {
  const { deferred, loads } = remoteKind();
  await inspectTools([deferred], agentDefinition.parse({ name: 'Without it' }));
  expect(loads()).toBe(0);
  await inspectTools([deferred], agentWith([find]));
  expect(loads()).toBe(1);
});

it('the text of a failure is cut', async () => {
  const fail = () => Promise.reject(new ToolFailure('no '.repeat(100)));
  const [offer] = pinnedOffers(
    { tools: [pinnedTool.parse(pinned)], max_result_characters: 10 },
    () => () => undefined,
    fail,
  );
  await expect(offer?.run({}, {} as never)).rejects.toThrow(/^no no no n$/);
});

it('a result that is too long is cut, and says so', () => {
  expect(shapeResult({ result: { id: 7 } }, 8)).toEqual({ result: '{"result', truncated_from: 19 });
  expect(shapeResult({ result: 'x'.repeat(11) }, 10)).toEqual({
    result: 'x'.repeat(10),
    truncated_from: 11,
  });
  expect(shapeResult({ result: 'x'.repeat(10) }, 10)).toEqual({ result: 'x'.repeat(10) });
  expect(shapeResult({ result: 'x😀' }, 2)).toEqual({ result: 'x\ufffd', truncated_from: 3 });
});

it('clients see names and descriptions of the tools of other systems, and the whole entries of our own', () => {
  const own = { type: 'consultant_request_form', name: 'ask', config: { form: { title: 'Form' } } };
  const [remote] = agentWith([find], { auth: { type: 'bearer', secret: 'crm' } }).unified_tools;
  const unknown = { type: 'consultant_fifth', config: { key: 'value' } };
  const definition = { ...agentVersion.definition, unified_tools: [own, remote, unknown] } as never;
  expect(publishedAgentResource({ ...agentVersion, definition }).unified_tools).toEqual([
    own,
    { type, config: { tools: [{ name: 'crm_find', description: 'Find a customer.' }] } },
    { type: 'consultant_fifth', config: { tools: [] } },
  ]);
});

/** A schema of this many levels. */
const nested = (levels: number): object =>
  levels === 1 ? { type: 'object' } : { type: 'object', properties: { a: nested(levels - 1) } };
const withSchema = (input_schema: object) => agentWith([{ ...find, input_schema }]);
/** A tool of this many bytes as the model gets it. */
const toolOf = (bytes: number, name = 'crm_find') => {
  const input_schema = { type: 'object', properties: {} };
  const rest = JSON.stringify({ name, description: '', inputSchema: input_schema }).length;
  const description = 'x'.repeat(Math.min(8192, bytes - rest));
  const title = 'x'.repeat(Math.max(0, bytes - rest - 8192 - ',"title":""'.length));
  return {
    ...find,
    name,
    description,
    input_schema: title === '' ? input_schema : { ...input_schema, title },
  };
};

const field = 'unified_tools[0].config.tools[0]';
const called = (name: string) => agentWith([{ ...find, name }]);
const many = (count: number) =>
  agentWith(Array.from({ length: count }, (_, at) => ({ ...find, name: `t${at}` })));
it.each<[definition: AgentDefinition, ...issues: unknown[]]>([
  [withSchema(nested(16))],
  [withSchema(nested(17)), `${field}.input_schema has more than 16 levels`],
  [withSchema({ type: 'string' }), `${field}.input_schema must have the type object`],
  [
    withSchema({ type: 'object', $ref: 'https://evil.example/' }),
    `${field}.input_schema at #/$ref leads to no schema in $defs`,
  ],
  [
    withSchema({ type: 'object', properties: { a: { title: 'a\u{e0041}' } } }),
    `${field}.input_schema has the hidden character U+E0041`,
  ],
  ...['\u202e', '\u200b', '\u2066', '\u00ad', '\u0007', '\u{e0100}', '\u2028'].map(
    (hidden): [AgentDefinition, unknown] => [
      agentWith([{ ...find, description: `Find${hidden}` }]),
      expect.stringContaining(`${field}.description has the hidden character U+`),
    ],
  ),
  [agentWith([{ ...find, description: 'Find\n\tÄ ❤️ שלום 日本' }])],
  [called('consultant_x'), `${field}.name must not start with consultant_`],
  [called('a.b'), `${field}.name must be 1 to 64 letters, digits, underscores or hyphens`],
  [
    agentWith([find, find]),
    'unified_tools[0].config.tools[1] is called crm_find, as another tool: give each a name of its own',
  ],
  // The name of a tool that replies with long files get.
  [
    { ...agentWith([]), unified_tools: [{ type: 'consultant_request_form', name: 'consultant_lookup' }] },
    'unified_tools[0] is called consultant_lookup, as another tool: give each a name of its own',
  ],
  [
    {
      ...agentWith([find]),
      unified_tools: [{ ...agentWith([find]).unified_tools[0], name: 'crm' }],
    } as never,
    'unified_tools[0].name is not used: each tool in config.tools has its own',
  ],
  [agentWith([toolOf(toolLimits.offerBytes)])],
  [
    agentWith([toolOf(toolLimits.offerBytes + 1)]),
    `${field} has 16385 bytes of names, descriptions and schemas, at most 16 KB are allowed`,
  ],
  [agentWith([1, 2, 3, 4, 5, 6, 7, 8].map((at) => toolOf(16 * 1024, `t${at}`)))],
  [
    agentWith([1, 2, 3, 4, 5, 6, 7, 8, 9].map((at) => toolOf(at < 9 ? 16 * 1024 : 100, `t${at}`))),
    'unified_tools has 131172 bytes of names, descriptions and schemas, at most 128 KB are allowed',
  ],
  [many(128)],
  [many(129), 'unified_tools has 129 tools, at most 128 are allowed'],
])('a wrong tool is named by its field, in %.60j: %s', async (definition, ...issues) => {
  expect(await issuesOf(definition)).toEqual(issues);
});

describe('the tools of an MCP server as an import pins them', () => {
  it('have headers for the properties that are marked, and not for definitions', () => {
    const marked = { type: 'string', 'x-mcp-header': 'Region' };
    const inputSchema = {
      properties: { at: { type: 'object', properties: { region: marked } }, plain: { type: 'string' } },
      $defs: { other: { type: 'object', properties: { place: { ...marked, 'x-mcp-header': 'Place' } } } },
    };
    const [live] = toolsOfServer([{ name: 'find', inputSchema }], [], { prefix: 'crm' });
    expect(live?.tool).toMatchObject({ name: 'crm_find', parameter_headers: { Region: ['at', 'region'] } });
    expect(JSON.stringify(live?.tool)).not.toMatch(/Place|x-mcp/);
  });

  it('have no hidden character', () => {
    const [hidden] = toolsOfServer([{ name: 'find', description: 'Find\u200b', inputSchema: {} }], [], {
      prefix: 'crm',
    });
    expect(hidden).toMatchObject({
      tool: undefined,
      notes: ['description has the hidden character U+200B'],
    });
  });

  it('are the first of those that have the same name at the server', () => {
    const two = ['First', 'Second'].map((description) => ({ name: 'find', description, inputSchema: {} }));
    const [first, second] = toolsOfServer(two, [], { prefix: 'crm' });
    expect(first?.tool).toMatchObject({ name: 'crm_find', description: 'First' });
    expect(second).toMatchObject({
      tool: undefined,
      notes: ['the server has another tool of this name'],
    });
    const changes = compareTools(toolsOfServer(two, [first?.tool as never], { prefix: 'crm' }), [
      first?.tool as never,
    ]);
    expect(changes.map(({ state }) => state)).toEqual(['same', 'skipped']);
  });

  it('have names of at most 64 characters, however many are the same', () => {
    const taken = new Set<string>();
    const names = Array.from({ length: 1100 }, () => uniqueName('x'.repeat(70), taken));
    expect(taken.size).toBe(1100);
    expect(Math.max(...names.map(({ length }) => length))).toBe(64);
    expect(names.slice(0, 2)).toEqual(['x'.repeat(64), `${'x'.repeat(60)}_2`]);
  });
});

it('the uses of a server in a reply share one connection, also if the agent was prepared again', async () => {
  const targets: McpTarget[] = [];
  const connection = {
    call: async () => ({ content: [] }),
    list: () => expect.unreachable(),
    close: async () => {},
  };
  const kind = mcpWith((target) => {
    targets.push(target);
    return connection;
  });
  const scope = new ReplyScope();
  const useAs = async (user: string, headers: object = { 'X-User': '{{external_user_id}}' }) => {
    const config = mcpConfig.parse({ url: 'https://mcp.crm.example/mcp', headers, tools: [find] });
    const use = { chat: { id: 1, externalUserId: user }, agents: [{ workspaceId: 'ws' }], scope };
    await kind.offers(config, {} as never)[0]?.run({}, use as never);
  };
  await useAs('ada');
  await useAs('ada');
  expect(targets).toHaveLength(1);
  await useAs('bob');
  await useAs('ada', {});
  expect(targets.map(({ headers }) => headers)).toEqual([{ 'X-User': 'ada' }, { 'X-User': 'bob' }, {}]);
});

const unused = (): never => {
  throw new Error('No tool is used');
};

it('the interface names the step type of every tool', () => {
  const tools = agentTools({
    ...{ agents: unused, attachments: unused, knowledge: unused, knowledgeBase: unused },
    ...{ messages: unused, webPages: unused, webSearch: unused, toolSecrets: unused },
  });
  expect(reasoningStepTypes).toEqual(expect.arrayContaining(tools.map(({ type }) => type)));
});

it('a search is offered to agents that want it, where the stage has a provider', async () => {
  const offersOf = (search: () => unknown, use_search: boolean) =>
    offeredTools([kindOf(searchWeb(search as never))], agentDefinition.parse({ name: 'Agent', use_search }));
  expect(await offersOf(() => ({}), true)).toMatchObject([{ name: 'consultant_search_web' }]);
  expect(await offersOf(() => ({}), false)).toEqual([]);
  expect(await offersOf(() => null, true)).toEqual([]);
});

const fetching = fetchWebContent(unused);

it.each([
  ...['a b', '', 5],
  ...'https://a.example a.example:443 a.example/path user@a.example'.split(' '),
  ...'* *. *.*.example a.*.example *.127.0.0.1 *.[::1]'.split(' '),
])('a fetch cannot be bound to the host %j, which is named', (host) => {
  const { error } = fetching.config.safeParse({ allowed_hosts: ['good.example', host] });
  expect(error?.issues).toMatchObject([{ path: ['allowed_hosts', 1] }]);
});

it('a fetch is bound to 1 to 100 hosts, as URLs write them', () => {
  const parse = (allowed_hosts: unknown) => fetching.config.safeParse({ allowed_hosts });
  expect(parse([]).error?.issues).toMatchObject([{ path: ['allowed_hosts'] }]);
  expect(parse('a.example').error?.issues).toMatchObject([{ path: ['allowed_hosts'] }]);
  expect(parse(Array(100).fill('a.example')).success).toBe(true);
  expect(parse(Array(101).fill('a.example')).error?.issues).toMatchObject([{ path: ['allowed_hosts'] }]);
  const { data } = parse(['Docs.Example.COM.', '*.BÜCHER.example', '127.1', '[::1]']);
  expect(data?.allowed_hosts).toEqual(['docs.example.com', '*.xn--bcher-kva.example', '127.0.0.1', '[::1]']);
});

it('the same config gives the same schema, which is then read once', () => {
  const searching = searchWeb(unused);
  expect(searching.input({ max_results: 7 })).toBe(searching.input({ max_results: 7 }));
  expect(searching.input({ max_results: 7 })).not.toBe(searching.input({ max_results: 8 }));
});
