// The client of the programs here. It names the variables that are missing.
import { ChatBatchClient } from '@chat-batch/client';

const { BASE_URL, API_KEY, AGENT_ID } = process.env;
const missing = Object.entries({ BASE_URL, API_KEY, AGENT_ID }).filter(([, value]) => !value);
if (missing.length > 0) {
  console.error(
    `Set the variables ${missing.map(([name]) => name).join(', ')}: docs/examples/README.md says how`,
  );
  process.exit(1);
}

export const client = new ChatBatchClient({ baseUrl: BASE_URL, apiKey: API_KEY });
export const agent_id = AGENT_ID;
