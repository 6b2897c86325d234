import { writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { publishAgent, unpublishAgent, updateAgent } from '#domain/agents/agents.ts';
import { createApiKey, rotateApiKey } from '#domain/workspaces/api-keys.ts';
import { createWorkspace } from '#domain/workspaces/workspaces.ts';
import { auditLog } from '#runtime/composition/services.ts';
import { agentctlOf } from '#support/agentctl.ts';
import { temporaryFolder } from '#support/close-after-tests.ts';
import { openTenant } from '#support/open-tenant.ts';
import { operator } from '#support/service.ts';
import { useService } from '#support/use-service.ts';

const folder = await temporaryFolder('audit-');
const service = await useService();

interface Entry {
  at: string;
  actor: string;
  action: string;
  workspace_id: string;
  target_id: string;
  changes: Record<string, unknown>;
}

const today = new Date().toISOString().slice(0, 10);
const entriesOf = async (workspaceId?: string) =>
  (await Array.fromAsync(auditLog().between(workspaceId, today, '2999-12-31'))).flat();

it('every change of an operator tells who made it, when, to what, and what is different', async () => {
  const services = operator();
  const { id: workspace } = await createWorkspace(services, {
    name: 'Audited',
    whitelistEnabled: true,
    limits: 'default',
  });
  const issued = await createApiKey(services, { workspaceId: workspace, name: null, expiresAt: null });
  const { apiKey: firstKey } = issued;
  const key = issued.key.id;
  await services.workspaces.addToWhitelist(workspace, ['ann', 'bob']);
  const rotated = await rotateApiKey(services, { keyId: key, overlap: 1000, expiresAt: null });
  await services.apiKeys.revoke(key, new Date().toISOString());
  // The second revocation changes nothing, so it has no entry.
  await services.apiKeys.revoke(key, new Date().toISOString());
  const file = join(folder, 'handbook.md');
  await writeFile(file, '# Handbook\n\nThe word is canary-document.\n');
  const agentctl = agentctlOf(service);
  await Promise.all([
    agentctl.json('workspaces', 'update', workspace, '--enabled', 'off'),
    agentctl.json('knowledge', 'add', '--workspace', workspace, file),
  ]);

  const { entries } = await agentctl.json<{ entries: Entry[] }>('audit', '--workspace', workspace);
  expect(entries.every(({ actor }) => actor === `local user ${userInfo().username}`)).toBe(true);
  expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).toSorted());
  expect(entries.every(({ workspace_id }) => workspace_id === workspace)).toBe(true);
  const shown = Object.fromEntries(
    entries.map(({ action, target_id: target, changes }) => [action, { target, changes }]),
  );
  expect(entries).toHaveLength(7);
  const hash = expect.stringMatching(/^user_[\da-f]{32}$/);
  expect(shown).toEqual({
    'workspace created': {
      target: workspace,
      changes: { name: 'Audited', whitelistEnabled: true, limits: 'default' },
    },
    'workspace updated': { target: workspace, changes: { enabled: { from: true, to: false } } },
    'key created': {
      target: key,
      changes: { name: null, expires_at: null, key: `${firstKey.slice(0, 7)}…${firstKey.slice(-4)}` },
    },
    'key rotated': {
      target: key,
      changes: expect.objectContaining({ new_key_id: rotated.key.id, ends: expect.anything() }),
    },
    'key revoked': { target: key, changes: { revoked_at: expect.any(String) } },
    'whitelist extended': { target: workspace, changes: { users: [hash, hash] } },
    'knowledge changed': {
      target: workspace,
      changes: { put: [{ document_id: expect.any(String), name: 'handbook.md' }], removed: [] },
    },
  });
  const all = JSON.stringify([entries, await entriesOf()]);
  for (const secret of [firstKey, rotated.apiKey, 'canary-document']) expect(all).not.toContain(secret);
  // The list of all workspaces contains the same entries.
  expect((await entriesOf()).filter(({ workspaceId }) => workspaceId === workspace)).toHaveLength(7);
});

it('changes of an agent name its fields and not its texts, and a change that is refused leaves nothing', async () => {
  const { workspaceId, agentId } = await openTenant(service);
  const services = operator();
  const agent = await services.agents.get(workspaceId, agentId);
  if (agent === undefined) throw new Error('no agent');
  const definition = { ...agent.definition, system_prompt: 'canary-prompt', llm_model: 'openai:other' };
  await updateAgent(services, { agentId, definition });
  await publishAgent(services, agentId);
  await unpublishAgent(services, agentId);
  await expect(services.agents.save(agent, 'unchanged')).rejects.toThrow('changed by someone else');

  const entries = (await entriesOf(workspaceId)).filter(({ target }) => target === agentId);
  expect(entries.map(({ action, changes }) => ({ action, changes }))).toEqual([
    { action: 'agent created', changes: { name: 'Test agent', llm_model: 'demo' } },
    { action: 'agent published', changes: { version: 1, version_id: expect.any(String) } },
    {
      action: 'agent updated',
      changes: {
        fields: ['llm_model', 'system_prompt'],
        llm_model: { from: 'demo', to: 'openai:other' },
      },
    },
    { action: 'agent published', changes: { version: 2, version_id: expect.any(String) } },
    { action: 'agent unpublished', changes: {} },
  ]);
  expect(JSON.stringify(entries)).not.toContain('canary-prompt');
});
