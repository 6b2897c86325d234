import * as z from 'zod';
import { limits } from '#contract/limits.ts';

const withinReplyTimeout = `less than ${limits.replySeconds}`;

export const replySettings = {
  streamTimeoutSeconds: z
    .int()
    .min(1)
    .default(90)
    .meta({
      limits: withinReplyTimeout,
      description: `
        A reply fails when its model sends nothing for this time: no text, no reasoning, and no piece of a
        tool call. The interface specifies 90 s.`,
    }),

  plainReplySeconds: z
    .int()
    .min(1)
    .max(110)
    .default(110)
    .describe(`
      How long a reply in one JSON response may take. The response must leave before CloudFront's read
      timeout of 120 s; the other 10 s are for the gateway, and for storing the reply.`),

  leaseSeconds: z
    .int()
    .min(3)
    .default(30)
    .meta({
      limits: withinReplyTimeout,
      description: `
        How long a chat, or a slot of a batch, stays locked after its function has crashed. A function
        renews the lease of a chat after each third of this time, and a worker its slot after each sixth:
        30 s survive two failed renewals of a chat, and less than 3 s would need more than one a second.`,
    }),

  historyCharacters: z
    .int()
    .min(1000)
    .default(60_000)
    .describe(`
      Characters of earlier messages that a model is given. The default is about 15,000 tokens of English,
      of four characters each, and up to 60,000 tokens in scripts where a character is a token. A model
      with a smaller context window needs a lower value.`),

  attachedFiles: z
    .int()
    .min(1)
    .max(limits.attachedFiles)
    .default(limits.attachedFilesDefault)
    .describe(`
      Files that a message may attach. The default is as many as a person would read for one question.`),

  replyBytes: z
    .int()
    .min(1000)
    .max(2 * 1024 * 1024)
    .default(1024 * 1024)
    .describe(`
      Length of a reply's text, in bytes of UTF-8. The default (1 MiB) is eight times what the 32,000
      tokens of most models can say, and ends a reply that repeats itself. A page of a batch's results has
      50 replies in memory at once, as text of up to twice as many bytes: 200 MB with the highest value.`),

  replyModelCalls: z
    .int()
    .min(1)
    .default(50)
    .describe(`
      Model calls for one reply: of its agent, of the agents that it calls, of the chat's title, and all
      retries. Six agents fit that use all 8 calls of their \`max_steps\`. Without a limit, agents that
      call three others in every round make 12,965 calls.`),

  replyToolUses: z
    .int()
    .min(1)
    .default(30)
    .describe(`
      Uses of tools in one reply. The default is four in each of the seven rounds before an agent's last
      call, and two more.`),

  replyToolsAtOnce: z
    .int()
    .min(1)
    .default(4)
    .describe(`
      Tools of one reply that run at once. Each may use 15 MB of the function's memory, for a page of 5 MB
      and its text of up to 10 MB. Four use up to 60 MB, and are as many pages as an agent compares.`),
};
