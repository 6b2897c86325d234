import { limits } from '#contract/limits.ts';
import type { Route } from '#contract/routes/route.ts';
import { environment } from '#runtime/environment/environment.ts';

/**
 * In milliseconds. The time of a reply starts when its request reaches the function.
 * @param remainingMilliseconds until the timeout of the route
 */
export function timeForModel(
  { timeoutSeconds }: Pick<Route, 'timeoutSeconds'>,
  isStreamed: boolean,
  remainingMilliseconds: number,
): number {
  const seconds = isStreamed ? limits.replySeconds : environment('plainReplySeconds');
  const elapsed = timeoutSeconds * 1000 - remainingMilliseconds;
  return seconds * 1000 - elapsed;
}
