import { type ErrorKind, ServiceError } from '../errors.ts';

/** OpenAI's clients retry a failed request twice. This header says that it would run, and be paid, again. */
export const shouldRetryHeader = 'x-should-retry';

/** An error with the fields of OpenAI's error object. */
export class OpenAiError extends ServiceError {
  /** The parameter that is wrong, such as `messages[0].role`; null if it is none. */
  readonly param: string | null;
  readonly code: string | null;
  private readonly ownStatus: number | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    options: ConstructorParameters<typeof ServiceError>[2] & {
      param?: string;
      code?: string;
      /** Replaces the status of the kind. */
      status?: number;
    } = {},
  ) {
    super(kind, message, options);
    this.param = options.param ?? null;
    this.code = options.code ?? null;
    this.ownStatus = options.status;
  }

  override get status(): number {
    return this.ownStatus ?? super.status;
  }
}

export const invalidParameter = (param: string, problem: string): OpenAiError =>
  new OpenAiError('badRequest', `${param} ${problem}`, { param });

/** Enough to recognize a name in an error. */
const charactersShown = 100;

export const modelNotFound = (model: string): OpenAiError =>
  new OpenAiError(
    'notFound',
    `The model ${JSON.stringify(model.slice(0, charactersShown))} does not exist: a model is the id of a published agent, as GET /openai/models lists them`,
    { param: 'model', code: 'model_not_found' },
  );

/** A wrong key, in the words that OpenAI's clients know. */
export const invalidApiKey = () =>
  new OpenAiError(
    'unauthenticated',
    'Incorrect API key provided: send a valid key in the header Authorization, as "Bearer ak_…"',
    { code: 'invalid_api_key', status: 401 },
  );

/** The workspace is there, and an operator can allow it. */
export const openAiDisabled = () =>
  new OpenAiError(
    'accessDenied',
    'The OpenAI-compatible routes are off for this workspace: an operator turns them on with "agentctl workspaces update WORKSPACE --openai on"',
    { code: 'openai_disabled' },
  );
