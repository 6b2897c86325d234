import { matchesPattern } from '../iam/matches-pattern.ts';

export interface PolicyStatement {
  readonly Action?: string | readonly string[];
  readonly Effect?: string;
  readonly Resource?: string | readonly string[];
}

export type PolicyEffect = 'allow' | 'explicit deny' | 'implicit deny';

/** The effect of an authorizer's policy on one method. */
export function policyEffect(statements: readonly PolicyStatement[], methodArn: string): PolicyEffect {
  const matching = statements.filter(
    ({ Action, Resource }) =>
      listOf(Action).some((action) => matchesPattern(action.toLowerCase(), 'execute-api:invoke')) &&
      listOf(Resource).some((resource) => matchesPattern(resource, methodArn)),
  );
  if (matching.some(({ Effect }) => Effect === 'Deny')) return 'explicit deny';
  return matching.some(({ Effect }) => Effect === 'Allow') ? 'allow' : 'implicit deny';
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return typeof value === 'string' ? [value] : (value ?? []);
}
