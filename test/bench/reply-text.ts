/** Pieces of a reply of the scripted provider, as many as a short answer of a real model has. */
export const chunksPerReply = 20;

/** All but the first, the same in every reply. */
const laterChunks = Array.from(
  { length: chunksPerReply - 1 },
  (_, index) => `, word ${index + 1} of the answer`,
);

/** What the provider answers to a message, piece by piece. It names the message, so that no reply passes for another's. */
export const chunksOfReply = (message: string): string[] => [`To “${message}”`, ...laterChunks];

const end = laterChunks.join('');

export const replyTo = (message: string): string => `To “${message}”${end}`;
