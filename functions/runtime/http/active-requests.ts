let active = 0;

/** Counts a request of a web function. @returns ends it */
export function startRequest(): () => void {
  active += 1;
  return () => {
    active -= 1;
  };
}

/** Requests of this process that have not ended, with what they do after their responses. */
export const activeRequests = (): number => active;

/** A Lambda function serves one request at a time and counts none. */
export const isOnlyRequest = (): boolean => active <= 1;
