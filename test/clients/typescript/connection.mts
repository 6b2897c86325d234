declare const process: { env: Record<string, string | undefined> };

const variable = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
};

export const baseUrl = variable('BASE_URL');
export const apiKey = variable('API_KEY');
export const agentId = variable('AGENT_ID');
/** A chat whose messages have ids above 2^31. */
export const chatId = Number(variable('CHAT_ID'));

export function expect(what: string, found: unknown, expected: unknown): void {
  if (found !== expected) throw new Error(`${what}: ${String(found)} instead of ${String(expected)}`);
  console.log(`  ${what}`);
}
