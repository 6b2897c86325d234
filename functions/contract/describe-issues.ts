import type * as z from 'zod';

/**
 * The control characters C0, DEL and C1, the separators of lines and paragraphs, and the embeddings, overrides and
 * isolates of bidirectional text, which can show `txt.exe` as `exe.txt`.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finds these characters
export const controlCharacters = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

type Issue = z.core.$ZodIssue;

const issuesShown = 10;

/**
 * Such as `requests[17].custom_id must not be empty`.
 * @param rootName the name of the whole value, for issues without a path
 */
export function describeIssues(issues: readonly Issue[], rootName = 'The body'): string {
  const sentences = issues.slice(0, issuesShown).map((issue) => describeIssue(issue, rootName));
  const more = issues.length - sentences.length;
  return sentences.join('; ') + (more > 0 ? `; and ${more} more` : '');
}

export const describeIssue = (issue: Issue, rootName: string): string =>
  `${pathOf(issue) || rootName} ${problemOf(issue)}`;

const pathOf = (issue: Issue): string =>
  issue.path.reduce<string>(
    (text, step) =>
      typeof step === 'number' ? `${text}[${step}]` : text === '' ? String(step) : `${text}.${String(step)}`,
    '',
  );

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'an array',
  object: 'an object',
  record: 'an object',
};

const isNumeric = ({ origin }: { origin: string }): boolean => origin === 'number' || origin === 'int';

function problemOf(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is required'
        : `must be ${typeNames[issue.expected] ?? `of type ${issue.expected}`}`;
    case 'invalid_value':
      return issue.input === undefined
        ? 'is required'
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'unrecognized_keys':
      return `has the unknown field${issue.keys.length === 1 ? '' : 's'} ${issue.keys.join(', ')}`;
    case 'too_small':
      return isNumeric(issue) ? `must be at least ${issue.minimum}` : issue.message;
    case 'too_big':
      return isNumeric(issue) ? `must be at most ${issue.maximum}` : issue.message;
    case 'invalid_format':
      return issue.format === 'guid' ? 'must be a UUID' : issue.message;
    default:
      return issue.message;
  }
}
