import type { Permission, PolicyStatement, RequestContext } from './access-rules.ts';
import { meetsConditions } from './conditions.ts';
import { matchesPattern } from './matches-pattern.ts';

export interface Match {
  readonly statement: PolicyStatement;
  readonly action: string;
  /** The statement's pattern that matches the resource; `*` if the statement has no `Resource`. */
  readonly resource: string;
}

/** With `principals`, the statement must name one of these. */
export type FindStatement = (
  effect: PolicyStatement['effect'],
  statements: readonly PolicyStatement[],
  needed: Permission,
  context: RequestContext,
  principals?: readonly string[],
) => Match | undefined;

/** The finder caches by list: the statements of a list must not change. */
export function createStatementFinder(): FindStatement {
  const candidates = new WeakMap<readonly PolicyStatement[], Map<string, readonly PolicyStatement[]>>();

  function statementsFor(statements: readonly PolicyStatement[], action: string): readonly PolicyStatement[] {
    const byAction = candidates.get(statements) ?? new Map<string, readonly PolicyStatement[]>();
    candidates.set(statements, byAction);
    const cached = byAction.get(action);
    if (cached) return cached;
    const found = statements.filter(({ actions, notActions = [] }) =>
      actions
        ? actions.some((pattern) => matchesAction(pattern, action))
        : !notActions.some((pattern) => matchesAction(pattern, action)),
    );
    byAction.set(action, found);
    return found;
  }

  return (effect, statements, { action, resource }, context, principals) => {
    for (const statement of statementsFor(statements, action)) {
      if (statement.effect !== effect) continue;
      if (principals && !statement.principals?.some((principal) => principals.includes(principal))) continue;
      const matched = resourceOf(statement, resource);
      if (matched === undefined || !meetsConditions(statement.conditions, context)) continue;
      return { statement, action, resource: matched };
    }
    return undefined;
  };
}

/** Names of actions are not case-sensitive. */
export const matchesAction = (pattern: string, action: string): boolean =>
  matchesPattern(pattern.toLowerCase(), action.toLowerCase());

function resourceOf({ resources, notResources }: PolicyStatement, resource: string): string | undefined {
  if (resources) return resources.find((pattern) => matchesPattern(pattern, resource));
  if (notResources?.some((pattern) => matchesPattern(pattern, resource))) return undefined;
  return '*';
}
