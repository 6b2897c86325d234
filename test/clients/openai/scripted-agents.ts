import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runOn } from '../../support/agentctl-process.ts';
import type { ModelCall } from '../../support/model-server.ts';

/** The message that clients send for a stream. */
export const streamedFailure = 'Break, streamed';

/** What the scripted model does for each text of the last message. */
const scripts: Readonly<Record<string, (call: ModelCall) => void>> = {
  'Two words': respond,
  'Six steps'(call) {
    const useTool = { name: 'helper', arguments: { message: 'Help' } };
    call.callTools(...Array.from({ length: 6 }, () => useTool));
    call.finish();
  },
  'Count images'(call) {
    const content = call.request.messages.at(-1)?.content as unknown as { type: string }[];
    call.chunk(`${content.filter(({ type }) => type === 'image_url').length} image`);
    call.finish();
  },
  Break: fail,
  'Break, whole': fail,
  [streamedFailure]: fail,
  'Answer 500': (call) => call.fail(500, { 'retry-after-ms': '5' }),
  'Stay silent': () => undefined,
  Reject: (call) => call.fail(400),
  Filter(call) {
    call.chunk('Half');
    call.cut('content_filter');
  },
};

/** The model calls of one run that fails. The service itself calls a model up to three times more after a 500. */
export const callsOfOneRun: Readonly<Record<string, number>> = {
  'Answer 500': 4,
  'Stay silent': 1,
  Reject: 1,
  'Break, whole': 1,
  [streamedFailure]: 1,
  Filter: 1,
};

const person = '{"name": "Ann", "age": 7}';

/** What the model says in the form of a reply, for the beginning of a message of the user. */
const formScripts: readonly (readonly [message: string, script: (call: ModelCall) => void])[] = [
  ['No JSON', (call) => say(call, 'Ann is seven.')],
  ['No person', (call) => say(call, '{"name": "Ann", "age": "seven"}')],
  ['Person', (call) => say(call, person)],
  [
    'Family',
    (call) => say(call, '{"names": ["Ann"], "kind": "small", "motto": null, "head": null, "parts": []}'),
  ],
  ['Adult', (call) => say(call, hasReply(call) ? '{"name": "Ann", "age": 19}' : person)],
  ['People', (call) => say(call, `{"tasks": [${person}, {"name": "Bob", "age": 8}]}`)],
  [
    'Cut person',
    (call) => {
      call.chunk(person.slice(0, 9));
      call.cut('length');
    },
  ],
];

const hasReply = ({ request }: ModelCall): boolean =>
  request.messages.some(({ role }) => role === 'assistant');

/** Without a form from the service, JSON is in a fence, as models write it. */
function say(call: ModelCall, text: string): void {
  const isFenced = Object(call.body).response_format === undefined;
  call.chunk(isFenced ? `\`\`\`json\n${text}\n\`\`\`` : text);
  call.finish();
}

function respond(call: ModelCall): void {
  call.chunk('One ');
  call.chunk('two');
  call.finish({ prompt_tokens: 3, completion_tokens: 2 });
}

function fail(call: ModelCall): void {
  call.chunk('Half');
  call.failInStream('server error');
}

/** The text of the last message; empty after results of tools. */
export function messageOf({ request }: ModelCall): string {
  const content: unknown = request.messages.at(-1)?.content;
  if (Array.isArray(content)) return content.find(({ type }) => type === 'text')?.text ?? '';
  return String(content);
}

/** Whether the user has sent a message that begins so. */
const hasMessage = ({ request }: Pick<ModelCall, 'request'>, message: string): boolean =>
  request.messages.some(({ role, content }) => role === 'user' && String(content).startsWith(message));

export function replyByScript(call: ModelCall): void {
  const ofForm = formScripts.find(([message]) => hasMessage(call, message))?.[1];
  const isAfterTools = call.request.messages.at(-1)?.role === 'tool';
  const script = ofForm ?? (isAfterTools ? respond : scripts[messageOf(call)]);
  if (script === undefined) call.fail(400, {}, `No script for ${messageOf(call)}`);
  else script(call);
}

/** Creates a published agent, and returns its id. */
export async function publish(
  data: string,
  workspace: string,
  fields: Record<string, unknown>,
): Promise<string> {
  const file = join(data, 'agent.json');
  await writeFile(file, JSON.stringify({ name: 'Guide', llm_model: 'openai:scripted', ...fields }));
  const create = ['agents', 'create', '--workspace', workspace, '--file', file];
  const { id } = await runOn<{ id: string }>(data, ...create);
  await runOn(data, 'agents', 'publish', id);
  return id;
}

/** The agents of the demo workspace, as variables of the programs. */
export async function createAgents(data: string, workspace: string): Promise<Record<string, string>> {
  const helper = await publish(data, workspace, { llm_model: 'demo' });
  const unified_tools = [{ type: 'consultant_call_agent', name: 'helper', config: { agent_id: helper } }];
  return {
    AGENT: await publish(data, workspace, { meta: { vision: true } }),
    TOOL_AGENT: await publish(data, workspace, { unified_tools }),
  };
}

/** A workspace with one request each three seconds: of two at once, the second is rejected at first. */
export async function createLimited(data: string): Promise<Record<string, string>> {
  const { id } = await runOn<{ id: string }>(data, 'workspaces', 'create', '--name', 'Limited');
  await runOn(data, 'workspaces', 'update', id, '--openai', 'on', '--limit', 'sends=20/m:1');
  const { api_key } = await runOn<{ api_key: string }>(data, 'keys', 'create', '--workspace', id);
  return { LIMITED_KEY: api_key, LIMITED_AGENT: await publish(data, id, {}) };
}
