import type { Template } from './read-assembly.ts';

export interface ResolverSources {
  readonly template: Template;
  /** By name, such as AWS::Region. */
  readonly pseudoParameters: Readonly<Record<string, string>>;
  ref(logicalId: string): string;
  attribute(logicalId: string, name: string): unknown;
}

export interface Resolver {
  resolve(value: unknown, logicalId: string): unknown;
  /** Whether the condition of this name is true; true for undefined. */
  isMet(condition: string | undefined): boolean;
}

/** Represents AWS::NoValue: a property or list entry that resolves to it is omitted. */
const NO_VALUE = Symbol('AWS::NoValue');

type Intrinsic = (argument: unknown, at: string) => unknown;

/** Replaces the intrinsic functions of a CloudFormation template by their results. */
export function createResolver({ template, pseudoParameters, ref, attribute }: ResolverSources): Resolver {
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

  const conditions: Record<string, Intrinsic> = {
    'Fn::Equals': (pair, at) => {
      const [left, right] = list(walk(pair, at), at);
      return String(left) === String(right);
    },
    'Fn::And': (terms, at) => list(terms, at).every((term) => test(term, at)),
    'Fn::Or': (terms, at) => list(terms, at).some((term) => test(term, at)),
    'Fn::Not': (terms, at) => !test(list(terms, at)[0], at),
    Condition: (name) => isMet(String(name)),
  };

  const intrinsics: Record<string, Intrinsic> = {
    Ref: (name) => resolveReference(String(name)),
    'Fn::GetAtt': (argument, at) => {
      const [logicalId, ...name] = typeof argument === 'string' ? argument.split('.') : list(argument, at);
      return attribute(String(logicalId), name.join('.'));
    },
    'Fn::Join': (argument, at) => {
      const [separator, parts] = list(argument, at);
      return list(walk(parts, at), at)
        .map((part) => text(part, at))
        .join(String(separator));
    },
    'Fn::Split': (argument, at) => {
      const [separator, source] = list(argument, at);
      return text(walk(source, at), at).split(String(separator));
    },
    'Fn::Select': (argument, at) => {
      const [index, source] = list(argument, at);
      return list(walk(source, at), at)[Number(walk(index, at))];
    },
    'Fn::Sub': (argument, at) => {
      const [pattern, variables] = Array.isArray(argument) ? argument : [argument, {}];
      const values = walk(variables, at) as Record<string, unknown>;
      return String(pattern).replace(/\$\{(!?)([^}]+)\}/g, (match, literal: string, name: string) => {
        if (literal) return match.replace('!', '');
        if (name in values) return text(values[name], at);
        const [logicalId = '', ...rest] = name.split('.');
        return text(rest.length > 0 ? attribute(logicalId, rest.join('.')) : resolveReference(name), at);
      });
    },
    'Fn::If': (argument, at) => {
      const [condition, yes, no] = list(argument, at);
      return walk(isMet(String(condition)) ? yes : no, at);
    },
    'Fn::FindInMap': (argument, at) => {
      const [map, first, second] = list(walk(argument, at), at).map(String);
      const found = template.Mappings?.[map ?? '']?.[first ?? '']?.[second ?? ''];
      if (found === undefined) throw new Error(`${at}: no entry ${map}.${first}.${second} in Mappings`);
      return found;
    },
    'Fn::Base64': (source, at) => Buffer.from(text(walk(source, at), at)).toString('base64'),
    ...conditions,
  };

  function test(term: unknown, at: string): boolean {
    return Boolean(walk(term, at));
  }

  function isMet(name: string | undefined): boolean {
    if (name === undefined) return true;
    const condition = template.Conditions?.[name];
    if (condition === undefined) throw new Error(`${name} (condition) is not defined`);
    return test(condition, name);
  }

  function walk(value: unknown, at: string): unknown {
    if (Array.isArray(value)) {
      return value.map((entry) => walk(entry, at)).filter((entry) => entry !== NO_VALUE);
    }
    if (typeof value !== 'object' || value === null) return value;
    const entries = Object.entries(value);
    const [only] = entries;
    if (entries.length === 1 && only) {
      const [name, argument] = only;
      // IAM statements and Step Functions states may have a single key `Condition` too. Only a string is the intrinsic.
      const intrinsic = name === 'Condition' && typeof argument !== 'string' ? undefined : intrinsics[name];
      if (intrinsic) return intrinsic(argument, at);
      if (name.startsWith('Fn::')) throw new Error(`${at}: the intrinsic ${name} is not supported locally`);
    }
    return Object.fromEntries(
      entries.map(([key, entry]) => [key, walk(entry, at)]).filter(([, entry]) => entry !== NO_VALUE),
    );
  }

  return {
    isMet,
    resolve(value, at) {
      const resolved = walk(value, at);
      return resolved === NO_VALUE ? undefined : resolved;
    },
  };
}

function list(value: unknown, at: string): unknown[] {
  if (!Array.isArray(value))
    throw new Error(`${at}: an intrinsic expects a list, got ${JSON.stringify(value)}`);
  return value;
}

function text(value: unknown, at: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
    return String(value);
  throw new Error(`${at}: an intrinsic expects text, got ${JSON.stringify(value)}`);
}
