/**
 * A limited number of slots in the whole stage. `replies` and `uploads`: the requests that the environments of a web
 * function serve at once. `readers`: the executions of short routes; one counts when its reader has kept it waiting.
 * `preparations`: the executions that prepare attachments. `webhooks`: those that call receivers; one counts if the
 * receiver has failed before.
 */
export type Pool = (typeof poolNames)[number];
export const poolNames = ['replies', 'uploads', 'readers', 'preparations', 'webhooks'] as const;
