/**
 * Timeouts of every AWS client, in milliseconds. Without them, a hanging socket blocks a request until the function
 * times out. AWS responds within tens of milliseconds; 3 s are also enough for the 16 MB of a BatchGetItem.
 */
export const clientTimeouts = { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true };
