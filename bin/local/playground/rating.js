/** @import { Message } from './types.d.ts' */
import { call } from './api.js';
import { enterText } from './dialogs.js';
import { fill, html, iconButton } from './dom.js';

/**
 * The buttons that rate a reply, with the counts of ratings so far.
 *
 * @param {{ chatId: number, messageId: number, user: string, counts: Message['feedback_counts'], onError: (error: unknown) => void }} reply
 */
export function createRating({ chatId, messageId, user, counts, onError }) {
  const note = html.span({ class: 'rating-note', role: 'status' });
  const helpful = iconButton('up', 'Helpful', { 'aria-pressed': 'false', click: () => rate('sys_helpful') });
  const improvable = iconButton('down', 'Could be better', {
    'aria-pressed': 'false',
    click: () => improve(),
  });
  const total = (counts.sys_helpful ?? 0) + (counts.sys_improve ?? 0);
  if (total > 0) fill(note, `${counts.sys_helpful ?? 0} helpful, ${counts.sys_improve ?? 0} to improve`);

  async function improve() {
    const properties = { maxlength: 500 };
    const hint = 'A comment is optional.';
    const content = await enterText('What could be better?', 'Rate the reply', 'Comment', properties, hint);
    if (content !== undefined) await rate('sys_improve', content);
  }

  /**
   * @param {'sys_helpful' | 'sys_improve'} type
   * @param {string} [content]
   */
  async function rate(type, content) {
    const body = { external_user_id: user, type, ...(content && { content }) };
    try {
      await call('POST', `/chats/${chatId}/messages/${messageId}/feedbacks`, { body });
      helpful.ariaPressed = String(type === 'sys_helpful');
      improvable.ariaPressed = String(type === 'sys_improve');
      fill(note, 'Rated');
    } catch (error) {
      onError(error);
    }
  }

  return html.span({ class: 'rating' }, helpful, improvable, note);
}
