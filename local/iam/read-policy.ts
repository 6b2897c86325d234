import { actionsWithAttributes } from '../dynamodb/written-attributes.ts';
import type { PolicyStatement } from './access-rules.ts';
import { readConditions } from './conditions.ts';

const ELEMENTS = [
  'Action',
  'Condition',
  'Effect',
  'NotAction',
  'NotResource',
  'Principal',
  'Resource',
  'Sid',
];

/** Conditions of a statement are ignored if its actions are only of other services. */
const CHECKED = ['dynamodb', 'kms', 'lambda', 's3', 'secretsmanager', 'sqs', 'ssm', 'states', 'sts'];

/** @throws Error, for example if a statement has an element that the runner does not support */
export function readPolicy(document: unknown, source: string): PolicyStatement[] {
  const { Statement } = document as { Statement?: unknown };
  return [Statement ?? []].flat().map((entry, index) => {
    const where = `${source}[${index}]`;
    try {
      return readStatement(entry as Record<string, unknown>, where);
    } catch (error) {
      throw new Error(`${where}: ${(error as Error).message}`);
    }
  });
}

function readStatement(entry: Record<string, unknown>, source: string): PolicyStatement {
  const unsupported = Object.keys(entry).find((element) => !ELEMENTS.includes(element));
  if (unsupported) throw new Error(`${unsupported} is not known locally`);
  const { Effect, Condition } = entry;
  if (Effect !== 'Allow' && Effect !== 'Deny') throw new Error(`the effect ${Effect} is not known`);
  const actions = listOf(entry.Action);
  const notActions = listOf(entry.NotAction);
  const [resources, notResources] = [listOf(entry.Resource), listOf(entry.NotResource)];
  if ((actions === undefined) === (notActions === undefined))
    throw new Error('a statement has either Action or NotAction');
  const variable = [resources, notResources].flat().find((resource) => resource?.includes('${'));
  if (variable) throw new Error(`variables are not known locally: ${variable}`);
  const principals = principalsOf(entry.Principal);
  const isChecked = actions?.some(
    (action) => CHECKED.includes(action.split(':')[0]?.toLowerCase() ?? '') || action.startsWith('*'),
  );
  const conditions = isChecked === false ? [] : readConditions(Condition);
  const others = (actions ?? ['*']).filter((action) => !actionsWithAttributes.includes(action));
  if (conditions.some(({ key }) => key === 'dynamodb:attributes') && others.length > 0)
    throw new Error(`the condition key dynamodb:Attributes is not known locally for ${others.join(' and ')}`);
  return {
    source,
    effect: Effect,
    ...(actions && { actions }),
    ...(notActions && { notActions }),
    ...(resources && { resources }),
    ...(notResources && { notResources }),
    ...(principals && { principals }),
    conditions,
  };
}

function principalsOf(principal: unknown): string[] | undefined {
  if (principal === undefined) return undefined;
  if (principal === '*') return ['*'];
  return Object.entries(principal as Record<string, unknown>).flatMap(([kind, names]) =>
    (listOf(names) ?? []).map((name) => (kind === 'AWS' && name === '*' ? '*' : `${kind}:${name}`)),
  );
}

const listOf = (value: unknown): string[] | undefined =>
  value === undefined ? undefined : [value].flat().map(String);
