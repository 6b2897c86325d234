import type { ModelCall } from '../../support/model-server.ts';
import type { PackageFolder } from './openai-clients.ts';

/**
 * What a client sends, and what is paid, for a model that never says JSON, never says a person, or is cut: `1 / 2` is
 * one request to the service, and two calls of the model.
 */
type Costs = readonly [noJson: string, noPerson: string, cut: string];

/** The service repairs once. Its 400 is not repeated, nor is a cut reply. */
const schema: Costs = ['1 / 2', '1 / 2', '1 / 1'];
/** Only the client knows what a person is. */
const anyObject: Costs = ['1 / 2', '1 / 1', '1 / 1'];

interface FormClient {
  name: string;
  folder: PackageFolder;
  program: string;
  modes: Readonly<Record<string, Costs>>;
  /** Checks without costs. */
  others?: readonly string[];
}

const ofSdk = {
  modes: {
    parse: schema,
    stream: schema,
    json_object: anyObject,
    'one tool': schema,
    'one tool, required': schema,
    'one tool, allowed': schema,
  },
  others: ['a family', 'cut', 'cut stream'],
};

export const formClients: readonly FormClient[] = [
  { name: 'openai, Node.js', folder: 'node', program: 'openai-forms.mjs', ...ofSdk },
  { name: 'openai, Python', folder: 'python', program: 'openai_forms.py', ...ofSdk },
  {
    name: '@langchain/openai',
    folder: 'node',
    program: 'langchain-forms.mjs',
    modes: {
      default: schema,
      'default, streamed': schema,
      functionCalling: schema,
      'functionCalling, strict': schema,
      jsonMode: anyObject,
    },
  },
  {
    name: 'langchain-openai',
    folder: 'python',
    program: 'langchain_forms.py',
    modes: {
      default: schema,
      'default, streamed': schema,
      function_calling: schema,
      'function_calling, strict': schema,
      json_mode: anyObject,
    },
  },
  {
    name: 'ai',
    folder: 'node',
    program: 'ai-sdk-forms.mjs',
    modes: {
      'Output.object': schema,
      'Output.object, streamed': schema,
      'Output.object without supportsStructuredOutputs': anyObject,
    },
  },
  {
    name: 'instructor',
    folder: 'instructor',
    program: 'instructor_forms.py',
    modes: {
      default: schema,
      // It asks three times more for what it rejects itself.
      JSON: ['1 / 2', '4 / 4', '1 / 1'],
      JSON_SCHEMA: schema,
      TOOLS_STRICT: schema,
      MD_JSON: ['4 / 4', '4 / 4', '1 / 1'],
    },
    others: [
      'a validator',
      'a validator, JSON',
      'a validator, JSON_SCHEMA',
      'create_partial',
      'create_iterable',
    ],
  },
  {
    name: 'pydantic-ai',
    folder: 'python',
    program: 'pydantic_ai_forms.py',
    modes: {
      default: schema,
      'default, streamed': schema,
      NativeOutput: schema,
      // It asks once more for what it rejects itself.
      PromptedOutput: ['1 / 2', '2 / 2', '1 / 1'],
      ToolOutput: schema,
    },
    others: [
      'message_history',
      'message_history, NativeOutput',
      'message_history, PromptedOutput',
      'a validator',
      'a validator, NativeOutput',
    ],
  },
  {
    name: 'litellm',
    folder: 'python',
    program: 'litellm_forms.py',
    modes: { pydantic: schema, streamed: schema, json_object: anyObject, 'one tool': schema },
  },
  {
    name: 'promptfoo',
    folder: 'promptfoo',
    program: 'promptfoo-forms.mjs',
    modes: { json_schema: schema, json_object: anyObject },
  },
];

const nevers = ['No JSON', 'No person', 'Cut person'];

export const formColumns = ['mode', 'result', ...nevers.map((never) => `${never}: requests / paid calls`)];

/**
 * The lines of a client in the table of forms, and its errors.
 * @param bodies of the requests to the service
 */
export function formResults(
  { name, modes, others = [] }: FormClient,
  results: ReadonlyMap<string, string | null>,
  bodies: readonly string[],
  calls: readonly Pick<ModelCall, 'body'>[],
): { lines: string[][]; errors: string[] } {
  const paid = calls.map(({ body }) => JSON.stringify(body));
  const errors: string[] = [];
  const lines = [...Object.entries<Costs | undefined>(modes), ...others.map((check) => [check] as const)].map(
    ([mode, expected]) => {
      const error = results.get(mode);
      const costs = nevers.map((never) => {
        const isFor = (text: string) => text.includes(`${never} (${mode})`);
        return `${bodies.filter(isFor).length} / ${paid.filter(isFor).length}`;
      });
      if (error !== null) errors.push(`${name}, ${mode}: ${error ?? 'It was not run'}`);
      else if (expected !== undefined && expected.join() !== costs.join())
        errors.push(
          `${name}, ${mode}: ${costs.join(', ')} requests and calls, and not ${expected.join(', ')}`,
        );
      return [
        name,
        mode,
        error === null ? 'passed' : 'failed',
        ...(expected === undefined ? nevers.map(() => '') : costs),
      ];
    },
  );
  return { lines, errors };
}
