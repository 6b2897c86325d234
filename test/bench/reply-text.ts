/** Pieces of a reply of the scripted provider, as many as a short answer of a real model has. */
export const piecesPerReply = 20;

/** All but the first, the same in every reply. */
const laterPieces = Array.from(
  { length: piecesPerReply - 1 },
  (_, index) => `, word ${index + 1} of the answer`,
);

/** What the provider answers to a message, piece by piece. It names the message, so that no reply passes for another's. */
export const piecesOfReply = (message: string): string[] => [`To “${message}”`, ...laterPieces];

const end = laterPieces.join('');

export const replyTo = (message: string): string => `To “${message}”${end}`;
