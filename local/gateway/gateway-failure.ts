/** The gateway's own responses by response type: status, message and x-amzn-ErrorType. */
const FAILURES = {
  ACCESS_DENIED: [403, 'User is not authorized to access this resource', 'AccessDeniedException'],
  API_CONFIGURATION_ERROR: [500, 'Internal server error', 'InternalServerErrorException'],
  AUTHORIZER_CONFIGURATION_ERROR: [500, null, 'AuthorizerConfigurationException'],
  AUTHORIZER_FAILURE: [500, null, 'AuthorizerConfigurationException'],
  // There is no specific type for a function that failed or returned an invalid proxy response.
  DEFAULT_5XX: [502, 'Internal server error', 'InternalServerErrorException'],
  // API Gateway also uses this type if Lambda throttles the function. Clients get 500, although AWS documents 504.
  INTEGRATION_FAILURE: [500, 'Internal server error', 'InternalServerErrorException'],
  INTEGRATION_TIMEOUT: [504, 'Endpoint request timed out', 'InternalServerErrorException'],
  MISSING_AUTHENTICATION_TOKEN: [403, 'Missing Authentication Token', 'MissingAuthenticationTokenException'],
  REQUEST_TOO_LARGE: [413, 'Request Too Long', 'RequestEntityTooLargeException'],
  THROTTLED: [429, 'Too Many Requests', 'TooManyRequestsException'],
  UNSUPPORTED_MEDIA_TYPE: [415, 'Unsupported Media Type', 'UnsupportedMediaTypeException'],
  UNAUTHORIZED: [401, 'Unauthorized', 'UnauthorizedException'],
} as const;

/** Thrown if the gateway itself must respond, instead of the function. */
export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly responseType: keyof typeof FAILURES;
  readonly status: number;
  readonly errorType: string;
  /** The value of $context.error.message. AWS has none for a failed authorizer. */
  readonly text: string | null;

  constructor(responseType: keyof typeof FAILURES, text?: string) {
    const [status, defaultText, errorType] = FAILURES[responseType];
    super(text ?? defaultText ?? responseType);
    this.responseType = responseType;
    this.status = status;
    this.errorType = errorType;
    this.text = text ?? defaultText;
  }
}
