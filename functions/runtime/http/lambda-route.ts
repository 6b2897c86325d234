import type { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, APIGatewayProxyResult, Context } from 'aws-lambda';
import type { Route } from '#contract/routes/route.ts';
import { runRequest } from '#runtime/observability/invocation.ts';
import { callerIn, type Request } from './request.ts';
import { endOf, type ResponseWriter, type Serve, serveRoute, wholeResponse } from './serve-route.ts';

/** A global of Lambda's managed Node.js runtime. */
declare const awslambda: {
  streamifyResponse(
    handler: (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>,
  ): (event: APIGatewayProxyEvent, stream: Writable, context: Context) => Promise<void>;
  HttpResponseStream: {
    from(stream: Writable, head: { statusCode: number; headers: Record<string, string> }): Writable;
  };
};

export const lambdaHandler = ({ name, transfer }: Route, serve: Serve) => {
  const respond = (event: APIGatewayProxyEvent, context: Context, open: ResponseWriter['open']) =>
    serve(requestOf(event), { open, remainingMilliseconds: () => context.getRemainingTimeInMillis() });
  return transfer === 'streamed'
    ? awslambda.streamifyResponse(async (event, stream, context) => {
        // After a streamed response, API Gateway may invoke the function with an event that is not a request.
        if (event.requestContext === undefined) return endOf(stream);
        const open: ResponseWriter['open'] = (statusCode, headers) =>
          awslambda.HttpResponseStream.from(stream, { statusCode, headers });
        await runRequest(event, context, () => respond(event, context, open), name);
      })
    : (event: APIGatewayProxyEvent, context: Context): Promise<APIGatewayProxyResult> =>
        runRequest(event, context, () => wholeResponse((open) => respond(event, context, open)), name);
};

export const lambdaRoute = <R extends Route>(...given: Parameters<typeof serveRoute<R>>) =>
  lambdaHandler(given[0], serveRoute(...given));

function requestOf(event: APIGatewayProxyEvent): Request {
  const { requestContext, multiValueHeaders, multiValueQueryStringParameters, body } = event;
  const headers = new Map<string, string[]>();
  for (const [name, values = []] of Object.entries(multiValueHeaders ?? {}))
    headers.set(name.toLowerCase(), [...(headers.get(name.toLowerCase()) ?? []), ...values]);
  const sent = event.isBase64Encoded ? Buffer.from(body ?? '', 'base64') : (body ?? '');
  return {
    id: requestContext.requestId,
    gatewayId: requestContext.extendedRequestId ?? requestContext.requestId,
    headers,
    query: new Map(
      Object.entries(multiValueQueryStringParameters ?? {}).map(([name, values]) => [name, values ?? []]),
    ),
    parameters: event.pathParameters ?? {},
    path: requestContext.path,
    gatewayHost: requestContext.domainName,
    caller: callerIn(requestContext.authorizer ?? {}),
    rejection: requestContext.authorizer?.rejection as string | undefined,
    body: async () => sent,
  };
}
