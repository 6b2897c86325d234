/**
 * What serves messages and new chats in the tests' service: the web function by default. With `WEB_FUNCTIONS=uploads`
 * in the environment, the Lambda functions do, as in a stage with that setting.
 */
export const webFunctions = process.env.WEB_FUNCTIONS ?? 'all';
const isWeb = webFunctions === 'all';

/** Prefixes of logical ids, for `killWorkers`. */
export const functionIds = {
  'send-message': isWeb ? 'Chats' : 'SendMessage',
  'create-chat': isWeb ? 'Chats' : 'CreateChat',
} as const;

/** Parts of the functions' names. */
export const functionNames = {
  'send-message': isWeb ? '-chats' : 'SendMessage',
  'create-chat': isWeb ? '-chats' : 'CreateChat',
} as const;

/** Whether a function with this name replies to messages. */
export const isReplier = (functionName = ''): boolean => functionName.includes(functionNames['send-message']);
