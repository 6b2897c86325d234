import type { AccessRules, RequestContext, Session } from './access-rules.ts';

export interface Caller {
  readonly name: string;
  readonly principals: readonly string[];
  /** A resource-based policy that allows one of these delegates the decision to the account. */
  readonly account: readonly string[];
  readonly session?: Session;
  readonly context: RequestContext;
}

export function createCallers({ accountId, region }: Pick<AccessRules, 'accountId' | 'region'>) {
  const account = [`AWS:arn:aws:iam::${accountId}:root`, `AWS:${accountId}`];
  // The emulators use HTTP, but conditions on aws:SecureTransport must not fail because of it.
  const commonContext = { 'aws:securetransport': 'true', 'aws:requestedregion': region };
  const anonymous: Caller = { name: 'anonymous', principals: ['*'], account: [], context: commonContext };
  const ofSessions = new Map<string, Caller>();

  function ofSession(session: Session): Caller {
    const cached = ofSessions.get(session.accessKeyId);
    if (cached) return cached;
    const caller = {
      name: session.arn,
      principals: ['*', `AWS:${session.roleArn}`, `AWS:${session.arn}`],
      account,
      session,
      context: {
        ...commonContext,
        'aws:principalaccount': accountId,
        'aws:principalarn': session.roleArn,
        'aws:principalisawsservice': 'false',
      },
    };
    ofSessions.set(session.accessKeyId, caller);
    return caller;
  }

  const ofService = (service: string, sourceArn: string): Caller => ({
    name: `${service} for ${sourceArn}`,
    principals: ['*', `Service:${service}`],
    account: [],
    context: {
      ...commonContext,
      'aws:principalisawsservice': 'true',
      'aws:sourcearn': sourceArn,
      'aws:sourceaccount': accountId,
    },
  });

  return { anonymous, ofSession, ofService };
}
