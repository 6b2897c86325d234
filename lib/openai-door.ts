import { Construct } from 'constructs';
import type { Agents } from './agents.ts';
import { entryPointsOfChats } from './chat-routes.ts';
import { listed } from './chats.ts';
import { gets, reads } from './needs.ts';
import { limited, type Platform } from './platform.ts';

export class OpenAiDoor extends Construct {
  constructor(scope: Construct, id: string, platform: Platform, { agents }: { agents: Agents }) {
    super(scope, id);
    const route = platform.routes('Completion');
    route('list-models', platform.data(reads, listed), platform.pools);
    route('get-model', platform.data(['GetItem'], limited));
    route('reject-openai-path', platform.data(['GetItem'], limited));
    if (entryPointsOfChats(platform.settings).functions)
      route(
        'complete-chat',
        platform.data(gets, { UpdateItem: ['rateBuckets', 'usage'] }),
        platform.content('GetObject', 'ListBucket'),
        agents.reply,
        platform.usage,
      );
  }
}
