import { storedKey, storedOperatorToken } from './session.js';

/** An operation that failed, with all reasons. */
export class OperationFailed extends Error {
  /** @param {string[]} reasons */
  constructor(reasons) {
    super(reasons.join(' '));
    this.reasons = reasons;
  }
}

/**
 * Runs an operation of the operator on this machine. The run accepts it only with its token, and from a page of its own
 * address.
 *
 * @template Result
 * @param {'list' | 'get' | 'create' | 'update' | 'publish' | 'rollback' | 'test'} name
 * @param {Record<string, unknown>} [input]
 * @returns {Promise<Result>}
 */
export async function operate(name, input = {}) {
  const response = await fetch(`/operator/${name}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'x-operator-token': storedOperatorToken() },
    body: JSON.stringify(input),
  }).catch(() => {
    throw new OperationFailed(['The service does not respond. Is the local run still there?']);
  });
  const body = await response
    .json()
    .catch(() => ({ errors: [`The response has the status ${response.status}.`] }));
  if (!response.ok) throw new OperationFailed(body.errors);
  return body;
}

/** The input of an operation on a workspace: the API key, which belongs to one. */
export const ofKey = () => ({ api_key: storedKey() });
