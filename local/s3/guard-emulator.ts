import type S3rver from '@20minutes/s3rver';
import type { AccessRules, Denial, Permission } from '../iam/access-rules.ts';
import { checkSignature, secretOf } from '../iam/authenticate.ts';
import { createEvaluator, type Evaluator, type EvaluatorNotes } from '../iam/evaluator.ts';
import { hasValidUrlSignature, isPresigned } from '../iam/signature.ts';
import { accessKeyOf } from '../wire/access-key-of.ts';
import { isFromPage, pagesRejected } from '../wire/reject-pages.ts';
import { asXml, type Context } from './complete-emulator.ts';
import { neededPermissions } from './needed-permissions.ts';

const ERRORS: Readonly<Record<Denial['reason'], readonly [code: string, text?: string]>> = {
  denied: ['AccessDenied'],
  'no-credentials': ['AccessDenied', 'Access Denied'],
  'wrong-signature': ['SignatureDoesNotMatch'],
  'unknown-key': ['InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.'],
};

const MISMATCH =
  'The request signature we calculated does not match the signature you provided. Check your key and signing method.';

/** Until the rules are known, calls wait, except those from web pages, which are rejected at once. */
export function guardEmulator(server: S3rver, rulesReady: Promise<AccessRules>, notes: EvaluatorNotes): void {
  const ready = rulesReady.then((rules) => ({ rules, evaluate: createEvaluator(rules, notes) }));

  server.middleware.unshift(async (context: Context, next: () => Promise<void>) => {
    const { rules, evaluate } = await ready;
    const needed = neededPermissions(context);
    const accessKeyId = accessKeyOf(context.headers, context.url);
    const forgery = forgeryOf(context, rules, accessKeyId);
    if (forgery) return reject(context, forgery);
    const isOperator = accessKeyId === rules.operator?.accessKeyId;
    if (!needed && !isOperator) return respond(context, 501, 'NotImplemented', 'Not available locally');
    const rejection = needed && rejectionOf(evaluate, accessKeyId, needed);
    if (rejection) return reject(context, rejection);
    replaceAccessKey(context);
    await next().catch((error: { status?: number }) => {
      const hidden = error.status === 404 ? denialOfMissing(evaluate, accessKeyId, needed) : undefined;
      if (!hidden) throw error;
      reject(context, hidden);
    });
  });
  server.middleware.unshift(async (context: Context, next: () => Promise<void>) => {
    if (isFromPage(context.headers)) respond(context, 403, 'AccessDenied', pagesRejected);
    else await next();
  });
}

function forgeryOf(
  context: Context,
  rules: AccessRules,
  accessKeyId: string | undefined,
): Denial | undefined {
  if (!isPresigned(context)) return checkSignature(context, '', rules, 's3');
  const secret = secretOf(rules, accessKeyId);
  if (secret === undefined || hasValidUrlSignature(context, secret)) return undefined;
  return { reason: 'wrong-signature', message: MISMATCH };
}

/** The emulator has only one access key, and accepts wrong signatures: `forgeryOf` has checked them. */
function replaceAccessKey(context: Context): void {
  const { authorization } = context.headers;
  if (authorization)
    context.headers.authorization = authorization.replace(/Credential=[^/]+/, 'Credential=S3RVER');
  context.url = context.url.replace(/([?&]X-Amz-Credential=)[^%/&]+/, '$1S3RVER');
}

function rejectionOf(
  evaluate: Evaluator,
  accessKeyId: string | undefined,
  needed: readonly Permission[],
): Denial | undefined {
  if (accessKeyId !== undefined) return evaluate.rejectionOf(accessKeyId, needed);
  return evaluate.denialOfAnonymous(needed) && { reason: 'no-credentials', message: '' };
}

/** Without the permission ListBucket, S3 returns 403 instead of 404 for a missing object. */
function denialOfMissing(
  evaluate: Evaluator,
  accessKeyId: string | undefined,
  [first]: readonly Permission[] = [],
): Denial | undefined {
  if (first?.action !== 's3:GetObject' || accessKeyId === undefined) return undefined;
  const needed = { action: 's3:ListBucket', resource: first.resource.split('/', 1)[0] ?? '' };
  return evaluate.rejectionOf(accessKeyId, [needed]);
}

function reject(context: Context, { reason, message }: Denial): void {
  const [code, text = message] = ERRORS[reason];
  respond(context, 403, code, text);
}

function respond(context: Context, status: number, code: string, text: string): void {
  // Some clients read the response only after they have sent the whole body.
  context.req.resume();
  context.status = status;
  context.type = 'application/xml';
  context.body = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${asXml(text)}</Message></Error>`;
}
