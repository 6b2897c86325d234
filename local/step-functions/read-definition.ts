import { findFunction } from '../lambda/find-function.ts';
import type { RunContext } from '../run-context.ts';
import { callsDirectly, callsFunction, type Definition, type State } from './definition.ts';
import type { Emulator } from './run-execution.ts';

const MACHINE_FIELDS = ['Comment', 'QueryLanguage', 'StartAt', 'States', 'TimeoutSeconds', 'Version'];

const COMMON = ['Comment', 'InputPath', 'OutputPath', 'QueryLanguage', 'Type'];
const TRANSITION = ['End', 'Next'];

const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Choice: [...COMMON, 'Choices', 'Default'],
  Fail: ['Comment', 'QueryLanguage', 'Type', 'Cause', 'CausePath', 'Error', 'ErrorPath'],
  Pass: [...COMMON, ...TRANSITION, 'Parameters', 'Result', 'ResultPath'],
  Succeed: COMMON,
  Task: [
    ...COMMON,
    ...TRANSITION,
    'Catch',
    'Parameters',
    'Resource',
    'ResultPath',
    'ResultSelector',
    'Retry',
    'TimeoutSeconds',
  ],
  Wait: [...COMMON, ...TRANSITION, 'Seconds', 'SecondsPath', 'Timestamp', 'TimestampPath'],
};

// Node's timers take at most 2^31 - 1 ms (24.8 days). AWS's default for a task, 99,999,999 s, would fire immediately.
const MAX_TIMER_SECONDS = Math.floor((2 ** 31 - 1) / 1000);

/**
 * @param options.isChecked whether the emulator has checked this definition at an earlier start
 * @throws Error for what cannot run here, and for an invalid definition
 */
export function readDefinition(
  text: string,
  emulator: Emulator,
  context: RunContext,
  options: { readonly isChecked: boolean },
): Definition {
  const definition = JSON.parse(text) as Definition;
  const unsupported = Object.keys(definition).find((field) => !MACHINE_FIELDS.includes(field));
  if (unsupported) throw new Error(`${unsupported} is not available locally`);
  const states = Object.entries(definition.States ?? {});
  for (const [name, state] of [['the machine', definition], ...states] as [string, object][]) {
    const { QueryLanguage: language = 'JSONPath' } = state as { QueryLanguage?: string };
    if (language !== 'JSONPath') throw new Error(`${name}: ${language} is not available locally`);
  }
  for (const [name, state] of states) checkState(name, state, context);
  // The constructor checks the definition.
  if (!options.isChecked) new emulator.StateMachine(definition as never);
  return {
    ...definition,
    ...(definition.TimeoutSeconds !== undefined && {
      TimeoutSeconds: Math.min(definition.TimeoutSeconds, MAX_TIMER_SECONDS),
    }),
    States: Object.fromEntries(states.map(([name, state]) => [name, adapt(state)])),
  };
}

function checkState(name: string, state: State, context: RunContext): void {
  const fields = FIELDS[state.Type];
  if (!fields) throw new Error(`the state "${name}": the type ${state.Type} is not available locally`);
  const unsupported = Object.keys(state).find((field) => !fields.includes(field));
  if (unsupported) throw new Error(`the state "${name}": ${unsupported} is not available locally`);
  if (state.Type !== 'Task') return;
  if (!callsFunction(state)) {
    throw new Error(
      `the state "${name}": ${state.Resource} is not available locally, only Lambda functions are`,
    );
  }
  const { FunctionName, InvocationType = 'RequestResponse' } = (state.Parameters ?? {}) as Record<
    string,
    unknown
  >;
  const functionReference = callsDirectly(state) ? state.Resource : FunctionName;
  if (typeof functionReference === 'string' && !findFunction(context, functionReference)) {
    throw new Error(`the state "${name}": the function ${functionReference} is not in the template`);
  }
  if (InvocationType !== 'RequestResponse') {
    throw new Error(`the state "${name}": InvocationType ${InvocationType} is not available locally`);
  }
}

function adapt(state: State): State {
  const adapted: Record<string, unknown> = withoutWholePath(state);
  // Without a timeout, the emulator would end a task after 60 s.
  if (state.Type === 'Task') {
    adapted.TimeoutSeconds = Math.min(state.TimeoutSeconds ?? MAX_TIMER_SECONDS, MAX_TIMER_SECONDS);
  }
  if (state.Catch) adapted.Catch = state.Catch.map(withoutWholePath);
  // The emulator ignores a Result of false, 0, null or "".
  if (state.Type === 'Pass' && 'Result' in state && !state.Result) adapted.Parameters = state.Result;
  return adapted as unknown as State;
}

/** "$" is the default. The emulator would write to a field with this name. */
function withoutWholePath<Fields extends { readonly ResultPath?: string | null }>(
  fields: Fields,
): Record<string, unknown> {
  const { ResultPath, ...rest } = fields;
  return ResultPath === undefined || ResultPath === '$' ? rest : { ...rest, ResultPath };
}
