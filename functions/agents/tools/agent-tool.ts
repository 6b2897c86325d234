import * as z from 'zod';
import type { AgentDefinition } from '#contract/agent.ts';
import type { JsonSchema } from '#contract/json-schema.ts';
import type { TokenUsage } from '#contract/message.ts';
import type { PinnedTool } from '#contract/tools.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { ReplyScope } from './reply-scope.ts';

/** Amazon Bedrock's limit for a query of a knowledge base. */
const queryCharacters = 1000;

export const query = z
  .string()
  .min(1)
  .max(queryCharacters)
  .describe(
    'What to look for: the words that the passage would use. Only the first 32 different words count.',
  );

/** Rounds a score to four decimal places, which are enough to compare results. */
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

/** If the config contains a form, the tool always shows that form. Otherwise the model composes one. */
const config = z.strictObject({ form: form.optional() });
const nothing = z.object({});

type Config = z.output<typeof config>;
type Input = z.output<typeof form> | z.output<typeof nothing>;

/**
 * Asks the user to fill in a form. The client receives the form as the step's `args`. The user responds with the next
 * message.
 */
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

/**
 * A tool of the service itself. An entry of its type offers the model this one tool: `kindOf` makes its kind, for the
 * list in runtime/composition/agent-tools.ts. Each use is a reasoning step (specification, section 6.1).
 */
export interface AgentTool<Config = unknown, Input = unknown> {
  /** The step's type. Also the tool's name for the model, unless the agent sets another name. */
  type: string;
  /** Tells the model when to use the tool, unless the agent sets another description. */
  description: string;
  /** The schema of `config` in an entry. */
  config: z.ZodType<Config>;
  /**
   * Checks what the schema cannot, when an agent is created or updated. The text begins with the field of the config.
   * @returns what is wrong, such as `agent_id names no agent`; undefined if nothing is
   */
  checkConfig?(config: Config, workspaceId: string): Promise<string | undefined>;
  /**
   * Returns the schema of the model's arguments. It must be the same object for the same config: its JSON Schema is
   * cached by the object.
   */
  input(config: Config): z.ZodType<Input>;
  /** Returns what the step's start event shows: `content`, a line for people, and `args`, the arguments. */
  start(input: Input, config: Config): { content: string; args: Record<string, unknown> };
  /**
   * Runs the tool. A failure becomes a step with `success: false`, and the reply continues.
   * @throws ToolFailure with a text for the model and the client. The text of any other error is not shown to them.
   */
  run(input: Input, use: ToolUse<Config>): Promise<ToolOutcome>;
  /** Returns false if this deployment is not configured for the tool. Models are then not offered it. */
  isAvailable?: () => boolean;
  /**
   * The tool searches the chat. An agent that was called by another agent is not offered the tool, because the chat
   * belongs to the calling agent.
   */
  searchesChat?: true;
  /** After this tool the model may only write text: the reply ends, and the user responds next. */
  handsOver?: true;
}

export type ToolUse<Config> = ReplyUse & { config: Config };

/** What a reply gives to each use of a tool. */
export interface ReplyUse {
  /** The id of the step that shows this use. */
  callId: string;
  /** The chat of the reply, also for a called agent. Null for a reply that belongs to no chat. */
  chat: Chat | null;
  /** Shared by the tools of the reply, those of called agents included. */
  scope: ReplyScope;
  /** The files of the user's current message. A called agent has none. */
  attachments: readonly StoredFile[];
  /** The chain of agents: the reply's agent first, the agent that uses the tool last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
  /** Aborts when the reply is aborted, or when the time of this use is over. */
  signal: AbortSignal;
  /**
   * Runs another agent with this message. Its steps and its usage are counted for the reply.
   * @returns its text, and the usage of all its model calls
   * @throws ToolFailure, with the usage so far, if its model fails or its text is cut
   */
  callAgent(
    agent: AgentVersion,
    message: string,
    signal: AbortSignal,
  ): Promise<{ text: string; usage: TokenUsage }>;
}

export interface ToolOutcome {
  /** JSON for the model and for clients: the step's `result.data`. */
  data: unknown;
  /** Token usage of the tool's own model calls. Absent if it makes none. */
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

/** One tool as a model gets it. */
export interface Offer extends Pick<AgentTool, 'isAvailable' | 'searchesChat' | 'handsOver'> {
  /** `issuesOfNames` checks that it is unique among the tools of an agent. */
  name: string;
  description: string;
  inputSchema: JsonSchema;
  /** `never`: the tool runs at once. Replies cannot wait for a person yet, so with any other value each use fails. */
  approval: PinnedTool['approval'];
  /** Where the tool is in its entry, such as `['config', 'tools', 3]`; empty if the entry is one tool. */
  field: readonly (string | number)[];
  /** Checks the model's arguments. Returns `input` for `start` and `run`, or what is wrong with the arguments. */
  read(args: unknown): { input: unknown; problem?: undefined } | { problem: string };
  /** As in `AgentTool`. */
  start(input: unknown): ReturnType<AgentTool['start']>;
  run(input: unknown, use: ReplyUse): Promise<ToolOutcome>;
  /** A tool of another system: others may have written its description, its results and the texts of its failures. */
  isRemote?: true;
}

/**
 * A kind of entries: it makes the tools of an entry from the entry's config. All kinds are in the list in
 * runtime/composition/agent-tools.ts.
 */
export interface ToolKind<Config = unknown> extends Pick<AgentTool<Config>, 'config' | 'checkConfig'> {
  /** The type of the entries, and of the steps of their tools. */
  type: string;
  /** Makes the tools, in the same order for the same config: a provider's cache of prompts depends on it. */
  offers(config: Config, entry: Pick<Entry, 'name' | 'description'>): Offer[];
}

/** A kind whose code is loaded only for an agent that has an entry of it. */
export interface DeferredKind {
  type: string;
  load(): Promise<ToolKind>;
}

/** Makes the kind of a tool. Each entry offers this tool, with the entry's name and description if it has them. */
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

/** Converts a schema. The result is cached by the object: the conversion is too slow to repeat in every reply. */
function jsonSchemaOf(type: z.ZodType): JsonSchema {
  const schema = schemas.get(type) ?? z.toJSONSchema(type, { target: 'draft-7', io: 'input' });
  schemas.set(type, schema);
  return schema;
}

/** An offer, and the entry that it is from. */
export interface OfferedTool extends Offer {
  /** The type of the entry, and of the tool's steps. */
  type: string;
  /** The index of the entry in `unified_tools`. The entries that `inspectTools` adds follow the last one there. */
  index: number;
}

type Issue = z.core.$ZodIssue;
type Entry = AgentDefinition['unified_tools'][number];
type AvailableKinds = readonly (ToolKind | DeferredKind)[];

const searchType = 'consultant_search_web';

/**
 * The tools of an agent that this deployment can offer.
 * @param needed types of tools that this reply needs, whether or not the agent has them
 * @throws Error that names the first mistake: see `inspectTools`
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
 * All tools of an agent, also those that this deployment cannot offer. An agent also gets an entry for each type that it
 * needs and does not have: for `use_search`, and of `needed`.
 * @returns also `toolsets`, the entries with a right type and config, and `issues`: what is wrong with the types and
 *   configs of the other entries, which have no tools
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

/** What is wrong with the names of tools. The names of the entries without tools are taken too. */
export function issuesOfNames(offered: readonly OfferedTool[], entries: readonly Entry[]): Issue[] {
  const others = entries.filter((_, index) => !offered.some((tool) => tool.index === index));
  const names = new Set(others.map(({ name, type }) => name ?? type));
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
