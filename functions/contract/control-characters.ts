/**
 * C0, DEL, C1, the separators of lines and paragraphs, and the embeddings, overrides and isolates of bidirectional text:
 * they control a terminal, break a line, or show a text in another order than it has, `txt.exe` as `exe.txt`.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finds these characters
export const controlCharacters = /[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
