/** Chunks in a reply of the scripted provider: as many as a short reply of a real model has. */
export const chunksPerReply = 20;

/** All chunks except the first: the same in every reply. */
const otherChunks = Array.from(
  { length: chunksPerReply - 1 },
  (_, index) => `, word ${index + 1} of the answer`,
);

/**
 * The chunks of the provider's reply to a message. The reply contains the message, so that replies cannot be confused.
 */
export const chunksOfReply = (message: string): string[] => [`To “${message}”`, ...otherChunks];

const end = otherChunks.join('');

export const replyTo = (message: string): string => `To “${message}”${end}`;
