import { synthesize } from './synthesize.ts';

export interface Retrier {
  ErrorEquals: string[];
  IntervalSeconds: number;
  BackoffRate: number;
  MaxAttempts: number;
  MaxDelaySeconds: number;
  JitterStrategy: string;
}

export interface State {
  Type: string;
  TimeoutSeconds?: number;
  Next?: string;
  Retry?: Retrier[];
  Catch?: { ErrorEquals: string[]; Next: string }[];
}

/**
 * The definition of the batch workflow. Each function has its logical id as its name; other values that are known only
 * after the deployment are `aws`.
 */
export function workflowDefinition(context = {}): { StartAt: string; States: Record<string, State> } {
  const [machine] = Object.values(synthesize(context).resources('AWS::StepFunctions::StateMachine'));
  if (machine === undefined) throw new Error('The template has no state machine');
  const definition = machine.Properties.DefinitionString as { 'Fn::Join': [string, unknown[]] };
  const textOf = (part: unknown): string => {
    if (typeof part === 'string') return part;
    const { 'Fn::GetAtt': [logicalId] = [] } = part as { 'Fn::GetAtt'?: string[] };
    return logicalId === undefined ? 'aws' : `arn:aws:lambda:us-east-1:000000000000:function:${logicalId}`;
  };
  return JSON.parse(definition['Fn::Join'][1].map(textOf).join(''));
}
