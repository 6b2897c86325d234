import type { Node } from 'constructs';
import * as z from 'zod';
import { WrongSettings } from './settings/describe-issues.ts';
import { parseSettings } from './settings.ts';

export type Stage = ReturnType<typeof readStage>;

/**
 * Names of resources contain the stage's name. That of a CloudFront function has at most 64 characters: 14 are for the
 * Region, and 27 for the other parts.
 */
const stageName = /^[A-Za-z0-9][A-Za-z0-9-]{0,22}$/;

/**
 * `-c stage=…` names a stage of cdk.json, by default production; `-c settings='{"…": …}'` overrides single settings.
 * @throws WrongSettings
 */
export function readStage(node: Node) {
  const stages = readStages(node.tryGetContext('stages'));
  const name: unknown = node.tryGetContext('stage') ?? 'production';
  const chosen = typeof name === 'string' && Object.hasOwn(stages, name) ? stages[name] : undefined;
  if (typeof name !== 'string' || chosen === undefined)
    throw new WrongSettings(
      `Unknown stage ${name}; the stages of cdk.json are ${Object.keys(stages).join(', ')}`,
    );
  if (!stageName.test(name))
    throw new WrongSettings(
      `Stage ${name}: a name has 1 to 23 letters, digits and hyphens, and begins with a letter or digit`,
    );
  const given = { ...chosen, ...readOverrides(node.tryGetContext('settings')) };
  return { name, settings: parseSettings(given) };
}

function readStages(context: unknown): Record<string, Record<string, unknown>> {
  const read = z.record(z.string(), z.record(z.string(), z.unknown())).safeParse(context);
  if (read.success) return read.data;
  const paths = read.error.issues.map(({ path }) => ['stages', ...path.map(String)].join('.'));
  throw new WrongSettings(
    `Settings: in the context of cdk.json, ${paths.join(' and ')} must be a JSON object`,
  );
}

function readOverrides(context: unknown): Record<string, unknown> {
  if (context === undefined) return {};
  const overrides = typeof context === 'string' ? parseJson(context) : context;
  if (typeof overrides !== 'object' || overrides === null || Array.isArray(overrides))
    throw new WrongSettings(
      `Settings: -c settings takes a JSON object, such as '{"streamTimeoutSeconds": 60}'`,
    );
  return { ...overrides };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
