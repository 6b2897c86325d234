import { createIntrinsics } from './intrinsics.ts';
import type { Template } from './read-assembly.ts';

export interface ResolverSources {
  readonly template: Template;
  readonly pseudoParameters: Readonly<Record<string, string>>;
  ref(logicalId: string): string;
  attribute(logicalId: string, name: string): unknown;
}

/** Represents AWS::NoValue: a property or list entry that resolves to it is omitted. */
const NO_VALUE = Symbol('AWS::NoValue');

export function createResolver({ template, pseudoParameters, ref, attribute }: ResolverSources) {
  const intrinsics = createIntrinsics({ resolve: walk, reference: resolveReference, attribute, isMet });

  function resolveReference(name: string): unknown {
    if (name === 'AWS::NoValue') return NO_VALUE;
    if (name in pseudoParameters) return pseudoParameters[name];
    const parameter = template.Parameters?.[name];
    if (parameter) {
      if (parameter.Default === undefined) throw new Error(`${name} (parameter) has no default value`);
      const isList = /^(CommaDelimitedList|List<.*>)$/.test(parameter.Type);
      return isList ? String(parameter.Default).split(',') : parameter.Default;
    }
    return ref(name);
  }

  function isMet(name: string | undefined): boolean {
    if (name === undefined) return true;
    const condition = template.Conditions?.[name];
    if (condition === undefined) throw new Error(`${name} (condition) is not defined`);
    return Boolean(walk(condition, name));
  }

  function walk(value: unknown, at: string): unknown {
    if (Array.isArray(value)) return value.map((entry) => walk(entry, at)).filter(isValue);
    if (typeof value !== 'object' || value === null) return value;
    const [name, argument] = calledIntrinsic(value) ?? [];
    const intrinsic = name === undefined ? undefined : intrinsics[name];
    if (intrinsic) return intrinsic(argument, at);
    if (name?.startsWith('Fn::')) throw new Error(`${at}: the intrinsic ${name} is not supported locally`);
    const entries = Object.entries(value).map(([key, entry]) => [key, walk(entry, at)]);
    return Object.fromEntries(entries.filter(([, entry]) => isValue(entry)));
  }

  return {
    isMet,
    resolve(value: unknown, at: string): unknown {
      const resolved = walk(value, at);
      return isValue(resolved) ? resolved : undefined;
    },
  };
}

const isValue = (resolved: unknown): boolean => resolved !== NO_VALUE;

function calledIntrinsic(value: object): [name: string, argument: unknown] | undefined {
  const entries = Object.entries(value);
  const [[name, argument] = ['', undefined]] = entries;
  if (entries.length !== 1) return undefined;
  // An object with `Condition` as its only key is the intrinsic only if the value is a string.
  return name === 'Condition' && typeof argument !== 'string' ? undefined : [name, argument];
}
