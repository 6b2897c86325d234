import { describe, expect, it } from 'vitest';
import { agentDefinition } from '#contract/agent.ts';
import type { Agent, AgentVersion } from '#domain/agents/agent.ts';
import { auditEntriesOf } from '#support/audit-entries.ts';
import { closeAfterTests } from '#support/close-after-tests.ts';
import { openStores } from '#support/open-stores.ts';

const { stores, clock } = closeAfterTests(await openStores());
const { agents } = stores;

let ids = 0;
/** Increases, like the ids of the service. */
const newId = (kind: string): string => `${kind}-${String(++ids).padStart(4, '0')}`;
const now = (): string => clock.now().toISOString();

const agentWith = (changes: Partial<Agent> = {}): Agent => ({
  id: newId('agent'),
  workspaceId: newId('ws'),
  publishState: 'draft',
  definition: agentDefinition.parse({ name: 'Clerk' }),
  newestVersion: 0,
  publishedVersionId: null,
  publishedAt: null,
  createdAt: now(),
  updatedAt: now(),
  revision: 1,
  ...changes,
});

const create = async (changes: Partial<Agent> = {}): Promise<Agent> => {
  const agent = agentWith(changes);
  await agents.create(agent);
  return agent;
};

const renamed = (agent: Agent, name: string): Agent => ({
  ...agent,
  definition: { ...agent.definition, name },
  updatedAt: now(),
});

/** The agent as its next version's publication stores it, and the version. */
function publicationOf(agent: Agent): { agent: Agent; version: AgentVersion } {
  const version: AgentVersion = {
    id: newId('version'),
    agentId: agent.id,
    workspaceId: agent.workspaceId,
    number: agent.newestVersion + 1,
    definition: agent.definition,
    publishedAt: now(),
    agentCreatedAt: agent.createdAt,
  };
  const { number: newestVersion, id: publishedVersionId, publishedAt } = version;
  return {
    agent: { ...agent, publishState: 'published', newestVersion, publishedVersionId, publishedAt },
    version,
  };
}

/** Returns the agent as it is stored afterwards. */
async function publish(read: Agent): Promise<{ agent: Agent; version: AgentVersion }> {
  const { agent, version } = publicationOf(read);
  await agents.save(agent, version);
  return { agent: { ...agent, revision: agent.revision + 1 }, version };
}

const unpublished = (agent: Agent): Agent => ({
  ...agent,
  publishState: 'unpublished',
  publishedVersionId: null,
  publishedAt: null,
});

const publishedOf = async (workspaceId: string): Promise<AgentVersion[]> =>
  (await Array.fromAsync(agents.listPublished(workspaceId))).flat();
const auditOf = ({ workspaceId }: Agent) => auditEntriesOf(stores.auditLog, workspaceId);

const fullDefinition = agentDefinition.parse({
  name: 'Clerk',
  description: 'With everything',
  system_prompt: 'You are kind.',
  llm_model: 'openai:test',
  unified_tools: [{ type: 'consultant_lookup', name: 'look_up', config: { most: 3, in: [null, 'x', ''] } }],
  suggested_questions: ['What is this?'],
  use_search: true,
  meta: { temperature: 0.5, max_steps: 4, team: { name: 'blue' } },
});

