import * as z from 'zod';
import type { AgentDefinition } from '#contract/agent.ts';
import type { JsonSchema } from '#contract/json-schema.ts';
import type { TokenUsage } from '#contract/message.ts';
import type { AgentVersion } from '#domain/agents/agent.ts';
import type { Chat } from '#domain/chats/chat.ts';
import type { StoredFile } from '#domain/files/stored-file.ts';
import type { ReplyScope } from './reply-scope.ts';

/** Amazon Bedrock's own limit. More words only make the results less precise. */
const queryCharacters = 1000;

export const query = z
  .string()
  .min(1)
  .max(queryCharacters)
  .describe(
    'What to look for: the words that the passage would use. Only the first 32 different words count.',
  );

/** Four decimal places are enough to compare results. */
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
 * Asks the user to fill in a form. The client receives the form as the step's `args`; the next message responds to it.
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
 * A tool of the service itself, whose entry is one tool: `kindOf` makes its kind. Each tool is one file and one line in
 * runtime/composition/agent-tools.ts. Each use is a reasoning step (specification, section 6.1).
 */
export interface AgentTool<Config = unknown, Input = unknown> {
  /** The step's type. Also the tool's name for the model, unless the agent sets another name. */
  type: string;
  /** Tells the model when to use the tool, unless the agent sets another description. */
  description: string;
  /** The schema of `config` in an agent's tool. */
  config: z.ZodType<Config>;
  /**
   * Checks what the schema cannot, when an agent is created or updated.
   * @returns what is wrong, such as `agent_id names no agent`; undefined if nothing is
   */
  checkConfig?(config: Config, workspaceId: string): Promise<string | undefined>;
  /**
   * The schema of the model's arguments. Return the same schema object for the same config: its JSON Schema is cached
   * by the object.
   */
  input(config: Config): z.ZodType<Input>;
  /** The step's start event: a line for people, and the arguments to show. */
  start(input: Input, config: Config): { content: string; args: Record<string, unknown> };
  /**
   * Runs the tool. A failure becomes a step with `success: false`, and the reply continues.
   * @throws ToolFailure with a text for the model and the client. The text of any other error is not shown to them.
   */
  run(input: Input, use: ToolUse<Config>): Promise<ToolOutcome>;
  /** Returns false if this deployment is not configured for the tool. Agents are then not offered it. */
  isAvailable?: () => boolean;
  /**
   * The tool searches the chat. An agent that was called by another agent is not offered the tool, because the chat
   * belongs to the calling agent.
   */
  searchesChat?: true;
  /** After this tool the model may only write text: the reply ends and the user responds next. */
  handsOver?: true;
}

export interface ToolUse<Config> extends ReplyUse {
  config: Config;
}

/** What a use of a tool gets from its reply. */
export interface ReplyUse {
  /** Null for a reply that belongs to no chat. */
  chat: Chat | null;
  /** Shared by the tools of the reply, those of called agents included. */
  scope: ReplyScope;
  /** Files attached to the current user message. */
  attachments: readonly StoredFile[];
  /** The chain of agents: the reply's agent first, the agent that uses the tool last. */
  agents: readonly [AgentVersion, ...AgentVersion[]];
  /** Aborts when the reply is aborted, or at the tool's timeout. */
  signal: AbortSignal;
  /** Runs another agent with this message and returns its text. */
  callAgent(
    agent: AgentVersion,
    message: string,
    signal: AbortSignal,
  ): Promise<{ text: string; usage: TokenUsage }>;
}

