/**
 * Of every AWS client, milliseconds. Without them a socket that hangs would hold a request until its function's time is
 * up. The services answer within tens of milliseconds; 3 s also let the 16 MB of a batch read through.
 */
export const clientTimeouts = { connectionTimeout: 1000, requestTimeout: 3000, throwOnRequestTimeout: true };
