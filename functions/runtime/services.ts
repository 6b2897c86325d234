/**
 * The composition root: where ports meet their adapters, with the program's AWS clients. Each export stands alone, so
 * that a function's bundle holds only what its handler names, and makes its value when it is first asked for it.
 */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { dynamoAgentStore } from '#adapters/dynamo/agent-store.ts';
import { dynamoApiKeyStore } from '#adapters/dynamo/api-key-store.ts';
import { dynamoChatStore } from '#adapters/dynamo/chat-store.ts';
import { dynamoFeedbackStore } from '#adapters/dynamo/feedback-store.ts';
import { dynamoFileIndex } from '#adapters/dynamo/file-index.ts';
import { dynamoMessageStore } from '#adapters/dynamo/message-store.ts';
import { dynamoTable, type Table } from '#adapters/dynamo/table.ts';
import { dynamoWorkspaceStore } from '#adapters/dynamo/workspace-store.ts';
import { magicBytes } from '#adapters/magic-bytes.ts';
import { httpWebPages } from '#adapters/outbound/web-pages.ts';
import { s3ContentStore } from '#adapters/s3-content-store.ts';
import { s3FileStore } from '#adapters/s3-file-store.ts';
import { aiAgentRuntime } from '#agents/agent-runtime.ts';
import type { Services } from '#domain/services.ts';
import { agentTools } from './agent-tools.ts';
import { clientTimeouts } from './client-timeouts.ts';
import { clock } from './clock.ts';
import { environment } from './environment.ts';
import { log } from './log.ts';
import { modelProviders } from './model-providers.ts';
import { ownServices } from './own-services.ts';
import { makeWebSearch } from './web-search.ts';

const lazily = <Value>(make: () => Value): (() => Value) => {
  let made: { value: Value } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
};

/** Six tries: a reply that cannot be stored is lost, while a second more is only late. */
const table = /* @__PURE__ */ lazily(
  (): Table =>
    dynamoTable(
      DynamoDBDocumentClient.from(new DynamoDBClient({ maxAttempts: 6, requestHandler: clientTimeouts }), {
        marshallOptions: { removeUndefinedValues: true },
      }),
      environment('dataTable'),
    ),
);

const contents = /* @__PURE__ */ lazily(() =>
  s3ContentStore(new S3Client({ requestHandler: clientTimeouts }), environment('contentBucket')),
);

/** Parts of 5 MB travel longer than other calls. */
export const files = /* @__PURE__ */ lazily(() =>
  s3FileStore(
    new S3Client({ requestHandler: { ...clientTimeouts, requestTimeout: 30_000 } }),
    environment('fileBucket'),
  ),
);

export const workspaces = /* @__PURE__ */ lazily(() => dynamoWorkspaceStore(table()));
export const apiKeys = /* @__PURE__ */ lazily(() => dynamoApiKeyStore(table()));
export const agents = /* @__PURE__ */ lazily(() => dynamoAgentStore(table()));
export const chats = /* @__PURE__ */ lazily(() => dynamoChatStore(table(), clock));
export const messages = /* @__PURE__ */ lazily(() => dynamoMessageStore(table(), contents()));
export const fileIndex = /* @__PURE__ */ lazily(() => dynamoFileIndex(table()));
export const feedback = /* @__PURE__ */ lazily(() => dynamoFeedbackStore(table()));
export const replySettings = /* @__PURE__ */ lazily((): Services['replySettings'] => ({
  streamTimeout: environment('streamTimeoutSeconds') * 1000,
  lease: environment('leaseSeconds') * 1000,
  historyCharacters: environment('historyCharacters'),
  attachedFiles: environment('attachedFiles'),
}));
export const webPages = /* @__PURE__ */ lazily(() =>
  httpWebPages({ rules: { allow: environment('outboundAllow'), refuse: ownServices() } }),
);
export const webSearch = /* @__PURE__ */ lazily(makeWebSearch);
export const agentRuntime = /* @__PURE__ */ lazily(() =>
  aiAgentRuntime({
    providers: modelProviders,
    tools: agentTools({ agents, webPages, webSearch }),
    // While a tool is at work clients hear nothing: it ends before the stream times out, 80 s of 90.
    toolTimeout: Math.floor((replySettings().streamTimeout * 8) / 9),
  }),
);
export { clock, log, magicBytes as contentDetector };
