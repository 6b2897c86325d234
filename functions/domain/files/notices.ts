/** More than any reader has: each kind of what is left out is one notice. */
const noticesShown = 10;
/** Long enough for a list of pages. All notices of 100 files stay below half of the text that a prompt has of files. */
const noticeCharacters = 200;

/**
 * Notices of stored content. A hostile file may control the function that wrote them, so they are bounded when they are
 * read, and each is one line.
 */
export function readNotices(stored: unknown): { notices?: readonly string[] } {
  if (!Array.isArray(stored)) return {};
  const notices = stored
    .filter((notice) => typeof notice === 'string')
    .slice(0, noticesShown)
    .map((notice) =>
      notice
        .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ')
        .slice(0, noticeCharacters)
        .toWellFormed(),
    );
  return notices.length > 0 ? { notices } : {};
}
