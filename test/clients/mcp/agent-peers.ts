import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Connection } from '../../../bin/local/connection.ts';
import type { ReasoningStep } from '../../../functions/contract/message.ts';
import { runOn } from '../../support/agentctl-process.ts';
import { type RunningCommand, startCommand, startProgram } from '../../support/command.ts';
import { listenLocally } from '../../support/listen-locally.ts';
import { startScriptedModel } from '../../support/scripted-model.ts';

interface Call {
  name: string;
  arguments?: object;
}

/** Uses tools in one reply, over HTTP, and returns the results of the steps by tool. */
export type UseTools = (...calls: Call[]) => Promise<Map<string, ReasoningStep['result']>>;

export interface Entry {
  config: { url: string; protocol: string; tools: { name: string; tool: string; approval: string }[] };
}

/** Starts server-everything on a free port. */
export async function startEverything(folder: string): Promise<RunningCommand & { url: string }> {
  const program = join(folder, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js');
  const { port, close } = await listenLocally(createServer());
  await close();
  const server = startProgram([process.execPath, program, 'streamableHttp'], { PORT: String(port) });
  while (!server.errors().includes('listening on port')) {
    if (server.child.exitCode !== null) throw new Error(server.errors());
    await sleep(20);
  }
  return { ...server, url: `http://127.0.0.1:${port}/mcp` };
}

/** Starts fastmcp_server.py. */
export async function startFastMcp(folder: string) {
  const server = startProgram([join(folder, 'venv/bin/python'), join(folder, 'fastmcp_server.py')]);
  await server.printed('\n');
  const lines = () => server.output().trimEnd().split('\n');
  return {
    ...server,
    /** By mode. */
    urls: JSON.parse(lines()[0] ?? '') as Record<string, string>,
    /** Each as the mode, the method of HTTP and that of MCP. */
    requests: () => lines().slice(1),
  };
}

/**
 * Imports servers into an agent and publishes it, on a service of its own, and hands over the use of its tools.
 * @param urls by the prefix of the tools
 * @param protocols of the entries, of which there is one for each; by default what an import has found
 */
export async function withAgent(
  folder: string,
  urls: Readonly<Record<string, string>>,
  protocols: readonly string[],
  work: (use: UseTools, entries: Entry[]) => Promise<void>,
): Promise<void> {
  const model = await startScriptedModel();
  model.onCall = (call) => {
    const last = call.request.messages.at(-1);
    if (last?.role === 'tool') call.chunk('Done');
    else call.callTools(...JSON.parse(last?.content ?? '[]'));
    call.finish();
  };
  const data = join(folder, 'data');
  const service = startCommand(
    ['--port', '0', '--data', data, '--reset', '--set', 'toolAllow=["127.0.0.1:*"]'],
    { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'scripted' },
  );
  try {
    await service.printed('Ctrl-C');
    const connection = JSON.parse(readFileSync(join(data, 'connection.json'), 'utf8')) as Connection;
    const file = join(folder, 'agent.json');
    const workspace = ['--workspace', connection.workspace_id, '--file', file];
    writeFileSync(
      file,
      JSON.stringify({ name: 'Peers', llm_model: 'openai:test', meta: { generate_titles: false } }),
    );
    for (const [name, url] of Object.entries(urls))
      await runOn(data, 'tools', 'import', 'mcp', url, ...workspace, '--name', name);
    const agent = JSON.parse(readFileSync(file, 'utf8')) as { unified_tools: Entry[] };
    const unified_tools = agent.unified_tools.flatMap(({ config, ...entry }) =>
      (protocols.length === 0 ? [config.protocol] : protocols).map((protocol, index) => {
        const named = (name: string) => (index === 0 ? name : `${name}_${index}`);
        const tools = config.tools.map((tool) => ({ ...tool, name: named(tool.name), approval: 'never' }));
        return { ...entry, config: { ...config, protocol, tools } };
      }),
    );
    writeFileSync(file, JSON.stringify({ ...agent, unified_tools }));
    const { id } = await runOn<{ id: string }>(data, 'agents', 'create', ...workspace);
    await runOn(data, 'agents', 'publish', id);
    await work((...calls) => useTools(connection, id, calls), unified_tools);
  } finally {
    service.child.kill('SIGINT');
    await service.ended;
    await model.close();
  }
}

async function useTools({ base_url, api_key }: Connection, agent_id: string, calls: Call[]) {
  const request = async (path: string, body?: object) => {
    const response = await fetch(`${base_url}${path}`, {
      headers: { 'x-api-key': api_key, 'Content-Type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    const { data, message } = (await response.json()) as { data: never; message: string };
    assert.ok(response.ok, message);
    return data;
  };
  const external_user_id = 'ada';
  const { id } = (await request('/chats', { name: 'Peers', agent_id, external_user_id })) as { id: number };
  const message = JSON.stringify(calls.map((call) => ({ arguments: {}, ...call })));
  await request(`/chats/${id}/messages`, { message, agent_id, external_user_id, stream: false });
  const history: { meta: { reasoning_steps?: ReasoningStep[] } }[] = await request(
    `/chats/${id}/messages?external_user_id=${external_user_id}`,
  );
  const steps = history.at(-1)?.meta.reasoning_steps ?? [];
  return new Map(steps.map(({ content, result }) => [content, result]));
}