describe('an agent', () => {
  it('does not change with an object that a caller has', async () => {
    const created = await create({ definition: structuredClone(fullDefinition) });
    const { agent, version } = publicationOf(created);
    const stored = structuredClone({ agent: { ...agent, revision: 2 }, version });
    await agents.save(agent, version);
    const { workspaceId, id } = agent;
    for (const object of [
      agent,
      version,
      ...[await agents.get(workspaceId, id), await agents.published(workspaceId, id)],
      ...(await agents.list(workspaceId)),
      ...(await publishedOf(workspaceId)),
    ])
      Object.assign((object as Agent | AgentVersion).definition.meta, { temperature: 1 });
    expect(await agents.get(workspaceId, id)).toEqual(stored.agent);
    expect(await agents.published(workspaceId, id)).toEqual(stored.version);
  });

  it('is in the list of its workspace, in order of creation', async () => {
    const workspaceId = newId('ws');
    const third = await create({ workspaceId, createdAt: '2027-01-03T00:00:00.000Z' });
    const first = await create({ workspaceId, createdAt: '2027-01-01T00:00:00.000Z' });
    const second = await create({ workspaceId, createdAt: '2027-01-02T00:00:00.000Z' });
    const { agent } = await publish(first);
    expect(await agents.list(workspaceId)).toEqual([agent, second, third]);
  });

  // 1.5 MB, while a page has at most 1 MB.
  it('is in the list of its workspace also if the definitions are large', async () => {
    const workspaceId = newId('ws');
    const definition = { ...fullDefinition, system_prompt: 'x'.repeat(300_000) };
    const created = [];
    for (let count = 0; count < 5; count += 1) created.push(await create({ workspaceId, definition }));
    expect((await agents.list(workspaceId)).map(({ id }) => id)).toEqual(created.map(({ id }) => id));
  });
});

describe('a save', () => {
  it.each([
    ['a change of the draft', (agent: Agent) => agents.save(renamed(agent, 'Waiter'), 'unchanged')],
    ['a publication', (agent: Agent) => publish(agent)],
    ['an unpublication', (agent: Agent) => agents.save(unpublished(agent), null)],
  ])('that is %s fails if another caller saved the agent', async (_, save) => {
    const { agent: read, version } = await publish(await create());
    const { workspaceId, id } = read;
    const saved = renamed(read, 'Cook');
    await agents.save(saved, 'unchanged');
    const entries = (await auditOf(read)).length;
    await expect(save(read)).rejects.toMatchObject({ kind: 'badRequest' });
    expect(await agents.get(workspaceId, id)).toEqual({ ...saved, revision: read.revision + 1 });
    expect(await agents.published(workspaceId, id)).toEqual(version);
    expect(await publishedOf(workspaceId)).toEqual([version]);
    expect(await auditOf(read)).toHaveLength(entries);
  });

  it('creates no agent', async () => {
    const { agent, version } = publicationOf(agentWith());
    await expect(agents.save(agent, version)).rejects.toMatchObject({ kind: 'badRequest' });
    expect(await agents.get(agent.workspaceId, agent.id)).toBeUndefined();
    expect(await agents.published(agent.workspaceId, agent.id)).toBeUndefined();
  });

  it('succeeds for one of many callers', async () => {
    const agent = await create();
    const saves = await Promise.allSettled(
      Array.from({ length: 5 }, (_, index) => agents.save(renamed(agent, `Name ${index}`), 'unchanged')),
    );
    const failures = saves.filter((save) => save.status === 'rejected');
    expect(failures).toHaveLength(4);
    for (const { reason } of failures) expect(reason).toMatchObject({ kind: 'badRequest' });
    const winner = saves.findIndex(({ status }) => status === 'fulfilled');
    expect(await agents.get(agent.workspaceId, agent.id)).toMatchObject({
      revision: 2,
      definition: { name: `Name ${winner}` },
    });
  });
});

describe('a published agent', () => {
  it('may be unpublished before it was ever published', async () => {
    const agent = await create();
    await agents.save(unpublished(agent), null);
    expect(await agents.get(agent.workspaceId, agent.id)).toMatchObject({ publishState: 'unpublished' });
    expect(await publishedOf(agent.workspaceId)).toEqual([]);
  });

  // More than the 25 versions of one read.
  it('is one of 30 in the list, in order of creation', async () => {
    const workspaceId = newId('ws');
    const created = Array.from({ length: 31 }, () => agentWith({ workspaceId }));
    await Promise.all(created.map((agent) => agents.create(agent)));
    const [draft, ...rest] = created;
    const versions = await Promise.all(
      rest.toReversed().map(async (agent) => (await publish(agent)).version),
    );
    const listed = await publishedOf(workspaceId);
    expect(listed).toEqual(versions.toReversed());
    expect(listed.map(({ agentId }) => agentId)).not.toContain(draft?.id);
  });
});

