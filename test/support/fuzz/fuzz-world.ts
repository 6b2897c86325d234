import fc from 'fast-check';
import { furnishWorkspace } from '../furnish-workspace.ts';
import type { Service } from '../service.ts';

export async function openFuzzWorld(service: Service) {
  const marker = `canary-${crypto.randomUUID().slice(0, 8)}`;
  const [own, other] = [await furnishWorkspace(service, 'own'), await furnishWorkspace(service, marker)];
  return {
    tenant: own.tenant,
    /** Each element has the ids of one chat, and of everything that a request can name together with this chat. */
    known: own.chats.map((ids) => ({
      ...ids,
      history_id: ids.chat_id,
      agent_id: own.tenant.agentId,
      batch_id: own.batchId,
      attached_file_uuids: own.fileUuid,
      'idempotency-key': fc.uuid(),
      // Nothing listens on this port, so each delivery is refused at once.
      url: 'https://localhost:9/hook',
    })),
    /** Texts of the other workspace, which no response may contain. */
    canaries: [
      marker,
      other.tenant.workspaceId,
      other.tenant.apiKey,
      other.tenant.agentId,
      other.fileUuid,
      other.batchId,
    ],
  };
}
