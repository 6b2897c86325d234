import middy from '@middy/core';
import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { success } from '#contract/envelope.ts';
import { type RouteName, routes } from '#contract/routes.ts';
import { failureResponse, jsonResponse } from './http-response.ts';
import { observesRequests } from './invocation.ts';
import { readRequest, type ValidRequest } from './read-request.ts';

type Routes = typeof routes;

/** The Lambda of a route that answers with one JSON payload. */
export const bufferedRoute = <Name extends RouteName>(
  name: Name,
  answer: (request: ValidRequest<Routes[Name]>) => Promise<{ data: unknown; message?: string }>,
) =>
  middy<APIGatewayProxyEvent, APIGatewayProxyResult>()
    .onError((request) => {
      request.response = failureResponse(request.error, request.event.requestContext.requestId);
    })
    .use(observesRequests(name))
    .handler(async (event) => {
      const request = readRequest(routes[name], event);
      const { data, message = null } = await answer(request as ValidRequest<Routes[Name]>);
      return jsonResponse(routes[name].success.status, success(data, message), request.requestId);
    });
