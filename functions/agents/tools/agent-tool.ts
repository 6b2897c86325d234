import * as z from 'zod';
import type { AgentDefinition } from '#contract/agent.ts';
import type { JsonSchema } from '#contract/json-schema.ts';
import type { TokenUsage } from '#contract/message.ts';
import type { PinnedTool } from '#contract/tools.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { StoredFile } from '#domain/files/files.ts';

interface Closable {
  close(): unknown;
}

/** What the tools of a reply share, such as connections. It is closed at the end of the reply. */
export class ReplyScope {
  readonly #shared = new Map<unknown, Closable>();

  get<Shared extends Closable>(key: unknown, open: () => Shared): Shared {
    const shared = this.#shared.get(key) ?? open();
    this.#shared.set(key, shared);
    return shared as Shared;
  }

  /** What was opened last is closed first, so that a session ends before its connection. Errors are ignored. */
  async close(): Promise<void> {
    for (const shared of [...this.#shared.values()].reverse())
      await Promise.resolve()
        .then(() => shared.close())
        .catch(() => undefined);
  }
}

const queryCharacters = 1000;

export const query = z
  .string()
  .min(1)
  .max(queryCharacters)
  .describe(
    'What to look for: the words that the passage would use. Only the first 32 different words count.',
  );

export const scoreOf = (score: number): number => Math.round(score * 1e4) / 1e4;

const field = z.object({
  name: z.string().min(1).max(64).describe('Key of the answer, such as email'),
  label: z.string().min(1).max(256),
  type: z.enum(['text', 'textarea', 'number', 'date', 'email', 'boolean', 'select', 'multiselect']),
  required: z.boolean().default(false),
  options: z.array(z.string().min(1).max(256)).max(100).optional().describe('Of select and multiselect'),
});

const form = z.object({
  title: z.string().min(1).max(256),
  description: z.string().max(2048).optional(),
  fields: z.array(field).min(1).max(50),
});

const config = z.strictObject({ form: form.optional() });
const nothing = z.object({});

type Config = z.output<typeof config>;
type Input = z.output<typeof form> | z.output<typeof nothing>;

/** The client gets the form as the step's `args`. The user responds with the next message. */
export const requestForm: AgentTool<Config, Input> = {
  type: 'consultant_request_form',
  description:
    'Show the user a form, when you need several particulars from them. Their next message holds the answers.',
  config,
  input: (settings) => (settings.form === undefined ? form : nothing),
  start: (input, settings) => {
    const shown = settings.form ?? (input as z.output<typeof form>);
    return { content: `Asking for: ${shown.title}`, args: shown };
  },
  run: async () => ({
    data: {
      status: 'shown',
      note: 'The user sees the form and answers with the next message. End your reply with one short sentence that asks to fill it in.',
    },
  }),
  handsOver: true,
};

/** A tool of the service itself. `kindOf` makes its kind, for the list in runtime/composition/models-and-tools.ts. */
export interface AgentTool<Config = unknown, Input = unknown> {
  /** Also the tool's name for the model, unless the entry sets another name. */
  type: string;
  description: string;
  config: z.ZodType<Config>;
  /** @returns what is wrong, beginning with the field, such as `agent_id names no agent`; undefined if nothing is */
  checkConfig?(config: Config, workspaceId: string): Promise<string | undefined>;
  /** Must return the same object for equal configs: its JSON Schema is cached by the object. */
  input(config: Config): z.ZodType<Input>;
  start(input: Input, config: Config): { content: string; args: Record<string, unknown> };
  /** @throws ToolFailure with a text for the model and the client. The text of any other error is not shown to them. */
  run(input: Input, use: ToolUse<Config>): Promise<ToolOutcome>;
  /** Models are not offered a tool for which this deployment is not configured. */
  isAvailable?: () => boolean;
  /** A called agent is not offered a tool that searches the chat, because the chat is not its own. */
  searchesChat?: true;
  /** After this tool the agent's model may only write text: the user is to respond. */
  handsOver?: true;
}

export type ToolUse<Config> = ReplyUse & { config: Config };

export interface ReplyUse {
  /** In a reply, the id of the step that shows this use. */
  callId: string;
  chat: Chat | null;
  /** Shared with called agents. */
  scope: ReplyScope;
  /** The files of the user's current message. A called agent has none. */
  attachments: readonly StoredFile[];
  /** The chain of agents: the reply's agent first, the agent that uses the tool last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
  signal: AbortSignal;
  /**
   * Its steps and its usage belong to the reply.
   * @throws ToolFailure, with the usage so far, if its model fails, or if its reply ends for another reason than `stop`
   */
  callAgent(
    agent: AgentVersion,
    message: string,
    signal: AbortSignal,
  ): Promise<{ text: string; usage: TokenUsage }>;
}

export interface ToolOutcome {
  /** Becomes the step's `result.data`. */
  data: unknown;
  usage?: TokenUsage;
}

export class ToolFailure extends Error {
  override readonly name = 'ToolFailure';
  readonly usage: TokenUsage | undefined;

  constructor(message: string, options: ErrorOptions & { usage?: TokenUsage } = {}) {
    super(message, options);
    this.usage = options.usage;
  }
}

export interface Offer extends Pick<AgentTool, 'isAvailable' | 'searchesChat' | 'handsOver'> {
  name: string;
  description: string;
  inputSchema: JsonSchema;
  /** In a reply, each use fails unless this is `never`: replies cannot wait for a person yet. */
  approval: PinnedTool['approval'];
  /** Where the tool is in its entry, such as `['config', 'tools', 3]`; empty if the entry is one tool. */
  field: readonly (string | number)[];
  read(args: unknown): { input: unknown; problem?: undefined } | { problem: string };
  start(input: unknown): ReturnType<AgentTool['start']>;
  run(input: unknown, use: ReplyUse): Promise<ToolOutcome>;
  /** A tool of another system: others may have written its description, its results and the texts of its failures. */
  isRemote?: true;
}

export interface ToolKind<Config = unknown> extends Pick<AgentTool<Config>, 'config' | 'checkConfig'> {
  type: string;
  /** Makes the tools, in the same order for the same config: a provider's cache of prompts depends on it. */
  offers(config: Config, entry: Pick<Entry, 'name' | 'description'>): Offer[];
}

export interface DeferredKind {
  type: string;
  load(): Promise<ToolKind>;
}

export const kindOf = (tool: AgentTool): ToolKind => ({
  ...tool,
  offers(config, { name = tool.type, description = tool.description }) {
    const input = tool.input(config);
    return [
      {
        ...tool,
        ...{ name, description, inputSchema: jsonSchemaOf(input), approval: 'never', field: [] },
        read(args) {
          const { data, error } = input.safeParse(args);
          return error === undefined ? { input: data } : { problem: z.prettifyError(error) };
        },
        start: (args) => tool.start(args, config),
        run: (args, use) => tool.run(args, { ...use, config }),
      },
    ];
  },
});

const schemas = new WeakMap<z.ZodType, JsonSchema>();

/** Cached, because a conversion takes about 0.1 ms for a type like that of a form. */
function jsonSchemaOf(type: z.ZodType): JsonSchema {
  const schema = schemas.get(type) ?? z.toJSONSchema(type, { target: 'draft-7', io: 'input' });
  schemas.set(type, schema);
  return schema;
}

export interface OfferedTool extends Offer {
  type: string;
  /** The index of the entry in `unified_tools`. Entries that `inspectTools` adds follow the last one there. */
  index: number;
}

type Issue = z.core.$ZodIssue;
type Entry = AgentDefinition['unified_tools'][number];
type AvailableKinds = readonly (ToolKind | DeferredKind)[];

const searchType = 'consultant_search_web';

/** A reply may get the tool of this type although its agent does not have it. */
export const lookupType = 'consultant_lookup';

/**
 * @param needed types of tools that this reply needs, whether or not the agent has them
 * @throws Error with the first of the issues of `inspectTools`
 */
export async function offeredTools(
  available: AvailableKinds,
  definition: AgentDefinition,
  needed: readonly string[] = [],
): Promise<OfferedTool[]> {
  const { offered, issues } = await inspectTools(available, definition, needed);
  if (issues.length > 0) throw new Error(z.prettifyError({ issues: issues.slice(0, 1) }));
  return offered.filter(({ isAvailable }) => isAvailable?.() !== false);
}

/**
 * All tools of an agent, also those that this deployment cannot offer.
 * @returns also `issues`: unknown types, and configs that do not fit the schema of their kind. An entry with an issue
 * has no tools and no toolset
 */
export async function inspectTools(
  available: AvailableKinds,
  { unified_tools: entries, use_search }: AgentDefinition,
  needed: readonly string[] = [],
) {
  const offered: OfferedTool[] = [];
  const toolsets: { kind: ToolKind; config: unknown; index: number }[] = [];
  const issues: Issue[] = [];
  const further = [...(use_search ? [searchType] : []), ...needed].filter(
    (type) => !entries.some((entry) => entry.type === type),
  );
  const all: Entry[] = [...entries, ...further.map((type) => ({ type }))];
  for (const [index, entry] of all.entries()) {
    const path = ['unified_tools', index];
    const listed = available.find(({ type }) => type === entry.type);
    if (listed === undefined) {
      const message = `must be one of ${available.map(({ type }) => type).join(', ')}`;
      issues.push({ code: 'custom', path: [...path, 'type'], message });
      continue;
    }
    const kind = 'load' in listed ? await listed.load() : listed;
    const { data: config, error } = kind.config.safeParse(entry.config ?? {}, { reportInput: true });
    if (error !== undefined) {
      issues.push(...error.issues.map((each) => ({ ...each, path: [...path, 'config', ...each.path] })));
      continue;
    }
    toolsets.push({ kind, config, index });
    offered.push(...kind.offers(config, entry).map((offer) => ({ ...offer, type: kind.type, index })));
  }
  return { offered, toolsets, issues };
}

/** Function names that providers accept. */
const functionName = /^[a-zA-Z0-9_-]{1,64}$/;

/** What is wrong with the names of tools. The names of entries without tools are taken too. */
export function issuesOfNames(offered: readonly OfferedTool[], entries: readonly Entry[]): Issue[] {
  const others = entries.filter((_, index) => !offered.some((tool) => tool.index === index));
  const names = new Set(others.map(({ name, type }) => name ?? type));
  if (!entries.some(({ type }) => type === lookupType)) names.add(lookupType);
  return offered.flatMap(({ name, isRemote, index, field }) => {
    const issue = (isWrong: boolean | undefined, message: string, ...more: string[]): Issue[] =>
      isWrong ? [{ code: 'custom', path: ['unified_tools', index, ...field, ...more], message }] : [];
    const isTaken = names.has(name);
    names.add(name);
    return [
      ...issue(!functionName.test(name), 'must be 1 to 64 letters, digits, underscores or hyphens', 'name'),
      ...issue(name === 'json', 'must not be json: providers name the form of a reply so', 'name'),
      ...issue(isRemote && name.startsWith('consultant_'), 'must not start with consultant_', 'name'),
      ...issue(isTaken, `is called ${name}, as another tool: give each a name of its own`),
    ];
  });
}
