/**
 * Timeouts of every AWS client, in milliseconds. Without them, a hanging socket blocks a request until the function
 * times out. AWS responds within tens of milliseconds; 3 s are also enough for the 16 MB of a BatchGetItem.
 */
export const clientTimeouts = { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true };

/**
 * For operators' commands, before their first client: nobody waits for a response, and a scan's pages of 1 MB can take long on
 * a slow network, or on a busy machine with a local run.
 */
export const waitLonger = (): void => {
  Object.assign(clientTimeouts, { connectionTimeout: 10_000, requestTimeout: 30_000 });
};
