type Model = Readonly<Record<string, unknown>>;

/** The services whose commands the documents use, with the models in their clients. */
const clients: Readonly<Record<string, () => Promise<object>>> = {
  apigateway: () => import('@aws-sdk/client-api-gateway'),
  ce: () => import('@aws-sdk/client-cost-explorer'),
  cloudformation: () => import('@aws-sdk/client-cloudformation'),
  cloudwatch: () => import('@aws-sdk/client-cloudwatch'),
  dynamodb: () => import('@aws-sdk/client-dynamodb'),
  kms: () => import('@aws-sdk/client-kms'),
  lambda: () => import('@aws-sdk/client-lambda'),
  logs: () => import('@aws-sdk/client-cloudwatch-logs'),
  s3api: () => import('@aws-sdk/client-s3'),
  secretsmanager: () => import('@aws-sdk/client-secrets-manager'),
  sns: () => import('@aws-sdk/client-sns'),
  sqs: () => import('@aws-sdk/client-sqs'),
  ssm: () => import('@aws-sdk/client-ssm'),
  stepfunctions: () => import('@aws-sdk/client-sfn'),
  sts: () => import('@aws-sdk/client-sts'),
};

interface Options {
  /** Options that take a value. */
  readonly values: readonly string[];
  /** Those of them that take several. */
  readonly lists?: readonly string[];
  readonly flags: readonly string[];
}

/** Options of every command, from "Command line options" of the CLI's user guide. */
const globalOptions: Options = {
  values: ['query', 'output', 'region', 'profile', 'endpoint-url', 'color', 'cli-input-json'],
  flags: ['debug', 'no-paginate', 'no-cli-pager', 'no-sign-request', 'no-verify-ssl'],
};
const pageOptions = ['max-items', 'page-size', 'starting-token'];

/** Commands of the CLI's own, from its command reference. No model has them. */
const ownCommands: Readonly<Record<string, Options & { words: number }>> = {
  's3 rm': { words: 1, values: ['include', 'exclude'], flags: ['recursive', 'dryrun', 'quiet'] },
  'logs tail': {
    words: 1,
    values: ['since', 'format', 'filter-pattern', 'log-stream-names', 'log-stream-name-prefix'],
    flags: ['follow'],
  },
};

/** The operation that each waiter of the documents calls. */
const polledBy: Readonly<Record<string, string>> = {
  'cloudformation stack-rollback-complete': 'describe-stacks',
  'dynamodb table-exists': 'describe-table',
};

/** An operation's input as the clients describe it: names, types, and how many of the first names are required. */
type Structure = readonly [3, string, string, unknown, string[], unknown[], number?];

const booleanType = 2;
/** The bit that makes the number of a type that of a list of it. */
const listOfType = 64;

/** What is wrong with a command of the AWS CLI, by the models of the SDK. */
export async function problemsOfAws(
  [service = '', operation = '', ...rest]: readonly string[],
  isComplete: boolean,
): Promise<string[]> {
  const own = ownCommands[`${service} ${operation}`];
  if (own !== undefined) {
    const { words, problems } = readOptions(rest, own);
    return [...unexpected(own.words === words.length || !isComplete ? [] : words), ...problems];
  }
  const load = clients[service];
  if (load === undefined)
    return [`no model of the service ${service}: see test/support/documents/aws-command.ts`];
  const model = (await load()) as Model;
  const isWait = operation === 'wait';
  const found = operationOf(model, isWait ? polledBy[`${service} ${rest[0]}`] : operation);
  if (found === undefined)
    return [`${service} has no ${isWait ? `waiter ${rest[0]}` : `operation ${operation}`}`];
  return problemsOfOperation(found, isWait ? rest.slice(1) : rest, isComplete);
}

/** An operation of a service, with its input and output. */
interface Operation {
  input: Structure;
  output: Structure;
  isPaginated: boolean;
}

function operationOf(model: Model, name: string | undefined): Operation | undefined {
  const found = Object.values(model).find(
    (value): value is unknown[] => Array.isArray(value) && value[0] === 9 && kebabCase(value[2]) === name,
  );
  return (
    found && {
      input: structureOf(found[4]),
      output: structureOf(found[5]),
      isPaginated: `paginate${found[2]}` in model,
    }
  );
}

function problemsOfOperation(
  { input, output, isPaginated }: Operation,
  rest: readonly string[],
  isComplete: boolean,
): string[] {
  const { words, options, problems } = readOptions(rest, optionsOf(input, isPaginated));
  return [
    ...unexpected(words),
    ...problems,
    ...(isComplete && !options.has('cli-input-json') ? missingIn(input, options) : []),
    ...problemsOfQuery(output, options.get('query')?.[0]),
  ];
}

function optionsOf([, , , , names, types]: Structure, isPaginated: boolean): Options {
  const ofKind = (isOfKind: (type: unknown) => boolean) =>
    names.filter((_, index) => isOfKind([types[index]].flat()[0])).map(kebabCase);
  return {
    values: [...ofKind((type) => type !== booleanType), ...(isPaginated ? pageOptions : [])],
    lists: ofKind(isList),
    flags: ofKind((type) => type === booleanType).flatMap((flag) => [flag, `no-${flag}`]),
  };
}

const isList = (type: unknown): boolean =>
  typeof type === 'function' ? type()[0] === 1 : typeof type === 'number' && (type & listOfType) !== 0;

function missingIn(
  [, , , , names, , required = 0]: Structure,
  options: ReadonlyMap<string, string[]>,
): string[] {
  return names
    .slice(0, required)
    .map(kebabCase)
    .filter((member) => !options.has(member) && !options.has(`no-${member}`))
    .map((member) => `--${member} is missing`);
}

/** A query must begin with a member of the output. */
function problemsOfQuery([, , , , names]: Structure, query: string | undefined): string[] {
  const [first] = /^\w+/.exec(query ?? '') ?? [];
  return first === undefined || names.includes(first) ? [] : [`the output has no ${first}`];
}

const structureOf = (schema: unknown): Structure =>
  (typeof schema === 'function' ? schema() : schema) as Structure;

/** As the CLI writes names of operations and parameters. */
const kebabCase = (name: unknown): string =>
  String(name)
    .replaceAll(/(.)([A-Z][a-z]+)/g, '$1-$2')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase();

/** Reads options with their values. Words that belong to no option are returned as `words`. */
function readOptions(rest: readonly string[], known: Options) {
  const valued = new Set([...known.values, ...globalOptions.values]);
  const flags = new Set([...known.flags, ...globalOptions.flags]);
  const words: string[] = [];
  const options = new Map<string, string[]>();
  let values = words;
  for (const word of rest)
    if (word.startsWith('--')) {
      const given: string[] = [];
      options.set(word.slice(2), given);
      values = flags.has(word.slice(2)) ? words : given;
    } else values.push(word);
  const problems = [...options].flatMap(([name, given]) => {
    if (flags.has(name)) return [];
    if (!valued.has(name)) return [`there is no --${name}`];
    if (given.length === 0) return [`--${name} needs a value`];
    return known.lists?.includes(name) ? [] : unexpected(given.slice(1));
  });
  return { words, options, problems };
}

const unexpected = (words: readonly string[]): string[] => words.map((word) => `${word} is unexpected`);
