const expressions = new Map<string, RegExp>();

export function matchesPattern(pattern: string, text: string): boolean {
  if (pattern === '*' || pattern === text) return true;
  if (!pattern.includes('*') && !pattern.includes('?')) return false;
  let expression = expressions.get(pattern);
  if (!expression) {
    const source = pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.');
    expression = new RegExp(`^${source}$`, 's');
    expressions.set(pattern, expression);
  }
  return expression.test(text);
}