export interface ToolOutcome {
  /** JSON for the model and for clients: the step's `result.data`. */
  data: unknown;
  /** Token usage of the tool's own model calls. */
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

/** Whether a person must approve each use: `caller` leaves it to the request. */
export type Approval = 'never' | 'always' | 'caller';

/** One tool as a model gets it. */
export interface Offer {
  /** Unique among the tools of an agent. */
  name: string;
  description: string;
  inputSchema: JsonSchema;
  /** `never`: the tool runs at once. Replies cannot wait for a person yet, so other uses fail. */
  approval: Approval;
  /** Where the tool is in its entry, such as `['config', 'tools', 3]`; empty if the entry is one tool. */
  field: readonly (string | number)[];
  /** The arguments for `start` and `run`, or what is wrong with them. */
  read(args: unknown): { input: unknown; problem?: undefined } | { problem: string };
  /** As of `AgentTool`. */
  start(input: unknown): ReturnType<AgentTool['start']>;
  run(input: unknown, use: ReplyUse): Promise<ToolOutcome>;
  /** Others have written its texts, those of failures included. */
  isRemote?: true;
  searchesChat?: true;
  handsOver?: true;
}

/**
 * What entries of one type are: it makes the tools of an entry from the entry's config. Each kind is one file and one line
 * in runtime/composition/agent-tools.ts.
 */
export interface ToolKind<Config = unknown> {
  /** Of the entries, and of the steps of their tools. */
  type: string;
  /** The schema of `config` in an entry. */
  config: z.ZodType<Config>;
  /** As of `AgentTool`. */
  checkConfig?(config: Config, workspaceId: string): Promise<string | undefined>;
  isAvailable?: () => boolean;
  /** In the same order for the same config: a provider's cache of prompts depends on it. */
  offers(config: Config, entry: Pick<Entry, 'name' | 'description'>): Offer[];
}

/** A kind that is loaded for the agents that have an entry of it. */
export interface DeferredKind {
  type: string;
  load(): Promise<ToolKind>;
}

/** The kind of a tool of the service itself. */
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

/** Cached for each schema object, because the conversion is too slow to repeat in every reply. */
function jsonSchemaOf(type: z.ZodType): JsonSchema {
  const cached = schemas.get(type);
  if (cached !== undefined) return cached;
  const schema = z.toJSONSchema(type, { target: 'draft-7', io: 'input' });
  schemas.set(type, schema);
  return schema;
}

/** An offer of one agent. */
export interface OfferedTool extends Offer {
  /** The type of the steps. */
  type: string;
  /** In `unified_tools`. Tools that are not in it have the indexes after its last one. */
  index: number;
}

/** An entry whose config its kind has accepted. */
interface Toolset {
  kind: ToolKind;
  config: unknown;
  index: number;
}

interface Inspected {
  offered: OfferedTool[];
  toolsets: Toolset[];
  issues: Issue[];
}

type Issue = z.core.$ZodIssue;
type Entry = AgentDefinition['unified_tools'][number];

/** Function names that providers accept. */
const functionName = /^[a-zA-Z0-9_-]{1,64}$/;
const searchType = 'consultant_search_web';

/**
 * The tools of an agent that this deployment can offer.
 * @param needed types of tools that this reply needs, whether or not the agent has them
 * @throws Error that names the first wrong tool: see `inspectTools`
 */
export async function offeredTools(
  available: readonly (ToolKind | DeferredKind)[],
  definition: AgentDefinition,
  needed: readonly string[] = [],
): Promise<OfferedTool[]> {
  const { offered, issues } = await inspectTools(available, definition, needed);
  if (issues.length > 0) throw new Error(z.prettifyError({ issues: issues.slice(0, 1) }));
  return offered;
}

/**
 * The tools of an agent that this deployment can offer, and what is wrong with others: an unknown type, an invalid config,
 * an invalid name or a duplicate one.
 */
export async function inspectTools(
  available: readonly (ToolKind | DeferredKind)[],
  { unified_tools: configured, use_search }: AgentDefinition,
  needed: readonly string[] = [],
): Promise<Inspected> {
  const more = [...(use_search ? [searchType] : []), ...needed].filter(
    (type) => !configured.some((entry) => entry.type === type),
  );
  const inspected: Inspected = { offered: [], toolsets: [], issues: [] };
  const names = new Set<string>();
  for (const [index, entry] of [...configured, ...more.map((type): Entry => ({ type }))].entries()) {
    const kind = available.find(({ type }) => type === entry.type);
    if (kind === undefined) {
      const message = `must be one of ${available.map(({ type }) => type).join(', ')}`;
      inspected.issues.push({ code: 'custom', path: ['unified_tools', index, 'type'], message });
    } else inspectEntry('load' in kind ? await kind.load() : kind, entry, index, { ...inspected, names });
  }
  return inspected;
}

/** Adds the entry's tools, and what is wrong with them. */
function inspectEntry(
  kind: ToolKind,
  entry: Entry,
  index: number,
  { offered, toolsets, issues, names }: Inspected & { names: Set<string> },
): void {
  const path = ['unified_tools', index];
  const { data: config, error } = kind.config.safeParse(entry.config ?? {}, { reportInput: true });
  if (error !== undefined) {
    issues.push(...error.issues.map((each) => ({ ...each, path: [...path, 'config', ...each.path] })));
    names.add(entry.name ?? entry.type);
    return;
  }
  const offers = kind.offers(config, entry);
  for (const offer of offers) {
    const issue = (message: string, ...field: string[]) =>
      issues.push({ code: 'custom', path: [...path, ...offer.field, ...field], message });
    const { name } = offer;
    if (!functionName.test(name)) issue('must be 1 to 64 letters, digits, underscores or hyphens', 'name');
    if (name === 'json') issue('must not be json: providers name the form of a reply so', 'name');
    if (offer.isRemote && name.startsWith('consultant_')) issue('must not start with consultant_', 'name');
    if (names.has(name)) issue(`is called ${name}, as another tool: give each a name of its own`);
    names.add(name);
  }
  if (kind.isAvailable?.() === false) return;
  toolsets.push({ kind, config, index });
  offered.push(...offers.map((offer) => ({ ...offer, type: kind.type, index })));
}