describe('the versions of an agent', () => {
  const versionsOf = async ({ workspaceId, id }: Agent) =>
    (await Array.fromAsync(agents.versions(workspaceId, id))).flat();

  it('are read by their number, or all, the oldest first', async () => {
    const created = await create({ definition: fullDefinition });
    expect(await versionsOf(created)).toEqual([]);
    const first = await publish(created);
    const { agent, version } = publicationOf(renamed(first.agent, 'Cook'));
    const copy = { ...version, copyOf: 1 };
    await agents.save(agent, copy);
    expect(await versionsOf(created)).toEqual([first.version, copy]);
    const { workspaceId, id } = created;
    expect(await agents.version(workspaceId, id, 1)).toEqual(first.version);
    expect(await agents.version(workspaceId, id, 2)).toEqual(copy);
    expect(await agents.version(workspaceId, id, 3)).toBeUndefined();
    expect(await agents.version(newId('ws'), id, 1)).toBeUndefined();
    expect(await auditOf(agent)).toContainEqual(
      expect.objectContaining({
        ...{ action: 'agent published', changes: { version: 2, version_id: copy.id, copy_of: 1 } },
      }),
    );
  });

  // 1.5 MB, while a page has at most 1 MB.
  it('are deleted with it, also if they are large', async () => {
    const definition = { ...fullDefinition, system_prompt: 'x'.repeat(300_000) };
    let { agent } = await publish(await create({ definition }));
    for (let version = 2; version <= 5; version += 1) ({ agent } = await publish(agent));
    const other = await publish(await create({ workspaceId: agent.workspaceId }));
    expect(await versionsOf(agent)).toHaveLength(5);
    const { workspaceId, id } = agent;
    await agents.delete(workspaceId, id, agent);
    expect(await versionsOf(agent)).toEqual([]);
    expect(await agents.get(workspaceId, id)).toBeUndefined();
    expect(await agents.workspaceOf(id)).toBeUndefined();
    expect(await agents.published(workspaceId, id)).toBeUndefined();
    expect(await publishedOf(workspaceId)).toEqual([other.version]);
    expect(await versionsOf(other.agent)).toEqual([other.version]);
    // A call that was stopped is repeated.
    await agents.delete(workspaceId, id, undefined);
    const deletions = (await auditOf(agent)).filter(({ action }) => action === 'agent deleted');
    expect(deletions).toMatchObject([{ target: id, changes: { name: 'Clerk' } }]);
  });

  it('stay if another caller saved the agent', async () => {
    const { agent, version } = await publish(await create());
    await agents.save(renamed(agent, 'Cook'), 'unchanged');
    const { workspaceId, id } = agent;
    await expect(agents.delete(workspaceId, id, agent)).rejects.toMatchObject({ kind: 'badRequest' });
    expect(await agents.published(workspaceId, id)).toEqual(version);
    expect(await versionsOf(agent)).toEqual([version]);
  });
});

it('the audit log has the fields that a change of an agent names, but no text of its prompt', async () => {
  const agent = await create({ definition: { ...fullDefinition, output_schema: { type: 'object' } } });
  const definition = { ...fullDefinition, name: 'Cook', system_prompt: 'You are kind to everybody.' };
  await clock.advance(1000);
  await agents.save({ ...agent, definition }, 'unchanged');
  const [, updated] = await auditOf(agent);
  expect(updated).toMatchObject({
    ...{ at: now(), action: 'agent updated' },
    changes: { fields: ['name', 'output_schema', 'system_prompt'], name: { from: 'Clerk', to: 'Cook' } },
  });
  expect(JSON.stringify(updated)).not.toContain('kind');
});
