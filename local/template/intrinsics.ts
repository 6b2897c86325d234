export type Intrinsic = (argument: unknown, at: string) => unknown;

export interface IntrinsicSources {
  resolve(value: unknown, at: string): unknown;
  reference(name: string): unknown;
  attribute(logicalId: string, name: string): unknown;
  isMet(condition: string): boolean;
}

export function createIntrinsics(sources: IntrinsicSources): Readonly<Record<string, Intrinsic>> {
  const { resolve, reference, attribute, isMet } = sources;
  const test = (term: unknown, at: string): boolean => Boolean(resolve(term, at));
  return {
    Ref: (name) => reference(String(name)),
    'Fn::GetAtt': (argument, at) => {
      const [logicalId, ...name] = typeof argument === 'string' ? argument.split('.') : list(argument, at);
      return attribute(String(logicalId), name.join('.'));
    },
    'Fn::Join': (argument, at) => {
      const [separator, parts] = list(argument, at);
      const texts = list(resolve(parts, at), at).map((part) => text(part, at));
      return texts.join(String(separator));
    },
    'Fn::Split': (argument, at) => {
      const [separator, source] = list(argument, at);
      return text(resolve(source, at), at).split(String(separator));
    },
    'Fn::Select': (argument, at) => {
      const [index, source] = list(argument, at);
      return list(resolve(source, at), at)[Number(resolve(index, at))];
    },
    'Fn::Sub': (argument, at) => {
      const [pattern, variables] = Array.isArray(argument) ? argument : [argument, {}];
      const values = resolve(variables, at) as Record<string, unknown>;
      return String(pattern).replace(/\$\{(!?)([^}]+)\}/g, (match, literal: string, name: string) => {
        if (literal) return match.replace('!', '');
        if (name in values) return text(values[name], at);
        const [logicalId = '', ...rest] = name.split('.');
        return text(rest.length > 0 ? attribute(logicalId, rest.join('.')) : reference(name), at);
      });
    },
    'Fn::If': (argument, at) => {
      const [condition, yes, no] = list(argument, at);
      return resolve(isMet(String(condition)) ? yes : no, at);
    },
    'Fn::Equals': (pair, at) => {
      const [left, right] = list(resolve(pair, at), at);
      return String(left) === String(right);
    },
    'Fn::And': (terms, at) => list(terms, at).every((term) => test(term, at)),
    'Fn::Or': (terms, at) => list(terms, at).some((term) => test(term, at)),
    'Fn::Not': (terms, at) => !test(list(terms, at)[0], at),
    Condition: (name) => isMet(String(name)),
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
