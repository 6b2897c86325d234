import { Readable } from 'node:stream';
import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import { failureResponse, jsonResponse } from './http-response.ts';
import { observesRequests } from './invocation.ts';
import { headerIn, workspaceOf } from './read-request.ts';
import type { receiveUpload } from './receive-upload.ts';

/** The Lambda of a route whose body is a form: the gateway hands it over whole, in base64. */
export const uploadRoute = (receive: ReturnType<typeof receiveUpload>) =>
  middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
    .onError((request) => {
      request.response = failureResponse(request.error, request.event.requestContext.requestId);
    })
    .use(observesRequests('upload-file'))
    .handler(async (event) => {
      const file = await receive({
        workspaceId: workspaceOf(event),
        contentType: headerIn(event, 'content-type'),
        body: Readable.from([Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')]),
      });
      return jsonResponse(200, success(file), event.requestContext.requestId);
    });
