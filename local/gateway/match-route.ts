import type { PathNode } from './api-model.ts';

export interface RouteMatch {
  readonly node: PathNode;
  /** Decoded, except values whose percent-encoding is invalid; null if the route has none. */
  readonly pathParameters: Record<string, string> | null;
}

/** Undefined if no route matches. A fixed part has priority over `{name}`, and `{name}` over `{name+}`. */
export function matchRoute(root: PathNode, path: string): RouteMatch | undefined {
  const trimmed = path.replace(/^\//, '').replace(/\/$/, '');
  return descend(root, trimmed === '' ? [] : trimmed.split('/'));
}

function descend(node: PathNode, segments: readonly string[]): RouteMatch | undefined {
  const [segment, ...rest] = segments;
  if (segment === undefined) return node.methods.size > 0 ? { node, pathParameters: null } : undefined;

  // A client may send the text `{id}` itself. It is a value of the variable, not a fixed part.
  const isFixed = ({ pathPart }: PathNode) => pathPart === decode(segment) && !pathPart.startsWith('{');
  const fixed = node.children.find(isFixed);
  const viaFixed = fixed && descend(fixed, rest);
  if (viaFixed) return viaFixed;

  const variable = node.children.find(({ pathPart }) => /^\{[^+}]+\}$/.test(pathPart));
  const viaVariable = variable && segment !== '' ? descend(variable, rest) : undefined;
  if (variable && viaVariable)
    return {
      node: viaVariable.node,
      pathParameters: { [variable.pathPart.slice(1, -1)]: decode(segment), ...viaVariable.pathParameters },
    };

  const greedy = node.children.find(({ pathPart }) => pathPart.endsWith('+}'));
  if (!greedy) return undefined;
  return { node: greedy, pathParameters: { [greedy.pathPart.slice(1, -2)]: decode(segments.join('/')) } };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
