import type { IncomingHttpHeaders } from 'node:http';
import type S3rver from 's3rver';
import type { AccessRules, Permission, Refusal } from '../iam/access-rules.ts';
import { forgeryOf, secretOf } from '../iam/authenticate.ts';
import { createJudge, type Judge, type JudgeNotes } from '../iam/judge.ts';
import { isAsSigned, isPresigned } from '../iam/signature.ts';
import { accessKeyOf } from '../wire/access-key-of.ts';
import { neededPermissions } from './needed-permissions.ts';

interface Context {
  readonly method: string;
  readonly path: string;
  url: string;
  readonly query: Record<string, string | undefined>;
  readonly headers: IncomingHttpHeaders;
  readonly req: NodeJS.ReadableStream;
  status: number;
  type: string;
  body: unknown;
}

const ERRORS: Readonly<Record<Refusal['reason'], readonly [code: string, text?: string]>> = {
  denied: ['AccessDenied'],
  'no-credentials': ['AccessDenied', 'Access Denied'],
  'wrong-signature': ['SignatureDoesNotMatch'],
  'unknown-key': ['InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.'],
};

const MISMATCH =
  'The request signature we calculated does not match the signature you provided. Check your key and signing method.';

/** Lets nobody call what no policy allows. Requests wait for the rules, which come when all of the template is read. */
export function guardEngine(server: S3rver, arrival: Promise<AccessRules>, notes: JudgeNotes): void {
  const judging = arrival.then((rules) => createJudge(rules, notes));

  server.middleware.unshift(async (context: Context, next: () => Promise<void>) => {
    const judge = await judging;
    const rules = await arrival;
    const needed = neededPermissions(context);
    const accessKeyId = accessKeyOf(context.headers, context.url);
    const secret = isPresigned(context) ? secretOf(rules, accessKeyId) : undefined;
    if (secret !== undefined && !isAsSigned(context, secret))
      return answer(context, 403, 'SignatureDoesNotMatch', MISMATCH);
    const isOperator = accessKeyId === rules.operator?.accessKeyId;
    const forgery = isPresigned(context) ? undefined : forgeryOf(context, '', rules, 's3');
    if (forgery) return refuse(context, forgery);
    if (!needed && !isOperator) return answer(context, 501, 'NotImplemented', 'Not available locally');
    const refusal = needed && refusalOf(judge, accessKeyId, needed);
    if (refusal) return refuse(context, refusal);
    knowToEngine(context);
    await next().catch((error: { status?: number }) => {
      const hidden = error.status === 404 ? missingAsDenied(judge, accessKeyId, needed) : undefined;
      if (!hidden) throw error;
      refuse(context, hidden);
    });
  });
}

/** The engine knows one key, and does not look at signatures: those of presigned addresses are looked at here. */
function knowToEngine(context: Context): void {
  const { authorization } = context.headers;
  if (authorization)
    context.headers.authorization = authorization.replace(/Credential=[^/]+/, 'Credential=S3RVER');
  context.url = context.url.replace(/([?&]X-Amz-Credential=)[^%/&]+/, '$1S3RVER');
}

function refusalOf(
  judge: Judge,
  accessKeyId: string | undefined,
  needed: readonly Permission[],
): Refusal | undefined {
  if (accessKeyId !== undefined) return judge.refusalOf(accessKeyId, needed);
  return judge.refusalOfAnyone(needed) && { reason: 'no-credentials', message: '' };
}

/** Only who may list a bucket is told that it has no such object. */
function missingAsDenied(
  judge: Judge,
  accessKeyId: string | undefined,
  [first]: readonly Permission[] = [],
): Refusal | undefined {
  if (first?.action !== 's3:GetObject' || accessKeyId === undefined) return undefined;
  const needed = { action: 's3:ListBucket', resource: first.resource.split('/', 1)[0] ?? '' };
  return judge.refusalOf(accessKeyId, [needed]);
}

function refuse(context: Context, { reason, message }: Refusal): void {
  const [code, text = message] = ERRORS[reason];
  answer(context, 403, code, text);
}

function answer(context: Context, status: number, code: string, text: string): void {
  // The sender of a body reads the answer when all of it is taken.
  context.req.resume();
  context.status = status;
  context.type = 'application/xml';
  context.body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${asXml(text)}</Message></Error>`;
}

const asXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
