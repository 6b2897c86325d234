import { findFunction } from '../lambda/find-function.ts';
import type { RunContext } from '../run-context.ts';
import { callsDirectly, callsFunction, type Definition, type State } from './definition.ts';
import type { Emulator } from './run-execution.ts';

const MACHINE_FIELDS = ['Comment', 'QueryLanguage', 'StartAt', 'States', 'TimeoutSeconds', 'Version'];

const EVERYWHERE = ['Comment', 'InputPath', 'OutputPath', 'QueryLanguage', 'Type'];
const GOES_ON = ['End', 'Next'];

/** What the engine does as AWS does. Another field would be passed over in silence. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  Choice: [...EVERYWHERE, 'Choices', 'Default'],
  Fail: ['Comment', 'QueryLanguage', 'Type', 'Cause', 'CausePath', 'Error', 'ErrorPath'],
  Pass: [...EVERYWHERE, ...GOES_ON, 'Parameters', 'Result', 'ResultPath'],
  Succeed: EVERYWHERE,
  Task: [
    ...EVERYWHERE,
    ...GOES_ON,
    'Catch',
    'Parameters',
    'Resource',
    'ResultPath',
    'ResultSelector',
    'Retry',
    'TimeoutSeconds',
  ],
  Wait: [...EVERYWHERE, ...GOES_ON, 'Seconds', 'SecondsPath', 'Timestamp', 'TimestampPath'],
};

// Node's timers end at 2^31 ms; AWS's own default, 99,999,999 s, would fire at once. 24 days outlast a run here.
const LONGEST_SECONDS = Math.floor((2 ** 31 - 1) / 1000);

/** The definition for the engine; throws for what it would run otherwise than AWS. */
export function readDefinition(
  text: string,
  emulator: Emulator,
  context: RunContext,
  options: { readonly isChecked: boolean },
): Definition {
  const definition = JSON.parse(text) as Definition;
  const strange = Object.keys(definition).find((field) => !MACHINE_FIELDS.includes(field));
  if (strange) throw new Error(`${strange} is not available locally`);
  const states = Object.entries(definition.States ?? {});
  for (const [name, state] of [['the machine', definition], ...states] as [string, object][]) {
    const { QueryLanguage: language = 'JSONPath' } = state as { QueryLanguage?: string };
    if (language !== 'JSONPath') throw new Error(`${name}: ${language} is not available locally`);
  }
  for (const [name, state] of states) checkState(name, state, context);
  // Its constructor checks the definition.
  if (!options.isChecked) new emulator.StateMachine(definition as never);
  return {
    ...definition,
    ...(definition.TimeoutSeconds !== undefined && {
      TimeoutSeconds: Math.min(definition.TimeoutSeconds, LONGEST_SECONDS),
    }),
    States: Object.fromEntries(states.map(([name, state]) => [name, adapt(state)])),
  };
}

function checkState(name: string, state: State, context: RunContext): void {
  const fields = FIELDS[state.Type];
  if (!fields) throw new Error(`the state "${name}": the type ${state.Type} is not available locally`);
  const strange = Object.keys(state).find((field) => !fields.includes(field));
  if (strange) throw new Error(`the state "${name}": ${strange} is not available locally`);
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
  const wanted = callsDirectly(state) ? state.Resource : FunctionName;
  if (typeof wanted === 'string' && !findFunction(context, wanted)) {
    throw new Error(`the state "${name}": the function ${wanted} is not in the template`);
  }
  if (InvocationType !== 'RequestResponse') {
    throw new Error(`the state "${name}": InvocationType ${InvocationType} is not available locally`);
  }
}

/** The same meaning in words that the engine takes as AWS does. */
function adapt(state: State): State {
  const adapted: Record<string, unknown> = withoutWholePath(state);
  // Without one the engine would end a task after a minute.
  if (state.Type === 'Task') {
    adapted.TimeoutSeconds = Math.min(state.TimeoutSeconds ?? LONGEST_SECONDS, LONGEST_SECONDS);
  }
  if (state.Catch) adapted.Catch = state.Catch.map(withoutWholePath);
  // It overlooks a result of false, 0, null or "".
  if (state.Type === 'Pass' && 'Result' in state && !state.Result) adapted.Parameters = state.Result;
  return adapted as unknown as State;
}

/** "$" is what a missing ResultPath means, but the engine takes it for a field of that name. */
function withoutWholePath<Holder extends { readonly ResultPath?: string | null }>(
  holder: Holder,
): Record<string, unknown> {
  const { ResultPath, ...rest } = holder;
  return ResultPath === undefined || ResultPath === '$' ? rest : { ...rest, ResultPath };
}
