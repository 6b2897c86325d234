import type { Session } from '../iam/access-rules.ts';

export interface Definition {
  readonly StartAt: string;
  readonly TimeoutSeconds?: number;
  readonly States: Readonly<Record<string, State>>;
}

export interface State {
  readonly Type: string;
  readonly Resource?: string;
  readonly Parameters?: unknown;
  readonly TimeoutSeconds?: number;
  readonly ResultPath?: string | null;
  readonly Result?: unknown;
  readonly Catch?: readonly { readonly ResultPath?: string | null }[];
}

const INVOKE = 'arn:aws:states:::lambda:invoke';
const INVOKE_AND_WAIT = `${INVOKE}.waitForTaskToken`;

export const waitsForToken = ({ Resource }: State): boolean => Resource === INVOKE_AND_WAIT;

export const callsDirectly = ({ Resource = '' }: State): boolean => Resource.startsWith('arn:aws:lambda:');

export const callsFunction = (state: State): boolean =>
  state.Resource === INVOKE || waitsForToken(state) || callsDirectly(state);

export interface Machine {
  readonly arn: string;
  readonly name: string;
  readonly role: Session;
  readonly definition: Definition;
}
